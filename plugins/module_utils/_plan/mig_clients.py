# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which units have to stop for a MIG plan, and the steps that say so. Private to this collection."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from .._catalog.gpu_clients import RESETS_ONLY
from .mig import Decision
from .mig_config_file import ConfigError
from .mig_layout import MigGpu
from .model import Step

STOP_UNIT = "stop_unit"
START_UNIT = "start_unit"

# systemd.unit(5); a name without a type means a service
UNIT = re.compile(r"[A-Za-z0-9:_.@\\][A-Za-z0-9:_.@\\-]*")
TYPES = (".service", ".socket", ".timer", ".path", ".target", ".slice", ".scope", ".mount")


def unit_names(names: Iterable[str]) -> tuple[str, ...]:
    """Full names of units, each once, in their order. Raises ConfigError for what cannot be a unit."""
    found = []
    for name in names:
        if not UNIT.fullmatch(name):
            message = f"gpu_clients holds {name!r}, no name of a systemd unit; write it as systemctl shows it"
            raise ConfigError("invalid_config", message, wanted="names of units", found=f"gpu_clients: {name!r}")
        found.append(name if name.endswith(TYPES) else f"{name}.service")
    return tuple(dict.fromkeys(found))


def units_in_the_way(
    units: Sequence[str], decision: Decision, gpus: Sequence[MigGpu], pids_of: Mapping[str, Iterable[int]]
) -> tuple[str, ...]:
    """Those of ``units`` that the plan cannot go along with.

    A unit that only hinders resets stays where no GPU is reset and none of its processes (``pids_of``) uses an
    instance.
    """
    if decision.plan.disrupts == "nothing":
        return ()
    resets = any(o.resets for o in decision.operations)
    users = {pid for gpu in gpus for instance in gpu.instances for pid in instance.users}
    return tuple(u for u in units if u not in RESETS_ONLY or resets or users & set(pids_of.get(u, ())))


def stop_steps(units: Iterable[str]) -> tuple[Step, ...]:
    """Before the change."""
    reason = "it has GPUs open, which keeps instances from going and GPUs from a reset"
    return tuple(Step(STOP_UNIT, unit, "active", "inactive", reason, "gpu_workloads") for unit in units)


def start_steps(units: Sequence[str]) -> tuple[Step, ...]:
    """After the change, also after one that failed; in reverse order."""
    reason = "it was stopped for the change of the MIG layout"
    return tuple(Step(START_UNIT, unit, "inactive", "active", reason) for unit in reversed(units))
