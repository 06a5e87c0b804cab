# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps, findings and plans: what every decider returns. Private to this collection."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

# From harmless to worst. A plan disrupts as much as its worst step.
DISRUPTS = ("nothing", "gpu_workloads", "runtime", "host")

# From harmless to worst. One error finding blocks a plan.
SEVERITIES = ("info", "warning", "error")


@dataclass(frozen=True)
class Step:
    """One change: what it is done to, from what to what, and why.

    ``before`` and ``after`` are short texts for people; None where nothing was or will be there.
    """

    action: str
    target: str
    before: str | None
    after: str | None
    reason: str
    disrupts: str = "nothing"

    def __post_init__(self) -> None:
        if self.disrupts not in DISRUPTS:
            raise ValueError(f"disrupts is {self.disrupts!r}, wanted one of {', '.join(DISRUPTS)}")


@dataclass(frozen=True)
class Finding:
    """Two places that disagree. ``wanted`` and ``found`` each say where they were read.

    ``remedy`` is the exact next command or variable; ``source`` the public issue or manual that taught it.
    """

    id: str
    severity: str
    summary: str
    wanted: str
    found: str
    remedy: str
    source: str = ""

    def __post_init__(self) -> None:
        if self.severity not in SEVERITIES:
            raise ValueError(f"severity is {self.severity!r}, wanted one of {', '.join(SEVERITIES)}")

    def sentence(self) -> str:
        """The finding as one line of an error message."""
        return f"{self.id}: {self.summary} (wanted: {self.wanted}; found: {self.found}). Remedy: {self.remedy}"


@dataclass(frozen=True)
class Plan:
    """Ordered steps that lead from what was observed to what is wanted, and the findings on the way."""

    steps: tuple[Step, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether carrying out the plan would change anything."""
        return bool(self.steps)

    @property
    def blocked(self) -> bool:
        """An error finding forbids every step: nothing is half done."""
        return bool(self.errors)

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that block."""
        return tuple(f for f in self.findings if f.severity == "error")

    @property
    def disrupts(self) -> str:
        """The worst disruption among the steps."""
        return max((s.disrupts for s in self.steps), key=DISRUPTS.index, default=DISRUPTS[0])

    def message(self) -> str:
        """One line that names every blocking finding with its remedy."""
        return "; ".join(f.sentence() for f in self.errors)

    def with_findings(self, findings: Iterable[Finding]) -> Plan:
        """The same plan with further findings at its end."""
        return replace(self, findings=self.findings + tuple(findings))

    def result(self) -> dict[str, Any]:
        """The form in which modules return a plan: keys ``plan`` and ``findings``."""
        return {
            "plan": {"steps": [asdict(s) for s in self.steps], "disrupts": self.disrupts},
            "findings": [asdict(f) for f in self.findings],
        }

    def diff(self) -> dict[str, str]:
        """Ansible's before and after texts, one line a step."""
        return {
            "before": "".join(f"{s.target}: {s.before}\n" for s in self.steps),
            "after": "".join(f"{s.target}: {s.after}\n" for s in self.steps),
        }


def join_plans(plans: Iterable[Plan]) -> Plan:
    """One plan out of several, in their order."""
    parts = list(plans)
    return Plan(
        steps=tuple(s for p in parts for s in p.steps),
        findings=tuple(f for p in parts for f in p.findings),
    )
