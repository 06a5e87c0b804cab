# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import random
import time
from itertools import combinations, product

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._catalog.mig import MODELS, find_model
from ansible_collections.gpu.fleet.plugins.module_utils._plan.mig_layout import (
    ComputeInstance,
    GpuInstance,
    parse_device_name,
)
from ansible_collections.gpu.fleet.plugins.module_utils._plan.mig_search import (
    NoLayoutError,
    find_layout,
    fixed_layout,
)

A100 = find_model("20B0").profiles
BY_NAME = {p.name: p for p in A100}
WHOLE_UNITS = 8


def wanted(counts):
    return tuple((parse_device_name(name), count) for name, count in counts.items())


def there(*places, busy=(), profiles=A100):
    """Instances from texts such as 3g.20gb@4 or 3g.20gb@4=1,1 (widths of the compute instances)."""
    by_name, found = {p.name: p for p in profiles}, []
    for number, place in enumerate(places):
        text, _sep, widths = place.partition("=")
        name, _sep, start = text.partition("@")
        slices = by_name[name].slices
        split = [int(w) for w in widths.split(",") if w != "none"] if widths else [slices]
        clients = (1000 + number,) if text in busy else ()
        compute = tuple(ComputeInstance(i, w, clients=clients) for i, w in enumerate(split))
        found.append(GpuInstance(number, name, slices, int(start), compute))
    return tuple(found)


def result(layout):
    """Places after the change."""
    return sorted([k.instance.place for k in layout.keep] + [n.place for n in layout.create])


FEASIBLE = {
    "seven of the smallest": ({"1g.5gb": 7}, None),
    "4g and 3g: one way only": ({"3g.20gb": 1, "4g.20gb": 1}, ["3g.20gb@4", "4g.20gb@0"]),
    "3g has to leave the first half": (
        {"3g.20gb": 1, "1g.5gb": 4},
        ["1g.5gb@0", "1g.5gb@1", "1g.5gb@2", "1g.5gb@3", "3g.20gb@4"],
    ),
    "double memory has to take 6": (
        {"2g.10gb": 3, "1g.10gb": 1},
        ["1g.10gb@6", "2g.10gb@0", "2g.10gb@2", "2g.10gb@4"],
    ),
    "six and a double: the driver's own order fails": (
        {"1g.5gb": 6, "1g.10gb": 1},
        ["1g.10gb@6", *(f"1g.5gb@{n}" for n in range(6))],
    ),
    "nothing": ({}, []),
}


@pytest.mark.parametrize(("counts", "places"), FEASIBLE.values(), ids=FEASIBLE)
def test_layout_on_an_empty_gpu(counts, places):
    layout = find_layout(A100, (), wanted(counts))
    assert layout.destroy == ()
    if places is not None:
        assert result(layout) == places
    assert len(layout.create) == sum(counts.values())


INFEASIBLE = {
    "over the count": ({"1g.5gb": 8}, "8 x 1g.5gb needed, at most 7 fit"),
    "two with media engines": ({"1g.5gb+me": 2}, "at most 1"),
    "two halves and one more": ({"3g.20gb": 2, "1g.5gb": 1}, "9 memory units needed, the GPU has 8"),
    "whole and anything": ({"7g.40gb": 1, "1g.5gb": 1}, "memory units"),
    "no way to arrange": ({"4g.20gb": 1, "2g.10gb": 1, "1g.5gb": 2, "1g.5gb+me": 1}, "memory units|no arrangement"),
    "far too many compute instances": ({"1c.3g.20gb": 500}, "167 x 3g.20gb needed"),
}


@pytest.mark.parametrize(("counts", "reason"), INFEASIBLE.values(), ids=INFEASIBLE)
def test_impossible_layouts_say_why(counts, reason):
    with pytest.raises(NoLayoutError, match=reason):
        find_layout(A100, (), wanted(counts))


def test_engines_bind():
    a30 = find_model("20B7").profiles
    with pytest.raises(NoLayoutError, match="JPEG engines needed, the GPU has 1"):
        find_layout(a30, (), wanted({"1g.6gb+me": 1, "2g.12gb+me": 1}))


KEEPS = {
    "grow beside a busy one": (("2g.10gb@2",), ("2g.10gb@2",), {"2g.10gb": 1, "3g.20gb": 1}, 0),
    "the busy one of seven stays": (
        tuple(f"1g.5gb@{n}" for n in range(7)),
        ("1g.5gb@3",),
        {"1g.5gb": 1},
        6,
    ),
    "one of two has to move": (("1g.5gb@2", "1g.5gb@4"), (), {"3g.20gb": 1, "2g.10gb": 1, "1g.5gb": 2}, 1),
    "an instance without compute instance is reused": (("3g.20gb@4=none",), (), {"3g.20gb": 1}, 0),
}


@pytest.mark.parametrize(("places", "busy", "counts", "destroyed"), KEEPS.values(), ids=KEEPS)
def test_what_is_right_stays(places, busy, counts, destroyed):
    layout = find_layout(A100, there(*places, busy=busy), wanted(counts))
    assert len(layout.destroy) == destroyed
    assert layout.lost == ()


def test_processes_that_would_lose_their_device_are_named():
    layout = find_layout(A100, there("2g.10gb@2", busy=("2g.10gb@2",)), wanted({"1g.5gb": 7}))
    assert layout.lost == (1000,)


