# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A MIG case (a node, a request, the outcome) as a simulated machine. Form: tests/unit/fixtures/mig/README.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from simulator.build import artifact_dir, nvml_with
from simulator.layout import machine_state
from simulator.model import MigProfile, Model
from simulator.models import MODELS
from simulator.sandbox import Sandbox
from simulator.state import Record, State

CASE = Mapping[str, Any]
CI_PROFILES = {1: 0, 2: 1, 3: 2, 4: 3, 7: 4, 8: 5, 6: 6}  # slices -> NVML_COMPUTE_INSTANCE_PROFILE_*
REVISION1 = 7  # the one-slice profile with more SM counts as the plain one
DRIVER = "595.71.05"


@contextmanager
def machine(folder: Path, case: CASE) -> Iterator[Sandbox]:
    """The node of the case. Raises KeyError for a model that neither the simulator nor the case has."""
    extra = {key: invented(key, row) for key, row in case.get("custom_models", {}).items()}
    libraries = nvml_with(extra.values()) if extra else artifact_dir() / "lib"
    MODELS.update(extra)
    try:
        driver = DRIVER if case["node"].get("driver_loaded", True) else ""
        box = Sandbox(folder, node_state(case["node"]["gpus"]), driver=driver)
        box.environment["LD_LIBRARY_PATH"] = str(libraries)
        for fault in case.get("faults", []):
            box.fault(fault["function"], fault["return"], skip=fault.get("after", 0), count=fault.get("count", -1))
        yield box
    finally:
        for key in extra:
            del MODELS[key]


def node_state(gpus: list[CASE]) -> State:
    """The GPUs with modes and instances; their UUIDs follow from their index."""
    state = machine_state([gpu["model"] for gpu in gpus], "case")
    for gpu, row in zip(gpus, state.gpus, strict=True):
        quirks = gpu.get("quirks", [])
        row.update(
            mig=_mode(gpu["mig_mode"]),
            pending=_mode(gpu["mig_pending"]),
            client=str(int("foreign_client" in quirks)),
            passthrough=str(int("reset_unavailable" in quirks)),
        )
        if "subsystem_id" in gpu:
            row["subsystem"] = gpu["subsystem_id"]
        hidden = [
            profile for profile in MODELS[gpu["model"]].profiles if profile.name in gpu.get("hidden_profiles", [])
        ]
        state.hidden += [{"gpu": row["minor"], "profile": str(profile.id)} for profile in hidden]
        for instance in gpu.get("instances", []):
            _add_instance(state, row, instance)
        for process in gpu.get("processes", []):
            state.processes.append(_process(state, row, process))
    return state


def devices(state: State, minor: str) -> dict[str, int]:
    """Names of the MIG devices of a GPU, each with its number."""
    model = MODELS[next(gpu["model"] for gpu in state.gpus if gpu["minor"] == minor)]
    names: Counter[str] = Counter()
    for row in (row for row in state.compute if row["gpu"] == minor):
        instance = next(gi for gi in state.instances if (gi["gpu"], gi["id"]) == (minor, row["gi"]))
        profile = _by_id(model, instance["profile"])
        slices = next(slices for slices, number in CI_PROFILES.items() if number == int(row["profile"]) % REVISION1)
        names[profile.name if slices == profile.slices else f"{slices}c.{profile.name}"] += 1
    return dict(names)


def starts(state: State, minor: str) -> dict[str, list[int]]:
    """Starts of the GPU instances of a GPU by profile."""
    model = MODELS[next(gpu["model"] for gpu in state.gpus if gpu["minor"] == minor)]
    found: dict[str, list[int]] = {}
    for row in (row for row in state.instances if row["gpu"] == minor):
        found.setdefault(_by_id(model, row["profile"]).name, []).append(int(row["start"]))
    return {name: sorted(places) for name, places in found.items()}


def instance_id(model: Model, profile: MigProfile, start: int) -> int:
    """Ids follow a tree: 0 the whole board, 1-2 halves, 3-6 quarters, 7-14 eighths."""
    return model.mig_units // profile.size - 1 + start // profile.size


def invented(key: str, row: CASE) -> Model:
    """A board that only this case has; what it does not say is that of the simulator's own invented one."""
    engines = ("copy", "decoder", "encoder", "jpeg", "ofa")
    profiles = tuple(
        MigProfile(
            name=profile["name"],
            enum=profile["enum"],
            id=profile["id"],
            slices=profile["slices"],
            memory_mib=profile["memory_mib"],
            count=profile["count"],
            multiprocessors=profile["sm"],
            engines=tuple(profile[name] for name in engines),  # type: ignore[arg-type]
            size=profile["size"],
            starts=tuple(profile["starts"]),
        )
        for profile in row["profiles"]
    )
    return replace(
        MODELS["INVENTED"],
        key=key,
        name=row["nvml_name"],
        device_id=int(row["pci_id"], 16) >> 16,
        subsystem=int(row["subsystem_id"], 16),
        architecture=row["architecture"],
        memory_mib=row["memory_mib"],
        mig_units=row["memory_units"],
        mig_engines=tuple(row["engine_totals"][name] for name in engines[1:]),  # type: ignore[arg-type]
        profiles=profiles,
    )


def _mode(word: str) -> str:
    return "1" if word == "enabled" else "0"


def _by_id(model: Model, number: str) -> MigProfile:
    return next(profile for profile in model.profiles if profile.id == int(number))


def _add_instance(state: State, gpu: Record, instance: CASE) -> None:
    model = MODELS[gpu["model"]]
    profile = next(profile for profile in model.profiles if profile.name == instance["profile"])
    number = str(instance_id(model, profile, instance["start"]))
    place = {"id": number, "profile": str(profile.id), "start": str(instance["start"])}
    state.instances.append({"gpu": gpu["minor"], **place})
    start = 0
    for index, name in enumerate(instance["compute"]):
        slices = int(name.split("c.")[0]) if "c." in name else profile.slices
        row = {"gi": number, "id": str(index), "profile": str(CI_PROFILES[slices]), "start": str(start)}
        state.compute.append({"gpu": gpu["minor"], **row})
        start += slices


def _process(state: State, gpu: Record, process: CASE) -> Record:
    minor, start = gpu["minor"], str(process["gi_start"])
    instance = next(row for row in state.instances if (row["gpu"], row["start"]) == (minor, start))
    pid = str(process.get("pid", 4000 + len(state.processes)))
    return {"gpu": minor, "pid": pid, "gi": instance["id"], "ci": "0", "memory": "1024", "name": "python3"}
