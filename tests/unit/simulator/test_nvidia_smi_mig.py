# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`nvidia-smi mig` of the simulator: what it lists is what NVML tells, what it makes and destroys is in the state."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._observe.texts.nvidia_smi_list import read_smi_list
from ansible_collections.gpu.fleet.plugins.module_utils._observe.texts.nvidia_smi_mig import read_smi_mig
from ansible_collections.gpu.fleet.plugins.module_utils._observe.texts.nvidia_smi_query import read_smi_query
from ansible_collections.gpu.fleet.plugins.module_utils._observe.texts.nvidia_smi_table import read_smi_table
from ansible_collections.gpu.fleet.plugins.module_utils._observe.texts.nvidia_smi_xml import read_smi_xml
from simulator.sandbox import Sandbox

OLDER, NEWER = "570.172.08", "610.43.02"
CASES = [("a100x1", OLDER), ("h100x1", OLDER), ("h100x1", NEWER), ("hgx-b200", OLDER), ("hgx-b200", NEWER)]

PROFILES = """
def known(number):
    try:
        return nvmlDeviceGetGpuInstanceProfileInfo(gpu(), number, version=2)
    except NVMLError:
        return None

def row(info):
    return {
        "gpu": 0,
        "profile": info.name.removeprefix("MIG "),
        "id": info.id,
        "free": nvmlDeviceGetGpuInstanceRemainingCapacity(gpu(), info.id),
        "total": info.instanceCount,
        "memory_gib": round(info.memorySizeMB / 1024, 2),
        "p2p": bool(info.isP2pSupported),
        "multiprocessors": info.multiprocessorCount,
        "decoders": info.decoderCount,
        "encoders": info.encoderCount,
        "copy_engines": info.copyEngineCount,
        "jpeg": info.jpegCount,
        "ofa": info.ofaCount,
    }

def places(info):
    count = c_uint(16)
    found = (c_nvmlGpuInstancePlacement_t * 16)()
    nvmlDeviceGetGpuInstancePossiblePlacements(gpu(), info.id, found, byref(count))
    starts = sorted(place.start for place in found[:count.value])
    return {"gpu": 0, "id": info.id, "starts": starts, "size": found[0].size}

infos = [info for info in map(known, range(0x12)) if info]
result = [[row(info) for info in infos], [places(info) for info in infos]]
"""

MIG_DEVICES = """
def device(index):
    mig = nvmlDeviceGetMigDeviceHandleByIndex(gpu(), index)
    memory, attributes = nvmlDeviceGetMemoryInfo(mig), nvmlDeviceGetAttributes(mig)
    return {
        "index": index,
        "gi": nvmlDeviceGetGpuInstanceId(mig),
        "ci": nvmlDeviceGetComputeInstanceId(mig),
        "multiprocessors": attributes.multiprocessorCount,
        "memory_total_mib": memory.total // 2 ** 20,
        "memory_used_mib": memory.used // 2 ** 20,
        "uuid": nvmlDeviceGetUUID(mig),
    }

result = [device(index) for index in range(%d)]
"""


def _box(folder: Path, machine: str, driver: str, *commands: str) -> Sandbox:
    box = Sandbox(folder, machine, driver=driver)
    for command in ("-i 0 -pm 1", "-i 0 -mig 1", *commands):
        assert box.smi(*command.split()).returncode == 0
    return box


def _mig(box: Sandbox, arguments: str) -> dict[str, Any]:
    done = box.smi("mig", *arguments.split())
    assert (done.returncode, done.stderr) == (0, "")
    return read_smi_mig(done.stdout)


def _by_id(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (row["gpu"], row["id"]))


@pytest.mark.parametrize(("machine", "driver"), CASES)
def test_profiles_and_placements(tmp_path: Path, machine: str, driver: str) -> None:
    box = _box(tmp_path, machine, driver, "mig -i 0 -cgi 19")
    profiles, placements = box.nvml(PROFILES)
    assert _by_id(_mig(box, "-lgip -i 0")["profiles"]) == _by_id(profiles)
    listed = [{**row, "starts": sorted(row["starts"])} for row in _mig(box, "-lgipp -i 0")["placements"]]
    assert _by_id(listed) == _by_id(placements)


@pytest.mark.parametrize("driver", [OLDER, NEWER])
def test_instances_are_those_of_the_state(tmp_path: Path, driver: str) -> None:
    box = _box(tmp_path, "h100x1", driver, "mig -cgi 9,14,19 -C")
    instances = _mig(box, "-lgi")["instances"]
    found = {(row["id"], row["profile_id"], row["start"]) for row in instances}
    assert found == {(int(gi["id"]), int(gi["profile"]), int(gi["start"])) for gi in box.state.instances}
    assert {row["profile"] for row in instances} == {"3g.40gb", "2g.20gb", "1g.10gb"}
    computes = _mig(box, "-lci")["compute_instances"]
    assert {(row["gi"], row["id"], row["profile_id"], row["start"]) for row in computes} == {
        (int(ci["gi"]), int(ci["id"]), int(ci["profile"]), int(ci["start"])) for ci in box.state.compute
    }


