# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What happens to a GPU at one moment: the kernel log tells it, NVML reports it as events, and its state shows it."""

from __future__ import annotations

import os
import time

from simulator import damage, kernel_log
from simulator.files import write_tree
from simulator.models import MODELS
from simulator.pci import LINK_FILES, pci_files
from simulator.place import Place
from simulator.state import State, edit, read
from simulator.xids import RECOVERY_NAMES, XID_EVENT, XIDS, Xid

UNKNOWN = "'<unknown>'"
PAGE = 0xF99FF


def xid(
    place: Place,
    minor: int,
    number: int,
    *,
    text: str = "",
    pid: int | None = None,
    process: str = "",
    link: int = 0,
    recovery: int | None = None,
) -> None:
    """An Xid error. `text` stands for the usual one, and has to be given for a number that xids.py does not have.

    ValueError for an unknown GPU, number or link.
    """
    row = XIDS.get(number, Xid(number, "", text))
    if not row.text:
        known = ", ".join(map(str, sorted(XIDS)))
        raise ValueError(f"Xid {number} has no usual text: give one, or choose one of {known}")
    with edit(place.state) as state:
        old = damage.health(state, minor, "recovery_action") or 0
        new = row.recovery if recovery is None else recovery
        said = text or _text(state, minor, row, link=link, old=old, new=new)
        _show(state, minor, row, link=link, recovery=new)
        bus = damage.find_gpu(state, minor)["bus"]
    kernel_log.write(place, xid_line(bus, number, said, pid, process), level=kernel_log.ERROR)
    for kind, data in ((XID_EVENT, number), *((other, 0) for other in row.events)):
        raise_event(place, minor, kind, data)
    show_bus(place, minor)


def xid_line(bus: str, number: int, text: str, pid: int | None = None, process: str = "") -> str:
    """`NVRM: Xid (PCI:0000:41:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.`"""
    who = UNKNOWN if pid is None else str(pid)
    return f"NVRM: Xid (PCI:{bus.rpartition('.')[0]}): {number}, pid={who}, name={process or '<unknown>'}, {text}"


def lose(place: Place, minor: int, *, log: str = "xid") -> None:
    """It falls off the bus. `log`: `xid` (79), `plain` (the driver's three lines without an Xid) or `none`."""
    if log == "xid":
        xid(place, minor, 79)
        return
    with edit(place.state) as state:
        damage.lose(state, minor)
        gpu = damage.find_gpu(state, minor)
    if log == "plain":
        device = MODELS[gpu["model"]].device_id
        lines = (
            f"NVRM: The NVIDIA GPU {gpu['bus']}",
            f"NVRM: (PCI ID: 10de:{device:04x}) installed in this system has",
            "NVRM: fallen off the bus and is not responding to commands.",
        )
        kernel_log.write(place, "\n".join(lines), level=kernel_log.ERROR)
    show_bus(place, minor)


def heal(place: Place, minor: int | None = None) -> None:
    """One GPU, or all of them and every fault of NVML, are as new."""
    with edit(place.state) as state:
        minors = [int(gpu["minor"]) for gpu in state.gpus] if minor is None else [minor]
        for number in minors:
            damage.heal(state, number)
        if minor is None:
            state.faults.clear()
    for number in minors:
        show_bus(place, number)


def show_bus(place: Place, minor: int) -> None:
    """sysfs and lspci (`rev ff` of a GPU that does not answer) tell what the bus tells now."""
    state = read(place.state)
    bus = damage.find_gpu(state, minor)["bus"]
    folder = place.sys / "bus/pci/devices" / bus
    if folder.exists():
        files = pci_files(state)
        write_tree(folder, {name: files[f"{bus}/{name}"] for name in ("config", *LINK_FILES)})


def raise_event(place: Place, minor: int, kind: int, data: int) -> None:
    """NVML's event sets get it: one line of the file beside the state, as nvml/event.c reads it."""
    path = place.state.with_name(f"{place.state.name}.events")
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        os.write(handle, f"gpu={minor} type={kind} data={data} gi=- ci=-\n".encode())
    finally:
        os.close(handle)


def _text(state: State, minor: int, row: Xid, *, link: int, old: int, new: int) -> str:
    index = sorted(state.gpus, key=lambda gpu: gpu["bus"]).index(damage.find_gpu(state, minor))
    names = {"old_name": RECOVERY_NAMES[old], "new_name": RECOVERY_NAMES[new]}
    older = bool(row.older) and not damage.model_of(state, minor).row_banks
    return (row.older if older else row.text).format(link=link, index=index, page=PAGE, old=old, new=new, **names)


def _show(state: State, minor: int, row: Xid, *, link: int, recovery: int) -> None:
    model = damage.model_of(state, minor)
    damage.set_health(state, minor, {key: value for key, value in row.health.items() if _has(model.row_banks, key)})
    for key in row.counts:
        if _has(model.row_banks, key):
            damage.raise_health(state, minor, key)
    if row.number == 63 and not model.row_banks:
        damage.retire_page(state, minor, cause=damage.PAGE_CAUSES["double_bit"], address=PAGE, time=int(time.time()))
    if row.ecc and model.ecc:
        damage.add_ecc(state, minor, location=row.ecc[0], uncorrected=row.ecc[1])
    if row.downs_link:
        damage.set_link(state, minor, link, down=True)
    if row.loses_gpu:
        damage.lose(state, minor)
    if recovery:
        damage.set_health(state, minor, {"recovery_action": recovery})


def _has(row_banks: int, key: str) -> bool:
    """Boards remap rows or retire pages, never both."""
    if key == "retired_pending":
        return not row_banks
    return bool(row_banks) or not key.startswith("remap")
