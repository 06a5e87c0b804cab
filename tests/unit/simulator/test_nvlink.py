# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the GPUs of a simulated machine are joined: NVLink, switches, fabric, PCI tree. Seen by nvidia-ml-py."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simulator import damage
from simulator.driver import forget
from simulator.layout import COMPLETED, machine_state
from simulator.sandbox import Sandbox
from simulator.state import edit, read

NOT_SUPPORTED = {"code": 3}
INVALID_ARGUMENT = {"code": 2}
IN_USE = 19
FABRIC = "filled(nvmlDeviceGetGpuFabricInfoV, c_nvmlGpuFabricInfo_v3_t(), gpu({gpu}))"
MATRIX = "[[{call} if a != b else None for b in range(n)] for a in range(n)]"
ACTIVE = "[nvmlDeviceGetNvLinkState(gpu({gpu}), link) for link in range({count})]"


def machine(folder: Path, models: list[str], nvlink: str = "none", driver: str = "580.95.05") -> Sandbox:
    return Sandbox(folder, machine_state(models, "host", nvlink=nvlink), driver=driver)


def ask(box: Sandbox, *questions: str) -> list[Any]:
    with box.session() as session:
        session.ask("n = nvmlDeviceGetCount()")
        return [session.value(question) for question in questions]


@pytest.mark.parametrize(
    ("models", "nvlink", "links", "version", "speed", "kind", "remote"),
    [
        (["A100-40"] * 8, "switch", 12, 4, 25000, 2, "0000:C4:00.0"),
        (["H100-80"] * 8, "switch", 18, 6, 26562, 2, "0000:C4:00.0"),
        (["B200"] * 8, "switch", 18, 7, 53125, 2, "0000:00:00.0"),
        (["H100-NVL"] * 2, "pairs", 18, 6, 26562, 0, "0000:51:00.0"),
        (["V100-32"] * 4, "mesh", 6, 2, 25781, 0, "0000:51:00.0"),
    ],
)
def test_links_of_a_machine(
    tmp_path: Path, models: list[str], nvlink: str, links: int, version: int, speed: int, kind: int, remote: str
) -> None:
    box = machine(tmp_path, models, nvlink)
    field = "[f.value.uiVal for f in nvmlDeviceGetFieldValues(gpu(), [91, 90])]"
    found = ask(
        box,
        ACTIVE.format(gpu=0, count=links),
        f"nvmlDeviceGetNvLinkState(gpu(), {links})",
        "nvmlDeviceGetNvLinkVersion(gpu(), 0)",
        field,
        "nvmlDeviceGetNvLinkRemoteDeviceType(gpu(), 0)",
        "nvmlDeviceGetNvLinkRemotePciInfo(gpu(), 0).busIdLegacy",
        "[nvmlDeviceGetNvLinkCapability(gpu(), 0, c) for c in range(6)]",
    )
    assert found[:6] == [[1] * links, INVALID_ARGUMENT, version, [links, speed], kind, remote]
    assert found[6] == [1, 1, 1, 1, int(nvlink == "pairs"), 1]


def test_mesh_spreads_the_links(tmp_path: Path) -> None:
    box = machine(tmp_path, ["V100-32"] * 4, "mesh")
    remotes = "[nvmlDeviceGetNvLinkRemotePciInfo(gpu({i}), k).bus for k in range(6)]"
    rows = ask(box, *(remotes.format(i=index) for index in range(4)))
    buses = [0x41, 0x51, 0x61, 0x71]
    assert [sorted(row) for row in rows] == [sorted([bus for bus in buses if bus != own] * 2) for own in buses]


def test_link_that_is_down_is_down_at_both_ends(tmp_path: Path) -> None:
    box = machine(tmp_path, ["V100-32"] * 4, "mesh")
    with edit(box.state_path) as state:
        damage.set_link(state, 0, 4, down=True)  # the second link to GPU 2
    rows = ask(box, *(ACTIVE.format(gpu=index, count=6) for index in range(4)))
    assert [row.count(0) for row in rows] == [1, 0, 1, 0]
    assert rows[0][4] == 0
    status = "nvmlDeviceGetP2PStatus(gpu(0), gpu(2), 2)"
    assert ask(box, status) == [0]  # the other link still joins them


@pytest.mark.parametrize(
    ("models", "nvlink"), [(["A100-40"] * 2, "none"), (["T4"] * 2, "pairs"), (["A100-40"], "pairs")]
)
def test_boards_without_links(tmp_path: Path, models: list[str], nvlink: str) -> None:
    box = machine(tmp_path, models, nvlink)
    field = "[f.value.uiVal for f in nvmlDeviceGetFieldValues(gpu(), [91])]"
    assert ask(box, "nvmlDeviceGetNvLinkState(gpu(), 0)", field) == [NOT_SUPPORTED, [0]]


