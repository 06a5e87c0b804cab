# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides whether a CDI spec still fits its host. Private to this collection.

An engine does not check: it injects what the spec says, or fails to start the container.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .cdi_host import Gpu
from .cdi_rules import is_below, is_known_version, minimum_version

REASONS = (
    "driver_version",
    "device_major",
    "device_missing",
    "mig_layout",
    "hook_missing",
    "library_missing",
    "spec_version",
)

HOST_VERSION = re.compile(r"--host-driver-version=(\S+)$")
LIBRARY_VERSION = re.compile(r"/lib(?:cuda|nvidia-ml)\.so\.(\d+\.\d+(?:\.\d+)?)$")
WHOLE_GPU = re.compile(r"(GPU-.+|(?:gpu)?\d+)$")
MIG_DEVICE = re.compile(r"(MIG-.+|(?:mig)?\d+:\d+)$")

Document = Mapping[str, Any]


@dataclass(frozen=True)
class Stale:
    """One reason why a spec does not fit: what the host has, and what the spec says."""

    reason: str
    wanted: str
    found: str


@dataclass(frozen=True)
class SpecFacts:
    """The host's side of everything that a spec names.

    ``nodes``: host path -> (major, minor), None where there is no such node. ``missing_files``: sources of mounts
    that are gone. ``missing_hooks``: programs of hooks that are gone. ``driver_version``: of the loaded driver,
    None where none is loaded. ``gpus``: as NVML lists them, None where it was not asked or did not answer.
    ``majors``: host path -> major that the kernel gives such nodes (/proc/devices). ``readers``: engine -> newest CDI
    version that it reads.
    """

    driver_version: str | None = None
    nodes: Mapping[str, tuple[int, int] | None] | None = None
    missing_files: tuple[str, ...] = ()
    missing_hooks: tuple[str, ...] = ()
    gpus: tuple[Gpu, ...] | None = None
    majors: Mapping[str, int] = field(default_factory=dict)
    readers: Mapping[str, str] = field(default_factory=dict)


def stale_because(spec: Document, facts: SpecFacts) -> tuple[Stale, ...]:
    """Every reason, in the order of REASONS; empty where the spec fits."""
    return (
        *_driver_version(spec, facts),
        *_nodes(spec, facts),
        *_gpus(spec, facts),
        *(Stale("hook_missing", f"executable {path}", "no such program on the host") for path in facts.missing_hooks),
        *(Stale("library_missing", f"{path} on the host", "no such file") for path in facts.missing_files),
        *_spec_version(spec, facts.readers),
    )


def spec_driver_version(spec: Document) -> str | None:
    """The driver version that a spec was made for, or None where nothing in it says so."""
    for edits in all_edits(spec):
        texts = [a for h in edits.get("hooks") or [] for a in h.get("args") or []]
        paths = [str(m.get("hostPath")) for m in edits.get("mounts") or []]
        for pattern, values in ((HOST_VERSION, texts), (LIBRARY_VERSION, paths)):
            found = [m.group(1) for m in (pattern.search(str(v)) for v in values) if m]
            if found:
                return found[0]
    return None


def all_edits(spec: Document) -> Iterator[Document]:
    """The common edits and those of every device."""
    yield spec.get("containerEdits") or {}
    for device in spec.get("devices") or []:
        yield device.get("containerEdits") or {}


def _driver_version(spec: Document, facts: SpecFacts) -> Iterator[Stale]:
    made_for = spec_driver_version(spec)
    if made_for and facts.driver_version and made_for != facts.driver_version:
        yield Stale("driver_version", f"{facts.driver_version} (the loaded driver)", f"{made_for} (in the spec)")


def _nodes(spec: Document, facts: SpecFacts) -> Iterator[Stale]:
    if facts.nodes is None:
        return
    majors, missing = [], []
    rows = [n for edits in all_edits(spec) for n in edits.get("deviceNodes") or []]
    for node in {n.get("hostPath") or n["path"]: n for n in rows}.values():
        path = node.get("hostPath") or node["path"]
        there = facts.nodes.get(path)
        kernel = facts.majors.get(path)
        if there is None:
            missing.append(Stale("device_missing", f"{path} on the host", "no such character device"))
        elif "major" in node and (node["major"], node.get("minor", 0)) != there:
            said = f"{path} {node['major']}:{node.get('minor', 0)} (in the spec)"
            majors.append(Stale("device_major", f"{path} {there[0]}:{there[1]} (on the host)", said))
        elif kernel is not None and node.get("major", there[0]) != kernel:
            said = f"{path} of major {there[0]} (in the spec and in /dev)"
            majors.append(Stale("device_major", f"{path} of major {kernel} (/proc/devices)", said))
    yield from majors
    yield from missing


def _gpus(spec: Document, facts: SpecFacts) -> Iterator[Stale]:
    """Compares device names with what NVML lists. A spec that names nothing but ``all`` cannot be judged so."""
    names = [str(d.get("name")) for d in spec.get("devices") or []]
    listed_gpus = {n for n in names if WHOLE_GPU.match(n)}
    listed_migs = {n for n in names if MIG_DEVICE.match(n)}
    if facts.gpus is None or not listed_gpus | listed_migs:
        return
    whole = [g for g in facts.gpus if not g.mig_enabled]
    gone = sorted(n for n in listed_gpus if not any(n in _names_of_gpu(g) for g in whole))
    new = [g for g in whole if not listed_gpus & _names_of_gpu(g)]
    split = [g for g in facts.gpus if g.mig_enabled and listed_gpus & _names_of_gpu(g)]
    wanted_migs = {name for g in facts.gpus for m in g.mig_devices for name in _names_of_mig(g, m.index, m.uuid)}
    unlisted = [
        m.uuid for g in facts.gpus for m in g.mig_devices if not listed_migs & _names_of_mig(g, m.index, m.uuid)
    ]
    strangers = sorted(listed_migs - wanted_migs)
    taken = {n for g in split for n in _names_of_gpu(g)}
    for gpu in new:
        yield Stale("device_missing", f"{gpu.uuid} (NVML)", "no such device in the spec")
    for name in [n for n in gone if n not in taken]:
        yield Stale(
            "device_missing", f"the GPUs that NVML lists: {_list(g.uuid for g in whole)}", f"{name} in the spec"
        )
    if split or unlisted or strangers:
        there = _list(m.uuid for g in facts.gpus for m in g.mig_devices)
        said = sorted(listed_migs | (taken & listed_gpus))
        yield Stale("mig_layout", f"MIG devices {there} (NVML)", f"{_list(said)} (in the spec)")


def _names_of_gpu(gpu: Gpu) -> set[str]:
    return {gpu.uuid, str(gpu.index), f"gpu{gpu.index}"}


def _names_of_mig(gpu: Gpu, index: int, uuid: str) -> set[str]:
    return {uuid, f"{gpu.index}:{index}", f"mig{gpu.index}:{index}"}


def _spec_version(spec: Document, readers: Mapping[str, str]) -> Iterator[Stale]:
    version, needed = str(spec.get("cdiVersion", "")), minimum_version(spec)
    if not is_known_version(version):
        yield Stale("spec_version", f"{needed} (what the content needs)", f"{version or 'none'} (in the spec)")
    elif is_below(version, needed):
        yield Stale("spec_version", f"{needed} or later (what the content needs)", f"{version} (in the spec)")
    else:
        for engine, newest in readers.items():
            if is_below(newest, version):
                wanted = f"{newest} or lower (the newest that this {engine} reads)"
                yield Stale("spec_version", wanted, f"{version} (in the spec)")


def _list(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"
