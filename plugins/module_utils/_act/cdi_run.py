# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Brings a CDI spec and the units beside it about, as module cdi_spec wants them. Private to this collection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from .._plan.cdi import CdiState, build, plan_cdi, plan_removal, wanted_specs
from .._plan.cdi_refresh import MASK, NVIDIA, SWITCH_OFF, UNMASK, plan_refresh
from .._plan.cdi_wish import CdiWish
from .._plan.model import Plan, Step, join_plans
from .cdi import CdiSpecs
from .mask import RefreshUnits


@dataclass(frozen=True)
class RunState:
    """What is there: the spec's two sides, and the units' masks."""

    spec: CdiState
    masks: Mapping[str, str] = field(default_factory=dict)


class CdiRun:
    """One run of module cdi_spec. ``refresh``: fleet, nvidia, or None where the units do not matter."""

    def __init__(self, wish: CdiWish, specs: CdiSpecs, units: RefreshUnits, *, options: Mapping[str, Any]) -> None:
        self._wish = wish
        self._specs = specs
        self._units = units
        self._absent = options["state"] == "absent"
        self._refresh = options["refresh"]
        self._at_boot = options["at_boot"]
        self._first: RunState | None = None

    def observe(self) -> RunState:
        """Both sides."""
        # With NVIDIA's units the file is theirs: what stands there is no business of ours.
        gone = self._absent or self._refresh == NVIDIA
        spec = self._specs.observe_removal() if gone else self._specs.observe()
        state = RunState(spec, self._units.observe() if self._refresh else {})
        self._first = self._first or state
        return state

    def decide(self, state: RunState, *, check_mode: bool) -> Plan:
        """Steps and findings."""
        if self._absent:
            return join_plans([plan_removal(self._wish, state.spec), self._plan_units(state, NVIDIA)])
        if self._refresh == NVIDIA:
            left = plan_removal(self._wish, CdiState(None, None, saved=state.spec.saved))
            return join_plans([left, self._plan_units(state, NVIDIA)])
        spec = plan_cdi(self._wish, state.spec, at_boot=self._at_boot, may_come=check_mode)
        return join_plans([self._plan_units(state, self._refresh), spec]) if not spec.blocked else spec

    def act(self, step: Step, state: RunState) -> None:
        """Carries out one step."""
        if step.action in (MASK, SWITCH_OFF, UNMASK):
            self._units.act(step)
        else:
            self._specs.act(step, state.spec)

    def returns(self, state: RunState) -> dict[str, Any]:
        """The module's own keys; why the spec was stale is told of the first look."""
        specs = wanted_specs(self._wish, build(self._wish, state.spec))
        stale = self._first.spec.stale if self._first else ()
        return {
            "specs": [{"path": path, "spec": spec} for path, spec in specs.items()],
            "stale_because": [asdict(s) for s in stale],
        }

    def _plan_units(self, state: RunState, refresh: str | None) -> Plan:
        return plan_refresh(refresh, state.masks, ours=self._units.ours()) if refresh else Plan()
