# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How far two PCI devices are apart. Paths of the forms that a DGX A100, an HGX H100 and a plain server have."""

from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._plan.pci_topology import link_kind, pci_place

BRIDGE = "/sys/devices/pci0000:40"
SWITCH = f"{BRIDGE}/0000:40:01.1/0000:41:00.0"  # a root port, and the upstream port of a switch
GPU, NEIGHBOUR = f"{SWITCH}/0000:42:00.0/0000:43:00.0", f"{SWITCH}/0000:42:01.0/0000:44:00.0"
BEHIND = f"{SWITCH}/0000:42:02.0/0000:45:00.0/0000:46:00.0/0000:47:00.0"
PORT, FUNCTION = f"{BRIDGE}/0000:40:03.1/0000:61:00.0", f"{BRIDGE}/0000:40:03.1/0000:61:00.1"
ELSEWHERE = "/sys/devices/pci0000:c0/0000:c0:01.1/0000:c1:00.0"
VIRTUAL = "/sys/devices/LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00/VMBUS:00"
VM_GPU, VM_NIC = f"{VIRTUAL}/47505500-0001/pci0001:00/0001:00:00.0", f"{VIRTUAL}/47505500-0002/pci0002:00/0002:00:00.0"
NO_LINKS = "/sys/bus/pci/devices/0000:43:00.0"

# path and NUMA node of the one, of the other -> kind
PAIRS = {
    "one switch": ((GPU, 0), (NEIGHBOUR, 0), "PIX"),
    "two functions of a card": ((PORT, 0), (FUNCTION, 0), "PIX"),
    "a switch behind a switch": ((GPU, 0), (BEHIND, 0), "PXB"),
    "two root ports": ((GPU, 0), (PORT, 0), "PHB"),
    "two host bridges of a node": ((PORT, 1), (ELSEWHERE, 1), "NODE"),
    "two nodes": ((PORT, 0), (ELSEWHERE, 1), "SYS"),
    "a machine without NUMA": ((PORT, None), (ELSEWHERE, None), "NODE"),
    "domains of a virtual machine": ((VM_GPU, 0), (VM_NIC, 0), "NODE"),
    "no links in sysfs": ((NO_LINKS, 0), (PORT, 0), None),
    "itself": ((PORT, 0), (PORT, 0), "X"),
}


@pytest.mark.parametrize(("one", "other", "kind"), PAIRS.values(), ids=PAIRS)
def test_kind_of_two_places_is_the_same_from_both_sides(one, other, kind):
    places = pci_place(*one), pci_place(*other)
    assert [link_kind(*places), link_kind(*reversed(places))] == [kind, kind]
