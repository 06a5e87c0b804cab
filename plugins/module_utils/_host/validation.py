# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""gpu-fleet-host validation: proves the GPU stack at boot and writes the barrier files. Private to this collection."""

from __future__ import annotations

from .._act.lock import PATH, LockedError, host_lock
from .._act.validation import HostValidation, make_validation, saved_options
from .._observe.files import HostRoot
from .._observe.helpers import find_helper
from .._observe.nvml import HelperMissing
from .._plan.validation import Validation, judge, plan_barriers
from .command import run as run_command
from .lines import complain, say

DONE, FAILED = 0, 1
HELPERS = ("tomlkit", "yaml")


def run(*, host_root: str = "/", lock: str = PATH) -> int:
    """Exit status: 0 all components are ready, disabled or ignored; 1 one is not, its reason is on standard error."""
    host = HostRoot(host_root)
    helpers = {name: find_helper(name) for name in HELPERS}
    missing = [name for name, package in helpers.items() if package is None]
    if missing:
        return _fail(f"the Python packages {', '.join(missing)} are missing; run role gpu.fleet.prereq again")
    try:
        options = saved_options(host)
        if options is None:
            say("validation: no options are saved, nothing to do")
            return DONE
        with host_lock(path=lock):
            wish = make_validation(options)
            return _validate(
                HostValidation(host, wish, run=run_command, helpers=helpers, engine=options.get("engine", "")), wish
            )
    except (HelperMissing, LockedError, OSError, ValueError) as error:
        return _fail(str(error))


def _validate(validation: HostValidation, wish: Validation) -> int:
    seen = validation.observe()
    for step in plan_barriers(wish, seen).steps:
        validation.act(step, seen)
        say(f"validation: {step.action} {step.target}: {step.reason}")
    status = DONE
    for component in judge(wish, seen):
        because = f": {component.reason}" if component.reason else ""
        say(f"validation: {component.name} is {component.state}{because}")
        if component.finding is not None:
            status = _fail(component.finding.sentence())
    return status


def _fail(message: str) -> int:
    complain(f"validation: {message}")
    return FAILED
