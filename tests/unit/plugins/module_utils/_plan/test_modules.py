# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Loading, unloading and reloading of modules; nodes and links."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._catalog.driver_services import SERVICES as SERVICES_KNOWN
from ansible_collections.gpu.fleet.plugins.module_utils._plan.facts import DriverVersion, Holder, LoadedModule
from ansible_collections.gpu.fleet.plugins.module_utils._plan.modules import (
    SERVER,
    ModuleHost,
    blockers,
    in_order,
    plan_modules,
    service_of,
    uncounted_references,
    wanted_links,
)

OLD, NEW = DriverVersion("570.172.08", "open"), DriverVersion("595.71.05", "open")
NODES = {"/dev/nvidia0": (195, 0), "/dev/nvidiactl": (195, 255), "/dev/nvidia-uvm": (511, 0)}
LINKS = {"/dev/char/195:0": "../nvidia0", "/dev/char/195:255": "../nvidiactl", "/dev/char/511:0": "../nvidia-uvm"}
JOB = Holder(4211, "python3", ("/dev/nvidia0", "/dev/nvidiactl"))
PERSISTENCED = Holder(99, "nvidia-persiste", ("/dev/nvidiactl",))


def modules(*names: str) -> dict[str, LoadedModule]:
    return {name: LoadedModule(name, 0, ()) for name in names}


BARE = ModuleHost({}, None, NEW, (), {}, {}, "6.1.0-57-amd64")
READY = replace(BARE, modules=modules(*SERVER), loaded=NEW, nodes=NODES, links=LINKS)
STALE = replace(READY, modules=modules(*SERVER, "nvidia_drm"), loaded=OLD)
LOAD_ALL = ["load nvidia", "load nvidia_uvm", "load nvidia_modeset", "link /dev/char"]
LOAD_WITH_DRM = [*LOAD_ALL[:3], "load nvidia_drm", "link /dev/char"]
UNLOAD_ALL = ["unload nvidia_drm", "unload nvidia_modeset", "unload nvidia_uvm", "unload nvidia"]


SERVICES = ("nvidia-dcgm.service", "nvidia-persistenced.service")
STOP = [f"stop {unit}" for unit in SERVICES]
START = [f"start {unit}" for unit in reversed(SERVICES)]


@pytest.mark.parametrize(
    ("host", "state", "steps", "findings"),
    [
        (BARE, "loaded", LOAD_ALL, []),
        (BARE, "reloaded", LOAD_ALL, []),
        (BARE, "unloaded", [], []),
        (replace(BARE, on_disk=None), "loaded", [], ["GPU-KRN-018"]),
        (READY, "loaded", [], []),
        (READY, "reloaded", [], []),
        (READY, "unloaded", ["unload nvidia_modeset", "unload nvidia_uvm", "unload nvidia"], []),
        (replace(READY, modules=modules("nvidia")), "loaded", LOAD_ALL[1:], []),
        (replace(READY, modules=modules("nvidia_current", "nvidia_uvm", "nvidia_modeset")), "loaded", [], []),
        (STALE, "loaded", [], []),
        (STALE, "reloaded", [*UNLOAD_ALL, *LOAD_WITH_DRM], []),
        (replace(STALE, holders=(PERSISTENCED,)), "reloaded", [*UNLOAD_ALL, *LOAD_WITH_DRM], []),
        (replace(STALE, running=SERVICES), "reloaded", [*STOP, *UNLOAD_ALL, *LOAD_WITH_DRM, *START], []),
        (replace(READY, running=SERVICES), "reloaded", [], []),
        (replace(READY, running=SERVICES), "unloaded", [*STOP, *UNLOAD_ALL[1:]], []),
        (replace(BARE, running=SERVICES), "unloaded", [], []),
        (replace(READY, stopped=SERVICES), "loaded", START, []),
        (replace(STALE, running=SERVICES[1:], stopped=SERVICES[:1]), "reloaded", None, []),
        (replace(STALE, loaded=NEW, parameters=("A of nvidia is 0, wanted 1",)), "loaded", [], []),
        (
            replace(READY, modules=modules("nvidia", "gdrdrv", "nvidia_fs"), parameters=("A of nvidia is 0",)),
            "reloaded",
            [
                *("unload gdrdrv", "unload nvidia_fs", "unload nvidia"),
                *LOAD_ALL[:3],
                *("load nvidia_fs", "load gdrdrv", "link /dev/char"),
            ],
            [],
        ),
        (replace(STALE, holders=(PERSISTENCED, JOB)), "reloaded", [], ["GPU-KRN-026"]),
        (replace(READY, loaded=DriverVersion("595.71.05", "proprietary")), "reloaded", None, []),
        (replace(READY, holders=(JOB,)), "unloaded", [], ["GPU-KRN-026"]),
        (replace(READY, links={**LINKS, "/dev/char/195:0": None}), "loaded", ["link /dev/char/195:0"], []),
        (replace(READY, links={**LINKS, "/dev/char/195:0": "/dev/nvidia0"}), "loaded", [], []),
        (replace(READY, links={**LINKS, "/dev/char/511:0": "../nvidia1"}), "loaded", ["link /dev/char/511:0"], []),
        (replace(READY, nodes={**NODES, "/dev/nvidia1": None}), "loaded", ["create_node /dev/nvidia1"], []),
    ],
)
def test_plan(host, state, steps, findings):
    plan = plan_modules(host, state=state, wanted=SERVER, links=True)
    assert [f.id for f in plan.findings] == findings
    if steps is None:
        assert [s.action for s in plan.steps].count("load") >= 3
    else:
        assert [f"{s.action} {s.target}" for s in plan.steps] == steps


