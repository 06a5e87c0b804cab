# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Masks systemd units and takes that back. Private to this collection."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping

from .._observe.command import Run
from .._observe.files import HostRoot
from .._observe.toolkit import MASK as NOWHERE
from .._observe.toolkit import OWN_UNITS, read_mask, switch_path, switch_text
from .._plan.cdi_refresh import MASK, MASKED, SWITCH_OFF, UNITS
from .._plan.model import Step
from .files import make_link, remove_file, write_atomically
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
        """Unit -> masked, link, file, switched off or none."""
        return {unit: read_mask(self._host, unit) for unit in UNITS}

    def ours(self) -> frozenset[str]:
        """The units that this collection has masked."""
        names = self._ownership.objects
        return frozenset(name[len(RECORD) :] for name in names if name.startswith(RECORD))

    def act(self, step: Step) -> None:
        """Masks, switches off or gives back the unit of a step. Raises MaskError, OSError."""
        unit = step.target
        if step.action in (MASK, SWITCH_OFF):
            self._ownership.record(f"{RECORD}{unit}", before=read_mask(self._host, unit), ours=step.after)
        if step.action == SWITCH_OFF:
            self._switch_off(unit)
        elif step.action == MASK:
            self._set(unit, masked=True)
        else:
            self._give_back(unit)
            self._ownership.forget(f"{RECORD}{unit}")

    def _switch_off(self, unit: str) -> None:
        path = self._host.where(switch_path(unit))
        write_atomically(path, switch_text(unit).encode())
        self._systemctl("daemon-reload")
        self._systemctl("stop", unit)

    def _give_back(self, unit: str) -> None:
        path = self._host.where(switch_path(unit))
        if remove_file(path):
            with contextlib.suppress(OSError):
                # Somebody else's drop-ins may be there.
                os.rmdir(os.path.dirname(path))
            self._systemctl("daemon-reload")
        if read_mask(self._host, unit) == MASKED:
            self._set(unit, masked=False)

    def _set(self, unit: str, *, masked: bool) -> None:
        if self._host.root == "/":
            self._systemctl(*(["mask", "--now"] if masked else ["unmask"]), unit)
            return
        # A tree has no systemd that could be asked; the link is what systemctl would make.
        path = self._host.where(f"{OWN_UNITS}") + f"/{unit}"
        remove_file(path)
        if masked:
            make_link(path, NOWHERE)

    def _systemctl(self, *words: str) -> None:
        if self._host.root != "/":
            return
        status, _out, err = self._run(["systemctl", *words])
        if status != 0:
            raise MaskError(f"systemctl {' '.join(words)} ended with status {status}: {err.strip()}")
