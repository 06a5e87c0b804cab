# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is true of every state that NVML calls can lead to. Written from the manual, not from nvml/."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from simulator.health import KEYS
from simulator.models import MODELS, MigProfile, Model
from simulator.state import Record, State

CI_SLICES = {0: 1, 1: 2, 2: 3, 3: 4, 4: 7, 5: 8, 6: 6, 7: 1}  # NVML_COMPUTE_INSTANCE_PROFILE_*


def violations(state: State) -> list[str]:
    """One sentence for each thing that cannot be; empty for a sound state."""
    return [sentence for gpu in state.gpus for sentence in _of_gpu(state, gpu)] + list(_strays(state))


def _of_gpu(state: State, gpu: Record) -> Iterator[str]:
    model, minor = MODELS[gpu["model"]], gpu["minor"]
    instances = [row for row in state.instances if row["gpu"] == minor]
    if instances and gpu["mig"] != "1":
        yield f"GPU {minor} has instances without MIG mode"
    if (gpu["mig"] != "0" or gpu["pending"] != "0") and not model.mig_units:
        yield f"GPU {minor} ({model.name}) has a MIG mode"
    yield from _of_layout(model, minor, instances)
    for row in instances:
        yield from _of_compute(state, model, row)
    yield from _of_health(state, model, minor)


def _of_layout(model: Model, minor: str, instances: list[Record]) -> Iterator[str]:
    found = [(row, _profile(model, row)) for row in instances]
    if any(profile is None for _row, profile in found):
        yield f"GPU {minor} has an instance of a profile that {model.name} does not have"
        return
    known = [(row, profile) for row, profile in found if profile]
    units = Counter(int(row["start"]) + unit for row, profile in known for unit in range(profile.size))
    if any(count > 1 for count in units.values()):
        yield f"GPU {minor}: instances overlap"
    if any(int(row["start"]) not in profile.starts for row, profile in known):
        yield f"GPU {minor}: an instance starts where its profile cannot"
    if any(count > profile.count for profile, count in Counter(profile for _row, profile in known).items()):
        yield f"GPU {minor}: more instances of a profile than fit"
    used = [sum(profile.engines[kind] for _row, profile in known) for kind in range(1, 5)]
    if any(one > there for one, there in zip(used, model.mig_engines, strict=True)):
        yield f"GPU {minor}: more media engines in use than there are"
    if len({row["id"] for row, _profile in known}) != len(known):
        yield f"GPU {minor}: two instances with one id"


def _of_compute(state: State, model: Model, instance: Record) -> Iterator[str]:
    profile = _profile(model, instance)
    rows = [row for row in state.compute if (row["gpu"], row["gi"]) == (instance["gpu"], instance["id"])]
    slices = Counter(int(row["start"]) + place for row in rows for place in range(CI_SLICES[int(row["profile"])]))
    where = f"GPU {instance['gpu']}, instance {instance['id']}"
    if any(count > 1 for count in slices.values()):
        yield f"{where}: compute instances overlap"
    if profile and any(place >= profile.slices for place in slices):
        yield f"{where}: a compute instance is wider than its GPU instance"
    if len({row["id"] for row in rows}) != len(rows):
        yield f"{where}: two compute instances with one id"


def _of_health(state: State, model: Model, minor: str) -> Iterator[str]:
    for row in (row for row in state.health if row["gpu"] == minor):
        if not set(row) - {"gpu"} <= set(KEYS):
            yield f"GPU {minor}: unknown values {sorted(set(row) - {'gpu', *KEYS})}"
        limit = int(row.get("power_limit", model.power[2] * 1000))
        if not model.power[1] * 1000 <= limit <= model.power[2] * 1000:
            yield f"GPU {minor}: a power limit of {limit} mW"
        if int(row.get("clock_low", "0")) > int(row.get("clock_high", "99999")):
            yield f"GPU {minor}: locked clocks the wrong way round"
        if row.get("ecc_pending") and not model.ecc:
            yield f"GPU {minor}: an ECC mode on a board without ECC"


def _strays(state: State) -> Iterator[str]:
    minors = {gpu["minor"] for gpu in state.gpus}
    instances = {(row["gpu"], row["id"]) for row in state.instances}
    compute = {(row["gpu"], row["gi"], row["id"]) for row in state.compute}
    for word, rows in state.tables().items():
        if any(row.get("gpu", next(iter(minors), "")) not in minors for row in rows):
            yield f"a {word} of a GPU that is not there"
    if any((gpu, gi) not in instances for gpu, gi, _ci in compute):
        yield "a compute instance without its GPU instance"
    for row in state.processes:
        if row["gi"] != "-" and (row["gpu"], row["gi"]) not in instances:
            yield f"process {row['pid']} in an instance that is gone"
        if row["ci"] != "-" and (row["gpu"], row["gi"], row["ci"]) not in compute:
            yield f"process {row['pid']} in a compute instance that is gone"


def _profile(model: Model, instance: Record) -> MigProfile | None:
    return next((profile for profile in model.profiles if profile.id == int(instance["profile"])), None)
