# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Brings the GPUs of a host to a MIG wish: observe, plan, apply, prove. Private to this collection.

Used by module mig_config and by the boot unit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from .._observe.command import Run
from .._observe.files import HostRoot
from .._observe.mig import pids_of_units, read_mig
from .._observe.nvml import NvmlFailure, open_nvml
from .._plan.mig import Decision, Operation
from .._plan.mig_documents import checkpoint
from .._plan.mig_layout import MigGpu
from .._plan.mig_wish import MigWish
from .mig import MigFailure, change_layout, change_mode
from .mig_clients import ClientError, clients_stopped, start_again
from .mig_state import MigState

# Modes on, instances gone, modes off, instances made: more rounds than that mean that nothing has an effect.
MOST_ROUNDS = 4


@dataclass(frozen=True)
class Outcome:
    """``decision`` is the first plan, ``gpus`` the last observation, ``error`` (kind, message) or None."""

    decision: Decision
    gpus: tuple[MigGpu, ...]
    changed: bool = False
    error: tuple[str, str] | None = None
    reboot_required: bool = False


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
            return read_mig(nvml)

    def bring(
        self, wish: MigWish, *, check: bool = False, before: Callable[[Sequence[MigGpu]], None] | None = None
    ) -> Outcome:
        """The GPUs at ``wish``; with ``check`` only the plan. ``before`` gets the GPUs before the first change.

        Raises NvmlFailure where NVML does not open at all; what fails later is the outcome's ``error``.
        """
        gpus = self.observe()
        decision = wish.decide(gpus, pids_of_units(self.host, wish.gpu_clients))
        first = Outcome(decision, gpus, bool(decision.operations), reboot_required=decision.reboot_required)
        if decision.error_kind:
            return replace(first, changed=False, error=(decision.error_kind, decision.plan.message()))
        if check:
            return first
        if not decision.operations:
            return self._recover(first)
        if before is not None:
            before(gpus)
        self.state.save_checkpoint(checkpoint(gpus))
        return self._change(wish, first)

    def _recover(self, first: Outcome) -> Outcome:
        """Nothing to change, but a run that was killed may have left units stopped."""
        left = self.state.stopped()
        start_again(self.run, left, self.state)
        return replace(first, changed=bool(left))

    def _change(self, wish: MigWish, first: Outcome) -> Outcome:
        units = wish.gpu_clients if first.decision.plan.disrupts != "nothing" else ()
        try:
            with clients_stopped(self.run, units, self.state):
                last = self._rounds(wish, first.decision)
        except MigFailure as failure:
            return replace(
                first, gpus=self.observe(), error=(failure.kind, str(failure)), reboot_required=failure.reboot
            )
        except NvmlFailure as failure:
            return replace(first, error=(failure.kind, str(failure)))
        except ClientError as error:
            return replace(first, gpus=self.observe(), error=("in_use", str(error)))
        return self._proved(first, last)

    def _rounds(self, wish: MigWish, decision: Decision) -> tuple[Decision, tuple[MigGpu, ...]]:
        """Does batch after batch, reading the GPUs anew in between; the last plan and what it was made of."""
        gpus: tuple[MigGpu, ...] = ()
        for _round in range(MOST_ROUNDS):
            self._perform(decision.first_batch, skip_reset=wish.skip_reset)
            gpus = self.observe()
            decision = wish.decide(gpus)
            if decision.error_kind or not decision.operations:
                break
        return decision, gpus

    def _perform(self, operations: Sequence[Operation], *, skip_reset: bool) -> None:
        """Layout operations share one NVML session; modes have none open, because a reset wants no client."""
        rest = list(operations)
        while rest:
            if rest[0].changes_mode:
                self._tell(rest[0])
                change_mode(rest.pop(0), self.run, skip_reset=skip_reset)
                continue
            with open_nvml() as nvml:
                while rest and not rest[0].changes_mode:
                    self._tell(rest[0])
                    change_layout(nvml, rest.pop(0))

    def _tell(self, operation: Operation) -> None:
        step = operation.step
        self.say(f"{step.action} {step.target}: {step.before} -> {step.after}")

    def _proved(self, first: Outcome, last: tuple[Decision, tuple[MigGpu, ...]]) -> Outcome:
        decision, gpus = last
        done = replace(first, gpus=gpus, reboot_required=decision.reboot_required)
        if decision.error_kind:
            return replace(done, error=(decision.error_kind, decision.plan.message()))
        if decision.operations:
            step = decision.operations[0].step
            text = f"every step was carried out, but {step.action} {step.target} is still needed (found: {step.before})"
            return replace(done, error=("nvml_error", text))
        return done
