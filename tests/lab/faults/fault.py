# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fault that a lab host can be given, and what is written down of those that it has."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dev import machine

from ..host import Host

Words = Sequence[str]
UNTIL_BOOT, UNTIL_HEALED = "until it boots", "until it is healed"


@dataclass(frozen=True)
class Need:
    """What a host must have for a fault: a shell command that succeeds then, and what is said otherwise."""

    command: str
    missing: str


GPUS = Need(
    "test -x /usr/lib/simhw/simhw", "it has no simulated hardware: give it a GPU profile (`./dev lab profiles`)"
)
DRIVER = Need("test -e /sys/module/nvidia/version", "no NVIDIA driver is loaded there: run gpu.fleet.site first")
DPKG = Need("command -v apt-get", "it is no host with apt")
KUBELET = Need("systemctl cat kubelet.service", "it is no node of a cluster: start the lab without --no-cluster")


@dataclass(frozen=True)
class Fault:
    """`arguments` names the words that `cause` takes, the last ones of which may be left out for `defaults`.

    `summary`: what is wrong then. `look`: a command on the host, or beside it, that shows it. `cause` and `heal` get
    the host and all words. `lasts`: whether a boot alone ends it.
    """

    name: str
    summary: str
    look: str
    cause: Callable[[Host, Words], None]
    heal: Callable[[Host, Words], None]
    lasts: str = UNTIL_HEALED
    needs: tuple[Need, ...] = ()
    arguments: tuple[str, ...] = ()
    defaults: tuple[str, ...] = ()

    @property
    def usage(self) -> str:
        """Its name with its arguments, as in `slow-disk [MIB_A_SECOND=1]`."""
        first = len(self.arguments) - len(self.defaults)
        optional = [f"[{name}={value}]" for name, value in zip(self.arguments[first:], self.defaults, strict=True)]
        return " ".join([self.name, *self.arguments[:first], *optional])

    def words(self, given: Words) -> list[str]:
        """The words given, filled up from the defaults. machine.Unfit when there are too many or too few."""
        missing = len(self.arguments) - len(given)
        if missing < 0 or missing > len(self.defaults):
            wanted = " ".join(self.arguments) or "no argument"
            raise machine.Unfit(f"Fault {self.name} takes {wanted}, found {' '.join(given) or 'none'}")
        return [*given, *self.defaults[len(self.defaults) - missing :]] if missing else list(given)


def cause(host: Host, fault: Fault, given: Words = ()) -> list[str]:
    """Gives the host the fault; returns the words that it was caused with.

    machine.Unfit when the host is off, has the fault already, or lacks what the fault is about.
    """
    words = fault.words(given)
    if host.leader is None:
        raise machine.Unfit(f"Host {host.name} is off: `./dev lab heal {host.name}` boots it")
    if fault.name in present(host):
        raise machine.Unfit(f"Host {host.name} has fault {fault.name} already: `./dev lab heal {host.name}` ends it")
    for need in fault.needs:
        if not host.succeeds(need.command):
            raise machine.Unfit(f"Host {host.name} cannot have fault {fault.name}: {need.missing}")
    boot = boot_id(host)
    fault.cause(host, words)
    _write(host, {**_read(host), fault.name: {"words": words, "boot": boot if fault.lasts == UNTIL_BOOT else ""}})
    return words


def heal(host: Host, fault: Fault) -> None:
    """Ends the fault. machine.Unfit when the host does not have it."""
    words = present(host).get(fault.name)
    if words is None:
        raise machine.Unfit(f"Host {host.name} has no fault {fault.name}")
    fault.heal(host, words)
    _write(host, {name: row for name, row in _read(host).items() if name != fault.name})


def present(host: Host) -> dict[str, list[str]]:
    """Name of each fault that the host has -> the words that it was caused with."""
    rows = _read(host)
    boot = boot_id(host) if any(row["boot"] for row in rows.values()) else ""
    return {name: list(row["words"]) for name, row in rows.items() if row["boot"] in ("", boot)}


def forget(host: Host) -> None:
    """After its disk went back to a snapshot: no fault is left."""
    _write(host, {})


def boot_id(host: Host) -> str:
    """Differs for each boot of the host; empty while it is off."""
    return host.run(["cat", "/proc/sys/kernel/random/boot_id"]).strip() if host.leader is not None else ""


def _path(host: Host) -> Path:
    return host.folder / "faults.json"


def _read(host: Host) -> dict[str, dict[str, str | list[str]]]:
    path = _path(host)
    found: dict[str, dict[str, str | list[str]]] = json.loads(path.read_text()) if path.exists() else {}
    return found


def _write(host: Host, rows: dict[str, dict[str, str | list[str]]]) -> None:
    _path(host).write_text(json.dumps(rows) + "\n")
