# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Brings the GPUs of a host to a MIG wish: observe, plan, apply, prove. Private to this collection.

Used by module mig_config and by the boot unit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from .._observe.command import Run
from .._observe.files import HostRoot
from .._observe.mig import read_mig
from .._observe.mig_users import holders_text, pids_by_unit, with_commands
from .._observe.nvml import NvmlFailure, open_nvml
from .._plan.mig import Decision, Operation
from .._plan.mig_clients import start_steps, stop_steps, units_in_the_way
from .._plan.mig_documents import checkpoint
from .._plan.mig_layout import MigGpu
from .._plan.mig_wish import MigWish
from .._plan.model import Plan, Step
from .mig import MigFailure, change_layout, change_mode
from .mig_clients import ClientError, ClientsStopped, active_units, start_again
from .mig_state import MigState

# Modes on, instances gone, modes off, instances made: more rounds than that mean that nothing has an effect.
MOST_ROUNDS = 4
SHOWN_STEPS = 12

# Failures that somebody's open file explains.
HELD = ("in_use", "mode_change_blocked")


@dataclass(frozen=True)
class Outcome:
    """``decision`` is the first plan, ``gpus`` the last observation, ``error`` (kind, message) or None.

    ``units`` are stopped before the change and started after it; ``left`` are those that a killed run left stopped.
    ``done`` are the steps that were carried out, and
    ``before`` is the checkpoint of the GPUs before them.
    """

    decision: Decision
    gpus: tuple[MigGpu, ...]
    changed: bool = False
    error: tuple[str, str] | None = None
    reboot_required: bool = False
    units: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    done: tuple[Step, ...] = ()
    before: Mapping[str, Any] | None = None

    @property
    def plan(self) -> Plan:
        """Everything that is, or would be, done, in order."""
        layout = self.decision.plan
        return Plan(stop_steps(self.units) + layout.steps + start_steps(self.units + self.left), layout.findings)

    @property
    def undone(self) -> tuple[Step, ...]:
        """The steps about GPUs that were planned and not carried out."""
        return tuple(s for s in self.decision.plan.steps if s not in self.done)


