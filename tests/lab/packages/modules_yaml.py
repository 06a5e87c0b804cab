# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Streams of module `nvidia-driver`, as NVIDIA/cuda-repo-management (genmodules.py) makes them for EL 8 and 9.

A stream is a branch with one kind of kernel modules: `<branch>` with precompiled ones, `<branch>-dkms` with binary
ones to compile, `<branch>-open` with open ones; `latest`, `latest-dkms` and `open-dkms` follow the newest branch.
Packages that no stream in use lists are invisible to dnf (modular filtering).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

MODULE, ARCHITECTURE = "nvidia-driver", "x86_64"
DEFAULT = "open-dkms"
DATE = 20260101000000
PRECOMPILED, BINARY, OPEN = "", "-dkms", "-open"
MOVING = {PRECOMPILED: "latest", BINARY: "latest-dkms", OPEN: "open-dkms"}
KERNEL_PACKAGES = {BINARY: "kmod-nvidia-latest-dkms", OPEN: "kmod-nvidia-open-dkms"}
FABRIC_MANAGER = ("nvidia-fabric-manager", "nvidia-fabricmanager")
SOURCES = ("nvidia-kmod-headers", "nvidia-kmod-source")  # of binary modules, of open ones
WHOLE_SETS = ("cuda-drivers", "nvidia-open")  # with binary modules, with open ones
# In a stream, but only in profiles of their own.
OPTIONAL = (*FABRIC_MANAGER, *SOURCES)


@dataclass(frozen=True)
class Artifact:
    """A package of a branch: `nevra` is name-epoch:version-release.architecture."""

    name: str
    nevra: str
    branch: int
    newest: bool


@dataclass(frozen=True)
class Stream:
    """One stream: name, branch, kind (PRECOMPILED, BINARY, OPEN)."""

    name: str
    branch: int
    kind: str


def streams(kinds: Mapping[int, Sequence[str]]) -> list[Stream]:
    """All streams, by what kinds of kernel modules each branch has."""
    found = [Stream(f"{branch}{kind}", branch, kind) for branch, of in sorted(kinds.items()) for kind in of]
    for kind, name in MOVING.items():
        branches = [branch for branch, of in kinds.items() if kind in of]
        found += [Stream(name, max(branches), kind)] if branches else []
    return found


def documents(
    artifacts: Sequence[Artifact], kinds: Mapping[int, Sequence[str]], distribution: str
) -> list[dict[str, Any]]:
    """The documents of modules.yaml. `artifacts`: all packages of the driver, kernel packages among them."""
    rows = streams(kinds)
    defaults = {"module": MODULE, "stream": DEFAULT, "profiles": {stream.name: ["default"] for stream in rows}}
    modules = [_module(stream, artifacts, distribution) for stream in rows]
    return [*modules, {"document": "modulemd-defaults", "version": 1, "data": defaults}]


def render(found: Sequence[dict[str, Any]]) -> str:
    """The text of modules.yaml."""
    return yaml.safe_dump_all(found, explicit_start=True, explicit_end=True, sort_keys=False)


def _module(stream: Stream, artifacts: Sequence[Artifact], distribution: str) -> dict[str, Any]:
    context = hashlib.md5(f"{MODULE}{stream.name}{DATE}{distribution}".encode(), usedforsecurity=False).hexdigest()[:10]
    rows = [row for row in artifacts if row.branch == stream.branch and _fits(row, stream.kind)]
    data = {
        "name": MODULE,
        "stream": stream.name,
        "version": DATE,
        "context": context,
        "arch": ARCHITECTURE,
        "summary": f"Nvidia driver for {stream.name} branch",
        "description": f"Driver branch {stream.branch}, simulated.",
        "license": {"module": ["MIT"]},
        "artifacts": {"rpms": [row.nevra for row in rows]},
        "profiles": {name: {"rpms": packages} for name, packages in _profiles(rows).items() if packages},
    }
    return {"document": "modulemd", "version": 2, "data": data}


def _profiles(rows: Sequence[Artifact]) -> dict[str, list[str]]:
    """Name -> packages. Precompiled modules are in none: dnf adds those of the running kernel by themselves."""
    names = sorted({row.name for row in rows if row.newest})
    default = [name for name in names if name not in OPTIONAL and not _is_precompiled(name)]
    return {
        "default": default,
        "fm": sorted({*default, *(name for name in names if name in FABRIC_MANAGER)}),
        "ks": [name for name in default if name not in WHOLE_SETS],
        "src": [name for name in names if name in SOURCES],
    }


def _is_precompiled(name: str) -> bool:
    """Whether it is kmod-nvidia-<driver>-<kernel>."""
    return name.startswith("kmod-nvidia-") and name[len("kmod-nvidia-")].isdigit()


def _fits(row: Artifact, kind: str) -> bool:
    """Whether a package belongs to streams of this kind: all do, but for kernel packages and whole sets of others."""
    if row.name.startswith("kmod-nvidia-"):
        return _is_precompiled(row.name) if kind == PRECOMPILED else row.name == KERNEL_PACKAGES[kind]
    if row.name in SOURCES:
        return row.name == SOURCES[kind == OPEN]
    return row.name not in WHOLE_SETS or row.name == WHOLE_SETS[kind == OPEN]
