# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PCI devices of a simulated host as files of /sys/bus/pci/devices."""

from __future__ import annotations

import struct

from simulator.layout import SWITCH_CHIPS
from simulator.models import MODELS, Model
from simulator.state import Record, State

Files = dict[str, str | bytes]
NVIDIA = 0x10DE
BRIDGE_OTHER = 0x068000  # class of an NVSwitch
HOST_BRIDGE = "0000:00:00.0"
RESOURCE_LINES = 13
GONE = b"\xff" * 256  # configuration space of a device that does not answer
LINK_FILES = ("current_link_speed", "current_link_width")
# GT/s of a generation, as drivers/pci/probe.c writes them
SPEEDS = {1: "2.5", 2: "5.0", 3: "8.0", 4: "16.0", 5: "32.0", 6: "64.0"}
LANES = 16


def pci_files(state: State) -> Files:
    """Path below /sys/bus/pci/devices -> content: GPUs, NVSwitches, and one host bridge of another vendor."""
    devices = {HOST_BRIDGE: device_files(0x8086, 0x29C0, 0x060000, 0x11001AF4)}
    cpus = {row["node"]: row["cpus"] for row in state.nodes}
    health = {row["gpu"]: row for row in state.health}
    for gpu in state.gpus:
        model = MODELS[gpu["model"]]
        devices[gpu["bus"]] = {**_gpu(model, gpu, cpus), **_seen(model, gpu, health.get(gpu["minor"], {}))}
    devices |= {row["bus"]: _switch(row) for row in state.switches}
    return {f"{bus}/{name}": content for bus, files in devices.items() for name, content in files.items()}


def modalias(model: Model) -> str:
    """What the kernel would hand to modprobe for this board."""
    return _modalias(NVIDIA, model.device_id, model.pci_class, model.subsystem)


def _modalias(vendor: int, device: int, pci_class: int, subsystem: int) -> str:
    return (
        f"pci:v{vendor:08X}d{device:08X}sv{subsystem & 0xFFFF:08X}sd{subsystem >> 16:08X}"
        f"bc{pci_class >> 16:02X}sc{pci_class >> 8 & 0xFF:02X}i{pci_class & 0xFF:02X}"
    )


def device_files(vendor: int, device: int, pci_class: int, subsystem: int) -> Files:
    """What every PCI function has, at its place below /sys/bus/pci/devices."""
    return {
        "vendor": f"0x{vendor:04x}\n",
        "device": f"0x{device:04x}\n",
        "class": f"0x{pci_class:06x}\n",
        "revision": "0xa1\n",
        "subsystem_vendor": f"0x{subsystem & 0xFFFF:04x}\n",
        "subsystem_device": f"0x{subsystem >> 16:04x}\n",
        "modalias": f"{_modalias(vendor, device, pci_class, subsystem)}\n",
        "config": _configuration(vendor, device, pci_class, subsystem),
        "irq": "16\n",
        "numa_node": "-1\n",
        "local_cpulist": "0\n",
        "enable": "1\n",
        "driver_override": "(null)\n",
        "resource": "".join(f"0x{0:016x} 0x{0:016x} 0x{0:016x}\n" for _line in range(RESOURCE_LINES)),
    }


def _gpu(model: Model, gpu: Record, cpus: dict[str, str]) -> Files:
    bus, node = gpu["bus"], gpu.get("place", "0").split(".")[0]
    subsystem = int(gpu.get("subsystem", str(model.subsystem)), 0)
    files = device_files(NVIDIA, model.device_id, model.pci_class, subsystem)
    files.update(
        {
            "resource": _bars(model, int(bus.split(":")[1], 16)),
            "numa_node": f"{node}\n",
            "local_cpulist": f"{cpus.get(node, '0')}\n",
            "uevent": f"PCI_CLASS={model.pci_class:X}\nPCI_ID={NVIDIA:X}:{model.device_id:X}\nPCI_SLOT_NAME={bus}\n",
            "max_link_speed": _speed(model.pcie_generation),
            "max_link_width": f"{LANES}\n",
            "reset": "",
            "power/control": "auto\n",
            "power/runtime_status": "active\n",
        }
    )
    return files


def _seen(model: Model, gpu: Record, health: Record) -> Files:
    """What the bus tells now. Ones instead of an answer make a width of 63 (drivers/pci/pci-sysfs.c)."""
    if gpu["lost"] == "1":
        return {"config": GONE, **dict(zip(LINK_FILES, ("Unknown\n", "63\n"), strict=True))}
    speed = _speed(int(health.get("pcie_generation", model.pcie_generation)))
    return dict(zip(LINK_FILES, (speed, f"{health.get('pcie_width', LANES)}\n"), strict=True))


def _speed(generation: int) -> str:
    return f"{SPEEDS[generation]} GT/s PCIe\n" if generation in SPEEDS else "Unknown\n"


def _switch(row: Record) -> Files:
    chip = next(chip for chip in SWITCH_CHIPS.values() if chip.name == row["model"])
    uevent = f"PCI_CLASS={BRIDGE_OTHER:X}\nPCI_ID={NVIDIA:X}:{chip.device_id:X}\nPCI_SLOT_NAME={row['bus']}\n"
    return {**device_files(NVIDIA, chip.device_id, BRIDGE_OTHER, NVIDIA), "uevent": uevent, "reset": ""}


def _bars(model: Model, bus: int) -> str:
    base = 0x0000_2000_0000_0000 + (bus << 40)
    bars = {0: (0xA000_0000 + (bus << 24), 16 << 20, 0x40200), 1: (base, model.bar1_mib << 20, 0x14220C)}
    bars[3] = (base + (1 << 39), 32 << 20, 0x14220C)
    rows = [bars.get(number, (0, 0, 0)) for number in range(RESOURCE_LINES)]
    return "".join(_bar(*row) for row in rows)


def _bar(start: int, size: int, flags: int) -> str:
    end = start + size - 1 if size else 0
    return f"0x{start:016x} 0x{end:016x} 0x{flags:016x}\n"


def _configuration(vendor: int, device: int, pci_class: int, subsystem: int) -> bytes:
    """256 bytes of configuration space with one capability (power management at 0x60)."""
    space = bytearray(256)
    struct.pack_into("<HHHHI", space, 0, vendor, device, 0x0406, 0x0010, pci_class << 8 | 0xA1)
    struct.pack_into("<I", space, 0x2C, (subsystem & 0xFFFF) | (subsystem >> 16) << 16)
    space[0x34], space[0x60] = 0x60, 0x01
    return bytes(space)