@dataclass(frozen=True)
class MigRun:
    """What a run works with; ``say`` is told each step."""

    host: HostRoot
    run: Run
    state: MigState
    say: Callable[[str], None] = lambda line: None

    def observe(self) -> tuple[MigGpu, ...]:
        """Raises NvmlFailure."""
        with open_nvml() as nvml:
            return with_commands(self.host, read_mig(nvml))

    def bring(
        self,
        wish: MigWish,
        *,
        check: bool = False,
        before: Callable[[Sequence[MigGpu]], None] | None = None,
        goes_back: bool = False,
    ) -> Outcome:
        """The GPUs at ``wish``; with ``check`` only the plan. ``before`` gets the GPUs before the first change.

        ``goes_back``: the wish is the saved checkpoint, which then stays. Raises NvmlFailure where NVML does not open
        at all; what fails later is the outcome's ``error``.
        """
        gpus = self.observe()
        pids = pids_by_unit(self.host, wish.gpu_clients)
        decision = wish.decide(gpus, {p for unit in pids.values() for p in unit})
        first = Outcome(decision, gpus, bool(decision.operations), reboot_required=decision.reboot_required)
        if decision.error_kind:
            return replace(first, changed=False, error=(decision.error_kind, decision.plan.message()))
        units = active_units(self.run, units_in_the_way(wish.gpu_clients, decision, gpus, pids))
        left = tuple(u for u in self.state.stopped() if u not in units)
        first = replace(first, units=units, left=left, before=checkpoint(gpus), changed=first.changed or bool(left))
        if check:
            return first
        if not decision.operations:
            return self._recover(first)
        if before is not None:
            before(gpus)
        if not goes_back:
            self.state.save_checkpoint(checkpoint(gpus))
        return self._change(wish, first)

    def _recover(self, first: Outcome) -> Outcome:
        """Nothing to change, but a run that was killed may have left units stopped."""
        trouble = start_again(self.run, self.state) if first.left else ""
        self.state.finish_checkpoint()
        return replace(first, error=("unit_failed", trouble) if trouble else None)

    def _change(self, wish: MigWish, first: Outcome) -> Outcome:
        clients, done = ClientsStopped(self.run, first.units, self.state), _Journal(self.say)
        try:
            with clients:
                last = self._rounds(wish, first.decision, done)
        except MigFailure as failure:
            found = self._failed(first, done, failure.kind, str(failure), reboot=failure.reboot)
        except NvmlFailure as failure:
            found = self._failed(first, done, failure.kind, str(failure))
        except ClientError as error:
            found = self._failed(first, done, "unit_failed", str(error))
        else:
            found = self._proved(replace(first, done=tuple(done.steps)), last)
        return _with_trouble(found, clients.trouble)

    def _rounds(self, wish: MigWish, decision: Decision, done: _Journal) -> tuple[Decision, tuple[MigGpu, ...]]:
        """Does batch after batch, reading the GPUs anew in between; the last plan and what it was made of."""
        gpus: tuple[MigGpu, ...] = ()
        for _round in range(MOST_ROUNDS):
            self._perform(decision.first_batch, done, skip_reset=wish.skip_reset)
            gpus = self.observe()
            decision = wish.decide(gpus)
            if decision.error_kind or not decision.operations:
                break
        return decision, gpus

    def _perform(self, operations: Sequence[Operation], done: _Journal, *, skip_reset: bool) -> None:
        """Layout operations share one NVML session; modes have none open, because a reset wants no client."""
        rest = list(operations)
        while rest:
            if rest[0].changes_mode:
                with done.noted(rest[0]):
                    change_mode(rest.pop(0), self.run, skip_reset=skip_reset)
                continue
            with open_nvml() as nvml:
                while rest and not rest[0].changes_mode:
                    with done.noted(rest[0]):
                        change_layout(nvml, rest.pop(0))

    def _failed(self, first: Outcome, done: _Journal, kind: str, text: str, *, reboot: bool = False) -> Outcome:
        """What a failure leaves: the GPUs as they are now, and a message with what was done and the way back."""
        holders = holders_text(self.host) if kind in HELD else ""
        text += f"; GPU files are open in {holders}" if holders else ""
        try:
            gpus = self.observe()
        except NvmlFailure as failure:
            gpus, text = first.gpus, f"{text}; the GPUs cannot be read any more: {failure}"
        found = replace(first, gpus=gpus, done=tuple(done.steps), changed=bool(done.steps), reboot_required=reboot)
        return replace(found, error=(kind, f"{text}. {_account(found, self.state.checkpoint_path)}"))

    def _proved(self, found: Outcome, last: tuple[Decision, tuple[MigGpu, ...]]) -> Outcome:
        decision, gpus = last
        found = replace(found, gpus=gpus, reboot_required=decision.reboot_required)
        account = _account(found, self.state.checkpoint_path)
        if decision.error_kind:
            return replace(found, error=(decision.error_kind, f"{decision.plan.message()}. {account}"))
        if decision.operations:
            step = decision.operations[0].step
            text = f"every step was carried out, but {step.action} {step.target} is still needed (found: {step.before})"
            return replace(found, error=("nvml_error", f"{text}. {account}"))
        self.state.finish_checkpoint()
        return found


class _Journal:
    """The steps that were carried out, each told before it begins."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self.steps: list[Step] = []

    @contextmanager
    def noted(self, operation: Operation) -> Iterator[None]:
        """Around one operation; one that fails is not noted."""
        step = operation.step
        self._say(f"{step.action} {step.target}: {step.before} -> {step.after}")
        yield
        self.steps.append(step)


def _account(outcome: Outcome, path: str) -> str:
    """What a failed change did and did not do, and the way back."""
    if not outcome.done:
        return "Nothing was changed"
    left = f"not done: {_listed(outcome.undone)}; " if outcome.undone else ""
    way = f"run gpu.fleet.mig_config with state: restored to go back to what was there before ({path})"
    return f"Done: {_listed(outcome.done)}; {left}{way}"


def _listed(steps: Sequence[Step]) -> str:
    more = f" and {len(steps) - SHOWN_STEPS} more" if len(steps) > SHOWN_STEPS else ""
    return ", ".join(f"{s.action} {s.target}" for s in steps[:SHOWN_STEPS]) + more


def _with_trouble(outcome: Outcome, trouble: str) -> Outcome:
    """Units that do not start again are an error of their own, and are told beside any other."""
    if not trouble:
        return outcome
    kind, text = outcome.error or ("unit_failed", "the layout was changed, but not every unit started again")
    return replace(outcome, error=(kind, f"{text}; {trouble}"))
