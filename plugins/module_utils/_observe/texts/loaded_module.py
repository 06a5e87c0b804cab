# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the one-value files of /sys/module/<name>/ of a loaded kernel module. Private to this collection.

Source: kernel ABI sysfs-module; open-gpu-kernel-modules (MODULE_VERSION).
"""

from __future__ import annotations

import re
from typing import Any

from .plain import number

PATH = re.compile(r"/sys/module/(?P<module>[\w-]+)/(?P<field>version|srcversion|refcnt|taint|initstate|parameters/\w+)")


def read_loaded_module(text: str, source: str = "") -> dict[str, Any]:
    """A value of a loaded module; the file of an unloaded one does not exist.

    ``module``: its name, ``field``: the file's name, both as ``source`` says (None where it does not); ``value``: the
    text, None for an empty one. Under the field's own name the same: ``version`` (of the loaded driver, which after an
    update is not the one that modinfo tells), ``srcversion``, ``refcnt`` (a number), ``taint`` (O out of tree, P
    proprietary, E unsigned).
    """
    path = PATH.search(source)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    missing = any("No such file" in line for line in lines)
    value = lines[0] if lines and not missing else None
    field = path["field"] if path else None
    named = {field: number(value) if field == "refcnt" else value} if field else {}
    return {"module": path["module"] if path else None, "field": field, "value": value, **named, "loaded": not missing}
