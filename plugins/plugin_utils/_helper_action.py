# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind every module that may need a Python package which the host lacks. Private to this collection."""

from __future__ import annotations

import os
import tempfile
from typing import Any

from ansible.plugins.action import ActionBase

from ._helpers import HelperMissing, helper_files, pack

ENVIRONMENT = "GPU_FLEET_PYTHON"


class SendingAction(ActionBase):
    """Sends archives that the module opens on the host."""

    def send(self, archive: bytes, name: str) -> str:
        """Puts the archive into the task's temporary directory on the host; its path there."""
        if self._connection._shell.tmpdir is None:
            self._make_tmp_path()
        remote = self._connection._shell.join_path(self._connection._shell.tmpdir, name)
        handle, local = tempfile.mkstemp(suffix=".zip")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(archive)
            self._transfer_file(local, remote)
        finally:
            os.unlink(local)
        self._fixup_perms2((self._connection._shell.tmpdir, remote))
        return remote


class HelperAction(SendingAction):
    """Runs the module of the same name; where it answers ``missing_helpers``, sends them and runs it once more.

    An unchanged host has them installed by role prereq, so it never pays for the second run.
    """

    _supports_check_mode = True
    _supports_diff = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """The module's own result."""
        result = super().run(tmp, task_vars)
        result.update(self.brought(task_vars or {}))
        self._remove_tmp_path(self._connection._shell.tmpdir)
        return result

    def brought(self, task_vars: dict[str, Any]) -> dict[str, Any]:
        """What the task answers: one run of the module."""
        return self._run_with_helpers(task_vars)

    def _run_with_helpers(self, task_vars: dict[str, Any]) -> dict[str, Any]:
        answer = self._execute_module(task_vars=task_vars)
        missing = answer.get("missing_helpers")
        if not missing:
            return answer
        try:
            archive = pack({p: c for name in missing for p, c in helper_files(name).items()})
        except HelperMissing as error:
            return {"failed": True, "msg": str(error)}
        remote = self.send(archive, "helpers.zip")
        self._task.environment = [*(self._task.environment or []), {ENVIRONMENT: remote}]
        return self._execute_module(task_vars=task_vars)
