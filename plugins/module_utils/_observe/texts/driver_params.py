# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads /proc/driver/nvidia/params, and the option lines that asked for it. Private to this collection.

Sources: open-gpu-kernel-modules nv-procfs.c (%u of each NVreg_ option, then strings in quotes);
nvidia-container-toolkit#86; ventureoo/nvidia-tweaks#9.
"""

from __future__ import annotations

import re
from typing import Any

PARAMETER = re.compile(r"^(?P<name>[A-Za-z]\w*):[ \t]*(?P<value>\"[^\"\n]*\"?|\d+)\s*$", re.MULTILINE)
# An option line of modprobe.d, or a word of the kernel command line.
OPTION = re.compile(r"NVreg_(?P<name>\w+)=(?P<value>\"[^\"]*\"|[^\s)]*)")
# -1 as the kernel prints an unsigned number.
UNSET = 4294967295


def read_driver_params(text: str, source: str = "") -> dict[str, Any]:
    """What the loaded module took, which need not be what modprobe.d asks for.

    ``parameters``: name without NVreg_ -> number (None: not set), or text without its quotes. ``unset``: the names that
    are not set. ``modify_device_files``, and ``device_file_mode`` in octal (0666), None where absent.
    ``registry_dwords``: key -> value of RegistryDwords; ``effective_keys``: its keys.

    ``wanted``: the NVreg_ options of an option line in ``source``. ``wanted_keys_lost``: RegistryDwords has not all of
    the keys that the line has; ``ignored``: options that this driver does not know. None where ``source`` has no such
    line.
    """
    parameters = {found["name"]: _value(found["value"]) for found in PARAMETER.finditer(text)}
    keys = _dwords(parameters.get("RegistryDwords"))
    mode = parameters.get("DeviceFileMode")
    return {
        "parameters": parameters,
        "unset": [name for name, value in parameters.items() if value is None],
        "modify_device_files": parameters.get("ModifyDeviceFiles"),
        "device_file_mode": f"{mode:04o}" if isinstance(mode, int) else None,
        "registry_dwords": keys,
        "effective_keys": list(keys),
        **_compared(parameters, keys, source),
    }


def _value(text: str) -> int | str | None:
    if text.startswith('"'):
        return text.strip('"')
    return None if int(text) == UNSET else int(text)


def _dwords(text: object) -> dict[str, str]:
    """``key=value;key=value``, with commas in some guides."""
    parts = (part.partition("=") for part in re.split(r"[;,]", text) if part.strip()) if isinstance(text, str) else ()
    return {key.strip(): value.strip() for key, _equals, value in parts}


def _compared(parameters: dict[str, Any], keys: dict[str, str], source: str) -> dict[str, Any]:
    wanted = {found["name"]: found["value"].strip('"') for found in OPTION.finditer(source)}
    if not wanted:
        return {"wanted": None, "wanted_keys_lost": None, "ignored": None}
    asked = _dwords(wanted.get("RegistryDwords"))
    return {
        "wanted": wanted,
        "wanted_keys_lost": bool(set(asked) - set(keys)),
        "ignored": [name for name in wanted if name not in parameters],
    }