def test_no_link_in_mig_mode(tmp_path: Path) -> None:
    box = machine(tmp_path, ["H100-80"] * 2, "switch")
    box.nvml("result = nvmlDeviceSetMigMode(gpu(1), 1)")
    status = "nvmlDeviceGetP2PStatus(gpu(0), gpu(1), 2)"
    found = ask(box, "nvmlDeviceGetNvLinkState(gpu(1), 0)", "nvmlDeviceGetNvLinkState(gpu(0), 0)", status)
    assert found == [NOT_SUPPORTED, 1, 5]


def test_error_counters(tmp_path: Path) -> None:
    box = machine(tmp_path, ["H100-80"] * 2, "switch")
    with edit(box.state_path) as state:
        damage.set_link(state, 0, 3, crc=7, replay=5, recovery=2, ecc=1)
        damage.set_link(state, 0, 4, replay=1)
    counters = "[nvmlDeviceGetNvLinkErrorCounter(gpu(), 3, n) for n in range(5)]"
    fields = "[f.value.ullVal for f in nvmlDeviceGetFieldValues(gpu(), [38, 45, 52, 59, 160, 49, (161, 3)])]"
    assert ask(box, counters, fields, "nvmlDeviceGetNvLinkErrorCounter(gpu(), 3, 5)") == [
        [5, 2, 7, 7, 1],
        [7, 7, 6, 2, 1, 5, 5],
        INVALID_ARGUMENT,
    ]
    assert ask(box, "nvmlDeviceResetNvLinkErrorCounters(gpu(), 3)", counters) == [None, [0] * 5]


@pytest.mark.parametrize("link", [-1, 18])
def test_damage_to_a_link_that_is_not_there(tmp_path: Path, link: int) -> None:
    state = machine_state(["H100-80"] * 2, "host", nvlink="switch")
    with pytest.raises(ValueError, match="its links are 0 to 17"):
        damage.set_link(state, 0, link, down=True)


def test_topology_of_eight_gpus(tmp_path: Path) -> None:
    box = machine(tmp_path, ["L40S"] * 8)
    levels = MATRIX.format(call="nvmlDeviceGetTopologyCommonAncestor(gpu(a), gpu(b))")
    nearest = "[len(nvmlDeviceGetTopologyNearestGpus(gpu(), level)) for level in (0, 10, 20, 30, 40, 50)]"
    found = ask(box, levels, nearest, "nvmlDeviceGetTopologyNearestGpus(gpu(), 7)")
    assert found[0][0] == [None, 30, 40, 40, 50, 50, 50, 50]
    assert found[0] == [list(row) for row in zip(*found[0], strict=True)]
    assert found[1:] == [[0, 0, 0, 1, 2, 4], INVALID_ARGUMENT]


@pytest.mark.parametrize(
    ("places", "level"),
    [
        (("0.0.0.0", "0.0.0.0"), 10),
        (("0.0.0.0", "0.0.0.1"), 20),
        (("0.0.0.0", "0.0.1.0"), 30),
        (("0.0.0.0", "0.1.0.0"), 40),
        (("0.0.0.0", "1.0.0.0"), 50),
    ],
)
def test_common_ancestor_follows_the_place(tmp_path: Path, places: tuple[str, str], level: int) -> None:
    box = machine(tmp_path, ["L40S"] * 2)
    with edit(box.state_path) as state:
        for gpu, place in zip(state.gpus, places, strict=True):
            gpu["place"] = place
    assert ask(box, "nvmlDeviceGetTopologyCommonAncestor(gpu(0), gpu(1))") == [level]


@pytest.mark.parametrize(
    ("models", "nvlink", "pair", "statuses"),
    [
        (["H100-80"] * 2, "switch", (0, 1), [0, 0, 0, 0, 0]),
        (["L40S"] * 2, "none", (0, 1), [0, 0, 5, 5, 0]),
        (["L40S"] * 8, "none", (0, 7), [1, 1, 5, 5, 1]),  # across the sockets
        (["H100-NVL"] * 4, "pairs", (0, 1), [0, 0, 0, 0, 0]),
        (["H100-NVL"] * 4, "pairs", (0, 3), [1, 1, 5, 5, 1]),
    ],
)
def test_peer_to_peer(
    tmp_path: Path, models: list[str], nvlink: str, pair: tuple[int, int], statuses: list[int]
) -> None:
    box = machine(tmp_path, models, nvlink)
    call = f"[nvmlDeviceGetP2PStatus(gpu({pair[0]}), gpu({pair[1]}), k) for k in range(5)]"
    assert ask(box, call) == [statuses]


