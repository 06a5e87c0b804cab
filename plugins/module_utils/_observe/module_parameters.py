# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the parameters that loaded modules of the driver have. Private to this collection."""

from __future__ import annotations

import re

from .._catalog.module_parameters import shown_name
from .._plan.module_parameters import OPTIONS_PATH, Parameters, parse_options, stale_parameters
from .files import HostRoot
from .pci import read_pci

PARAMS = "/proc/driver/nvidia/params"
LINE = re.compile(r"^(\w+): (.*)$", re.MULTILINE)


def read_effective(host: HostRoot, wanted: Parameters) -> dict[str, dict[str, str]]:
    """Of each wanted parameter the value that the loaded module shows; what none shows is left out."""
    shown = dict(LINE.findall(host.text(PARAMS) or ""))
    found: dict[str, dict[str, str]] = {}
    for module, rows in wanted.items():
        for name in rows:
            of_driver = shown.get(shown_name(name)) if module == "nvidia" else None
            value = of_driver if of_driver is not None else host.line(f"/sys/module/{module}/parameters/{name}")
            if value is not None:
                found.setdefault(module, {})[name] = value
    return found


def read_stale_parameters(host: HostRoot, wanted: Parameters | None) -> tuple[str, ...]:
    """What stale_parameters() says; without ``wanted`` our file on disk says what the modules would get now."""
    parameters = parse_options(host.text(OPTIONS_PATH) or "") if wanted is None else wanted
    if not parameters:
        return ()
    return stale_parameters(parameters, read_effective(host, parameters), read_pci(host))
