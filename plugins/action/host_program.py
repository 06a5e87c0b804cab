# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the module gpu.fleet.host_program, and sends the program only where the host has another one."""

from __future__ import annotations

from typing import Any

from ansible_collections.gpu.fleet.plugins.plugin_utils._helper_action import SendingAction
from ansible_collections.gpu.fleet.plugins.plugin_utils._helpers import HelperMissing, pack
from ansible_collections.gpu.fleet.plugins.plugin_utils._host_program import manifest, program_files


class ActionModule(SendingAction):
    """One run on an unchanged host: the module compares what it finds with a list of digests."""

    _supports_check_mode = True
    _supports_diff = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """The module's own result."""
        result = super().run(tmp, task_vars)
        try:
            files = program_files()
        except HelperMissing as error:
            return {**result, "failed": True, "msg": str(error)}
        args = {**self._task.args, "manifest": manifest(files)}
        answer = self._execute_module(module_args=args, task_vars=task_vars or {})
        if answer.pop("needs_archive", False):
            args["archive"] = self.send(pack(files), "gpu-fleet.zip")
            answer = self._execute_module(module_args=args, task_vars=task_vars or {})
        invocation = answer.get("invocation", {}).get("module_args", {})
        invocation.pop("manifest", None)
        result.update(answer)
        self._remove_tmp_path(self._connection._shell.tmpdir)
        return result
