# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads PCI functions from sysfs. Private to this collection."""

from __future__ import annotations

from typing import Any

from .._plan.facts import PciFunction
from .files import HostRoot

DEVICES = "/sys/bus/pci/devices"
NETWORK_CLASSES = ("0200", "0207")


def read_pci(host: HostRoot, *, vendor: str | None = None) -> tuple[PciFunction, ...]:
    """All PCI functions in the order of their addresses; with ``vendor`` only those. Empty without a PCI bus."""
    found = (_read(host, address) for address in host.names(DEVICES))
    return tuple(f for f in found if f is not None and vendor in (None, f.vendor))


def read_adapters(host: HostRoot) -> list[dict[str, Any]]:
    """Ethernet and InfiniBand adapters, virtual functions left out; ``rdma`` has names such as mlx5_0."""
    found = [f for f in read_pci(host) if f.pci_class in NETWORK_CLASSES]
    return [_adapter(host, f) for f in found if host.link(f"{DEVICES}/{f.address}/physfn") is None]


def _adapter(host: HostRoot, function: PciFunction) -> dict[str, Any]:
    folder = f"{DEVICES}/{function.address}"
    return {
        "pci_address": function.address,
        "pci_id": function.id,
        "driver": function.driver,
        "interfaces": host.names(f"{folder}/net"),
        "rdma": host.names(f"{folder}/infiniband"),
    }


def _read(host: HostRoot, address: str) -> PciFunction | None:
    folder = f"{DEVICES}/{address}"
    vendor, device = _hex(host, f"{folder}/vendor"), _hex(host, f"{folder}/device")
    if not vendor or not device:
        return None
    subsystem = f"{_hex(host, f'{folder}/subsystem_vendor')}:{_hex(host, f'{folder}/subsystem_device')}"
    driver = host.link(f"{folder}/driver")
    return PciFunction(
        address=address,
        vendor=vendor,
        device=device,
        subsystem=subsystem if subsystem != ":" else "",
        pci_class=_hex(host, f"{folder}/class")[:4],
        driver=driver.rsplit("/", 1)[-1] if driver else None,
    )


def _hex(host: HostRoot, path: str) -> str:
    """sysfs writes 0x10de; the digits alone, in lower case, empty where the file is absent."""
    text = (host.line(path) or "").lower()
    return text[2:] if text.startswith("0x") else text
