# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Any sequence of NVML calls leaves a sound state, and a refused call leaves it as it was."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simulator import state as states
from simulator.invariants import violations
from simulator.models import MODELS
from simulator.sandbox import Sandbox, Session
from simulator.state import State

GPUS = ("A100-40", "H100-80", "A30", "RTXPRO6000", "INVENTED", "T4")
# Calls by name; each takes the GPU's index first. `call` gives NVML's code; a mode change that waits is no refusal.
SETUP = """

def place(start, size):
    return byref(c_nvmlGpuInstancePlacement_t(start, size))

def gi(device, id):
    return nvmlDeviceGetGpuInstanceById(device, id)

def ci(device, gi_id, id):
    return nvmlGpuInstanceGetComputeInstanceById(gi(device, gi_id), id)

CALLS = {
    "mig": lambda d, mode: nvmlDeviceSetMigMode(d, mode),
    "make": lambda d, profile: remember(nvmlDeviceCreateGpuInstance(d, profile)),
    "make_at": lambda d, profile, start, size: remember(
        nvmlDeviceCreateGpuInstanceWithPlacement(d, profile, place(start, size))),
    "destroy": lambda d, id: nvmlGpuInstanceDestroy(gi(d, id)),
    "destroy_again": lambda d, number: nvmlGpuInstanceDestroy(made[number % len(made)]) if made else None,
    "compute": lambda d, id, profile: nvmlGpuInstanceCreateComputeInstance(gi(d, id), profile),
    "compute_at": lambda d, id, profile, start, size: nvmlGpuInstanceCreateComputeInstanceWithPlacement(
        gi(d, id), profile, byref(c_nvmlComputeInstancePlacement_t(start, size))),
    "destroy_compute": lambda d, id, number: nvmlComputeInstanceDestroy(ci(d, id, number)),
    "ecc": lambda d, mode: nvmlDeviceSetEccMode(d, mode),
    "power": lambda d, watts: nvmlDeviceSetPowerManagementLimit(d, watts * 1000),
    "compute_mode": lambda d, mode: nvmlDeviceSetComputeMode(d, mode),
    "clocks": lambda d, low, high: nvmlDeviceSetGpuLockedClocks(d, low, high),
    "free_clocks": lambda d: nvmlDeviceResetGpuLockedClocks(d),
    "persistence": lambda d, mode: nvmlDeviceSetPersistenceMode(d, mode),
    "reset": lambda d: reset_gpu(d),
}
made = []

def remember(handle):
    made.append(handle)
    return handle

def reset_gpu(device):
    import pynvml
    pynvml._nvmlCheckReturn(pynvml._nvmlGetFunctionPointer("simhwDeviceReset")(device))

def call(name, index, *arguments):
    return number(CALLS[name], gpu(index), *arguments)
"""
PROFILES = sorted({profile.id for key in GPUS for profile in MODELS[key].profiles})
LEGAL = [
    [(profile.id, start, profile.size) for profile in MODELS[key].profiles for start in profile.starts] or [(0, 0, 1)]
    for key in GPUS
]
small = st.integers(0, 12)
place = st.integers(0, 40)  # among the legal ones, or the instances, of a GPU: see _resolved
profile = st.one_of(st.sampled_from(PROFILES), st.integers(0, 70))
compute_profile = st.integers(0, 9)
index = st.integers(0, len(GPUS) - 1)
common = st.one_of(
    st.tuples(st.just("make_legal"), index, place),
    st.tuples(st.just("make_legal_at"), index, place),
    st.tuples(st.just("compute"), index, place, st.integers(0, 2)),
    st.tuples(st.just("compute"), index, place, st.integers(0, 0)),
    st.tuples(st.just("compute_at"), index, place, st.integers(0, 0), st.integers(0, 2), st.integers(1, 1)),
    st.tuples(st.just("destroy"), index, place),
    st.tuples(st.just("destroy_compute"), index, place, st.integers(0, 1)),
)
rare = st.one_of(
    st.tuples(st.just("mig"), index, st.integers(0, 2)),
    st.tuples(st.just("make"), index, profile),
    st.tuples(st.just("make_at"), index, profile, small, st.sampled_from([1, 2, 3, 4, 6, 8, 12])),
    st.tuples(st.just("destroy_again"), index, small),
    st.tuples(st.just("compute"), index, place, compute_profile),
    st.tuples(st.just("compute_at"), index, place, compute_profile, small, st.integers(0, 8)),
    st.tuples(st.just("ecc"), index, st.integers(0, 2)),
    st.tuples(st.just("power"), index, st.integers(0, 1500)),
    st.tuples(st.just("compute_mode"), index, st.integers(0, 5)),
    st.tuples(st.just("clocks"), index, st.integers(0, 2500), st.integers(0, 2500)),
    st.tuples(st.just("free_clocks"), index),
    st.tuples(st.just("persistence"), index, st.integers(0, 1)),
    st.tuples(st.just("reset"), index),
)
call = st.one_of(common, common, rare)
MIG_ON = [("mig", number, 1) for number in range(5)]


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Sandbox, Session, str]]:
    box = Sandbox(tmp_path_factory.mktemp("invariants"), GPUS, driver="620.10")
    with box.session() as session:
        session.ask(SETUP)
        yield box, session, box.state_path.read_text()


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(first=st.sampled_from([MIG_ON, MIG_ON, []]), focus=index, calls=st.lists(call, min_size=15, max_size=40))
def test_every_sequence_is_sound(
    machine: tuple[Sandbox, Session, str], first: list[Any], focus: int, calls: list[tuple[Any, ...]]
) -> None:
    box, session, original = machine
    box.state_path.write_text(original)
    session.ask("made.clear()")
    for word, *words in [*first, *_focused(calls, focus)]:
        before = box.state
        name, arguments = _resolved(before, word, words)
        code = session.value(f"call({name!r}, *{arguments!r})")
        after = box.state
        assert violations(after) == []
        assert states.parse(states.render(after)) == after
        if code:
            assert after == before, f"{name} {arguments} was refused with {code} and changed something"


