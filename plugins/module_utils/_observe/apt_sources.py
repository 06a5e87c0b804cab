# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads apt's sources. Private to this collection."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .._plan.facts import AptSource
from .files import HostRoot

MAIN = "/etc/apt/sources.list"
PARTS = "/etc/apt/sources.list.d"
SIGNED_BY = re.compile(r"\bsigned-by=([^\s\]]+)", re.IGNORECASE)


def read_sources(host: HostRoot) -> tuple[AptSource, ...]:
    """Every enabled entry for binary packages, in the order of the files' names."""
    paths = [MAIN, *(f"{PARTS}/{name}" for name in host.names(PARTS))]
    return tuple(entry for path in paths for entry in parse_sources(path, host.text(path) or ""))


def parse_sources(path: str, text: str) -> tuple[AptSource, ...]:
    """The entries of one file; its suffix tells the form (sources.list(5)). Other suffixes are none of apt's."""
    if path.endswith(".sources"):
        return tuple(e for stanza in re.split(r"\n\s*\n", text) for e in _deb822(path, stanza))
    if path.endswith(".list"):
        return tuple(e for line in text.splitlines() for e in _one_line(path, line))
    return ()


def _deb822(path: str, stanza: str) -> Iterator[AptSource]:
    fields = _fields(stanza)
    if "deb" not in fields.get("types", "").split() or fields.get("enabled", "yes").strip().lower() in ("no", "false"):
        return
    signed_by, components = fields.get("signed-by", "").strip(), tuple(fields.get("components", "").split())
    for uri in fields.get("uris", "").split():
        for suite in fields.get("suites", "").split():
            yield AptSource(path, uri.rstrip("/"), suite, signed_by, components)


def _fields(stanza: str) -> dict[str, str]:
    """deb822(5): names in any case, continuation lines begin with a blank, comments with #."""
    found: dict[str, str] = {}
    name = ""
    for line in stanza.splitlines():
        if line.startswith("#"):
            continue
        if line[:1].isspace() and name:
            found[name] += f"\n{line.strip()}"
        elif ":" in line:
            name, _colon, value = line.partition(":")
            name = name.strip().lower()
            found[name] = value.strip()
    return found


def _one_line(path: str, line: str) -> Iterator[AptSource]:
    options = SIGNED_BY.search(line.partition("[")[2].partition("]")[0])
    words = re.sub(r"\[[^\]]*\]", "", line.partition("#")[0]).split()
    if len(words) >= 3 and words[0] == "deb":
        signed_by = options.group(1) if options else ""
        yield AptSource(path, words[1].rstrip("/"), words[2], signed_by, tuple(words[3:]))
