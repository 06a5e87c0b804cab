# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Work: steps together with the builtin modules that carry them out. Private to this collection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from .model import Finding, Plan, Step

FILE_MODE = "0644"


@dataclass(frozen=True)
class Call:
    """One run of an Ansible module, by its full name, that carries out one or several steps.

    ``secret``: an option of the task whose value becomes ``content``: a secret is in no plan and no result.
    """

    module: str
    args: dict[str, Any]
    secret: str = ""


@dataclass(frozen=True)
class Work:
    """Steps, the calls that carry them out in order, and what ownership records say about it.

    ``objects``: name -> (value before, our value), recorded before the first call. ``gone``: names that the record may
    forget, because removal of what they stand for is proved.
    """

    steps: tuple[Step, ...] = ()
    calls: tuple[Call, ...] = ()
    findings: tuple[Finding, ...] = ()
    objects: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    gone: tuple[str, ...] = ()

    @property
    def plan(self) -> Plan:
        """Steps and findings alone."""
        return Plan(steps=self.steps, findings=self.findings)

    def result(self) -> dict[str, Any]:
        """Keys ``plan`` and ``findings`` of a module's result, the calls in ``plan.calls``."""
        result = self.plan.result()
        result["plan"]["calls"] = [asdict(c) for c in self.calls]
        return result


def join_work(parts: Iterable[Work]) -> Work:
    """One piece of work out of several, in their order."""
    rows = list(parts)
    return Work(
        steps=tuple(s for p in rows for s in p.steps),
        calls=tuple(c for p in rows for c in p.calls),
        findings=tuple(f for p in rows for f in p.findings),
        objects={name: value for p in rows for name, value in p.objects.items()},
        gone=tuple(n for p in rows for n in p.gone),
    )


def write_file(path: str, text: str, *, found: str | None, action: str, reason: str) -> Work:
    """The work that makes the file ``path`` hold exactly ``text``; none where it does."""
    if found == text:
        return Work()
    step = Step(action=action, target=path, before=_kind(found), after=_kind(text), reason=reason)
    args = {"dest": path, "content": text, "mode": FILE_MODE, "owner": "root", "group": "root"}
    return Work((step,), (Call("ansible.builtin.copy", args),), objects={f"file:{path}": (found, text)})


def remove_file(path: str, *, found: str | None, action: str, reason: str) -> Work:
    """The work that takes the file ``path`` away; none where it is absent."""
    if found is None:
        return Work(gone=(f"file:{path}",))
    step = Step(action=action, target=path, before=_kind(found), after=None, reason=reason)
    return Work((step,), (Call("ansible.builtin.file", {"path": path, "state": "absent"}),))


def _kind(text: str | None) -> str | None:
    """Enough of a file for people: a short text as it is, a longer one by its number of lines and its last line."""
    if text is None:
        return None
    lines = [line for line in text.strip().splitlines() if not line.startswith("#")]
    return "; ".join(lines) if len(lines) <= 6 else f"{len(lines)} lines"