def _focused(calls: list[tuple[Any, ...]], focus: int) -> list[tuple[Any, ...]]:
    """Most calls go to one GPU, or little would come together on any."""
    return [(name, focus if gpu else 0, *rest) for name, gpu, *rest in calls]


def _resolved(state: State, name: str, words: list[int]) -> tuple[str, list[int]]:
    """A place becomes a legal profile or start, or the id of an instance that is there; one beyond them stays."""
    gpu, *rest = words
    if name.startswith("make_legal"):
        row = LEGAL[gpu][rest[0] % len(LEGAL[gpu])]
        return name.replace("_legal", ""), [gpu, *(row if name.endswith("at") else row[:1])]
    ids = [row["id"] for row in state.instances if row["gpu"] == str(gpu)]
    if name in ("destroy", "compute", "compute_at", "destroy_compute") and ids and rest[0] < 36:
        return name, [gpu, int(ids[rest[0] % len(ids)]), *rest[1:]]
    return name, words


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(gpu=st.integers(0, 4), layout=st.lists(profile, max_size=6), asked=st.sampled_from(PROFILES))
def test_capacity_is_what_can_be_made(
    machine: tuple[Sandbox, Session, str], gpu: int, layout: list[int], asked: int
) -> None:
    box, session, original = machine
    box.state_path.write_text(original)
    session.ask(f"call('mig', {gpu}, 1)\nfor profile in {layout}: call('make', {gpu}, profile)")
    left = session.value(f"nvmlDeviceGetGpuInstanceRemainingCapacity(gpu({gpu}), {asked})")
    if isinstance(left, dict):
        assert asked not in [profile.id for profile in MODELS[GPUS[gpu]].profiles]
        return
    codes = session.value(f"[call('make', {gpu}, {asked}) for _time in range({left} + 1)]")
    assert codes == [0] * left + [23]
