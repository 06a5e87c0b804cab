# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The two states of module mig_config: a layout brought about and kept, or taken back. Private to this collection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from .._observe.command import Run
from .._observe.files import HostRoot
from .._observe.mig import read_mig_offline
from .._observe.mig_manager import enabled_mig_manager
from .._observe.nvml import NvmlFailure
from .._plan.mig import Decision
from .._plan.mig_clients import units_in_the_way
from .._plan.mig_config_file import ConfigError
from .._plan.mig_documents import result_rows, source_of
from .._plan.mig_findings import mig_finding, two_managers
from .._plan.mig_layout import MigGpu
from .._plan.mig_wish import MigWish
from .._plan.model import Finding, Plan, Step
from .mig_keeper import MigKeeper
from .mig_run import MigRun, Outcome
from .ownership import STATE_DIRECTORY


@dataclass(frozen=True)
class Report:
    """What came of a wish. ``kept`` are the steps about the saved wish beside those about the GPUs, ``findings`` those
    about the host.
    """

    wish: MigWish
    outcome: Outcome
    kept: tuple[Step, ...] = ()
    findings: tuple[Finding, ...] = ()

    def result(self) -> dict[str, Any]:
        """The module's return values; the error, if any, is the outcome's."""
        outcome = self.outcome
        plan = Plan(self.kept + outcome.plan.steps, outcome.plan.findings + self.findings)
        account: dict[str, Any] = {}
        if outcome.error is not None and outcome.before is not None:
            account = {
                "done": [asdict(s) for s in outcome.done],
                "not_done": [asdict(s) for s in outcome.undone],
                "checkpoint": outcome.before,
            }
        return {
            **account,
            "changed": outcome.changed or bool(self.kept),
            "diff": plan.diff(),
            **plan.result(),
            "gpus": result_rows(outcome.gpus, self.wish.targets_or_none(outcome.gpus), mode_only=self.wish.mode_only),
            "source": source_of(outcome.gpus),
            "selected_config": self.wish.name(),
            "reboot_required": outcome.reboot_required,
        }


class MigHost:
    """One host's MIG side; its state is kept below ``host``. All methods raise NvmlFailure, HelperMissing, OSError."""

    def __init__(self, host: HostRoot, run: Run) -> None:
        self._host = host
        self._keeper = MigKeeper(host.where(STATE_DIRECTORY))
        self._mig = MigRun(host, run, self._keeper.state)

    def restored(self, gpu_clients: tuple[str, ...], *, at_boot: bool, check: bool) -> Report:
        """Brings back what was there before the last change. Raises ConfigError where there was none."""
        document = self._keeper.state.checkpoint()
        if document is None:
            path = self._keeper.state.checkpoint_path
            message = f"state is restored, but {path} is not there, so nothing was changed here yet; set a layout"
            raise ConfigError("unknown_config", message, wanted="a checkpoint", found=f"no {path}")
        wish = MigWish(checkpoint=document, gpu_clients=gpu_clients)
        return self.present(wish, at_boot=at_boot, check=check, goes_back=True)

    def present(self, wish: MigWish, *, at_boot: bool, check: bool, goes_back: bool = False) -> Report:
        """Brings the GPUs to ``wish``; with ``at_boot`` the wish is saved before the first change."""
        kept = self._keeper.steps(wish) if at_boot else ()
        manager = enabled_mig_manager(self._host) if at_boot else ""
        findings = (two_managers(manager),) if manager else ()

        def keep(gpus: Sequence[MigGpu]) -> None:
            self._keeper.keep(wish, gpus)

        outcome = self._bring(wish, check=check, before=keep if at_boot else None, goes_back=goes_back)
        if outcome.error is not None:
            return Report(wish, outcome, findings=findings)
        if kept and not check:
            keep(outcome.gpus)
        return Report(wish, outcome, kept, findings)

    def absent(self, gpu_clients: tuple[str, ...], *, check: bool) -> Report:
        """Brings back what was there before the first kept wish, then forgets it."""
        kept = self._keeper.removal_steps()
        nothing = Report(self._keeper.wish_before((), gpu_clients), Outcome(Decision(), ()), kept)
        report = self._put_back(nothing, gpu_clients, check=check) if kept else nothing
        if report.kept and not check:
            self._keeper.forget()
        return report

    def _put_back(self, nothing: Report, gpu_clients: tuple[str, ...], *, check: bool) -> Report:
        """Without a driver there is no instance left to put back, and nobody who could set a mode."""
        try:
            gpus = self._mig.observe()
        except NvmlFailure as failure:
            if failure.kind != "driver_not_loaded":
                raise
            return replace(nothing, outcome=Outcome(Decision(findings=(_left_as_it_is(failure),)), ()))
        wish = self._keeper.wish_before([g.uuid for g in gpus], gpu_clients)
        outcome = self._mig.bring(wish, check=check)
        return Report(wish, outcome, nothing.kept if outcome.error is None else ())

    def _bring(self, wish: MigWish, *, check: bool, before: Any, goes_back: bool) -> Outcome:
        """Without a driver a check is answered from PCI and the catalog."""
        try:
            return self._mig.bring(wish, check=check, before=before, goes_back=goes_back)
        except NvmlFailure as failure:
            gpus = read_mig_offline(self._host)
            if not check or failure.kind != "driver_not_loaded" or not gpus:
                raise
        decision = wish.decide(gpus)
        coming = [u for u in wish.gpu_clients if u in wish.coming_clients]
        found = Outcome(
            decision,
            gpus,
            bool(decision.operations),
            reboot_required=decision.reboot_required,
            units=units_in_the_way(coming, decision, gpus, {}),
        )
        if decision.error_kind is None:
            return found
        return replace(found, changed=False, error=(decision.error_kind, decision.plan.message()))


def _left_as_it_is(failure: NvmlFailure) -> Finding:
    text = "the MIG mode from before could not be set, because no driver is loaded"
    return mig_finding("driver_not_loaded", text, wanted="the mode from before", found=str(failure), severity="warning")
