# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds where GPU instances go, by exact search over the legal placements. Private to this collection.

The search space is tiny (a GPU has at most a dozen memory units), so the answer is proved, not guessed: where a layout
exists it is found, and of all layouts the one is taken that loses the fewest instances in use, then destroys the fewest
GPU instances, then the fewest compute instances.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, permutations, product

from .._catalog.mig import MigProfile
from .mig_compute import staying
from .mig_layout import ComputeInstance, DeviceName, GpuInstance

Widths = tuple[int, ...]

# Starts of one profile, the mask of units they take, how many instances that are there they reuse.
Option = tuple[tuple[int, ...], int, int]

# Instances in use that are lost; GPU instances destroyed; compute instances destroyed; the same two created.
Cost = tuple[int, int, int, int, int]

ENGINES = ("decoders", "encoders", "JPEG engines", "OFA engines")


class NoLayoutError(Exception):
    """No legal placement holds what is wanted; the message says what is short."""


@dataclass(frozen=True)
class NewInstance:
    """A GPU instance to create: profile, first unit, widths of its compute instances (widest first)."""

    profile: MigProfile
    start: int
    widths: Widths

    @property
    def place(self) -> str:
        """``3g.20gb@4``, as for instances that exist."""
        return f"{self.profile.name}@{self.start}"


@dataclass(frozen=True)
class KeptInstance:
    """A GPU instance that stays: compute instances to destroy, and widths to create in it."""

    instance: GpuInstance
    destroy: tuple[ComputeInstance, ...]
    create: Widths


@dataclass(frozen=True)
class Layout:
    """How to get from what is there to what is wanted. ``lost`` are the process ids that would lose their device."""

    keep: tuple[KeptInstance, ...]
    destroy: tuple[GpuInstance, ...]
    create: tuple[NewInstance, ...]

    @property
    def lost(self) -> tuple[int, ...]:
        """Process ids that use something which has to go."""
        gone = [p for i in self.destroy for p in i.users]
        return tuple(sorted({*gone, *(p for k in self.keep for c in k.destroy for p in c.clients)}))

    @property
    def cost(self) -> Cost:
        """What the search minimises."""
        lost = sum(bool(i.users) for i in self.destroy) + sum(bool(c.clients) for k in self.keep for c in k.destroy)
        destroyed = sum(len(i.compute) for i in self.destroy) + sum(len(k.destroy) for k in self.keep)
        created = sum(len(k.create) for k in self.keep)
        return lost, len(self.destroy), destroyed, len(self.create), created


@lru_cache(maxsize=64)
def find_layout(
    profiles: tuple[MigProfile, ...], current: tuple[GpuInstance, ...], wanted: tuple[tuple[DeviceName, int], ...]
) -> Layout:
    """The best layout for ``wanted`` on a GPU that offers ``profiles`` and holds ``current``. Raises NoLayoutError.

    Every profile in ``wanted`` has to be among ``profiles``, with a width that it can hold.
    """
    by_name = {p.name: p for p in profiles}
    packings = [list(_packings(by_name[name], widths, current)) for name, widths in _widths(wanted).items()]
    best: Layout | None = None
    reason = ""
    for choice in product(*packings):
        needs = [(profile, bins) for profile, bins in choice if bins]
        try:
            _check_room(profiles, needs)
        except NoLayoutError as error:
            reason = reason or str(error)
            continue
        best = _place(needs, current, best)
    if best is None:
        raise NoLayoutError(reason or _no_arrangement(by_name, wanted))
    return best


def fixed_layout(
    profiles: Sequence[MigProfile], current: Sequence[GpuInstance], places: Sequence[tuple[str, int, Widths]]
) -> Layout:
    """The way to exactly these (profile, start, widths). Raises NoLayoutError for illegal or taken starts."""
    by_name = {p.name: p for p in profiles}
    _check_places(by_name, places)
    there = {(i.profile, i.start): i for i in current}
    keep = tuple(_keep(there[name, start], widths) for name, start, widths in places if (name, start) in there)
    stays = {k.instance.place for k in keep}
    return Layout(
        keep,
        tuple(i for i in current if i.place not in stays),
        tuple(NewInstance(by_name[n], s, w) for n, s, w in places if (n, s) not in there),
    )


