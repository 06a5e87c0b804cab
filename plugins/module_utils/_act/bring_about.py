# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one way from wanted to true: observe, plan, apply, prove. Private to this collection."""

from __future__ import annotations

from typing import Any, Callable, Protocol, TypeVar

from .._plan.model import Plan, Step

Observed = TypeVar("Observed")


class Module(Protocol):
    """The members of AnsibleModule that are touched here."""

    check_mode: bool

    def fail_json(self, msg: str, **kwargs: Any) -> Any:
        """Ends the module with a failure."""


def bring_about(
    module: Module,
    *,
    observe: Callable[[], Observed],
    decide: Callable[[Observed], Plan],
    act: Callable[[Step, Observed], None],
    returns: Callable[[Observed], dict[str, Any]] = lambda observed: {},
) -> dict[str, Any]:
    """Carries a plan out and proves it by observing again; gives what exit_json takes.

    A blocked plan fails the module before the first step, in check mode too, with ``plan`` and ``findings``.
    ``act`` carries out one step and raises on failure; ``returns`` makes the module's own keys of the last observation.
    A plan that is not empty after all its steps fails the module: what was done had no effect.
    """
    observed = observe()
    plan = decide(observed)
    result = {"changed": plan.changed, "diff": plan.diff(), **plan.result(), **returns(observed)}
    if plan.blocked:
        module.fail_json(msg=plan.message(), **{**result, "changed": False})
    if not plan.changed or module.check_mode:
        return result
    for step in plan.steps:
        act(step, observed)
    observed = observe()
    left = decide(observed)
    result.update(returns(observed))
    if left.blocked or left.changed:
        module.fail_json(msg=_not_proved(left), **result)
    return result


def _not_proved(left: Plan) -> str:
    if left.blocked:
        return f"every step was carried out, but then: {left.message()}"
    step = left.steps[0]
    needed = f"{step.action} {step.target} is still needed: {step.reason} (found: {step.before})"
    return f"every step was carried out, but {needed}"