def test_who_holds_the_driver_is_named():
    plan = plan_modules(replace(STALE, holders=(JOB,)), state="reloaded", wanted=SERVER, links=True)
    finding = plan.findings[0]
    assert "python3 (pid 4211: /dev/nvidia0, /dev/nvidiactl)" in finding.found
    assert "4211" in finding.remedy


def test_unloading_disrupts_gpu_workloads():
    assert plan_modules(STALE, state="reloaded", wanted=SERVER, links=True).disrupts == "gpu_workloads"


def test_links_only_of_nodes_that_are_there():
    nodes = {"/dev/nvidia-caps/nvidia-cap1": (236, 1), "/dev/nvidia1": None}
    assert wanted_links(nodes) == {"/dev/char/236:1": "../nvidia-caps/nvidia-cap1"}


@pytest.mark.parametrize(
    ("references", "users", "words"),
    [
        (2, ("nvidia_uvm", "nvidia_modeset"), ""),
        (5, ("nvidia_uvm",), "nvidia has 4 references of processes or the console"),
    ],
)
def test_references_that_no_module_explains(references, users, words):
    found = {"nvidia": LoadedModule("nvidia", references, users), "ext4": LoadedModule("ext4", 9, ())}
    assert uncounted_references(found) == words


def test_order_of_loading():
    assert in_order(["nvidia-uvm", "gdrdrv", "nvidia", "nvidia_drm"]) == (
        "nvidia",
        "nvidia_uvm",
        "nvidia_drm",
        "gdrdrv",
    )


@pytest.mark.parametrize(
    ("holder", "service"),
    [
        (Holder(1, "nvidia-persiste", (), unit="nvidia-persistenced.service"), "nvidia-persistenced.service"),
        (Holder(1, "nvidia-persiste", ()), "nvidia-persistenced.service"),
        (Holder(1, "nv-hostengine", (), unit="nvidia-dcgm.service"), "nvidia-dcgm.service"),
        (Holder(1, "nv-hostengine", (), container="4bb1", pod="gpu/dcgm-x"), None),
        (Holder(1, "nv-hostengine", (), unit="user@1000.service"), None),
        (Holder(1, "nvlsm", ()), "nvidia-fabricmanager.service"),
        (Holder(1, "python3", (), unit="train.service"), None),
        (Holder(1, "Xorg", ()), None),
    ],
)
def test_a_service_is_one_by_its_unit_and_a_container_is_none(holder, service):
    assert service_of(holder) == service
    assert bool(blockers((holder,))) == (service is None)


def test_a_killed_run_and_this_one_start_all_that_either_stopped():
    host = replace(STALE, running=SERVICES[1:], stopped=SERVICES[:1])
    plan = plan_modules(host, state="reloaded", wanted=SERVER, links=True)
    assert [s.target for s in plan.steps if s.action == "stop"] == list(SERVICES[1:])
    assert {s.target for s in plan.steps if s.action == "start"} == set(SERVICES)


def test_parameters_are_said_where_jobs_keep_them_from_being_taken():
    host = replace(READY, parameters=("A of nvidia is 0, wanted 1",), holders=(JOB,))
    finding = plan_modules(host, state="reloaded", wanted=SERVER, links=True).findings[0]
    assert "A of nvidia is 0, wanted 1" in finding.found


def test_where_a_holder_lives_is_said():
    text = str(Holder(7, "python3", ("/dev/nvidia0",), "python3 train.py", "", "4bb1a2b6f5c3e0d9", "research/train-0"))
    assert text == "python3 train.py (pid 7: /dev/nvidia0; container 4bb1a2b6f5c3; pod research/train-0)"


def test_every_service_has_a_source_and_its_own_processes():
    processes = [p for row in SERVICES_KNOWN for p in row.processes]
    assert len(processes) == len(set(processes))
    assert all(len(p) <= 15 for p in processes)
    assert all(row.source and row.as_of for row in SERVICES_KNOWN)
