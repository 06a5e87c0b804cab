# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulator's boards: held against the collection's own catalog, recorded geometry, and against themselves."""

from __future__ import annotations

import math
import re
from itertools import combinations
from pathlib import Path

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._catalog import gpus as catalog_gpus
from ansible_collections.gpu.fleet.plugins.module_utils._catalog import mig as catalog_mig
from simulator.models import MODELS
from simulator.sandbox import Sandbox

CAPABLE = sorted(key for key, model in MODELS.items() if model.mig_units)
INVENTED = "INVENTED"


def test_every_device_id_is_one_board() -> None:
    assert len({model.device_id for model in MODELS.values()}) == len(MODELS)


def test_every_board_that_is_mig_capable_in_the_catalog_is_there() -> None:
    capable = {board.device for board in catalog_gpus.BOARDS if board.mig}
    assert capable - {MODELS[key].device_id for key in CAPABLE} == set()


def test_every_architecture_is_there() -> None:
    assert {model.architecture for model in MODELS.values()} == {4, 5, 6, 7, 8, 9, 10}


@pytest.mark.parametrize("key", CAPABLE)
def test_geometry_is_the_catalogs(key: str) -> None:
    known = catalog_mig.find_model(f"{MODELS[key].device_id:04X}")
    if known is None:
        assert key == INVENTED or MODELS[key].estimated, f"{key}: nothing to hold it against, and not called estimated"
        return
    ours = {p.name: (p.id, p.slices, p.count, p.size, tuple(sorted(p.starts))) for p in MODELS[key].profiles}
    assert ours == {p.name: (p.id, p.slices, p.count, p.size, p.starts) for p in known.profiles}


@pytest.mark.parametrize("key", CAPABLE)
def test_geometry_fits_the_board(key: str) -> None:
    model = MODELS[key]
    for profile in model.profiles:
        assert max(profile.starts) + profile.size <= model.mig_units, profile
        assert len(profile.starts) >= profile.count, profile
        assert all(used <= there for used, there in zip(profile.engines[1:], model.mig_engines, strict=True)), profile
        assert profile.memory_mib <= model.memory_mib, profile
        assert profile.multiprocessors <= model.multiprocessors, profile
    for column in ("name", "id", "enum"):
        values = [getattr(profile, column) for profile in model.profiles]
        assert len(set(values)) == len(values), column


@pytest.mark.parametrize("key", CAPABLE)
def test_instances_of_a_profile_have_ids_of_their_own(key: str) -> None:
    model = MODELS[key]
    places = {(p.size, start) for p in model.profiles for start in p.starts}
    for one, two in combinations(sorted(places), 2):
        overlap = one[1] < two[1] + two[0] and two[1] < one[1] + one[0]
        assert overlap or _id(model.mig_units, *one) != _id(model.mig_units, *two), (one, two)


def _id(units: int, size: int, start: int) -> int:
    return units // size - 1 + start // size


def test_nvml_shows_the_geometry(tmp_path: Path) -> None:
    """Names and ids of all boards in one machine by nvidia-ml-py, with a driver that knows every profile."""
    box = Sandbox(tmp_path, CAPABLE, driver="620.10")
    found = box.nvml(
        "def rows(d):\n"
        "    ask = lambda n: nvmlDeviceGetGpuInstanceProfileInfo(d, n, version=2)\n"
        "    infos = [ask(n) for n in range(18) if not number(ask, n)]\n"
        "    return sorted([i.name, i.id, i.instanceCount, i.memorySizeMB] for i in infos)\n"
        "result = [rows(gpu(index)) for index in range(nvmlDeviceGetCount())]"
    )
    wanted = [sorted([f"MIG {p.name}", p.id, p.count, p.memory_mib] for p in MODELS[key].profiles) for key in CAPABLE]
    assert found == wanted


@pytest.mark.parametrize(
    ("key", "driver", "missing"),
    [
        ("A100-40", "450.80.02", {"1g.5gb+me", "1g.10gb"}),
        ("A100-40", "470.57.02", {"1g.10gb"}),
        ("A100-40", "525.85.12", set()),
        ("A30", "470.57.02", {"2g.12gb+me"}),
        ("H200", "550.90.07", set()),
    ],
)
def test_older_drivers_offer_fewer_profiles(tmp_path: Path, key: str, driver: str, missing: set[str]) -> None:
    box = Sandbox(tmp_path, [key], driver=driver)
    ids = box.nvml(
        "infos = [nvmlDeviceGetGpuInstanceProfileInfo(gpu(), n) for n in range(18)"
        " if not number(nvmlDeviceGetGpuInstanceProfileInfo, gpu(), n)]\nresult = [i.id for i in infos]"
    )
    assert {p.name for p in MODELS[key].profiles if p.id not in ids} == missing


@pytest.mark.parametrize(
    ("key", "driver", "count"),
    [
        ("B200", "560.35.03", 0),
        ("B200", "570.133.20", 1),
        ("B300", "580.65.06", 0),
        ("B300", "580.95.05", 1),
        ("P100", "580.95.05", 1),
        ("P100", "595.71.05", 0),
        ("T4", "620.10", 1),
    ],
)
def test_driver_drives_only_boards_that_it_knows(tmp_path: Path, key: str, driver: str, count: int) -> None:
    assert Sandbox(tmp_path, [key], driver=driver).nvml("result = nvmlDeviceGetCount()") == count


def test_no_profiles_while_mig_is_off_around_535(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, ["A100-40"], driver="535.129.03")
    ask = "number(nvmlDeviceGetGpuInstanceProfileInfo, gpu(), 0)"
    assert box.nvml(f"before = {ask}; nvmlDeviceSetMigMode(gpu(), 1); result = [before, {ask}]") == [3, 0]


def test_hidden_profile_is_not_offered(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, ["RTXPRO6000"], driver="580.95.05")
    box.hide(0, 47)
    assert box.nvml("result = [number(nvmlDeviceGetGpuInstanceProfileInfo, gpu(), n) for n in (0, 10)]") == [0, 3]


def test_sixty_four_gpus_of_many_models(tmp_path: Path) -> None:
    keys = [key for key in sorted(MODELS) if not MODELS[key].last_branch]
    models = [keys[number % len(keys)] for number in range(64)]
    box = Sandbox(tmp_path, models, driver="620.10")
    names = box.nvml("result = [nvmlDeviceGetName(gpu(i)) for i in range(nvmlDeviceGetCount())]")
    assert names == [MODELS[key].name for key in models]


@pytest.mark.parametrize("key", CAPABLE)
def test_names_are_those_that_clients_compute(key: str) -> None:
    """go-nvlib's rule: eighths of the memory, rounded up, of the board's GiB, rounded up; half a GiB counts as one."""
    model = MODELS[key]
    whole = math.ceil(model.memory_mib / 1024)
    sizes = {p.name: math.ceil(8 * p.memory_mib / model.memory_mib) / 8 * whole for p in model.profiles}
    computed = {p.name: f"{p.slices}g.{math.floor(sizes[p.name] + 0.5)}gb" for p in model.profiles}
    assert {
        name: short for name, short in computed.items() if not re.fullmatch(rf"{re.escape(short)}\W?.*", name)
    } == {}