COMPUTE = {
    "packed into one": ((), {"1c.3g.20gb": 3}, [(1, 1, 1)], 0),
    "a wide and a narrow share": ((), {"2c.3g.20gb": 1, "1c.3g.20gb": 1}, [(2, 1)], 0),
    "split a whole one": (("3g.20gb@4",), {"1c.3g.20gb": 3}, [(1, 1, 1)], 1),
    "spread over two stays spread": (("3g.20gb@0=1", "3g.20gb@4=1"), {"1c.3g.20gb": 2}, [(1,), (1,)], 0),
    "one more beside the two": (("3g.20gb@0=1,1",), {"1c.3g.20gb": 3}, [(1, 1, 1)], 0),
}


@pytest.mark.parametrize(("places", "counts", "widths", "destroyed"), COMPUTE.values(), ids=COMPUTE)
def test_compute_instances(places, counts, widths, destroyed):
    layout = find_layout(A100, there(*places), wanted(counts))
    after = [n.widths for n in layout.create]
    for kept in layout.keep:
        gone = [c.width for c in kept.destroy]
        stay = [c.width for c in kept.instance.compute]
        for width in gone:
            stay.remove(width)
        after.append(tuple(sorted(stay + list(kept.create), reverse=True)))
    assert sorted(after) == sorted(widths)
    assert sum(len(k.destroy) for k in layout.keep) + len(layout.destroy) == destroyed


def legal(profiles, places):
    """Placed without overlap, within counts and engines; the slow and obvious way."""
    by_name, units, counts = {p.name: p for p in profiles}, set(), {}
    whole = max(profiles, key=lambda p: p.size)
    for name, start in places:
        profile = by_name[name]
        taken = set(range(start, start + profile.size))
        counts[name] = counts.get(name, 0) + 1
        if start not in profile.starts or units & taken or counts[name] > profile.count:
            return False
        units |= taken
    engines = zip(*(by_name[n].engines for n, _s in places)) if places else ()
    return all(sum(e) <= limit for e, limit in zip(engines, whole.engines))


def random_places(profiles, dice):
    places = []
    for _try in range(dice.randrange(1, 9)):
        profile = dice.choice(profiles)
        place = (profile.name, dice.choice(profile.starts))
        if legal(profiles, [*places, place]):
            places.append(place)
    return places


def fewest_destroyed(profiles, current, counts):
    """Brute force over every set of starts."""
    by_name = {p.name: p for p in profiles}
    best = None
    for choice in product(*(combinations(by_name[n].starts, c) for n, c in counts.items())):
        places = [(n, s) for n, starts in zip(counts, choice) for s in starts]
        if legal(profiles, places):
            gone = len([c for c in current if c not in places])
            best = gone if best is None else min(best, gone)
    return best


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.name)
def test_random_layouts_are_found_with_the_fewest_destroyed(model):
    dice = random.Random(model.name)
    for _round in range(60):
        goal, current = random_places(model.profiles, dice), random_places(model.profiles, dice)
        counts = {}
        for name, _start in goal:
            counts[name] = counts.get(name, 0) + 1
        instances = there(*(f"{n}@{s}" for n, s in current), profiles=model.profiles)
        layout = find_layout(model.profiles, instances, wanted(counts))
        after = [(k.instance.profile, k.instance.start) for k in layout.keep]
        after += [(n.profile.name, n.start) for n in layout.create]
        assert legal(model.profiles, after)
        assert {n: sum(a[0] == n for a in after) for n in counts} == counts
        assert len(layout.destroy) == fewest_destroyed(model.profiles, current, counts)


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.name)
def test_random_wishes_are_refused_only_when_impossible(model):
    dice = random.Random(f"{model.name} refused")
    for _round in range(60):
        chosen = dice.sample(model.profiles, dice.randrange(1, 4))
        counts = {p.name: dice.randrange(1, p.count + 1) for p in chosen}
        possible = fewest_destroyed(model.profiles, [], counts) is not None
        try:
            find_layout(model.profiles, (), wanted(counts))
        except NoLayoutError:
            assert not possible
        else:
            assert possible


def test_fixed_starts():
    current = there("1g.5gb@1", "1g.5gb@3", "3g.20gb@4")
    layout = fixed_layout(A100, current, [("1g.5gb", 1, (1,)), ("2g.10gb", 2, (2,)), ("3g.20gb", 4, (3,))])
    assert [i.place for i in layout.destroy] == ["1g.5gb@3"]
    assert [n.place for n in layout.create] == ["2g.10gb@2"]


@pytest.mark.parametrize(
    ("places", "reason"),
    [
        ([("3g.20gb", 2, (3,))], "cannot start at 2"),
        ([("3g.20gb", 0, (3,)), ("1g.5gb", 3, (1,))], "overlaps 3g.20gb@0"),
    ],
)
def test_illegal_fixed_starts(places, reason):
    with pytest.raises(NoLayoutError, match=reason):
        fixed_layout(A100, [], places)


def test_worst_search_is_short():
    """Counted in time only to show that nothing explodes; the bound is far above what it takes."""
    current = there("1g.5gb@0", "1g.5gb@2", "1g.5gb@4", "1g.5gb@6")
    begin = time.perf_counter()
    for _gpu in range(8):
        find_layout(A100, current, wanted({"3g.20gb": 1, "2g.10gb": 1, "1g.5gb": 2}))
    assert time.perf_counter() - begin < 2
