# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads os-release(5). Private to this collection."""

from __future__ import annotations

from .._plan.facts import OsRelease
from .files import HostRoot

PATHS = ("/etc/os-release", "/usr/lib/os-release")


def read_os_release(host: HostRoot) -> OsRelease:
    """What the host calls itself. All fields are empty on a host without os-release."""
    text = next((t for t in map(host.text, PATHS) if t is not None), "")
    fields = parse_os_release(text)
    name = fields.get("PRETTY_NAME") or fields.get("NAME", "")
    return OsRelease(id=fields.get("ID", ""), version=fields.get("VERSION_ID", ""), name=name)


def read_likes(host: HostRoot) -> tuple[str, ...]:
    """ID, and the words of ID_LIKE: what the host is, or is made from."""
    fields = parse_os_release(next((t for t in map(host.text, PATHS) if t is not None), ""))
    return (fields.get("ID", "").partition("-")[0], *fields.get("ID_LIKE", "").split())


def parse_os_release(text: str) -> dict[str, str]:
    """The shell-like assignments of os-release(5), quotes removed."""
    found = {}
    for line in text.splitlines():
        name, equals, value = line.strip().partition("=")
        if equals and not name.startswith("#"):
            found[name] = value.strip("\"'")
    return found
