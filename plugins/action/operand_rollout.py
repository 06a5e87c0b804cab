# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the module gpu.fleet.operand_rollout in rounds, and shows in between what is waited for."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase

from ansible_collections.gpu.fleet.plugins.module_utils._plan.rollout import pause_seconds, progress


class ActionModule(ActionBase):
    """A rollout that is ready at the first look costs one run of the module."""

    _supports_check_mode = True
    _supports_diff = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """The result of the last round, which knows of all before."""
        result = super().run(tmp, task_vars)
        result.update(self._rounds(task_vars or {}))
        self._remove_tmp_path(self._connection._shell.tmpdir)
        return result

    def _rounds(self, task_vars: dict[str, Any]) -> dict[str, Any]:
        number, memory = 0, dict(self._task.args.get("so_far") or {})
        while True:
            arguments = {"pause_after": pause_seconds(number), **self._task.args, "so_far": memory}
            answer = self._execute_module(module_args=arguments, task_vars=task_vars)
            if answer.get("failed") or answer.get("over", True) or "pause_after" in self._task.args:
                return answer
            self._display.display(self._line(answer))
            number, memory = number + 1, answer["so_far"]

    def _line(self, answer: dict[str, Any]) -> str:
        name = self._task.args["name"]
        return progress(name, answer["nodes"], waited=answer["waited"], bound=answer["bound"])
