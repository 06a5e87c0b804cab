# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides what of the host program and its units has to be put on a host. Private to this collection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .facts import Service
from .model import Finding, Plan, Step

PACKAGE = "/usr/local/lib/gpu-fleet/python"
PYTHON = "/usr/bin/python3"


@dataclass(frozen=True)
class ProgramFile:
    """A file by its content's SHA-256 and its permission bits."""

    digest: str
    mode: int


@dataclass(frozen=True)
class ProgramWish:
    """``package``: path below PACKAGE -> SHA-256. ``files``: programs and units. ``enabled``, ``started``: units."""

    state: str
    package: Mapping[str, str]
    files: Mapping[str, ProgramFile]
    enabled: tuple[str, ...]
    started: tuple[str, ...]


@dataclass(frozen=True)
class ProgramHost:
    """The same as found; ``files``: what exists. ``owned``: paths in our record. ``python``: PYTHON is there."""

    package: Mapping[str, str]
    files: Mapping[str, ProgramFile]
    services: Mapping[str, Service]
    owned: tuple[str, ...]
    python: bool


def plan_host_program(wish: ProgramWish, host: ProgramHost) -> Plan:
    """Package, files, units. Files of an earlier release that this one does not have go."""
    if wish.state == "absent":
        return _absent(host)
    if not host.python:
        return Plan(findings=(_no_python(),))
    steps = (*_package(wish, host), *_files(wish, host), *_units(wish, host))
    return Plan(steps=steps)


def differing(wish: ProgramWish, host: ProgramHost) -> tuple[str, ...]:
    """Paths below PACKAGE that lack or have another content."""
    return tuple(p for p, digest in wish.package.items() if host.package.get(p) != digest)


def surplus(wish: ProgramWish, host: ProgramHost) -> tuple[str, ...]:
    """Paths below PACKAGE that this release does not have."""
    return tuple(p for p in host.package if p not in wish.package)


def _package(wish: ProgramWish, host: ProgramHost) -> list[Step]:
    wrong, extra = differing(wish, host), surplus(wish, host)
    if not wrong and not extra:
        return []
    before = f"{len(wrong)} of {len(wish.package)} files differ, {len(extra)} too many" if host.package else None
    reason = "units at boot need the readers and deciders of this release"
    return [Step("install", PACKAGE, before, f"{len(wish.package)} files", reason)]


def _files(wish: ProgramWish, host: ProgramHost) -> list[Step]:
    steps = []
    for path, wanted in wish.files.items():
        found = host.files.get(path)
        if found != wanted:
            before = None if found is None else "another content or mode"
            steps.append(Step("write", path, before, f"mode {wanted.mode:04o}", "it belongs to this release"))
    stale = [p for p in host.owned if p in host.files and p not in wish.files]
    return steps + [Step("remove", p, "of an earlier release", None, "this release has no such file") for p in stale]


def _units(wish: ProgramWish, host: ProgramHost) -> list[Step]:
    steps = []
    for name in wish.enabled:
        found = host.services.get(name)
        if found is None or found.enabled != "enabled":
            before = found.enabled if found else None
            steps.append(Step("enable", name, before or "not installed", "enabled", "it runs at the next boot"))
    for name in wish.started:
        found = host.services.get(name)
        if found is None or found.active != "active":
            before = found.active if found else None
            steps.append(Step("start", name, before or "not installed", "active", "it watches from now on"))
    return steps


def _absent(host: ProgramHost) -> Plan:
    """Only what the record names."""
    steps = []
    for name, found in host.services.items():
        if f"unit:{name}" in host.owned and found.loaded != "not-found":
            steps.append(Step("disable", name, found.enabled or found.active, None, "its file goes"))
    ours = [p for p in host.files if p in host.owned]
    steps += [Step("remove", p, "present", None, "this role put it there") for p in ours]
    if PACKAGE in host.owned and host.package:
        steps.append(Step("remove", PACKAGE, f"{len(host.package)} files", None, "this role put it there"))
    return Plan(steps=tuple(steps))


def _no_python() -> Finding:
    return Finding(
        id="GPU-ANS-101",
        severity="error",
        summary=f"this host has no {PYTHON}, which the program at boot needs",
        wanted=f"{PYTHON}, version 3.9 or later",
        found="no such file",
        remedy="install it: apt-get install python3",
        source="docs/architecture.md",
    )
