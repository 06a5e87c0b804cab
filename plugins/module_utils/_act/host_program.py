# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Puts the host program and its units on the host, and takes them away. Private to this collection."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Mapping

from .._observe.command import Run
from .._plan.host_program import PACKAGE, ProgramHost, ProgramWish, differing, surplus
from .._plan.model import Step
from .files import remove_file, write_atomically
from .modules import call


class HostProgram:
    """Carries out the steps of plan_host_program()."""

    def __init__(self, run: Run, wish: ProgramWish, *, texts: Mapping[str, str], archive: str | None) -> None:
        self._run, self._wish, self._texts, self._archive = run, wish, texts, archive
        self._reloaded = False

    def apply(self, step: Step, host: ProgramHost) -> None:
        """One step. Raises ModuleError where systemctl refuses, OSError where a file does."""
        if step.target == PACKAGE:
            self._install(host) if step.action == "install" else self._uninstall()
        elif step.action == "write":
            mode = self._wish.files[step.target].mode
            write_atomically(step.target, self._texts[step.target].encode(), mode=mode)
        elif step.action == "remove":
            remove_file(step.target)
        else:
            self._unit(step)

    def _install(self, host: ProgramHost) -> None:
        if self._archive is None:
            raise ValueError(f"no archive to install {PACKAGE} from")
        with zipfile.ZipFile(self._archive) as archive:
            for path in differing(self._wish, host):
                write_atomically(f"{PACKAGE}/{path}", archive.read(path))
        for path in surplus(self._wish, host):
            remove_file(f"{PACKAGE}/{path}")

    def _uninstall(self) -> None:
        shutil.rmtree(PACKAGE)
        parent = os.path.dirname(PACKAGE)
        if not os.listdir(parent):
            os.rmdir(parent)

    def _unit(self, step: Step) -> None:
        if step.action == "disable":
            call(self._run, ["systemctl", "disable", "--now", step.target])
            return
        if not self._reloaded:
            call(self._run, ["systemctl", "daemon-reload"])
            self._reloaded = True
        call(self._run, ["systemctl", step.action, step.target])
