# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Any board, any state, any wish: the wish is reached with as few destroyed instances as a brute force finds, or it is
refused and nothing is touched.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.configuration import set_hypothesis_home_dir

from ansible_collections.gpu.fleet.plugins.module_utils._catalog.mig import COMPUTE_STARTS, COMPUTE_WIDTHS, MODELS
from ansible_collections.gpu.fleet.plugins.module_utils._plan import mig as plan
from ansible_collections.gpu.fleet.plugins.module_utils._plan.mig_compute import place_compute
from ansible_collections.gpu.fleet.plugins.module_utils._plan.mig_layout import (
    ComputeInstance,
    DeviceName,
    GpuInstance,
    MigGpu,
    device_counts,
)
from ansible_collections.gpu.fleet.plugins.module_utils._plan.mig_wish import MigWish
from simulator.models import MODELS as BOARDS
from simulator.module_host import Host
from simulator.state import State, edit

set_hypothesis_home_dir(Path(__file__).parents[3] / ".cache" / "hypothesis")
EXAMPLES = int(os.environ.get("GPU_FLEET_MIG_EXAMPLES", "500"))
ON_HARDWARE = max(6, EXAMPLES // 80)
OPTIONS = {"deadline": None, "derandomize": True, "database": None, "suppress_health_check": list(HealthCheck)}
IN_PLANS = settings(max_examples=EXAMPLES, **OPTIONS)
IN_MODULES = settings(max_examples=ON_HARDWARE, **OPTIONS)


def fits(profiles, places):
    """The slow and obvious way: no overlap, counts, engine totals."""
    units, counts = set(), Counter()
    for profile, start in places:
        taken = set(range(start, start + profile.size))
        counts[profile.name] += 1
        if units & taken or counts[profile.name] > profile.count:
            return False
        units |= taken
    whole = max(profiles, key=lambda p: p.size)
    return all(sum(p.engines[k] for p, _s in places) <= whole.engines[k] for k in range(4))


def has_compute_room(slices, parts):
    """``parts``: (start, width) that are there, or (None, width) to be made."""
    fixed = [(s, w) for s, w in parts if s is not None]
    new = [w for s, w in parts if s is None]

    def place(taken, rest):
        if not rest:
            return True
        for start in COMPUTE_STARTS[rest[0]]:
            part = set(range(start, start + rest[0]))
            if start + rest[0] <= slices and not part & taken and place(taken | part, rest[1:]):
                return True
        return False

    taken = {u for s, w in fixed for u in range(s, s + w)}
    return place(taken, new)


def all_layouts(profiles, wanted):
    """Every way to have exactly ``wanted`` ((profile name, width) -> count): lists of (profile, start, widths)."""
    names = {name for name, _w in wanted}
    places = [(p, s) for p in profiles if p.name in names for s in p.starts]

    def descend(index, left, chosen):
        if not any(left.values()):
            yield chosen
            return
        if index == len(places):
            return
        profile, start = places[index]
        yield from descend(index + 1, left, chosen)
        if not fits(profiles, [(p, s) for p, s, _w in chosen] + [(profile, start)]):
            return
        for widths in splits(profile, left):
            rest = left - Counter({(profile.name, w): n for w, n in Counter(widths).items()})
            yield from descend(index + 1, rest, [*chosen, (profile, start, widths)])

    yield from descend(0, Counter(wanted), [])


def splits(profile, left):
    """Every set of widths that one instance of the profile may take from what is left."""
    widths = sorted({w for (name, w), n in left.items() if n and name == profile.name}, reverse=True)

    def descend(rest, room, chosen):
        if chosen:
            yield tuple(chosen)
        for number, width in enumerate(rest):
            if width <= room and left[profile.name, width] > chosen.count(width):
                yield from descend(rest[number:], room - width, [*chosen, width])

    yield from descend(widths, profile.slices, [])


def fewest(profiles, instances, wanted):
    """(lost in use, GPU instances destroyed, compute instances destroyed in those that stay) at least; None: no way."""
    best = None
    for layout in all_layouts(profiles, wanted):
        there = {(p.name, s): w for p, s, w in layout}
        lost = gone = parts = 0
        for instance in instances:
            widths = there.get((instance.profile, instance.start))
            if widths is None:
                gone += 1
                lost += bool(instance.users)
                continue
            kept_lost, kept_gone = fewest_parts(instance, widths)
            lost, parts = lost + kept_lost, parts + kept_gone
        if best is None or (lost, gone, parts) < best:
            best = (lost, gone, parts)
    return best


def fewest_parts(instance, widths):
    """The same inside one instance, by trying every subset of its compute instances."""
    best = None
    for mask in range(1 << len(instance.compute)):
        stay = [c for i, c in enumerate(instance.compute) if mask >> i & 1]
        new = Counter(widths) - Counter(c.width for c in stay)
        if Counter(c.width for c in stay) - Counter(widths):
            continue
        parts = [(c.start, c.width) for c in stay] + [(None, w) for w in new.elements()]
        if not has_compute_room(instance.slices, parts):
            continue
        gone = [c for c in instance.compute if c not in stay]
        cost = (sum(bool(c.clients) for c in gone), len(gone))
        best = cost if best is None else min(best, cost)
    return best


@st.composite
def some_places(draw, profiles, most):
    """Legal places with widths of compute instances, which may be none at all."""
    found = []
    for _number in range(draw(st.integers(0, most))):
        profile = draw(st.sampled_from(profiles))
        start = draw(st.sampled_from(profile.starts))
        if fits(profiles, [(p, s) for p, s, _w in found] + [(profile, start)]):
            found.append((profile, start, draw(some_widths(profile))))
    return found


@st.composite
def some_widths(draw, profile):
    kind = draw(st.sampled_from(["whole", "whole", "whole", "parts", "none"]))
    if kind != "parts":
        return (profile.slices,) if kind == "whole" else ()
    widths, room = [], profile.slices
    while room and draw(st.booleans()):
        width = draw(st.sampled_from([w for w in COMPUTE_WIDTHS[profile.slices] if w <= room]))
        widths.append(width)
        room -= width
    return tuple(sorted(widths, reverse=True))


@st.composite
def some_instances(draw, profiles, *, holes=True):
    found = []
    for number, (profile, start, widths) in enumerate(draw(some_places(profiles, 8))):
        starts = place_compute(profile.slices, (), widths)
        busy = draw(st.integers(0, 5)) == 0
        compute = [
            ComputeInstance(i, w, clients=(4000 + 10 * number + i,) if busy and i == 0 else (), start=s)
            for i, (w, s) in enumerate(zip(widths, starts))
        ]
        if holes and len(compute) > 1 and draw(st.booleans()):
            del compute[draw(st.integers(0, len(compute) - 1))]
        found.append(GpuInstance(number, profile.name, profile.slices, start, tuple(compute)))
    return tuple(found)


@st.composite
def some_wish(draw, profiles):
    """Device name -> count; often possible."""
    if draw(st.integers(0, 3)):
        names = [DeviceName(w, p.name, p.slices) for p, _s, ws in draw(some_places(profiles, 7)) for w in ws]
    else:
        names = []
        for profile in draw(st.lists(st.sampled_from(profiles), max_size=3)):
            width = draw(st.sampled_from(COMPUTE_WIDTHS[profile.slices]))
            names += [DeviceName(width, profile.name, profile.slices)] * draw(st.integers(1, profile.count))
    return dict(Counter(map(str, names)))


@st.composite
def some_case(draw):
    model = draw(st.sampled_from(MODELS))
    return model, draw(some_instances(model.profiles)), draw(some_wish(model.profiles))


def gpu(model, instances):
    return MigGpu(
        index=0, uuid="GPU-0", pci_address="0000:41:00.0", pci_id=f"{model.device_ids[0]}10DE", subsystem_id="0",
        name=model.name, capable=True, enabled=True, pending=True, architecture=model.architecture,
        profiles=model.profiles, instances=instances, source="nvml",
    )  # fmt: skip


def decide(board, wanted):
    entry = {"devices": "all", "mig-enabled": True, "mig-devices": wanted}
    return MigWish(config={"version": "v1", "mig-configs": {"want": [entry]}}).decide([board])


def carried_out(board, operations):
    """The GPU after the operations, each of which has to be possible when it comes."""
    instances = {i.place: i for i in board.instances}
    for operation in operations:
        action = operation.step.action
        if action == plan.DESTROY_GPU_INSTANCE:
            assert not instances.pop(operation.instance.place).users
        elif action == plan.CREATE_GPU_INSTANCE:
            new = operation.new
            starts = place_compute(new.profile.slices, (), new.widths)
            compute = tuple(ComputeInstance(i, w, start=s) for i, (w, s) in enumerate(zip(new.widths, starts)))
            places = [(board.profile(i.profile), i.start) for i in instances.values()]
            assert fits(board.profiles, [*places, (new.profile, new.start)])
            instances[new.place] = GpuInstance(99, new.profile.name, new.profile.slices, new.start, compute)
        else:
            instance = instances[operation.instance.place]
            instances[instance.place] = part_changed(instance, operation)
    return tuple(instances.values())


def part_changed(instance, operation):
    if operation.step.action == plan.DESTROY_COMPUTE_INSTANCE:
        assert not operation.compute.clients
        return replace(instance, compute=tuple(c for c in instance.compute if c.id != operation.compute.id))
    new = set(range(operation.start, operation.start + operation.width))
    assert not any(new & set(range(c.start, c.start + c.width)) for c in instance.compute)
    assert operation.start in COMPUTE_STARTS[operation.width]
    number = max((c.id for c in instance.compute), default=0) + 50
    made = ComputeInstance(number, operation.width, start=operation.start)
    return replace(instance, compute=(*instance.compute, made))


def destroyed(decision):
    actions = Counter(o.step.action for o in decision.operations)
    return actions[plan.DESTROY_GPU_INSTANCE], actions[plan.DESTROY_COMPUTE_INSTANCE]


def by_width(board, wanted):
    profiles = {p.name: p for p in board.profiles}
    found = Counter()
    for text, count in wanted.items():
        width, _dot, name = text.partition("c.") if "c." in text else ("", "", text)
        found[name, int(width or profiles[name].slices)] += count
    return found


@IN_PLANS
@given(some_case())
def test_plans_are_right_and_destroy_as_little_as_possible(case):
    model, instances, wanted = case
    board = gpu(model, instances)
    decision = decide(board, wanted)
    best = fewest(model.profiles, instances, by_width(board, wanted))
    if best is None or best[0]:
        assert decision.error_kind == ("infeasible_layout" if best is None else "in_use")
        assert decision.operations == ()
        return
    assert decision.error_kind is None
    after = carried_out(board, decision.operations)
    assert device_counts(after) == wanted
    assert all(i.compute for i in after)
    assert destroyed(decision) == best[1:]
    assert decide(replace(board, instances=after), wanted).operations == ()


BUSY_NEIGHBOUR = ("A100 40GB", (("1g.5gb", 0, True), ("1g.5gb", 1, False)), {"1g.5gb": 1, "3g.20gb": 1})


def test_the_judge_itself():
    """Known answers, so that a judge that says yes to everything is found."""
    model = next(m for m in MODELS if m.name == BUSY_NEIGHBOUR[0])
    instances = tuple(
        GpuInstance(n, name, 1, start, (ComputeInstance(0, 1, clients=(7,) if busy else (), start=0),))
        for n, (name, start, busy) in enumerate(BUSY_NEIGHBOUR[1])
    )
    assert fewest(model.profiles, instances, {("1g.5gb", 1): 1, ("3g.20gb", 3): 1}) == (0, 1, 0)
    assert fewest(model.profiles, instances, {("7g.40gb", 7): 1}) == (1, 2, 0)
    assert fewest(model.profiles, instances, {("3g.20gb", 3): 2, ("1g.5gb", 1): 1}) is None


# One-slice compute instances in the middle leave no place for one of two slices.
SPLIT = GpuInstance(0, "4g.20gb", 4, 0, (ComputeInstance(0, 1, start=1), ComputeInstance(1, 1, start=2)))


def test_a_compute_instance_that_is_in_the_way_of_a_wider_one_moves():
    decision = decide(gpu(MODELS[0], (SPLIT,)), {"1c.4g.20gb": 2, "2c.4g.20gb": 1})
    assert [o.step.action for o in decision.operations] == [
        plan.DESTROY_COMPUTE_INSTANCE, plan.CREATE_COMPUTE_INSTANCE, plan.CREATE_COMPUTE_INSTANCE,
    ]  # fmt: skip
    assert sorted((o.width, o.start) for o in decision.operations[1:]) in ([(1, 0), (2, 2)], [(1, 3), (2, 0)])


@st.composite
def some_machine(draw):
    board = draw(st.sampled_from(["A100-40", "H100-80", "A30", "H200"]))
    model = next(m for m in MODELS if f"{BOARDS[board].device_id:04X}" in m.device_ids)
    names = {p.name for p in BOARDS[board].profiles}
    profiles = tuple(p for p in model.profiles if p.name in names)
    before = draw(some_wish(profiles))
    return board, model, before, draw(some_wish(profiles))


@pytest.fixture(scope="module")
def machines(tmp_path_factory):
    """One host a board, emptied for each example."""
    found = {}

    def host(board: str) -> Host:
        if board not in found:
            found[board] = Host(tmp_path_factory.mktemp(board), [board])
            found[board].set_gpu(mig="1", pending="1")
        with edit(found[board].box.state_path) as state:
            empty(state)
        return found[board]

    return host


def empty(state: State) -> None:
    for rows in (state.instances, state.compute, state.processes, state.faults):
        rows.clear()


@IN_MODULES
@given(case=some_machine())
@example(case=("A100-40", MODELS[0], {"1c.3g.20gb": 2}, {"1c.3g.20gb": 1, "2c.3g.20gb": 1}))
def test_modules_do_what_plans_say(machines, case):
    """What the driver then really does, beside the judge."""
    board, model, before, wanted = case
    host = machines(board)
    if host.want(before).get("failed"):
        empty_host(host)
    found = host.module("mig_info")["gpus"][0]["instances"]
    start = host.box.state
    result = host.want(wanted)
    best = fewest(model.profiles, as_instances(model, start), by_width(gpu(model, ()), wanted))
    if best is None:
        assert (result.get("error_kind"), result["writes"]) == ("infeasible_layout", []), (found, wanted)
        return
    assert not result.get("failed"), (result.get("msg"), found, wanted)
    assert result["gpus"][0]["devices"] == wanted
    gone = Counter(line.split()[0] for line in result["writes"])
    assert gone["nvmlGpuInstanceDestroy"] == best[1], (found, wanted)
    assert not host.want(wanted)["changed"]


def empty_host(host: Host) -> None:
    with edit(host.box.state_path) as state:
        empty(state)


def as_instances(model, state):
    """Simulated instances in the form of the deciders."""
    by_id = {p.id: p for p in model.profiles}
    widths = {0: 1, 1: 2, 2: 3, 3: 4, 4: 7, 7: 1}
    found = []
    for row in state.instances:
        profile = by_id[int(row["profile"])]
        compute = tuple(
            ComputeInstance(int(c["id"]), widths[int(c["profile"])], start=int(c["start"]))
            for c in state.compute
            if c["gi"] == row["id"]
        )
        found.append(GpuInstance(int(row["id"]), profile.name, profile.slices, int(row["start"]), compute))
    return tuple(found)
