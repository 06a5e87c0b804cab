# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads loaded kernel modules: /proc/modules, lsmod, and what rmmod says about modules in use.

Private to this collection. Sources: proc_modules(5), lsmod(8), tinygrad/open-gpu-kernel-modules#20, gdrcopy#205.
"""

from __future__ import annotations

import re
from typing import Any

# name size references users state address (taints); lsmod has no more than the users.
ROW = re.compile(
    r"^(?P<name>[\w-]+)\s+(?P<size>\d+)\s+(?P<references>-?\d+)(?:\s+(?P<users>[\w,\[\]-]+))?"
    r"(?:\s+(?P<state>Live|Loading|Unloading)\s+(?P<address>0x[0-9a-f]+)(?:\s+\((?P<taints>[A-Z+-]+)\))?)?\s*$"
)
# The driver's modules under all names, new and old.
DRIVER = re.compile(r"(nvidia(_\w+)?|nv_peer_mem|gdrdrv)$")
PEERMEM = ("nvidia_peermem", "nv_peer_mem")
IN_USE = re.compile(r"Module (?P<name>[\w-]+) is in use(?: by:? (?P<by>[\w ,-]+))?")


def read_module_list(text: str) -> dict[str, Any]:
    """Loaded modules.

    ``modules``: name -> ``size``, ``references``, ``users`` (modules), and of /proc/modules ``state``, ``address``,
    ``taints`` (None in lsmod). ``loaded``: names of the driver's modules; ``others``: the rest. ``nvidia_refcnt``
    counts processes too: above ``holders`` (modules that use nvidia) processes hold the device. ``taint``: of nvidia,
    ``PO``; ``unsigned``: it has an E, None where the text has no taints. ``addresses_hidden``: the reader was not root.
    ``peermem``: its name, which was nv_peer_mem before 470, None when not loaded.
    """
    modules = {found["name"]: _row(found) for found in map(ROW.match, text.splitlines()) if found}
    nvidia = modules.get("nvidia", {})
    addresses = [row["address"] for row in modules.values() if row["address"]]
    taints = any(row["taints"] for row in modules.values())
    # A list that was searched for one name still names the users of its modules.
    named = {*modules, *(user for row in modules.values() for user in row["users"])}
    return {
        "modules": modules,
        "loaded": [name for name in modules if DRIVER.match(name)],
        "others": [name for name in modules if not DRIVER.match(name)],
        "nvidia_refcnt": nvidia.get("references"),
        "holders": nvidia.get("users", []),
        "taint": nvidia.get("taints"),
        "unsigned": "E" in (nvidia["taints"] or "") if nvidia and taints else None,
        "addresses_hidden": all(int(a, 16) == 0 for a in addresses) if addresses else None,
        "peermem": next((name for name in PEERMEM if name in named), None),
    }


def _row(found: re.Match[str]) -> dict[str, Any]:
    """Users end with a comma in /proc/modules, and are a dash for none."""
    users = [u for u in (found["users"] or "").split(",") if u not in ("", "-")]
    numbers = {"size": int(found["size"]), "references": int(found["references"])}
    return {**numbers, "users": users, **{f: found[f] for f in ("state", "address", "taints")}}


def read_modules_in_use(text: str) -> dict[str, Any]:
    """What rmmod or modprobe -r refused.

    ``in_use``: the modules; ``used_by``: module -> modules that use it; ``holder_modules``: all of those.
    ``holder_process_needed_for``: modules that no module uses, so that a process holds them.
    """
    used_by = {found["name"]: re.split(r"[ ,]+", (found["by"] or "").strip()) for found in IN_USE.finditer(text)}
    used_by = {name: [u for u in users if u] for name, users in used_by.items()}
    return {
        "in_use": list(used_by),
        "used_by": used_by,
        "holder_modules": list(dict.fromkeys(u for users in used_by.values() for u in users)),
        "holder_process_needed_for": [name for name, users in used_by.items() if not users],
    }
