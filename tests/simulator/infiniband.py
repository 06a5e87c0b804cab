# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""InfiniBand adapters of a simulated host: PCI functions, /sys/class/infiniband, /dev/infiniband.

Forms as recorded from H100 nodes (leptonai/gpud, infiniband/class/testdata). Bridges are the ports through which an
NVLink 5 baseboard is managed: adapters with `SW_MNG` in their vital product data (NVIDIA Fabric Manager user guide).
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from simulator.files import link, write_tree
from simulator.pci import Files, device_files
from simulator.place import Place

MELLANOX, INFINIBAND = 0x15B3, 0x020700
MAJOR = 231  # infiniband in Documentation/admin-guide/devices.txt
UMAD, ISSM, UVERBS = 0, 64, 192  # first minors
# Bits of a port's capability mask (InfiniBand specification, PortInfo): IsSM, IsSMdisabled.
CAPABILITIES, SM_DISABLED = 0xA651E848, 1 << 10
ACTIVE, INITIALIZED = "4: ACTIVE", "2: INIT"


@dataclass(frozen=True)
class Kind:
    """An adapter: PCI id, type and board as the driver names them, firmware, rate of its port."""

    device_id: int
    hca_type: str
    board_id: str
    firmware: str
    rate: str


CONNECTX6 = Kind(0x101B, "MT4123", "MT_0000000223", "20.39.3004", "200 Gb/sec (4X HDR)")
CONNECTX7 = Kind(0x1021, "MT4129", "MT_0000000838", "28.41.1000", "400 Gb/sec (4X NDR)")
KINDS = {"connectx6": CONNECTX6, "connectx7": CONNECTX7}


@dataclass(frozen=True)
class Adapter:
    """`number` as in mlx5_<number>. `bridge`: it leads to NVLink switches; `manager`: it may run a subnet manager."""

    number: int
    kind: str
    bus: str
    guid: int
    bridge: bool = False
    manager: bool = True

    @property
    def name(self) -> str:
        return f"mlx5_{self.number}"


def adapters(kind: str, count: int, bridges: int, owner: int) -> list[Adapter]:
    """`count` adapters for the network, then `bridges`, every second of which may run a subnet manager."""
    first = 0x0011_2200_0000_0000 | owner << 8
    made = [Adapter(n, kind, f"0000:{0x18 + n:02x}:00.0", first | n) for n in range(count)]
    numbers = range(count, count + bridges)
    made += [Adapter(n, kind, f"0000:{0xD0 + n:02x}:00.0", first | n, True, n % 2 == 0) for n in numbers]
    return made


def save(place: Place, found: Sequence[Adapter]) -> None:
    """Writes down what is plugged in; before the machine boots."""
    place.adapters.parent.mkdir(parents=True, exist_ok=True)
    place.adapters.write_text(json.dumps([asdict(adapter) for adapter in found]) + "\n")


def load(place: Place) -> list[Adapter]:
    """What is plugged in."""
    return [Adapter(**row) for row in json.loads(place.adapters.read_text())] if place.adapters.exists() else []


def lay(place: Place, classes: Path) -> None:
    """Shows the adapters: on the PCI bus, below `classes` (/sys/class), and as device files."""
    for index, adapter in enumerate(load(place)):
        device = place.sys / "bus/pci/devices" / adapter.bus
        write_tree(device, _pci(adapter))
        link(device / "subsystem", "../..")
        link(device / "driver", "../../drivers/mlx5_core")
        (place.sys / "bus/pci/drivers/mlx5_core").mkdir(parents=True, exist_ok=True)
        node = classes / "infiniband" / adapter.name
        write_tree(node, port_files(adapter))
        link(node / "device", str(Path("/sys/bus/pci/devices") / adapter.bus))
        (device / "infiniband" / adapter.name).mkdir(parents=True)
        _management(classes / "infiniband_mad", adapter, index)
        _nodes(place.root / "dev/infiniband", index)


def set_state(place: Place, adapter: Adapter, state: str) -> None:
    """The port's logical state, as a subnet manager changes it."""
    (place.sys / "class/infiniband" / adapter.name / "ports/1/state").write_text(f"{state}\n")


def port_files(adapter: Adapter) -> dict[str, str]:
    """Below /sys/class/infiniband/<name>. A bridge is not active before a subnet manager runs."""
    kind, port = KINDS[adapter.kind], "ports/1"
    mask = CAPABILITIES if adapter.manager else CAPABILITIES | SM_DISABLED
    texts = {
        "board_id": kind.board_id,
        "fw_ver": kind.firmware,
        "hca_type": kind.hca_type,
        "hw_rev": "0",
        "node_desc": f"{adapter.name}",
        "node_guid": guid(adapter.guid),
        "sys_image_guid": guid(adapter.guid),
        "node_type": "1: CA",
        f"{port}/cap_mask": f"0x{mask:08x}",
        f"{port}/lid": "0x0" if adapter.bridge else f"0x{adapter.number + 1:x}",
        f"{port}/lid_mask_count": "0",
        f"{port}/link_layer": "InfiniBand",
        f"{port}/phys_state": "5: LinkUp",
        f"{port}/rate": kind.rate,
        f"{port}/sm_lid": "0x0" if adapter.bridge else "0x1",
        f"{port}/sm_sl": "0",
        f"{port}/state": INITIALIZED if adapter.bridge else ACTIVE,
        f"{port}/gids/0": f"fe80:0000:0000:0000:{guid(adapter.guid)}",
    }
    return {name: f"{text}\n" for name, text in texts.items()}


def guid(number: int) -> str:
    """As sysfs shows it: 0011:2200:0000:0001."""
    text = f"{number:016x}"
    return ":".join(text[at : at + 4] for at in range(0, 16, 4))


def _pci(adapter: Adapter) -> Files:
    kind = KINDS[adapter.kind]
    uevent = f"DRIVER=mlx5_core\nPCI_CLASS={INFINIBAND:X}\nPCI_ID={MELLANOX:X}:{kind.device_id:X}\n"
    words = b"NVIDIA ConnectX-7 adapter" if kind is CONNECTX7 else b"ConnectX-6 adapter"
    vendor = b"SW_MNG" if adapter.bridge else b"N/A"
    files = device_files(MELLANOX, kind.device_id, INFINIBAND, 0x0001_0000 | MELLANOX)
    return {**files, "uevent": f"{uevent}PCI_SLOT_NAME={adapter.bus}\n", "vpd": vital_product_data(words, vendor)}


def vital_product_data(name: bytes, vendor: bytes) -> bytes:
    """Identifier, then the read-only area with vendor field V3 (PCI Local Bus Specification 3.0, appendix I)."""
    fields = b"V3" + bytes([len(vendor)]) + vendor + b"RV\x01\x00"
    return (
        b"\x82"
        + len(name).to_bytes(2, "little")
        + name
        + b"\x90"
        + len(fields).to_bytes(2, "little")
        + fields
        + b"\x78"
    )


def _management(folder: Path, adapter: Adapter, index: int) -> None:
    write_tree(folder, {"abi_version": "5\n"})
    for name, first in ((f"umad{index}", UMAD), (f"issm{index}", ISSM)):
        write_tree(folder / name, {"ibdev": f"{adapter.name}\n", "port": "1\n", "dev": f"{MAJOR}:{first + index}\n"})


def _nodes(folder: Path, index: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, first in ((f"umad{index}", UMAD), (f"issm{index}", ISSM), (f"uverbs{index}", UVERBS)):
        os.mknod(folder / name, stat.S_IFCHR | 0o600, os.makedev(MAJOR, first + index))
