# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When container_runtime's plan has a restart of the engine."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
import tomlkit

from ansible_collections.gpu.fleet.plugins.module_utils._observe.engines import EngineReader
from ansible_collections.gpu.fleet.plugins.module_utils._observe.files import HostRoot
from ansible_collections.gpu.fleet.plugins.module_utils._plan.engine import EngineWish
from ansible_collections.gpu.fleet.plugins.module_utils._plan.validation import Seen
from ansible_collections.gpu.fleet.plugins.modules import container_runtime, host_validation

CONFIG = 'version = 3\n[plugins."io.containerd.cri.v1.runtime"]\n'
RESTART = ["restart containerd.service"]


class Module:
    """The members of AnsibleModule that the module touches."""

    def __init__(self, root: Path, *, check: bool, **options: Any) -> None:
        specs = container_runtime.ARGUMENTS
        self.params = {name: spec.get("default") for name, spec in specs.items()} | options | {"host_root": str(root)}
        self.check_mode = check

    def fail_json(self, msg: str, **kwargs: Any) -> None:
        raise AssertionError(msg, kwargs)


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A tree with containerd's configuration and the handler's program."""
    for path, text in (("etc/containerd/config.toml", CONFIG), ("usr/bin/nvidia-container-runtime", "")):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text(text)
    (tmp_path / "usr/bin/nvidia-container-runtime").chmod(0o755)
    return tmp_path


def run(root: Path, *, check: bool = False, **options: Any) -> dict[str, Any]:
    return container_runtime.configure(Module(root, check=check, **options), HostRoot(str(root)), "containerd")


def steps(result: dict[str, Any]) -> list[str]:
    return [f"{step['action']} {step['target']}" for step in result["plan"]["steps"]]


@pytest.fixture
def old_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine runs since before its files were written."""
    monkeypatch.setattr(EngineReader, "started_before_files", lambda self: True)


@pytest.mark.parametrize("check", [True, False])
def test_an_engine_older_than_its_files_is_restarted_by_plan(host, old_start, check):
    run(host)
    result = run(host, restart=True, check=check)
    assert steps(result) == RESTART
    assert result["plan"]["disrupts"] == "runtime"
    assert result["restart_required"]
    assert "containerd.service" in result["diff"]["after"]
    # The task that restarts it reports the change of a real run.
    assert result["changed"] == check


def test_nobody_restarts_without_leave(host, old_start):
    run(host)
    result = run(host, check=True)
    assert (steps(result), result["changed"], result["restart_required"]) == ([], False, True)


def test_files_that_change_are_the_reason_of_the_only_restart(host, old_start):
    planned = run(host, restart=True, check=True)
    assert steps(planned)
    assert not [step for step in steps(planned) if step in RESTART]
    assert steps(run(host, restart=True)) == steps(planned)


def test_an_engine_younger_than_its_files_is_left_alone(host):
    run(host)
    result = run(host, restart=True)
    assert (steps(result), result["changed"], result["restart_required"]) == ([], False, False)


CONTAINER = "0::/kubepods.slice/cri-containerd-" + "5" * 64 + ".scope\n"
# device that is held, control group -> whether the restart waits
BUSY = {
    "computes in a container": ("/dev/nvidia-uvm", CONTAINER, True),
    "draws in a container": ("/dev/nvidia-modeset", CONTAINER, True),
    "looks only": ("/dev/nvidiactl", CONTAINER, False),
    "computes on the host": ("/dev/nvidia-uvm", "0::/user.slice\n", False),
}


def hold(host: Path, device: str, group: str) -> None:
    """A process that has a device open."""
    (host / "proc/77/fd").mkdir(parents=True)
    (host / "proc/77/fd/3").symlink_to(device)
    for name, text in (("comm", "python3\n"), ("cgroup", group), ("cmdline", "python3\0")):
        (host / "proc/77" / name).write_text(text)


@pytest.mark.parametrize(("device", "group", "waits"), BUSY.values(), ids=BUSY)
@pytest.mark.parametrize("check", [True, False])
def test_a_restart_waits_for_containers_that_work(host, old_start, device, group, waits, check):
    run(host)
    hold(host, device, group)
    result = run(host, restart=True, check=check)
    assert (result["restart_required"], result["restart_allowed"]) == (True, not waits)
    assert steps(result) == ([] if waits else RESTART)
    assert [f["id"] for f in result["findings"] if f["id"] == "GPU-CTR-041"] == (["GPU-CTR-041"] if waits else [])
    allowed = run(host, restart=True, restart_busy=True, check=check)
    assert (steps(allowed), allowed["restart_allowed"]) == (RESTART, True)


def test_a_finding_names_who_works(host):
    hold(host, "/dev/nvidia-uvm", CONTAINER)
    (finding,) = [f for f in run(host, restart=True, check=True)["findings"] if f["id"] == "GPU-CTR-041"]
    assert finding["found"].startswith("python3 (555555555555)")


AGES = {
    "changed since": ("active", -5, True),
    "changed before": ("active", 5, False),
    "not running": ("inactive", -5, False),
}


@pytest.mark.parametrize(("state", "after_file", "stale"), AGES.values(), ids=AGES)
def test_a_start_is_compared_with_the_files(tmp_path, state, after_file, stale):
    config = tmp_path / "config.toml"
    config.write_text(CONFIG)
    os.utime(config, (time.time() - 10,) * 2)
    start = int((time.monotonic() - 10 + after_file) * 1e6)
    said = f"ActiveState={state}\nExecMainStartTimestampMonotonic={start}\n"
    wish = EngineWish("containerd", "present", str(config), "", ())
    reader = EngineReader(HostRoot("/"), wish, run=lambda args: (0, said, ""), toml=tomlkit, executable="/none")
    assert reader.started_before_files() == stale


@pytest.mark.parametrize("restarts", [True, False])
def test_a_planned_restart_is_foreseen_by_the_validation(restarts):
    seen = Seen(engine="containerd", restart=True)
    assert host_validation.foreseen({"restarts": restarts}, seen).restart != restarts


@pytest.mark.parametrize(("state", "ends"), [("absent", "exit"), ("present", "fail")])
def test_a_host_without_engine_needs_no_removal(tmp_path, monkeypatch, state, ends):
    class Ended(Exception):
        """The module is over."""

    def end(word):
        def ended(self, **result):
            raise Ended(word, result)

        return ended

    class Asked(Module):
        exit_json, fail_json = end("exit"), end("fail")

    monkeypatch.setattr(
        container_runtime, "AnsibleModule", lambda **_options: Asked(tmp_path, check=False, state=state)
    )
    with pytest.raises(Ended) as over:
        container_runtime.main()
    word, result = over.value.args
    assert (word, result.get("changed", False)) == (ends, False)
