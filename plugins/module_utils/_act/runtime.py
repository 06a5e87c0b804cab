# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Brings one container engine about: reads it, decides, writes its files, has it check them.

Private to this collection.
"""

from __future__ import annotations

import os
from typing import Any

from .._observe.command import Run
from .._observe.engines import EngineReader
from .._observe.files import HostRoot
from .._plan.engine import ABSENT, FORGET, EnginePlan, EngineState, EngineWish, plan_forget
from .._plan.model import Plan, Step, join_plans
from .._plan.runtime import PLANNERS, effective_of, find_leftovers, missing_handlers, missing_programs
from .engine import EngineFiles, Refused, read_owned
from .ownership import STATE_DIRECTORY, Ownership

ROLE = "toolkit"


class Engine:
    """One engine on one host."""

    def __init__(
        self, host: HostRoot, wish: EngineWish, *, run: Run, toml: Any, executable: str | None, config_source: str
    ) -> None:
        self._host = host
        self._wish = wish
        self._run = run
        self._config_source = config_source
        self.reader = EngineReader(host, wish, run=run, toml=toml, executable=executable)
        self._ownership = Ownership(ROLE, directory=host.where(STATE_DIRECTORY))
        self._files = EngineFiles(host, self._ownership, shared=wish.config_path, toml=toml, check=self._check)

    def observe(self) -> EngineState:
        """Its files, and what is ours in them."""
        return self.reader.read(config_source=self._config_source, owned=read_owned(self._ownership))

    def plan(self, state: EngineState) -> EnginePlan:
        """Files before and after."""
        return PLANNERS[self._wish.runtime](self._wish, state)

    def decide(self, state: EngineState, *, programs_may_come: bool = False) -> Plan:
        """Steps and findings.

        ``programs_may_come``: check mode, in which an earlier step of the same run may bring them.
        """
        found = () if programs_may_come else missing_programs(self._wish, self._host.is_executable)
        left = find_leftovers(self._wish, self._host.exists)
        plan = self.plan(state).plan.with_findings((*found, *left))
        if self._wish.state != ABSENT or plan.blocked:
            return plan
        return join_plans([plan, plan_forget(self._wish.config_path, state.owned)])

    def act(self, step: Step, state: EngineState) -> None:
        """Carries out one step. Raises Refused, EditError, OSError; then nothing is changed."""
        if step.action == FORGET:
            self._files.forget()
            return
        plan = self.plan(state)
        self._files.apply(plan.file(step.target), last=step == plan.plan.steps[-1])

    def returns(self, state: EngineState) -> dict[str, Any]:
        """The module's own keys."""
        paths = [p for p in (self._wish.config_path, self._wish.drop_in_path) if p]
        return {
            "files": [{"path": p, "present": self._host.exists(p)} for p in paths],
            "effective": effective_of(self._wish, state),
            "runtime": self._wish.runtime,
            "unit": self.reader.unit,
            "distribution": self._wish.distribution or None,
        }

    def _check(self) -> None:
        command = self.reader.check_command()
        # A program that is named but not there cannot judge; the files were parsed again when they were written.
        if command is None or not os.access(command[0], os.X_OK):
            return
        status, out, err = self._run(command)
        if status != 0:
            said = " ".join(line for line in (err or out).splitlines() if "level=warning" not in line)
            raise Refused(f"{' '.join(command)} refuses the new configuration, so the old one was put back: {said}")
        if self._wish.runtime != "containerd" or self._host.root != "/":
            return
        missing = missing_handlers(self._wish, self.reader.parse(out, " ".join(command)))
        if missing:
            names = ", ".join(missing)
            raise Refused(f"{' '.join(command)} does not show {names}, so the old configuration was put back")
