# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads /proc/driver/nvidia/version. Private to this collection.

Sources: open-gpu-kernel-modules nv-procfs.c ("NVRM version: %s", "GCC version:  %s"), nixGL#121, #186,
open-gpu-kernel-modules#259 (a banner that was cut).
"""

from __future__ import annotations

import re
from typing import Any

# The GCC line carries a version too, so the first line's own words are the anchor.
NVRM = re.compile(
    r"^NVRM version:\s+NVIDIA UNIX (?P<open>Open )?(?:(?P<arch>\S+) )?Kernel Module(?: for (?P<open_arch>\S+))?"
    r"\s+(?P<driver>\d+(?:\.\d+)+)(?P<rest>.*)$",
    re.MULTILINE,
)
BUILD = re.compile(r"\s+Release Build\s*(?:\((?P<builder>[^)]*)(?P<closed>\)?))?")
COMPILER = re.compile(r"^GCC version:\s+(?P<text>.*?)\s*$", re.MULTILINE)
NAMED_VERSION = re.compile(r"(?P<name>gcc|clang) version (?P<version>\d+(?:\.\d+)*)")
LAST_VERSION = re.compile(r"(?<![\w.~+-])(\d+\.\d+(?:\.\d+)?)(?![\w.~+-])")

# Jetson prints the release of Linux for Tegra (35.4.1) there, or a version of its own built as buildbrain.
FIRST_DRIVER = 100
TEGRA_BUILDER = "buildbrain@"


def read_driver_banner(text: str) -> dict[str, Any]:
    """The loaded kernel module by its own words; every value is None for a text without the banner.

    ``driver``: version. ``flavour``: open or proprietary. ``arch``: as uname -m. ``builder``: user@host of an open
    build, empty where the build left no host. ``build_date``: in the words of the builder's locale, so not to be
    parsed. ``compiler`` (gcc, clang) and ``compiler_version``; ``gcc``: the version where it is gcc.
    ``banner_truncated``: the builder field has no end. ``tegra``: a Jetson, whose version is none of a data centre
    driver.
    """
    found = NVRM.search(text)
    driver = found["driver"] if found else None
    built = _build(found["rest"], open_module=bool(found["open"])) if found else _build("", open_module=False)
    by_tegra = (built["builder"] or "").startswith(TEGRA_BUILDER)
    return {
        "driver": driver,
        "flavour": None if found is None else "open" if found["open"] else "proprietary",
        "arch": (found["arch"] or found["open_arch"]) if found else None,
        **built,
        **_compiler(text),
        "tegra": None if driver is None else by_tegra or int(driver.split(".")[0]) < FIRST_DRIVER,
    }


def _build(rest: str, *, open_module: bool) -> dict[str, Any]:
    """What stands behind the version: proprietary builds have the date alone, open ones say who built them."""
    found = BUILD.match(rest)
    builder = found["builder"] if found else None
    date = rest[found.end() :].strip() if found else rest.strip()
    return {
        "builder": "" if builder is not None and builder.endswith("@") else builder,
        "build_date": date or None,
        "banner_truncated": open_module and (found is None or not found["closed"]),
    }


def _compiler(text: str) -> dict[str, Any]:
    """GCC says ``gcc version 12.2.0 (...)`` or ``gcc-12 (Debian 12.2.0-14) 12.2.0``; LLVM kernels say clang there."""
    line = COMPILER.search(text)
    words = line["text"] if line else ""
    named = NAMED_VERSION.search(words)
    name = named["name"] if named else "clang" if "clang" in words else "gcc" if "gcc" in words else None
    versions = LAST_VERSION.findall(words)
    version = named["version"] if named else versions[-1] if versions else None
    return {"compiler": name, "compiler_version": version, "gcc": version if name == "gcc" else None}
