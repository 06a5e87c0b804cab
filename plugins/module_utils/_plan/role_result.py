# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides what a role publishes for a host from the results of its modules. Private to this collection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._catalog.states import DISABLED, ERROR, IGNORED, NOT_READY, READY

Result = Mapping[str, Any]


def published(
    state: str,
    reason: str,
    *,
    plan: Sequence[Any] = (),
    findings: Sequence[Any] = (),
    reboot_required: bool = False,
    version: str = "",
) -> dict[str, Any]:
    """The form in which every role publishes its result. ``plan`` holds steps; ``state`` is one of the five words."""
    return {
        "state": state,
        "reason": reason,
        "plan": list(plan),
        "findings": list(findings),
        "reboot_required": reboot_required,
        "version": version,
    }


def role_result(
    results: Sequence[Result],
    *,
    state: str = "present",
    error: str = "",
    ignored: str = "",
    disabled: str = "",
    not_ready: str = "",
) -> dict[str, Any]:
    """What a role publishes after its modules ended with ``results``, a failed one too; those that were skipped count
    for nothing.

    ``state`` is the role's own (present or absent). ``error``, ``ignored``, ``disabled`` and ``not_ready`` say why the
    role is in that state; the first that is not empty decides.
    """
    ran = [result for result in results if "plan" in result]
    findings = [finding for result in ran for finding in result.get("findings") or ()]
    reboot = any(result.get("reboot_required") for result in ran)
    told = "; ".join(finding["summary"] for finding in findings)
    reasons = {
        ERROR: error,
        IGNORED: ignored or next((result["ignored"] for result in ran if result.get("ignored")), ""),
        DISABLED: disabled or ("removed" if state == "absent" else ""),
        NOT_READY: not_ready or (told or "a reboot is required" if reboot else ""),
    }
    value = next((word for word, reason in reasons.items() if reason), READY)
    return published(
        value,
        reasons.get(value, told),
        plan=[step for result in ran for step in result["plan"]["steps"]],
        findings=findings,
        reboot_required=reboot,
        version=next((result["version"] for result in ran if result.get("version")), ""),
    )
