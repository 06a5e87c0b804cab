# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads units from systemd. Private to this collection."""

from __future__ import annotations

from collections.abc import Sequence

from .._plan.facts import Service
from .command import Run

PROPERTIES = "Id,LoadState,ActiveState,UnitFileState"


def read_services(run: Run, names: Sequence[str]) -> dict[str, Service]:
    """The units by name, in one call of systemctl(1). Without systemd every unit is ``not-found``."""
    _status, text, _errors = run(["systemctl", "show", f"--property={PROPERTIES}", "--", *names])
    found = parse_show(text)
    return {name: found.get(name, Service(name, "not-found", "inactive", "")) for name in names}


def parse_show(text: str) -> dict[str, Service]:
    """``systemctl show`` of several units: blocks of Name=Value, parted by empty lines."""
    found = {}
    for block in text.split("\n\n"):
        fields = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        name = fields.get("Id", "")
        if name:
            found[name] = Service(
                name=name,
                loaded=fields.get("LoadState", "not-found"),
                active=fields.get("ActiveState", "inactive"),
                enabled=fields.get("UnitFileState", ""),
            )
    return found