def _check_places(by_name: dict[str, MigProfile], places: Sequence[tuple[str, int, Widths]]) -> None:
    taken: dict[int, str] = {}
    for name, start, _widths in places:
        profile = by_name[name]
        if start not in profile.starts:
            raise NoLayoutError(f"{name} cannot start at {start}, only at {', '.join(map(str, profile.starts))}")
        for unit in range(start, start + profile.size):
            if unit in taken:
                raise NoLayoutError(f"{name}@{start} overlaps {taken[unit]}")
            taken[unit] = f"{name}@{start}"


def _widths(wanted: Sequence[tuple[DeviceName, int]]) -> dict[str, Widths]:
    """Profile -> widths of all its wanted compute instances, widest first."""
    found: dict[str, list[int]] = {}
    for name, count in wanted:
        found.setdefault(name.profile, []).extend([name.width] * count)
    return {profile: tuple(sorted(widths, reverse=True)) for profile, widths in found.items()}


def _packings(
    profile: MigProfile, widths: Widths, current: Sequence[GpuInstance]
) -> Iterator[tuple[MigProfile, tuple[Widths, ...]]]:
    """Ways to spread compute instances over GPU instances: the tightest first, then those that fit what is there.

    Spreading wider than needed only pays where it keeps an instance, so with nothing there the tightest is all.
    """
    least = -(-sum(widths) // profile.slices)
    if least > profile.count:
        raise NoLayoutError(f"{least} x {profile.name} needed, at most {profile.count} fit")
    found = sorted({tuple(sorted(p, reverse=True)) for p in _bins(widths, profile, ())}, key=len)
    tight = [p for p in found if len(p) == len(found[0])]
    for packing in found if any(i.profile == profile.name for i in current) else tight:
        yield profile, packing


def _bins(widths: Widths, profile: MigProfile, bins: tuple[Widths, ...]) -> Iterator[tuple[Widths, ...]]:
    """Every way to put ``widths`` (widest first) into at most ``count`` instances of the profile."""
    if not widths:
        yield bins
        return
    width, rest = widths[0], widths[1:]
    for position in {b: i for i, b in enumerate(bins)}.values():
        if sum(bins[position]) + width <= profile.slices:
            fuller = (*bins[position], width)
            yield from _bins(rest, profile, (*bins[:position], fuller, *bins[position + 1 :]))
    if len(bins) < profile.count:
        yield from _bins(rest, profile, (*bins, (width,)))


def _check_room(profiles: Sequence[MigProfile], needs: Sequence[tuple[MigProfile, tuple[Widths, ...]]]) -> None:
    """Counts, memory units and engines; raises NoLayoutError with the first that is short."""
    for profile, bins in needs:
        if len(bins) > profile.count:
            raise NoLayoutError(f"{len(bins)} x {profile.name} needed, at most {profile.count} fit")
    units = max((max(p.starts) + p.size for p in profiles), default=0)
    taken = sum(p.size * len(bins) for p, bins in needs)
    if taken > units:
        raise NoLayoutError(f"{taken} memory units needed, the GPU has {units}")
    whole = next((p for p in profiles if p.size == units), None)
    for kind, name in enumerate(ENGINES if whole else ()):
        used = sum(p.engines[kind] * len(bins) for p, bins in needs)
        if whole and used > whole.engines[kind]:
            raise NoLayoutError(f"{used} {name} needed, the GPU has {whole.engines[kind]}")


def _place(
    needs: Sequence[tuple[MigProfile, tuple[Widths, ...]]], current: Sequence[GpuInstance], best: Layout | None
) -> Layout | None:
    """The best of ``best`` and all placements of ``needs``, by branch and bound over the profiles, largest first."""
    needs = sorted(needs, key=lambda n: -n[0].size)
    there = {(i.profile, i.start): i for i in current}
    options = [_options(profile, len(bins), there) for profile, bins in needs]
    parts = sorted(len(i.compute) for i in current)
    total = sum(len(bins) for _profile, bins in needs)

    def descend(depth: int, mask: int, kept: int, chosen: list[tuple[int, ...]]) -> None:
        nonlocal best
        if best is not None and _least_cost(parts, total, kept + _most(options[depth:], mask)) >= best.cost:
            return
        if depth == len(needs):
            layout = _layout(needs, chosen, there)
            best = layout if best is None or layout.cost < best.cost else best
            return
        for starts, taken, reused in options[depth]:
            if not taken & mask:
                descend(depth + 1, mask | taken, kept + reused, [*chosen, starts])

    descend(0, 0, 0, [])
    return best


def _most(options: Sequence[Sequence[Option]], mask: int) -> int:
    """At most so many instances can still be kept: each profile's best choice that leaves ``mask`` alone."""
    return sum(next((reused for _starts, taken, reused in o if not taken & mask), 0) for o in options)


def _least_cost(parts: Sequence[int], total: int, kept: int) -> Cost:
    """No layout that keeps at most ``kept`` instances costs less: the others go, at best the smallest ones.

    ``parts``: how many compute instances each instance has that is there now, fewest first.
    """
    gone = len(parts) - kept
    return 0, gone, sum(parts[:gone]), total - kept, 0


def _options(profile: MigProfile, count: int, there: dict[tuple[str, int], GpuInstance]) -> list[Option]:
    """Legal sets of ``count`` starts as (starts, mask of units, instances reused); those that keep the most first.

    Among equals the highest starts come first, as the driver itself places on 7-slice boards.
    """
    unit = (1 << profile.size) - 1
    found = []
    for starts in combinations(sorted(profile.starts, reverse=True), count):
        mask = 0
        for start in starts:
            if mask & (unit << start):
                break
            mask |= unit << start
        else:
            found.append((starts, mask, sum((profile.name, s) in there for s in starts)))
    return sorted(found, key=lambda f: -f[2])


def _layout(
    needs: Sequence[tuple[MigProfile, tuple[Widths, ...]]],
    chosen: Sequence[tuple[int, ...]],
    there: dict[tuple[str, int], GpuInstance],
) -> Layout:
    keep: list[KeptInstance] = []
    create: list[NewInstance] = []
    for (profile, bins), starts in zip(needs, chosen):
        reused = [there[profile.name, s] for s in starts if (profile.name, s) in there]
        kept, left = _fill(reused, bins)
        keep += kept
        new = [s for s in starts if (profile.name, s) not in there]
        create += [NewInstance(profile, start, widths) for start, widths in zip(new, left)]
    stays = {k.instance.place for k in keep}
    destroy = tuple(i for i in there.values() if i.place not in stays)
    return Layout(tuple(keep), destroy, tuple(create))


def _fill(instances: Sequence[GpuInstance], bins: Sequence[Widths]) -> tuple[list[KeptInstance], list[Widths]]:
    """The cheapest assignment of ``bins`` to ``instances``, and the bins left over for new ones."""
    choices = dict.fromkeys(permutations(bins, len(instances))) if len(set(bins)) > 1 else {tuple(bins): None}
    best: tuple[KeptInstance, ...] | None = None
    for choice in choices:
        kept = tuple(_keep(i, widths) for i, widths in zip(instances, choice))
        best = kept if best is None or _cost(kept) < _cost(best) else best
    kept_now = best or ()
    left = Counter(bins) - Counter(_after(k) for k in kept_now)
    return list(kept_now), list(left.elements())


def _cost(kept: Sequence[KeptInstance]) -> Cost:
    return Layout(tuple(kept), (), ()).cost


def _after(kept: KeptInstance) -> Widths:
    """The widths in an instance once its changes are made."""
    stay = Counter(kept.instance.widths) - Counter(c.width for c in kept.destroy) + Counter(kept.create)
    return tuple(sorted(stay.elements(), reverse=True))


def _keep(instance: GpuInstance, widths: Widths) -> KeptInstance:
    """What has to go and to come in an instance that stays."""
    stay = staying(instance, widths) or ()
    missing = Counter(widths) - Counter(c.width for c in stay)
    gone = tuple(c for c in instance.compute if c not in stay)
    return KeptInstance(instance, gone, tuple(sorted(missing.elements(), reverse=True)))


def _no_arrangement(profiles: dict[str, MigProfile], wanted: Sequence[tuple[DeviceName, int]]) -> str:
    names = sorted({name.profile for name, _count in wanted})
    starts = "; ".join(f"{n} at {', '.join(map(str, profiles[n].starts))} (size {profiles[n].size})" for n in names)
    return f"no arrangement fits the legal starts: {starts}"
