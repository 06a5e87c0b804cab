# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Units of systemd: enabled, started, started again with newer files. Private to this collection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .facts import Service
from .model import Step
from .work import Call, Work


@dataclass(frozen=True)
class UnitWish:
    """``wanted``: enabled and, where ``running`` (the driver is loaded), active; else neither.

    ``restart``: why a running unit has to be started again, '' for no reason. ``disrupts``: what that does.
    ``drop_in``: a file of ours beside the unit says how it is enabled and started. ``coming``: a package that is not
    there yet brings the unit, and may enable it by itself.
    """

    name: str
    wanted: bool
    running: bool
    reason: str
    restart: str = ""
    disrupts: str = "nothing"
    drop_in: bool = False
    coming: bool = False


# Units without an [Install] section are started by others: nobody can enable them.
FIXED = ("static", "indirect", "generated", "transient")


def plan_unit(unit: Service | None, wish: UnitWish) -> Work:
    """The steps to what is wanted, in one call; nothing for a unit that is absent and not wanted."""
    found = unit if unit is not None and unit.loaded != "not-found" else None
    if found is None and not wish.wanted and not wish.coming:
        return Work()
    steps: list[Step] = []
    args: dict[str, Any] = {"name": wish.name}
    for action, key, value, after in _changes(found, wish):
        before = "not installed" if found is None else f"{found.active}, {found.enabled or 'no unit file'}"
        reason, disrupts = (wish.restart, wish.disrupts) if action == "restart" else (wish.reason, "nothing")
        steps.append(Step(action, wish.name, before, after, reason, disrupts))
        args[key] = value
    if steps and wish.drop_in:
        args["daemon_reload"] = True
    return Work(tuple(steps), (Call("ansible.builtin.systemd_service", args),)) if steps else Work()


def _changes(found: Service | None, wish: UnitWish) -> list[tuple[str, str, Any, str]]:
    """Rows of action, option of systemd_service, its value, and the state after."""
    fixed = wish.wanted and not wish.drop_in and found is not None and found.enabled in FIXED
    enabled = fixed or (found is not None and found.enabled.startswith("enabled"))
    active = found is not None and found.active == "active"
    masked = found is not None and found.loaded == "masked"
    rows: list[tuple[str, str, Any, str]] = []
    if found is None and not wish.wanted:
        return [_enable(wanted=False)]
    if masked and wish.wanted:
        rows.append(("unmask", "masked", False, "not masked"))
    if enabled != wish.wanted and not (masked and not wish.wanted):
        rows.append(_enable(wanted=wish.wanted))
    if active != wish.wanted and (wish.running or not wish.wanted):
        rows.append(_start(wanted=wish.wanted))
    elif active and wish.wanted and wish.running and wish.restart:
        rows.append(("restart", "state", "restarted", "active"))
    return rows


def _enable(*, wanted: bool) -> tuple[str, str, Any, str]:
    return ("enable" if wanted else "disable", "enabled", wanted, "enabled" if wanted else "disabled")


def _start(*, wanted: bool) -> tuple[str, str, Any, str]:
    word = "started" if wanted else "stopped"
    return ("start" if wanted else "stop", "state", word, "active" if wanted else "inactive")


def outdated(unit: str, paths: Sequence[str], *, started: Mapping[str, float], changed: Mapping[str, float]) -> bool:
    """Whether a running unit was started before one of the files that it reads at its start was changed."""
    since = started.get(unit)
    return since is not None and any(changed.get(p, 0.0) > since for p in paths)
