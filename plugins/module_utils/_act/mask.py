# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Masks systemd units and takes that back. Private to this collection."""

from __future__ import annotations

from collections.abc import Mapping

from .._observe.command import Run
from .._observe.files import HostRoot
from .._observe.toolkit import MASK as NOWHERE
from .._observe.toolkit import OWN_UNITS, read_mask
from .._plan.cdi_refresh import MASK, UNITS
from .._plan.model import Step
from .files import make_link, remove_file
from .ownership import Ownership

RECORD = "unit-mask:"


class MaskError(Exception):
    """systemctl refused; the message has its words."""


class RefreshUnits:
    """The units by which NVIDIA's packages write CDI specs, on one host."""

    def __init__(self, host: HostRoot, ownership: Ownership, *, run: Run) -> None:
        self._host = host
        self._ownership = ownership
        self._run = run

    def observe(self) -> Mapping[str, str]:
        """Unit -> masked, link, file or none."""
        return {unit: read_mask(self._host, unit) for unit in UNITS}

    def ours(self) -> frozenset[str]:
        """The units that this collection has masked."""
        names = self._ownership.objects
        return frozenset(name[len(RECORD) :] for name in names if name.startswith(RECORD))

    def act(self, step: Step) -> None:
        """Masks or unmasks the unit of a step. Raises MaskError, OSError."""
        unit = step.target
        if step.action == MASK:
            self._ownership.record(f"{RECORD}{unit}", before=read_mask(self._host, unit), ours="masked")
            self._set(unit, masked=True)
        else:
            self._set(unit, masked=False)
            self._ownership.forget(f"{RECORD}{unit}")

    def _set(self, unit: str, *, masked: bool) -> None:
        if self._host.root == "/":
            verb = ["mask", "--now"] if masked else ["unmask"]
            status, _out, err = self._run(["systemctl", *verb, unit])
            if status != 0:
                raise MaskError(f"systemctl {' '.join(verb)} {unit} ended with status {status}: {err.strip()}")
            return
        # A tree has no systemd that could be asked; the link is what systemctl would make.
        path = self._host.where(f"{OWN_UNITS}") + f"/{unit}"
        remove_file(path)
        if masked:
            make_link(path, NOWHERE)
