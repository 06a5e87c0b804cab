# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Carries out the plan of the module gpu.fleet.operand through kubernetes.core.k8s, and reads again to prove it."""

from __future__ import annotations

import re
import time
from typing import Any

from ansible.plugins.action import ActionBase

from ansible_collections.gpu.fleet.plugins.module_utils._catalog.kinds import MANAGER
from ansible_collections.gpu.fleet.plugins.module_utils._plan.patience import told_transient, wait_seconds

OPTIONS = ("name", "objects", "force_conflicts")
FIELD = re.compile(r'\\*"field\\*":\\*"([^"\\]+)\\*"')
CONFLICT = re.compile(r'conflict with \\*"([^"\\]+)\\*"')


class ActionModule(ActionBase):
    """An unchanged cluster costs one run of the module, which only reads."""

    _supports_check_mode = True
    _supports_diff = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """The module's result; ``failed`` with the other field manager's name where there was a conflict."""
        result = super().run(tmp, task_vars)
        variables = task_vars or {}
        planned = self._execute_module(task_vars=variables)
        work = planned.pop("apply", []), planned.pop("delete", [])
        result.update(planned)
        if planned.get("changed") and not self._task.check_mode:
            result.update(self._bring_about(*work, variables))
        self._remove_tmp_path(self._connection._shell.tmpdir)
        return result

    def _bring_about(self, apply: list[Any], delete: list[Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Empty, or what fails the task. After a failure that passes, it looks again and writes what is left."""
        attempt = 0
        while True:
            refused = self._write(apply, delete, task_vars)
            pause = wait_seconds(attempt) if told_transient(refused) else None
            if refused and pause is None:
                return {"failed": True, "msg": conflict_message(refused)}
            time.sleep(pause or 0)
            proof = self._execute_module(task_vars=task_vars)
            if proof.get("failed"):
                return {"failed": True, "msg": proof.get("msg")}
            left = proof["plan"]["steps"]
            if not left:
                return {}
            if not refused:
                told = f"{left[0]['target']} was written, but is still different: {left[0]['before']}"
                return {"failed": True, "msg": told}
            apply, delete = proof["apply"], proof["delete"]
            attempt += 1

    def _write(self, apply: list[Any], delete: list[Any], task_vars: dict[str, Any]) -> str:
        """Empty, or why it was refused."""
        for arguments in self._writes(apply, delete):
            written = self._execute_module("kubernetes.core.k8s", {**self._access(), **arguments}, task_vars=task_vars)
            if written.get("failed"):
                return str(written.get("msg"))
        return ""

    def _writes(self, apply: list[Any], delete: list[Any]) -> list[dict[str, Any]]:
        force = bool(self._task.args.get("force_conflicts", False))
        server_side = {"field_manager": MANAGER, "force_conflicts": force}
        calls = []
        if apply:
            calls.append({"resource_definition": apply, "apply": True, "server_side_apply": server_side, "wait": False})
        if delete:
            calls.append({"resource_definition": delete, "state": "absent", "wait": False})
        return calls

    def _access(self) -> dict[str, Any]:
        """The task's options of authentication, which both modules share."""
        return {k: v for k, v in self._task.args.items() if k not in OPTIONS}


def conflict_message(text: str) -> str:
    """A refused server-side apply as one sentence; any other message unchanged."""
    managers = sorted(set(CONFLICT.findall(text)))
    if not managers:
        return text
    owner = ", ".join(managers)
    fields = ", ".join(dict.fromkeys(FIELD.findall(text))) or "fields"
    return f"{fields}: owned by field manager {owner}; undo the change there, or set force_conflicts to true"
