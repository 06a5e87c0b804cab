# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which kernel modules the GPUs of a host take: open or proprietary. Private to this collection.

Rule: NVIDIA's installer 590.48.01 (misc.c, kernel.c, nvGpus.h), as data in _catalog/gpus.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .._catalog import branches, gpus
from .._catalog.branches import Branch
from .facts import PciFunction
from .model import Finding

AUTO, OPEN, PROPRIETARY = "auto", gpus.OPEN, gpus.PROPRIETARY
SOURCE = gpus.INSTALLER
NO_GPU = "no NVIDIA GPU on the PCI bus (/sys/bus/pci/devices)"


@dataclass(frozen=True)
class Flavour:
    """The decision; ``name`` is None where findings say why there is none."""

    name: str | None
    findings: tuple[Finding, ...] = ()


def gpus_of(functions: Iterable[PciFunction]) -> tuple[PciFunction, ...]:
    """The GPUs among PCI functions: NVIDIA's, of a display class. Audio, USB and NVSwitch functions are none."""
    return tuple(f for f in functions if f.vendor == gpus.NVIDIA and f.pci_class in gpus.GPU_CLASSES)


def name_of(gpu: PciFunction) -> str:
    """A GPU for messages: board or architecture, id and address."""
    device = int(gpu.device, 16)
    board, row = gpus.board_of(device), gpus.range_of(device)
    model = board.name if board else f"a {row.architecture} GPU" if row else "an unknown GPU"
    return f"{model} ({gpu.id}) at {gpu.address}"


def decide_flavour(found: Iterable[PciFunction], *, branch: Branch, wanted: str = AUTO) -> Flavour:
    """The flavour for all GPUs of one host with ``branch``; ``wanted`` is auto, open or proprietary."""
    devices = tuple(found)
    findings = [*_unknown(devices, wanted), *_too_old(devices, branch), *_too_new(devices, branch)]
    if any(f.severity == "error" for f in findings):
        return Flavour(None, tuple(findings))
    needs = {need: [g for g in devices if _flavours(g) == need] for need in (OPEN, PROPRIETARY)}
    choice = _choose(needs, branch, wanted)
    findings += [*_mixed(needs), *_impossible(needs, choice), *_not_shipped(branch, choice)]
    blocked = any(f.severity == "error" for f in findings)
    return Flavour(None if blocked else choice, tuple(findings))


def _flavours(gpu: PciFunction) -> str | None:
    row = gpus.range_of(int(gpu.device, 16))
    return row.flavours if row else None


def _choose(needs: dict[str, list[PciFunction]], branch: Branch, wanted: str) -> str:
    if wanted != AUTO:
        return wanted
    if needs[OPEN]:
        return OPEN
    if needs[PROPRIETARY] or branch.number < branches.OPEN_BY_DEFAULT_FROM:
        return PROPRIETARY
    return OPEN


def _unknown(devices: tuple[PciFunction, ...], wanted: str) -> list[Finding]:
    return [
        Finding(
            id="GPU-KRN-101",
            severity="error" if wanted == AUTO else "warning",
            summary=f"this release does not know the GPU {gpu.id} at {gpu.address}",
            wanted="a PCI device id of the catalog (plugins/module_utils/_catalog/gpus.py)",
            found=f"{gpu.id} of class {gpu.pci_class} in /sys/bus/pci/devices/{gpu.address}",
            remedy="set driver_flavour to open (every GPU since Turing) or proprietary, or update gpu.fleet",
            source=gpus.PCI_IDS,
        )
        for gpu in devices
        if gpus.range_of(int(gpu.device, 16)) is None
    ]


def _too_old(devices: tuple[PciFunction, ...], branch: Branch) -> list[Finding]:
    rows = ((gpu, gpus.range_of(int(gpu.device, 16))) for gpu in devices)
    return [
        Finding(
            id="GPU-KRN-024",
            severity="error",
            summary=f"driver branch {branch.number} does not drive {name_of(gpu)}",
            wanted=f"branch {row.last_branch} or older for {row.architecture}",
            found=f"driver_branch {branch.number}",
            remedy=f"set driver_branch to '{row.last_branch}' for this host",
            source=row.source,
        )
        for gpu, row in rows
        if row is not None and row.last_branch is not None and branch.number > row.last_branch
    ]


def _too_new(devices: tuple[PciFunction, ...], branch: Branch) -> list[Finding]:
    """GPUs that came after the branch. A branch that begins to drive them with a later release is none of these."""
    lowest = {gpu: gpus.first_branch(int(gpu.device, 16)) for gpu in devices}
    return [
        Finding(
            id="GPU-KRN-024",
            severity="error",
            summary=f"driver branch {branch.number} is older than {name_of(gpu)}",
            wanted=f"branch {first} or later",
            found=f"driver_branch {branch.number}",
            remedy=f"set driver_branch to '{first}' or a later one for this host",
            source=gpus.DRIVERS,
        )
        for gpu, first in lowest.items()
        if first is not None and branch.number < first
    ]


def _mixed(needs: dict[str, list[PciFunction]]) -> list[Finding]:
    if not (needs[OPEN] and needs[PROPRIETARY]):
        return []
    return [
        Finding(
            id="GPU-KRN-102",
            severity="error",
            summary="no kernel modules drive all GPUs of this host",
            wanted=f"open kernel modules for {name_of(needs[OPEN][0])}",
            found=f"{name_of(needs[PROPRIETARY][0])}, which only the proprietary ones drive",
            remedy="take one of the two kinds of GPU out of the host",
            source=SOURCE,
        )
    ]


def _impossible(needs: dict[str, list[PciFunction]], choice: str) -> list[Finding]:
    other = PROPRIETARY if choice == OPEN else OPEN
    if not needs[other] or needs[choice]:
        return []
    return [
        Finding(
            id="GPU-KRN-024",
            severity="error",
            summary=f"{name_of(gpu)} is not driven by the {choice} kernel modules",
            wanted=f"the {other} kernel modules",
            found=f"driver_flavour {choice}",
            remedy=f"set driver_flavour to {other} or auto",
            source=SOURCE,
        )
        for gpu in needs[other]
    ]


def _not_shipped(branch: Branch, choice: str) -> list[Finding]:
    has = branch.open if choice == OPEN else branch.proprietary
    if has:
        return []
    return [
        Finding(
            id="GPU-KRN-103",
            severity="warning" if has is None else "error",
            summary=f"branch {branch.number} {'may have' if has is None else 'has'} no {choice} kernel modules",
            wanted=f"the {choice} kernel modules",
            found=f"driver_branch {branch.number} ({branch.source})",
            remedy=f"set driver_branch to one of {_branches_with(choice)}",
            source=branch.source,
        )
    ]


def _branches_with(choice: str) -> str:
    rows = (b for b in branches.BRANCHES if (b.open if choice == OPEN else b.proprietary))
    return ", ".join(f"'{b.number}'" for b in rows)
