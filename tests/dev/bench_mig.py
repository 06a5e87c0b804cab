# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a MIG plan costs, beside mig-parted's recorded figures (0.15.0, bd7160f, on a simulated NVML)."""

from __future__ import annotations

import importlib
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from simulator.module_host import Host

from . import collection, progress

GPUS = 8
ROUNDS = 40
PLAN_SECONDS = 0.010
TRIES = 3  # the shortest of them, in time of the processor: others use this machine too
# Eight instances on a board that holds less.
IMPOSSIBLE = {"1g.5gb": 2, "1g.5gb+me": 1, "1g.10gb": 2, "2g.10gb": 2, "3g.20gb": 1}
# Fits, and mig-parted does not find it: the driver puts a small instance where only the double one can be.
HIDDEN = {"1g.5gb": 6, "1g.10gb": 1}
WISHES = (
    IMPOSSIBLE,
    HIDDEN,
    {"3g.20gb": 1, "2g.10gb": 1, "1g.5gb": 2},
    {"1g.5gb": 7},
    {"1c.7g.40gb": 4, "3c.7g.40gb": 1},
)
PEER = "mig-parted: 840 orders, 4,140 GPU instances made and destroyed, 6 to 18 s; then the GPU is empty"
PARTS = "ansible_collections.gpu.fleet.plugins.module_utils"


def show() -> list[str]:
    """Measures and prints; what is over its budget, one line each."""
    with progress.step(f"MIG plans of {GPUS} GPUs, each in another state"):
        seconds = worst_plan()
    told = f"worst of {ROUNDS * len(WISHES)} plans: {seconds * 1000:.1f} ms, budget {PLAN_SECONDS * 1000:.0f} ms"
    print(f"           {told}")
    with progress.step("an impossible MIG layout of eight instances, and one that a driver's own order hides"):
        refused, found = on_hardware()
    print(f"           impossible: {len(refused['writes'])} NVML calls that change ({PEER})")
    print(f"           hidden: {found['gpus'][0]['devices']} (mig-parted: not found)")
    wrong = (
        [] if not refused["writes"] else [f"{len(refused['writes'])} NVML calls that change on an impossible layout"]
    )
    return wrong + ([] if found["gpus"][0]["devices"] == HIDDEN else [f"layout {HIDDEN} was not reached"])


def worst_plan() -> float:
    """Seconds of the slowest plan, from parsed NVML data to steps, with nothing remembered from the one before."""
    sys.path.insert(0, str(collection.in_place()))
    search = importlib.import_module(f"{PARTS}._plan.mig_search")
    compute = importlib.import_module(f"{PARTS}._plan.mig_compute")
    wish = importlib.import_module(f"{PARTS}._plan.mig_wish").MigWish
    dice, worst = random.Random(1), 0.0
    for wanted in WISHES:
        entry = {"devices": "all", "mig-enabled": True, "mig-devices": wanted}
        want = wish(config={"version": "v1", "mig-configs": {"bench": [entry]}})
        for _round in range(ROUNDS):
            gpus = [_gpu(index, dice) for index in range(GPUS)]
            caches = (search.find_layout, compute.staying)
            worst = max(worst, min(_seconds(want, gpus, caches) for _try in range(TRIES)))
    return worst


def _seconds(want: Any, gpus: list[Any], caches: tuple[Any, ...]) -> float:
    for cache in caches:
        cache.cache_clear()
    begin = time.process_time()
    want.decide(gpus)
    return time.process_time() - begin


def on_hardware() -> tuple[dict[str, Any], dict[str, Any]]:
    """The modules' results for both layouts, on a GPU that has instances."""
    with tempfile.TemporaryDirectory(prefix="gpu-fleet-bench-") as folder:
        host = Host(Path(folder), "a100x1")
        host.want({"1g.5gb": 7})
        return host.want(IMPOSSIBLE), host.want(HIDDEN)


def _gpu(index: int, dice: random.Random) -> Any:
    """An A100 with some instances."""
    layout = importlib.import_module(f"{PARTS}._plan.mig_layout")
    model = importlib.import_module(f"{PARTS}._catalog.mig").find_model("20B0")
    instances: list[Any] = []
    used: set[int] = set()
    for number in range(7):
        profile = dice.choice(model.profiles)
        start = dice.choice(profile.starts)
        units = set(range(start, start + profile.size))
        if not units & used and sum(i.profile == profile.name for i in instances) < profile.count:
            used |= units
            part = layout.ComputeInstance(0, profile.slices, start=0)
            instances.append(layout.GpuInstance(number, profile.name, profile.slices, start, (part,)))
    return layout.MigGpu(
        index=index,
        uuid=f"GPU-{index}",
        pci_address=f"0000:{index:02x}:00.0",
        pci_id="20B010DE",
        subsystem_id="0",
        name=model.name,
        capable=True,
        enabled=True,
        pending=True,
        architecture=model.architecture,
        profiles=model.profiles,
        instances=tuple(instances),
        source="nvml",
    )
