# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""SXid errors of NVSwitches: what the kernel log and the fabric manager's log say of them.

Texts as recorded (leptonai/gpud, sxid and fabric-manager test data); NVIDIA's Fabric Manager user guide says in an
appendix what the numbers mean.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from simulator import fabric_manager, kernel_log
from simulator.place import Place
from simulator.state import State, read


@dataclass(frozen=True)
class Sxid:
    """`text` follows the link's number in the kernel log; `data`: what the line after it holds, if there is one."""

    number: int
    text: str
    fatal: bool
    data: str = ""


SXIDS = {
    row.number: row
    for row in (
        Sxid(12028, "egress non-posted PRIV error (First)", fatal=False),
        Sxid(20034, "LTSSM Fault Up", fatal=True, data="0x50610002, 0x10100030"),
        Sxid(22013, "Minion Link DLREQ interrupt", fatal=False, data="0x0000003c, 0x00000000"),
    )
}


def add_verbs(verbs: argparse._SubParsersAction[argparse.ArgumentParser], place: Place) -> None:
    """Adds `simhw sxid`."""
    known = "; ".join(f"{row.number} {row.text}" for row in SXIDS.values())
    sxid = verbs.add_parser("sxid", help="an error of an NVSwitch: kernel log and fabric manager's log", epilog=known)
    sxid.add_argument("switch", type=int, help="its number, from 0")
    sxid.add_argument("number", type=int)
    sxid.add_argument("--link", type=int, default=30)
    sxid.set_defaults(run=lambda options: report(place, options.switch, options.number, options.link))


def report(place: Place, switch: int, number: int, link: int) -> None:
    """Tells of the error. ValueError for an unknown switch or number."""
    state = read(place.state)
    kernel_log.write(place, kernel_lines(state, switch, number, link), level=kernel_log.ERROR)
    log = fabric_manager.LOG
    if log.exists():
        with log.open("a") as file:
            file.write(fabric_manager.log_line("ERROR", manager_text(state, switch, number, link)))


def kernel_lines(state: State, switch: int, number: int, link: int) -> str:
    """As the nvidia-nvswitch driver writes them."""
    row = _row(state, switch, number)
    head = f"nvidia-nvswitch{switch}: SXid (PCI:{state.switches[switch]['bus']}): {number},"
    lines = [f"{head} {'Fatal' if row.fatal else 'Non-fatal'}, Link {link} {row.text}"]
    lines += [f"{head} Data {{{row.data}}}"] if row.data else []
    return "\n".join(lines)


def manager_text(state: State, switch: int, number: int, link: int) -> str:
    """As the fabric manager writes it."""
    kind = "fatal" if _row(state, switch, number).fatal else "non-fatal"
    bus = f"{int(state.switches[switch]['bus'][:4], 16):08x}{state.switches[switch]['bus'][4:]}"
    place = f"on fid 0 on NVSwitch pci bus id {bus} physical id {switch} port {link}"
    return f"detected NVSwitch {kind} error {number} {place}"


def _row(state: State, switch: int, number: int) -> Sxid:
    if not 0 <= switch < len(state.switches):
        raise ValueError(f"NVSwitch {switch} is not there: this machine has {len(state.switches) or 'none'}")
    if number not in SXIDS:
        raise ValueError(f"SXid {number} is not known: choose one of {', '.join(map(str, SXIDS))}")
    return SXIDS[number]
