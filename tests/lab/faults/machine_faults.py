# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of the machine itself: power, network, disk, clock."""

from __future__ import annotations

import os

from dev import machine

from .. import cgroups, keeper
from ..host import Host
from .fault import Words

BALLAST = "/var/lib/lab/ballast"
# The last bytes, too: fallocate rounds down, and leaves what the file system needs for itself.
FILL = f"""
fallocate -l $(df --output=avail --block-size=1 / | tail -1) {BALLAST} || true
cat /dev/zero >> {BALLAST} 2>/dev/null || true
sync {BALLAST}
"""
CLOCK = "/run/simhw/clock"  # seconds that programs see in addition to the machine's time


def cut_power(host: Host, _words: Words) -> None:
    host.power_cut()


def give_power(host: Host, _words: Words) -> None:
    host.power_on()
    host.wait()


def cut_network(host: Host, _words: Words) -> None:
    """Pulls the cable: the interface stays and loses its carrier."""
    host.lab.run(["ip", "link", "set", _interface(host), "down"])


def mend_network(host: Host, _words: Words) -> None:
    host.lab.run(["ip", "link", "set", _interface(host), "up"])


def fill_disk(host: Host, _words: Words) -> None:
    if not host.disk.is_own:
        raise machine.Unfit(
            f"The disk of {host.name} is a folder of this machine's, which must not become full: there is no "
            "/dev/loop-control here"
        )
    host.shell(FILL)


def empty_disk(host: Host, _words: Words) -> None:
    host.run(["rm", "-f", BALLAST])


def slow_disk(host: Host, words: Words) -> None:
    """Lets the kernel keep the host to so many MiB a second."""
    _throttle(host, _number(words[0], "MIB_A_SECOND") << 20)
    host.disk.is_slow.touch()


def quick_disk(host: Host, _words: Words) -> None:
    _throttle(host, 0)
    host.disk.is_slow.unlink(missing_ok=True)


def jump_clock(host: Host, words: Words) -> None:
    host.shell(f"echo {_number(words[0], 'SECONDS')} > {CLOCK}.new; mv {CLOCK}.new {CLOCK}")


def set_clock_right(host: Host, _words: Words) -> None:
    host.run(["rm", "-f", CLOCK])


def _interface(host: Host) -> str:
    """The host's end of its cable: nspawn names it vb-<machine>, cut to what an interface name may have."""
    listed = host.lab.output(["ls", f"/sys/class/net/{keeper.BRIDGE}/brif"]).split()
    found = [name for name in listed if f"vb-{host.machine}".startswith(name) or name == f"vb-{host.machine}"]
    if len(found) != 1:
        raise LookupError(f"The cable of {host.name} is not at {keeper.BRIDGE}, which has {', '.join(listed)}")
    return found[0]


def _throttle(host: Host, rate: int) -> None:
    """Sets bytes a second for reads and writes of the host's processes on its disk; 0 ends it.

    cgroup v1: blkio.throttle.*; v2: io.max (Documentation/admin-guide/cgroup-v1/blkio-controller.rst, cgroup-v2.rst).
    """
    if not host.disk.is_own:
        raise machine.Unfit(
            f"The disk of {host.name} is a folder of this machine's: there is no /dev/loop-control here"
        )
    number = host.lab.path(host.disk.mount).stat().st_dev
    device = f"{os.major(number)}:{os.minor(number)}"
    joint = [h.controllers for h in cgroups.hierarchies() if cgroups.BLOCK in h.controllers.split(",")]
    if joint:
        folder = keeper.CGROUP1 / joint[0] / host.machine
        lines = [f"echo {device} {rate} > {folder}/blkio.throttle.{way}_bps_device" for way in ("read", "write")]
    else:
        value = rate or "max"
        lines = [f"echo {device} rbps={value} wbps={value} > {keeper.CGROUP2}/{host.machine}/io.max"]
    host.lab.run(["sh", "-euc", "\n".join(lines)])


def _number(word: str, name: str) -> int:
    try:
        return int(word)
    except ValueError:
        raise machine.Unfit(f"{name} is a whole number, found {word!r}") from None
