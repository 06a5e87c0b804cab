# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a GPU's MIG state is: mode, instances and what could be there. Private to this collection."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from .._catalog.mig import MigProfile

# [<C>c.]<G>g.<M>gb[+attribute[,attribute] | -attribute], as nvidia-smi prints it
NAME = re.compile(r"(?:(?P<width>[1-9])c\.)?(?P<gpu>(?P<slices>[1-9])g\.\d+gb(?:[+-](?P<attributes>[a-z0-9.,]+))?)")
ATTRIBUTE = re.compile(r"[a-z][a-z0-9.]*")


@dataclass(frozen=True)
class DeviceName:
    """A MIG device's name in two parts: width of the compute instance in slices, and the GPU instance profile.

    ``width`` is always a number: ``1g.5gb`` and ``1c.1g.5gb`` are the same device.
    """

    width: int
    profile: str
    slices: int

    def __str__(self) -> str:
        return self.profile if self.width == self.slices else f"{self.width}c.{self.profile}"


def parse_device_name(text: str) -> DeviceName | None:
    """The two parts of a MIG device's name, or None where ``text`` is none."""
    found = NAME.fullmatch(text)
    if found is None:
        return None
    attributes = (found["attributes"] or "").split(",") if found["attributes"] else []
    if len(set(attributes)) != len(attributes) or not all(ATTRIBUTE.fullmatch(a) for a in attributes):
        return None
    slices = int(found["slices"])
    return DeviceName(int(found["width"] or slices), found["gpu"], slices)


@dataclass(frozen=True)
class ComputeInstance:
    """A compute instance: id inside its GPU instance, width in slices, MIG UUID, process ids that use it, and its first
    slice in the GPU instance (None where nobody says).
    """

    id: int
    width: int
    uuid: str | None = None
    clients: tuple[int, ...] = ()
    start: int | None = None


@dataclass(frozen=True)
class GpuInstance:
    """A GPU instance: NVML's id, profile name and slices, first memory unit, compute instances.

    ``clients`` are process ids that use the instance outside every known compute instance.
    """

    id: int
    profile: str
    slices: int
    start: int
    compute: tuple[ComputeInstance, ...] = ()
    clients: tuple[int, ...] = ()

    @property
    def widths(self) -> tuple[int, ...]:
        """Widths of its compute instances, widest first."""
        return tuple(sorted((c.width for c in self.compute), reverse=True))

    @property
    def users(self) -> tuple[int, ...]:
        """Every process id that uses the instance."""
        return tuple(sorted({*self.clients, *(p for c in self.compute for p in c.clients)}))

    @property
    def place(self) -> str:
        """``3g.20gb@4``: profile and first unit, which name an instance on its GPU."""
        return f"{self.profile}@{self.start}"


@dataclass(frozen=True)
class MigGpu:
    """One GPU. ``pci_id`` and ``subsystem_id`` are eight hex digits, device before vendor, as in device filters.

    ``capable`` is None where nobody can tell. ``pending`` is the mode after the next reset. ``clients`` use the GPU
    as a whole. ``source`` says who described ``profiles``: ``nvml`` or ``catalog``; None where nobody could.
    ``error`` is what NVML answered instead of a GPU, and ``error_kind`` what mig_config calls that. ``commands`` are
    names of processes, by id.
    """

    index: int
    uuid: str | None
    pci_address: str
    pci_id: str
    subsystem_id: str
    name: str
    capable: bool | None
    enabled: bool = False
    pending: bool = False
    architecture: str = ""
    profiles: tuple[MigProfile, ...] = ()
    instances: tuple[GpuInstance, ...] = ()
    clients: tuple[int, ...] = ()
    source: str | None = None
    error: str | None = None
    error_kind: str | None = None
    commands: tuple[tuple[int, str], ...] = ()

    @property
    def label(self) -> str:
        """How messages name the GPU."""
        return f"GPU {self.index} ({self.pci_address}, {self.name})"

    def processes(self, pids: Iterable[int]) -> str:
        """``4242 (python3), 4243``, for people; a name only where it is known."""
        names = dict(self.commands)
        return ", ".join(f"{pid} ({names[pid]})" if pid in names else str(pid) for pid in pids)

    def profile(self, name: str) -> MigProfile | None:
        """The profile of that name, or None where the GPU offers none."""
        return next((p for p in self.profiles if p.name == name), None)


def device_counts(instances: Iterable[GpuInstance]) -> dict[str, int]:
    """MIG device name -> count, in the order of the starts; an instance without compute instances counts nothing."""
    names = Counter(
        str(DeviceName(width, instance.profile, instance.slices))
        for instance in sorted(instances, key=lambda i: i.start)
        for width in instance.widths
    )
    return dict(names)


def describe(counts: dict[str, int]) -> str:
    """``7 x 1g.5gb``, for people."""
    return ", ".join(f"{n} x {name}" for name, n in counts.items()) or "no instances"
