# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads lists of rpm packages: rpm -qa, and its --qf form with tabs. Private to this collection.

Sources: rpm(8); negativo17/nvidia-driver#43, #167; NVIDIA/yum-packaging-precompiled-kmod#50.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..._catalog.package_origins import RPM_PARTS, RPM_SOURCES
from .driver_parts import driver_parts
from .plain import number

# Name, epoch (mostly told by none), version, release, architecture.
NEVRA = re.compile(
    r"^(?P<name>[A-Za-z0-9][\w.+-]*?)-(?:(?P<epoch>\d+):)?(?P<version>[^-\s:]+)-(?P<release>[^-\s]+)"
    r"\.(?P<arch>[a-z]\w+)$"
)
# NVIDIA's precompiled kmods carry the driver's version and the kernel's in their names.
KMOD = re.compile(r"^kmod-nvidia-(?:open-)?(?P<driver>\d+(?:\.\d+)+)-(?P<kernel>\d+\.\d+\.\d+-[\d.]+)$")
DRIVER = ("nvidia-driver", "xorg-x11-drv-nvidia", "nvidia-driver-cuda", "nvidia-driver-libs")
KERNEL_SIDE = re.compile(r"^(dkms-nvidia|kmod-nvidia.*|akmod-nvidia.*|nvidia-open-kmod|cuda-open.*)$")


def parse_nevra(text: str) -> dict[str, Any] | None:
    """``name``, ``epoch`` (None: not told), ``version``, ``release``, ``arch`` of a package; None for another text."""
    fields = text.strip().split("\t")
    if len(fields) == 5:
        name, epoch, version, release, arch = fields
        return {"name": name, "epoch": number(epoch), **_rest(version, release, arch)}
    found = NEVRA.match(text.strip())
    if found is None:
        return None
    epoch = found["epoch"]
    rest = _rest(found["version"], found["release"], found["arch"])
    return {"name": found["name"], "epoch": int(epoch) if epoch else None, **rest}


def _rest(version: str, release: str, arch: str) -> dict[str, str]:
    return {"version": version, "release": release, "arch": arch}


def read_rpm_list(text: str) -> dict[str, Any]:
    """Installed packages.

    ``packages``: rows of ``name``, ``epoch`` (3 in NVIDIA's repository), ``version``, ``release``, ``arch``.
    ``source``: negativo17, rpmfusion, cuda_repo, distribution; mixed for more than one, None where no name tells.
    ``driver``: version of the driver, ``kernel_package`` and ``kmod`` (its driver version), ``dkms_package``;
    ``kmod_ahead``: the modules are newer than the libraries. ``module_source``, ``parts``, ``complete``: see
    driver_parts(). ``multilib``: further architectures. ``epoch``: of the driver.
    """
    rows = [row for row in map(parse_nevra, text.splitlines()) if row]
    names = list(dict.fromkeys(r["name"] for r in rows))
    driver = next((r for name in DRIVER for r in rows if r["name"] == name), None)
    kernel = next((r for r in rows if KERNEL_SIDE.match(r["name"])), None)
    kmod = _kmod_version(kernel) if kernel else None
    return {
        "packages": rows,
        "source": _source(names),
        "driver": driver["version"] if driver else None,
        "epoch": driver["epoch"] if driver else None,
        "kernel_package": kernel["name"] if kernel else None,
        "kmod": kmod,
        "kmod_ahead": _newer(kmod, driver["version"]) if kmod and driver else None,
        "dkms_package": next((n for n in names if re.search(r"^dkms-nvidia|-dkms$", n)), None),
        **driver_parts(names, RPM_PARTS),
        "multilib": _multilib(rows),
    }


def _kmod_version(row: dict[str, Any]) -> str:
    precompiled = KMOD.match(row["name"])
    return str(precompiled["driver"] if precompiled else row["version"])


def _newer(one: str, other: str) -> bool:
    """Versions of drivers are numbers with dots; a shorter one says nothing beyond its length."""
    first, second = ([int(n) for n in re.findall(r"\d+", v)] for v in (one, other))
    length = min(len(first), len(second))
    return first[:length] > second[:length]


def _source(names: Sequence[str]) -> str | None:
    found = dict.fromkeys(row.source_name for row in RPM_SOURCES for name in names if re.fullmatch(row.names, name))
    return "mixed" if len(found) > 1 else next(iter(found), None)


def _multilib(rows: Sequence[dict[str, Any]]) -> list[str]:
    archs = [r["arch"] for r in rows if r["arch"] not in ("noarch", "(none)")]
    most = max(archs, key=archs.count) if archs else None
    return [a for a in dict.fromkeys(archs) if a != most]
