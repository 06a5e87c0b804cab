# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules of the Container Device Interface: names and versions. Private to this collection.

Source: CDI specification 1.1.0, https://github.com/cncf-tags/container-device-interface/blob/main/SPEC.md
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from .._catalog.cdi_readers import READERS

VERSIONS = ("0.1.0", "0.2.0", "0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0", "0.8.0", "1.0.0", "1.1.0")

VENDOR_OR_CLASS = re.compile(r"[A-Za-z]([A-Za-z0-9_.-]*[A-Za-z0-9])?", re.ASCII)
DEVICE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.:-]*[A-Za-z0-9])?", re.ASCII)

Document = Mapping[str, Any]


def is_vendor_or_class(name: str) -> bool:
    """Begins with a letter, ends with a letter or digit, between them also _ - and dots."""
    return VENDOR_OR_CLASS.fullmatch(name) is not None


def is_device_name(name: str) -> bool:
    """Begins and ends with a letter or digit, between them also _ - . and colons."""
    return DEVICE.fullmatch(name) is not None


def is_known_version(version: str) -> bool:
    """Whether readers know ``version``; a leading v is tolerated."""
    return version[1:] in VERSIONS if version.startswith("v") else version in VERSIONS


def minimum_version(spec: Document) -> str:
    """The lowest version that has everything in ``spec``: old engines refuse a file that says more than they know."""
    needs = [_of_names(spec), *(_of_edits(e) for e in _all_edits(spec))]
    return max(needs, key=VERSIONS.index)


def is_below(version: str, other: str) -> bool:
    """Whether one known version is lower than another."""
    return VERSIONS.index(version.lstrip("v")) < VERSIONS.index(other.lstrip("v"))


def newest_readable(engine: str, version: str | None) -> str | None:
    """The newest CDI version that the engine of this version reads; None where that is unknown."""
    numbers = tuple(int(n) for n in re.findall(r"\d+", (version or "").partition("-")[0])[:3])
    rows = [r for r in READERS if r.engine == engine and numbers and r.since <= numbers]
    return rows[-1].newest if rows else None


def _all_edits(spec: Document) -> Iterable[Document]:
    yield spec.get("containerEdits") or {}
    for device in spec.get("devices") or []:
        yield device.get("containerEdits") or {}


def _of_names(spec: Document) -> str:
    devices = spec.get("devices") or []
    if spec.get("annotations") or any(d.get("annotations") for d in devices):
        return "0.6.0"
    if "." in str(spec.get("kind", "")).partition("/")[2]:
        return "0.6.0"
    if any(str(d.get("name", ""))[:1].isdigit() for d in devices):
        return "0.5.0"
    return "0.3.0"


def _of_edits(edits: Document) -> str:
    rdt = edits.get("intelRdt")
    if edits.get("netDevices") or (rdt and (rdt.get("schemata") or rdt.get("enableMonitoring"))):
        return "1.1.0"
    if rdt or edits.get("additionalGids"):
        return "0.7.0"
    if any(n.get("hostPath") for n in edits.get("deviceNodes") or []):
        return "0.5.0"
    if any(m.get("type") for m in edits.get("mounts") or []):
        return "0.4.0"
    return "0.3.0"