@pytest.mark.parametrize("driver", [OLDER, "595.71.05", NEWER])
def test_mig_devices_in_every_form(tmp_path: Path, driver: str) -> None:
    box = _box(tmp_path, "h100x1", driver, "mig -cgi 9,14,19 -C")
    box.process(gpu=0, gi=int(box.state.instances[0]["id"]), ci=0)
    devices = box.nvml(MIG_DEVICES % 3)
    uuids = [device.pop("uuid") for device in devices]
    text, xml = read_smi_query(box.smi("-q").stdout)["gpus"][0], read_smi_xml(box.smi("-q", "-x").stdout)["gpus"][0]
    assert text["mig_devices"] == xml["mig_devices"] == devices
    assert text["processes"] == xml["processes"]
    assert [row["gi"] for row in text["processes"]] == [int(box.state.instances[0]["id"])]
    assert [row["uuid"] for row in read_smi_list(box.smi("-L").stdout)["gpus"][0]["mig"]] == uuids
    rows = read_smi_table(box.smi().stdout)["instances"]
    assert [{**row, "index": row["device"]} for row in rows] == [
        {**device, "gpu": 0, "device": device["index"]} for device in devices
    ]


@pytest.mark.parametrize(
    ("wish", "made"),
    [
        ("19", ["1g.10gb@6"]),
        ("1g.10gb", ["1g.10gb@6"]),
        ("MIG 1g.10gb", ["1g.10gb@6"]),
        ("1G.10GB", ["1g.10gb@6"]),
        ("19:3", ["1g.10gb@3"]),
        ("3g.40gb:4,19:0,14", ["1g.10gb@0", "2g.20gb@2", "3g.40gb@4"]),
        ("20,15", ["1g.10gb+me@6", "1g.20gb@4"]),
    ],
)
def test_instances_by_name_number_and_start(tmp_path: Path, wish: str, made: list[str]) -> None:
    box = _box(tmp_path, "h100x1", OLDER)
    done = box.smi("mig", "-cgi", wish)
    assert done.returncode == 0
    assert [row["verb"] for row in read_smi_mig(done.stdout)["done"]] == ["created"] * len(made)
    assert _mig(box, "-lgi")["layouts"] == {0: made}
    assert box.state.compute == []


def test_option_c_makes_the_default_compute_instance(tmp_path: Path) -> None:
    box = _box(tmp_path, "a100x1", OLDER)
    done = _mig(box, "-cgi 9 -C")["done"]
    assert [(row["what"], row["profile"], row["profile_id"]) for row in done] == [
        ("GPU", "3g.20gb", 9),
        ("compute", "3g.20gb", 2),
    ]


@pytest.mark.parametrize(
    ("wish", "made"),
    [
        ("", ["3g.40gb"]),
        ("0", ["1c.3g.40gb"]),
        ("2c.3g.40gb,1c.3g.40gb", ["2c.3g.40gb", "1c.3g.40gb"]),
        ("0,0,0", ["1c.3g.40gb"] * 3),
    ],
)
def test_compute_instances(tmp_path: Path, wish: str, made: list[str]) -> None:
    box = _box(tmp_path, "h100x1", OLDER, "mig -cgi 9")
    gi = box.state.instances[0]["id"]
    done = _mig(box, f"-cci {wish} -gi {gi}")["done"]
    assert [(row["gi"], row["id"], row["profile"]) for row in done] == [
        (int(gi), number, profile) for number, profile in enumerate(made)
    ]
    assert [row["profile"] for row in read_smi_list(box.smi("-L").stdout)["gpus"][0]["mig"]] == made


def test_compute_profiles_mark_the_default(tmp_path: Path) -> None:
    box = _box(tmp_path, "h100x1", OLDER, "mig -cgi 9")
    assert [(row["profile"], row["id"], row["free"]) for row in _mig(box, "-lcip")["compute_profiles"]] == [
        ("1c.3g.40gb", 0, 3),
        ("2c.3g.40gb", 1, 1),
        ("3g.40gb", 2, 1),
    ]
    assert re.findall(r"MIG (\S+) +[0-9]+\*", box.smi("mig", "-lcip").stdout) == ["3g.40gb"]


def test_destroying_takes_what_was_named(tmp_path: Path) -> None:
    box = _box(tmp_path, "h100x1", OLDER, "mig -cgi 14,14,14")
    box.smi("mig", "-cci")
    first, second, third = (int(gi["id"]) for gi in box.state.instances)
    assert [(row["verb"], row["gi"]) for row in _mig(box, f"-dci -gi {first},{third}")["done"]] == [
        ("destroyed", first),
        ("destroyed", third),
    ]
    assert [row["id"] for row in _mig(box, f"-dgi -gi {first},{third}")["done"]] == [first, third]
    assert [int(ci["gi"]) for ci in box.state.compute] == [second]
    assert [int(gi["id"]) for gi in box.state.instances] == [second]


def test_what_was_made_before_a_failure_stays(tmp_path: Path) -> None:
    box = _box(tmp_path, "a100x1", OLDER)
    done = box.smi("mig", "-cgi", "9,9,9", "-C")
    assert done.returncode == 23
    assert done.stdout.splitlines()[4:] == [
        "Unable to create a GPU instance on GPU  0 using profile 9: Insufficient Resources",
        "Failed to create GPU instances: Insufficient Resources",
    ]
    assert (len(box.state.instances), len(box.state.compute)) == (2, 2)


def test_gpus_without_mig_are_left_alone(tmp_path: Path) -> None:
    box = _box(tmp_path, "h100x2", OLDER)
    assert {row["gpu"] for row in _mig(box, "-cgi 19")["done"]} == {0}
    assert {row["gpu"] for row in _mig(box, "-lgip")["profiles"]} == {0, 1}


def test_tables_grew_by_two_columns_with_580(tmp_path: Path) -> None:
    widths = []
    for driver in (OLDER, "580.95.05"):
        box = _box(tmp_path / driver, "h100x1", driver, "mig -cgi 19")
        widths.append([len(box.smi("mig", option).stdout.splitlines()[0]) for option in ("-lgip", "-lgi")])
    assert widths == [[79, 57], [81, 59]]
