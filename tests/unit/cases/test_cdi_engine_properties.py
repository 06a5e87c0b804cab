# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Damaged files of the loader, the driver and the engines: a sentence or an answer, never an error, never half a file.

GPU_FLEET_EXAMPLES sets how long to search.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
import tomlkit
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.configuration import set_hypothesis_home_dir
from trees.ldcache import cache

from ansible_collections.gpu.fleet.plugins.module_utils._act.runtime import Engine
from ansible_collections.gpu.fleet.plugins.module_utils._act.toml_file import EditError
from ansible_collections.gpu.fleet.plugins.module_utils._host.command import run
from ansible_collections.gpu.fleet.plugins.module_utils._observe.cdi_specs import (
    read_spec,
    read_spec_facts,
    yaml_loader,
)
from ansible_collections.gpu.fleet.plugins.module_utils._observe.files import HostRoot
from ansible_collections.gpu.fleet.plugins.module_utils._observe.ldcache import LdCacheError, parse
from ansible_collections.gpu.fleet.plugins.module_utils._observe.texts.capability import read_minors
from ansible_collections.gpu.fleet.plugins.module_utils._observe.texts.proc_devices import read_proc_devices
from ansible_collections.gpu.fleet.plugins.module_utils._plan.cdi_stale import stale_because
from ansible_collections.gpu.fleet.plugins.module_utils._plan.runtime import make_engine_wish

# Its tables of characters stay out of the checkout's own files.
set_hypothesis_home_dir(Path(__file__).parents[3] / ".cache" / "hypothesis")
# Same examples in every run: a failure has to be the change's, not the day's. More of them for a long search.
EXAMPLES = int(os.environ.get("GPU_FLEET_EXAMPLES", "10"))
EVERY_RUN = settings(
    max_examples=EXAMPLES * 5, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)

CACHE = cache([("/usr/lib64/libcuda.so.1", "x86_64"), ("/lib/libm.so.6", "i386")], with_old_table=True)
MINORS = "config 1\nmonitor 2\ngpu0/gi1/access 12\ngpu0/gi1/ci0/access 13\n"
DEVICES = "Character devices:\n195 nvidia\n511 nvidia-uvm\n\nBlock devices:\n  8 sd\n"
CONTAINERD = """\
# ours
version = 3
imports = ["/etc/containerd/conf.d/*.toml"]

[plugins."io.containerd.cri.v1.runtime".containerd]
  default_runtime_name = "runc" # said by hand
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
      SystemdCgroup = true
"""
CRIO = '[crio.runtime]\ndefault_runtime = "crun"\n[crio.runtime.runtimes.crun]\nruntime_path = "/usr/bin/crun"\n'
DOCKER = '{\n  "log-opts": {"max-size": "10m"},\n  "runtimes": {"kata": {"path": "/k"}},\n  "n": 12345678901234567\n}\n'
SPEC = """\
cdiVersion: 0.5.0
kind: nvidia.com/gpu
devices:
- name: "0"
  containerEdits:
    deviceNodes:
    - {path: /dev/nvidia0, major: 195, fileMode: 438, permissions: rwm}
containerEdits:
  mounts:
  - {hostPath: /usr/bin/nvidia-smi, containerPath: /usr/bin/nvidia-smi, options: [ro]}
"""
ENGINES = {
    "containerd": ("/etc/containerd/config.toml", CONTAINERD),
    "crio": ("/etc/crio/crio.conf", CRIO),
    "docker": ("/etc/docker/daemon.json", DOCKER),
}
LOAD = yaml_loader(yaml)


@st.composite
def damaged(draw: st.DrawFn, data: bytes) -> bytes:
    """Bytes that were cut, changed, doubled and stuffed in some places."""
    made = bytearray(data)
    for _time in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(made)))
        end = min(len(made), at + draw(st.integers(0, 12)))
        made[at:end] = draw(
            st.binary(max_size=12) | st.sampled_from([b"", b"[", b"]", b'"', b"= ", b"\n", b"\0", b"[]"])
        )
    return bytes(made[: draw(st.integers(0, len(made)) | st.just(len(made)))])


@EVERY_RUN
@given(data=damaged(CACHE) | st.binary(max_size=200))
def test_cache_of_the_loader(data):
    with contextlib.suppress(LdCacheError):
        assert all(isinstance(path, str) for path in parse(data))


@EVERY_RUN
@given(data=damaged(MINORS.encode()))
def test_minors_of_mig_devices(data):
    assert all(isinstance(n, int) for n in read_minors(data.decode("utf-8", "surrogateescape"))["minors"].values())


@EVERY_RUN
@given(data=damaged(DEVICES.encode()))
def test_majors_of_the_kernel(data):
    assert json.dumps(read_proc_devices(data.decode("utf-8", "surrogateescape")))


@EVERY_RUN
@given(data=damaged(SPEC.encode()))
def test_spec_of_somebody(data):
    with tempfile.TemporaryDirectory() as root:
        host = laid_out(root, "/etc/cdi/nvidia.yaml", data)
        found = read_spec(host, "/etc/cdi/nvidia.yaml", LOAD)
        assert found is not None
        if found.document is None:
            assert found.error
        else:
            assert isinstance(stale_because(found.document, read_spec_facts(host, found.document)), tuple)


@pytest.mark.parametrize("name", ENGINES)
@EVERY_RUN
@given(data=st.data())
def test_configuration_of_an_engine(name, data):
    path, text = ENGINES[name]
    content = data.draw(damaged(text.encode()))
    with tempfile.TemporaryDirectory() as root:
        host = laid_out(root, path, content)
        try:
            blocked = configure(name, host)
        except EditError:
            blocked = True
        if blocked:
            # What cannot be understood is left as it is, and nothing is put beside it.
            assert files(root) == {path: content}
        else:
            assert handlers(name, host) == {"nvidia"}


def laid_out(root: str, path: str, content: bytes) -> HostRoot:
    (Path(root) / path.lstrip("/")).parent.mkdir(parents=True)
    (Path(root) / path.lstrip("/")).write_bytes(content)
    return HostRoot(root)


def engine(name: str, host: HostRoot) -> Engine:
    options: dict[str, Any] = {"runtime": name, "state": "present", "set_as_default": False, "cdi_enabled": True}
    wish = make_engine_wish(options, programs=lambda path: False)
    return Engine(host, wish, run=run, toml=tomlkit, executable=None, config_source="file")


def configure(name: str, host: HostRoot) -> bool:
    """One run of the module; whether it was blocked."""
    this = engine(name, host)
    state = this.observe()
    plan = this.decide(state)
    for step in () if plan.blocked else plan.steps:
        this.act(step, state)
    return plan.blocked


def handlers(name: str, host: HostRoot) -> set[str]:
    this = engine(name, host)
    assert not this.decide(this.observe()).changed
    return {h for h in this.returns(this.observe())["effective"]["handlers"] if h == "nvidia"}


def files(root: str) -> dict[str, bytes]:
    """Everything but our own record."""
    found = (p for p in Path(root).rglob("*") if p.is_file() and "gpu-fleet" not in p.parts)
    return {f"/{p.relative_to(root)}": p.read_bytes() for p in found}
