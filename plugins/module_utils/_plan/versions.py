# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions as NVIDIA and Debian write them. Private to this collection."""

from __future__ import annotations

import re

# deb-version(7): [epoch:]upstream[-revision]
RELEASE = re.compile(r"^\d{3}\.\d+(?:\.\d+)?$")
DEBIAN = re.compile(r"^(?:\d+:)?(?P<upstream>.+?)(?:-[^-]*)?$")


def upstream_version(version: str) -> str:
    """A Debian version without epoch and revision: 595.71.05 of 595.71.05-1."""
    found = DEBIAN.match(version)
    return found.group("upstream") if found else version


def branch_number(version: str) -> int | None:
    """The branch of a driver version, None where it does not begin with a number: 595 of 595.71.05."""
    head = version.split(".", 1)[0]
    return int(head) if head.isdigit() else None


def satisfies(version: str, wanted: str) -> bool:
    """Whether the Debian version ``version`` is what ``wanted`` names: nothing, an upstream version, or the whole."""
    return wanted in ("", version, upstream_version(version))


def is_older(version: str, than: str) -> bool:
    """Whether a driver version is older than another one: its numbers count, whatever follows them does not."""
    return _numbers(version) < _numbers(than)


def _numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", upstream_version(version).partition("~")[0])]


def is_release(version: str) -> bool:
    """Whether a package's version is one of the driver: 3:595.71.05-1.el9 is, 1.1.3-1 and 2025.06.11-1 are not."""
    return RELEASE.match(upstream_version(version)) is not None
