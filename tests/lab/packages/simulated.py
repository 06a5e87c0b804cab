# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the driver packages take the programs and libraries that do something: the simulator's build."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from simulator.build import artifact_dir, nvml_folder


def program(name: str) -> Path:
    """A program of the simulated driver. Raises FileNotFoundError when the simulator does not build it."""
    path = _build() / "bin" / name
    if not path.exists():
        raise FileNotFoundError(f"the simulator's build has no program {name!r}: expected {path}")
    return path


def library(soname: str, branch: int) -> Path | None:
    """The simulator's shared object with this SONAME, or None when it has none and an empty one will do.

    Its NVML has the functions of that driver branch.
    """
    for folder in (_nvml(branch), _build() / "lib"):
        if (folder / soname).exists():
            return folder / soname
    return None


@cache
def _build() -> Path:
    """One build for all packages: to ask for it means to read all its sources."""
    return artifact_dir()


@cache
def _nvml(branch: int) -> Path:
    return nvml_folder(branch)
