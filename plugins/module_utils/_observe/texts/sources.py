# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the reader for a recorded text by the command or path that it came from. Private to this collection.

A new kind of text is one row in SOURCES.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .dkms import read_dkms_status
from .kernel_log import read_kernel_log
from .modinfo import read_modinfo
from .plain import plain

Found = dict[str, Any]
RC = re.compile(r"\brc (\d+)\b")


@dataclass(frozen=True)
class Source:
    """One kind of text.

    ``pattern`` is searched in the command or path as an administrator writes it; ``read`` gets the text and that
    command, which can say what the text does not (the packages that were asked for, the option line).
    """

    kind: str
    pattern: str
    read: Callable[[str, str], Found]


def _text(read: Callable[[str], Found]) -> Callable[[str, str], Found]:
    """A reader that needs the text alone."""
    return lambda text, _source: read(text)


# The first row whose pattern is found counts.
SOURCES = (
    # Kernel, packages, firmware.
    Source("dkms_status", r"\bdkms status\b", _text(read_dkms_status)),
    Source("modinfo", r"\bmodinfo\b", _text(read_modinfo)),
    # Logs of the whole host come last: a text of a tool may have one behind it.
    Source(
        "kernel_log",
        r"\b(dmesg|syslog|insmod|modprobe|nvidia-persistenced)\b|/dev/kmsg|journalctl -k|/var/log/(messages|kern\.log)",
        read_kernel_log,
    ),
    # GPU tools, fabric, containers, cluster.
)


def read_output(source: str, text: str) -> Found:
    """What ``text`` says, which ``source`` printed or holds: ``{"kind": ..., ...}``, further keys as the reader says.

    ``source``: ``dkms status``, ``/proc/driver/nvidia/version``, ``apt-get install nvidia-open (rc 100)`` ... An exit
    status in it becomes ``rc``. Any text is read, also a cut or empty one. Raises ValueError for an unknown source.
    """
    found = next((s for s in SOURCES if re.search(s.pattern, source)), None)
    if found is None:
        raise ValueError(f"no reader for texts of {source!r}")
    status = RC.search(source)
    told = {"rc": int(status.group(1))} if status else {}
    return {"kind": found.kind, **told, **found.read(plain(text), source)}
