# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Loading, unloading and reloading of modules; nodes and links."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._plan.facts import DriverVersion, Holder, LoadedModule
from ansible_collections.gpu.fleet.plugins.module_utils._plan.modules import (
    SERVER,
    ModuleHost,
    in_order,
    plan_modules,
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
UNLOAD_ALL = ["unload nvidia_drm", "unload nvidia_modeset", "unload nvidia_uvm", "unload nvidia"]


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
        (STALE, "reloaded", [*UNLOAD_ALL, *LOAD_ALL], []),
        (replace(STALE, holders=(PERSISTENCED,)), "reloaded", [*UNLOAD_ALL, *LOAD_ALL], []),
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
        assert [s.action for s in plan.steps].count("load") == 3
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
