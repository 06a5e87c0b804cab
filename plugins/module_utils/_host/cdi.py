# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""gpu-fleet-host cdi: writes the CDI specs with the options that role toolkit saved. Private to this collection."""

from __future__ import annotations

from .._act.cdi import CdiSpecs, NodeError, WishError, read_wishes
from .._act.lock import PATH, LockedError, host_lock
from .._observe.cdi_gpus import read_gpus
from .._observe.cdi_specs import yaml_loader
from .._observe.files import HostRoot
from .._observe.helpers import find_helper
from .._plan.cdi import WISH_PATH, plan_cdi
from .._plan.cdi_wish import CdiWish, make_wish
from .command import run as run_command
from .lines import complain, say

FAILED = 1
# A change of the MIG layout starts this program and holds the lock until it is done; the unit has 300 seconds.
LOCK_SECONDS = 240.0
# sysexits.h EX_TEMPFAIL: the unit is started again when the driver comes.
DRIVER_NOT_LOADED = 75


def run(*, host_root: str = "/", lock: str = PATH) -> int:
    """Brings every saved spec about; prints one line a step, and the reason of a failure on standard error."""
    host, yaml, pynvml = HostRoot(host_root), find_helper("yaml"), find_helper("pynvml")
    if yaml is None or pynvml is None:
        return _fail("the Python packages yaml and pynvml are missing; run role gpu.fleet.prereq again")
    load = yaml_loader(yaml)
    try:
        with host_lock(path=lock, timeout=LOCK_SECONDS):
            wishes = [make_wish(options) for options in read_wishes(host, load)]
            if not wishes:
                say(f"nothing to do: {WISH_PATH} names no spec")
            specs = [(w, CdiSpecs(host, w, read_gpus=read_gpus, load=load, run=run_command)) for w in wishes]
            return max((_bring_about(wish, spec) for wish, spec in specs), default=0)
    except (OSError, LockedError, NodeError, WishError) as error:
        return _fail(str(error))


def _bring_about(wish: CdiWish, specs: CdiSpecs) -> int:
    state = specs.observe()
    plan = plan_cdi(wish, state, at_boot=False)
    if plan.blocked:
        absent = state.host is not None and state.host.nvml_absent
        _fail(f"{wish.path}: {plan.message()}")
        return DRIVER_NOT_LOADED if absent else FAILED
    for step in plan.steps:
        specs.act(step, state)
        say(f"{step.action} {step.target}: {step.after} ({step.reason})")
    for finding in plan.findings:
        say(f"{finding.severity}: {finding.sentence()}")
    if not plan.changed:
        say(f"{wish.path} is as wanted")
        return 0
    left = plan_cdi(wish, specs.observe(), at_boot=False)
    return _fail(f"{wish.path} was written, but: {left.steps[0].reason}") if left.changed else 0


def _fail(text: str) -> int:
    complain(f"gpu-fleet-host cdi: {text}")
    return FAILED
