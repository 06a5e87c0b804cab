# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind modules that plan and leave the doing to builtin modules. Private to this collection."""

from __future__ import annotations

import re
import shlex
from typing import Any

from ansible_collections.gpu.fleet.plugins.module_utils._observe.texts.df import read_df
from ansible_collections.gpu.fleet.plugins.module_utils._observe.texts.sources import read_output
from ansible_collections.gpu.fleet.plugins.module_utils._plan.disk import FileSystem, packages_do_not_fit
from ansible_collections.gpu.fleet.plugins.module_utils._plan.package_failure import explain
from ansible_collections.gpu.fleet.plugins.plugin_utils._helper_action import HelperAction

# Where packages, DKMS and initramfs tools write.
WRITTEN_TO = ("/", "/usr", "/var", "/boot", "/tmp")
NO_SPACE = re.compile(r"No space left on device|\[Errno 28\]|Disk quota exceeded")
COMMAND = "ansible.builtin.command"
PACKAGE_MODULES = ("ansible.builtin.apt", "ansible.builtin.dnf", "ansible.builtin.dnf5")


class StepsAction(HelperAction):
    """Runs the module of the same name once; carries out its ``plan.calls``; runs it again to prove.

    An unchanged host costs one run. The module itself decides, and records before the first call what it will own.
    A Python package that the host lacks for the proof is sent, as for other modules.
    """

    _supports_check_mode = True
    _supports_diff = True
    # The builtin modules would otherwise each have to be asked for; async over several modules has no meaning.
    _supports_async = False

    def brought(self, task_vars: dict[str, Any]) -> dict[str, Any]:
        """The result of one run, or of two with the calls of the first in between.

        Plan, findings and diff are those of the first run, everything else is of the last.
        """
        first = self._run_with_helpers(task_vars)
        calls = first.get("plan", {}).get("calls", [])
        if first.get("failed") or not calls or self._task.check_mode:
            return first
        return {**first, **self._carry_out(calls, first, task_vars)}

    def _carry_out(
        self, calls: list[dict[str, Any]], first: dict[str, Any], task_vars: dict[str, Any]
    ) -> dict[str, Any]:
        for call in calls:
            answer = self._run_builtin(call["module"], self._arguments(call), task_vars)
            if answer.get("failed"):
                return {"failed": True, "changed": True, "msg": self._failure(call, answer), "failed_call": answer}
        last = self._run_with_helpers(task_vars)
        kept = {name: first[name] for name in ("plan", "diff") if name in first}
        left = last.get("plan", {}).get("steps", [])
        if not last.get("failed") and left:
            return {**last, **kept, "failed": True, "changed": True, "msg": self._not_proved(left[0]), "left": left}
        return {**last, **kept, "changed": True}

    def _arguments(self, call: dict[str, Any]) -> dict[str, Any]:
        """The call's arguments; a secret of the task, which no plan holds, becomes the content of a file."""
        secret = call.get("secret")
        return {**call["args"], "content": self._task.args[secret]} if secret else dict(call["args"])

    def _run_builtin(self, name: str, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """One module by its full name; by its action plugin where it has one (copy sends its content so)."""
        if not self._shared_loader_obj.action_loader.has_plugin(name):
            return self._execute_module(module_name=name, module_args=args, task_vars=task_vars)
        task = self._task.copy()
        task.args = args
        action = self._shared_loader_obj.action_loader.get(
            name,
            task=task,
            connection=self._connection,
            play_context=self._play_context,
            loader=self._loader,
            templar=self._templar,
            shared_loader_obj=self._shared_loader_obj,
        )
        return action.run(task_vars=task_vars)

    def _failure(self, call: dict[str, Any], answer: dict[str, Any]) -> str:
        said, reason = (str(answer.get(part) or "").strip() for part in ("msg", "stderr"))
        # Of a program that fails, msg says only that it did.
        said = reason or said if call["module"] == COMMAND else said or reason
        arguments = call["args"]
        about = arguments.get("name") or arguments.get("dest") or arguments.get("path") or arguments.get("argv") or ""
        names = (" " if call["module"] == COMMAND else ", ").join(about) if isinstance(about, list) else about
        error = _error(call, answer)
        meaning = (
            packages_do_not_fit(error, self._places(error)) if error.get("error") == "no_space" else explain(error)
        )
        return f"{call['module']} failed for {names or call['args']}: {said}{f' ({meaning})' if meaning else ''}"

    def _places(self, error: dict[str, Any]) -> list[FileSystem]:
        """The file systems that may be full; none where the host does not tell."""
        asked = " ".join(shlex.quote(path) for path in (error.get("path"), *WRITTEN_TO) if path)
        found = self._low_level_execute_command(f"df -Pk -- {asked}; true")
        return read_df(str(found.get("stdout") or ""))

    @staticmethod
    def _not_proved(step: dict[str, Any]) -> str:
        return (
            f"every step was carried out, but {step['action']} {step['target']} is still needed: "
            f"{step['reason']} (found: {step['before']})"
        )


def _error(call: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    """What went wrong; a module that writes files names the file in its arguments."""
    found = _package_error(call["module"], answer)
    told = " ".join(str(answer.get(part) or "") for part in ("msg", "stderr", "exception"))
    if found.get("error") is None and NO_SPACE.search(told):
        return {"error": "no_space", "path": call["args"].get("dest") or call["args"].get("path")}
    return found


def _package_error(module: str, answer: dict[str, Any]) -> dict[str, Any]:
    """What a package manager said; its reason is on standard output, and the message has only the last line."""
    if module not in PACKAGE_MODULES:
        return {}
    return read_output(module, "\n".join(str(answer.get(part) or "") for part in ("msg", "stdout", "stderr")))