def test_affinity_is_that_of_the_socket(tmp_path: Path) -> None:
    box = machine(tmp_path, ["H100-80"] * 8)
    cpus, nodes = (
        "[hex(w) for w in nvmlDeviceGetCpuAffinity(gpu({i}), 2)]",
        "list(nvmlDeviceGetMemoryAffinity(gpu({i}), 1, 0))",
    )
    calls = [text.format(i=index) for index in (0, 7) for text in (cpus, nodes)]
    low, high = "0xffffffff", "0xffffffff00000000"
    assert ask(box, *calls) == [[low, low], [1], [high, high], [2]]
    node = (tmp_path / "sys/bus/pci/devices/0000:b1:00.0/numa_node").read_text()
    cpulist = (tmp_path / "sys/bus/pci/devices/0000:b1:00.0/local_cpulist").read_text()
    assert (node, cpulist) == ("1\n", "32-63,96-127\n")


def test_switches_are_pci_devices(tmp_path: Path) -> None:
    machine(tmp_path, ["A100-80"] * 8, "switch")
    found = {
        path.name: (path / "class").read_text()
        for path in (tmp_path / "sys/bus/pci/devices").iterdir()
        if (path / "device").read_text() == "0x1af1\n"
    }
    assert found == dict.fromkeys((f"0000:{bus:02x}:00.0" for bus in range(0xC4, 0xCA)), "0x068000\n")


@pytest.mark.parametrize(
    ("models", "nvlink", "state"),
    [(["H100-80"] * 2, "switch", 1), (["B200"] * 2, "switch", 1), (["H100-80"], "none", 0)],
)
def test_fabric_waits_for_the_fabric_manager(tmp_path: Path, models: list[str], nvlink: str, state: int) -> None:
    box = machine(tmp_path, models, nvlink)
    assert ask(box, f"{FABRIC.format(gpu=0)}.state") == [state]


def test_fabric_of_ampere_says_nothing(tmp_path: Path) -> None:
    box = machine(tmp_path, ["A100-80"] * 2, "switch")
    assert ask(box, FABRIC.format(gpu=0)) == [NOT_SUPPORTED]
    with edit(box.state_path) as state, pytest.raises(ValueError, match="only Hopper and later do"):
        damage.set_fabric(state, 0, {"state": "3"})


@contextlib.contextmanager
def fabric_manager_of(box: Sandbox) -> Iterator[None]:
    """Holds the switches, as fabric_manager.py does while it runs."""
    with box.state_path.with_name("state.fabric").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        yield


@pytest.mark.parametrize(
    ("models", "nvlink", "while_held"),
    [(["A100-80"] * 2, "switch", [False, IN_USE, 0]), (["A100-80"], "none", [True, 0, 1])],
)
def test_fabric_manager_keeps_gpus_of_a_fabric_from_reset(
    tmp_path: Path, models: list[str], nvlink: str, while_held: list[Any]
) -> None:
    """One reset by nvidia-smi, and the one that MIG mode needs on Ampere: only a card may have them alone."""
    box = machine(tmp_path, models, nvlink)
    change = "result = [nvmlDeviceSetMigMode(gpu(), 1), nvmlDeviceGetMigMode(gpu())[0]]"
    with fabric_manager_of(box):
        reset = box.smi("--gpu-reset", "-i", "0").returncode == 0
        assert [reset, *box.nvml(change)] == while_held
    assert box.nvml(change) == [0, 1]
    assert box.smi("--gpu-reset", "-i", "0").returncode == 0


def test_mig_mode_of_hopper_needs_no_reset(tmp_path: Path) -> None:
    box = machine(tmp_path, ["H100-80"] * 2, "switch")
    with fabric_manager_of(box):
        assert box.nvml("result = [nvmlDeviceSetMigMode(gpu(), 1), nvmlDeviceGetMigMode(gpu())[0]]") == [0, 1]
        assert box.smi("--gpu-reset", "-i", "0").returncode != 0


def test_fabric_of_a_rack(tmp_path: Path) -> None:
    box = machine(tmp_path, ["GB200"] * 4, "switch")
    cluster = "00112233-4455-6677-8899-aabbccddeeff"
    with edit(box.state_path) as state:
        damage.set_fabric(state, 1, {"state": str(COMPLETED), "clique": "32766", "cluster": cluster, "summary": "1"})
    found = ask(box, FABRIC.format(gpu=1), f"bytes({FABRIC.format(gpu=1)})[4:20].hex()")
    assert (found[0]["state"], found[0]["cliqueId"], found[0]["healthSummary"]) == (3, 32766, 1)
    assert found[1] == cluster.replace("-", "")
    with edit(box.state_path) as state:
        forget(state)
    assert read(box.state_path).fabrics[1]["state"] == "1"


def test_module_ids_count_from_one_on_a_baseboard(tmp_path: Path) -> None:
    boards = machine(tmp_path / "board", ["B200"] * 2, "switch")
    cards = machine(tmp_path / "cards", ["L40S"] * 2)
    call = "[nvmlDeviceGetModuleId(gpu(i)) for i in range(n)]"
    assert ask(boards, call) + ask(cards, call) == [[1, 2], [0, 0]]
