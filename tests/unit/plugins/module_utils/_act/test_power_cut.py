# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A process that dies between any two changes of the file system leaves the old file or the new one, and the next run
ends where a whole run ends.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomlkit
import yaml

from ansible_collections.gpu.fleet.plugins.module_utils._act.cdi import CdiSpecs
from ansible_collections.gpu.fleet.plugins.module_utils._act.runtime import Engine
from ansible_collections.gpu.fleet.plugins.module_utils._host.command import run
from ansible_collections.gpu.fleet.plugins.module_utils._observe.cdi import NvmlView
from ansible_collections.gpu.fleet.plugins.module_utils._observe.cdi_specs import yaml_loader
from ansible_collections.gpu.fleet.plugins.module_utils._observe.files import DeviceNode, HostRoot
from ansible_collections.gpu.fleet.plugins.module_utils._plan.cdi import plan_cdi, plan_removal
from ansible_collections.gpu.fleet.plugins.module_utils._plan.cdi_wish import make_wish
from ansible_collections.gpu.fleet.plugins.module_utils._plan.runtime import make_engine_wish
from ansible_collections.gpu.fleet.plugins.modules import toolkit_config

# What CPython reports before it asks the kernel for a change of the file system (sys.addaudithook).
CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod", "os.symlink", "os.link", "os.truncate")
DIED = 9
BEFORE = {
    "/etc/containerd/config.toml": "# ours\nversion = 3\n[plugins.'io.containerd.cri.v1.runtime']\na = 1\n",
    "/etc/docker/daemon.json": '{\n  "log-driver": "journald"\n}\n',
    "/etc/crio/crio.conf": "# ours\n[crio.runtime]\nlog_level = 'info'\n",
    "/etc/nvidia-container-runtime/config.toml": "# ours\ndisable-require = false\n",
    "/dev/nothing": "",
}
Work = Callable[[HostRoot], None]


class Module:
    """The members of AnsibleModule that toolkit_config touches."""

    check_mode = False

    def __init__(self, **params: Any) -> None:
        self.params = params


def engine(name: str, state: str) -> Work:
    def work(host: HostRoot) -> None:
        options: dict[str, Any] = {"runtime": name, "state": state, "set_as_default": True, "cdi_enabled": True}
        wish = make_engine_wish(options, programs=lambda path: True)
        this = Engine(host, wish, run=run, toml=tomlkit, executable=None, config_source="file")
        found = this.observe()
        for step in this.decide(found).steps:
            this.act(step, found)
        assert not this.decide(this.observe()).changed

    return work


def spec(state: str) -> Work:
    def work(host: HostRoot) -> None:
        wish = make_wish({"mode": "gds", "path": "/run/cdi/nvidia.yaml", "hooks": "none"})
        specs = CdiSpecs(host, wish, read_gpus=NvmlView, load=yaml_loader(yaml), run=run)
        found = specs.observe() if state == "present" else specs.observe_removal()
        plan = plan_cdi(wish, found, at_boot=True) if state == "present" else plan_removal(wish, found)
        for step in plan.steps:
            specs.act(step, found)

    return work


def settings(state: str) -> Work:
    def work(host: HostRoot) -> None:
        wanted = {"nvidia-container-runtime.mode": "cdi", "disable-require": True} if state == "present" else {}
        path = "/etc/nvidia-container-runtime/config.toml"
        toolkit_config.configure(Module(state=state, config_path=path, settings=wanted), host)

    return work


WORKS: dict[str, tuple[Work, Work]] = {
    **{name: (engine(name, "present"), engine(name, "absent")) for name in ("containerd", "crio", "docker")},
    "toolkit_config": (settings("present"), settings("absent")),
    "cdi_spec": (spec("present"), spec("absent")),
}


def lay_out(root: Path) -> HostRoot:
    for path, text in BEFORE.items():
        (root / path.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
        (root / path.lstrip("/")).write_text(text)
    return HostRoot(str(root))


def dies(work: Work, host: HostRoot, *, before: int) -> bool:
    """Whether the work was cut off before its change of that number (from 1) by the death of its process."""
    child = os.fork()
    if child == 0:
        seen = 0

        def count(event: str, _arguments: Any) -> None:
            nonlocal seen
            seen += event in CHANGES
            if seen == before:
                os._exit(DIED)

        sys.addaudithook(count)
        status = 1
        try:
            work(host)
            status = 0
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, DIED), f"the work itself failed, cut off before change {before}"
    return status == DIED


def files(host: HostRoot) -> dict[str, str]:
    """Every file but what a dead process left beside its target, which no reader takes for one."""
    root = Path(host.root)
    found = (p for p in root.rglob("*") if p.is_file() and not p.name.startswith("."))
    return {f"/{p.relative_to(root)}": p.read_text() for p in found}


@pytest.mark.parametrize("name", WORKS)
@pytest.mark.parametrize("removes", [False, True], ids=["present", "absent"])
def test_each_file_is_old_or_new_and_the_next_run_ends_the_same(name, removes, tmp_path, gds_node):
    present, absent = WORKS[name]
    work = absent if removes else present
    whole = lay_out(tmp_path / "whole")
    if removes:
        present(whole)
    old = files(whole)
    work(whole)
    new = files(whole)
    assert new != old
    cut, number = True, 0
    while cut:
        number += 1
        host = lay_out(tmp_path / str(number))
        if removes:
            present(host)
        cut = dies(work, host, before=number)
        for path, text in files(host).items():
            if "gpu-fleet" not in path:
                assert text in (old.get(path), new.get(path)), path
        work(host)
        assert files(host) == new
    assert number > 1


@pytest.fixture
def gds_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node of GPUDirect Storage: making a real one needs root."""
    node = DeviceNode("/dev/nvidia-fs0", 234, 0, 0o666, 0, 0)
    names = HostRoot.names
    monkeypatch.setattr(HostRoot, "device", lambda self, path: node if path == node.path else None)
    monkeypatch.setattr(
        HostRoot, "names", lambda self, path: [*names(self, path), *(["nvidia-fs0"] if path == "/dev" else [])]
    )
