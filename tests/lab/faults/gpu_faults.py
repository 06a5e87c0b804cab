# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of GPUs and of their driver."""

from __future__ import annotations

from .. import workload
from ..host import Host
from .fault import Words

SIMHW = "/usr/lib/simhw/simhw"
# The loader takes the library of the highest version, whatever the loaded module is: as after an upgrade.
OTHER_VERSION = "999.99.99"
MISMATCH = f"""
link=$(ldconfig -p | sed -n 's/.*libnvidia-ml.so.1 .*x86-64.* => //p' | head -1)
cp "$(readlink -f "$link")" "$(dirname "$link")/libnvidia-ml.so.{OTHER_VERSION}"
ln -sfn libnvidia-ml.so.{OTHER_VERSION} "$link"
"""
MATCH = f"""
for other in $(find /usr/lib /usr/lib64 -name libnvidia-ml.so.{OTHER_VERSION}); do rm "$other"; done
ldconfig
"""


def lose_gpu(host: Host, words: Words) -> None:
    host.run([SIMHW, "lost", words[0]])


def raise_xid(host: Host, words: Words) -> None:
    number, gpu = words
    host.run([SIMHW, "xid", gpu, number])


def count_errors(host: Host, words: Words) -> None:
    count, gpu = words
    host.run([SIMHW, "ecc", gpu, "uncorrected", count])


def throttle(host: Host, words: Words) -> None:
    reason, gpu = words
    host.run([SIMHW, "throttle", gpu, reason])


def cut_link(host: Host, words: Words) -> None:
    link, gpu = words
    host.run([SIMHW, "link", gpu, link, "down"])


def report_sxid(host: Host, words: Words) -> None:
    number, switch = words
    host.run([SIMHW, "sxid", switch, number])


def forget_sxid(_host: Host, _words: Words) -> None:
    """What a log says stays; there is nothing to mend."""


def heal_last(host: Host, words: Words) -> None:
    """The GPU that the last word names is as new."""
    host.run([SIMHW, "heal", words[-1]])


def hold_gpu(host: Host, words: Words) -> None:
    workload.start(host, int(words[0]))


def release_gpu(host: Host, words: Words) -> None:
    workload.stop(host, int(words[0]))


def fail_nvml(host: Host, words: Words) -> None:
    code, function = words
    host.run([SIMHW, "fault", function, code])


def mend_nvml(host: Host, _words: Words) -> None:
    host.run([SIMHW, "fault", "clear"])


def mismatch(host: Host, _words: Words) -> None:
    host.shell(MISMATCH)


def match(host: Host, _words: Words) -> None:
    host.shell(MATCH)
