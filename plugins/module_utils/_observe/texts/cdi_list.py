# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads ``nvidia-ctk cdi list``. Private to this collection."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from .messages import messages

DEVICE = re.compile(r"^\s*([a-zA-Z0-9][\w.-]{0,253}/[\w.-]{1,63})=([\w.:-]{1,200})\s*$")
FOUND = re.compile(r"Found ([0-9]{1,6}) CDI devices?")
# Forms of a device's name (device_name_strategies).
FORMS = (
    ("all", re.compile(r"all$")),
    ("uuid", re.compile(r"(?:GPU|MIG)-")),
    ("mig_index", re.compile(r"[0-9]+:[0-9]+$")),
    ("index", re.compile(r"[0-9]+$")),
    ("type_index", re.compile(r"(?:gpu|mig)[0-9]")),
)


def read_cdi_list(text: str) -> dict[str, Any]:
    """Devices in the order of the text.

    ``devices``: ``nvidia.com/gpu=0`` and so on; ``kinds``: vendor and class, each once; ``names``: forms of names that
    occur (index, uuid, mig_index, type_index, all, other); ``duplicates``: devices that stand twice, so that two specs
    define them. ``message_count``: the number in the message on standard error; ``message_line``: first (toolkit up to
    1.17), last (from 1.19), None where the streams were kept apart. ``messages``: other messages, mostly specs that
    could not be read.
    """
    devices, others = [], []
    said: tuple[int, str] | None = None
    for line in messages(text):
        device, count = DEVICE.match(line.text), FOUND.search(line.text)
        if device:
            devices.append("=".join(device.groups()))
        elif count:
            said = (int(count.group(1)), "last" if devices else "first")
        elif line.level is not None:
            others.append(line.text)
    return {
        "devices": devices,
        "kinds": list(dict.fromkeys(d.partition("=")[0] for d in devices)),
        "names": list(dict.fromkeys(_form(d.partition("=")[2]) for d in devices)),
        "duplicates": sorted(d for d, times in Counter(devices).items() if times > 1),
        "message_count": said[0] if said else None,
        "message_line": said[1] if said else None,
        "messages": others,
    }


def _form(name: str) -> str:
    return next((form for form, pattern in FORMS if pattern.match(name)), "other")
