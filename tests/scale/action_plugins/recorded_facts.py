# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Gives a host the facts that its gpu_info would give, out of `<folder>/<host>.json`. Nothing runs on the host."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):
    """Argument `folder`."""

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """`ansible_facts` as the file has them."""
        result = super().run(tmp, task_vars)
        name = (task_vars or {})["inventory_hostname"]
        file = Path(self._task.args["folder"]) / f"{name}.json"
        return {**result, "changed": False, "ansible_facts": json.loads(file.read_text())}
