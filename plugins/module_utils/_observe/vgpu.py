# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads whether a host is a vGPU guest, from PCI configuration space. Private to this collection."""

from __future__ import annotations

from collections.abc import Iterable

from .files import HostRoot

CAPABILITIES_POINTER = 0x34
VENDOR_SPECIFIC = 0x09
WHOLE_SPACE = 256

# A vGPU shows a vendor-specific capability with this text (gpu-feature-discovery internal/vgpu).
SIGNATURE = b"VF"


def read_vgpu_present(host: HostRoot, addresses: Iterable[str]) -> bool | None:
    """Whether any of the GPUs is a vGPU; None where no configuration space can be read as a whole (root can)."""
    spaces = [host.data(f"/sys/bus/pci/devices/{a}/config") for a in addresses]
    whole = [s for s in spaces if s is not None and len(s) >= WHOLE_SPACE]
    return any(is_vgpu(s) for s in whole) if whole else None


def is_vgpu(space: bytes) -> bool:
    """Walks the list of capabilities: one byte id, one byte offset of the next, then the capability's own."""
    offset, seen = space[CAPABILITIES_POINTER], set()
    while offset and offset not in seen and offset + 5 <= len(space):
        seen.add(offset)
        if space[offset] == VENDOR_SPECIFIC and space[offset + 3 : offset + 5] == SIGNATURE:
            return True
        offset = space[offset + 1]
    return False
