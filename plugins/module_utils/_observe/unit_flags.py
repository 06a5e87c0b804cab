# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the command line with which systemd starts a daemon. Private to this collection.

The unit's files are read and not asked for by systemctl, so that a unit that is not loaded yet counts too.
"""

from __future__ import annotations

import re
import shlex

from .files import HostRoot

# The first directory that has the unit wins; drop-ins of all of them are read, in the order of their names.
DIRECTORIES = ("/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/lib/systemd/system")
VARIABLE = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?$")


def read_flags(host: HostRoot, unit: str) -> dict[str, tuple[str, ...]]:
    """Option without dashes -> its values, of the unit's ExecStart; empty without the unit."""
    lines = [line for text in _texts(host, unit) for line in _lines(text)]
    commands: list[str] = []
    variables: dict[str, str] = {}
    for key, value in lines:
        if key == "ExecStart":
            # An empty value takes back what was said before.
            commands = [*commands, value] if value else []
        elif key == "EnvironmentFile":
            variables.update(_assignments(host.text(value.lstrip("-")) or ""))
        elif key == "Environment":
            variables.update(_assignments("\n".join(_words(value))))
    return _options(_expanded(_words(commands[-1]) if commands else [], variables))


def _texts(host: HostRoot, unit: str) -> list[str]:
    main = next((t for t in (host.text(f"{d}/{unit}") for d in DIRECTORIES) if t is not None), None)
    places = {n: f"{d}/{unit}.d/{n}" for d in reversed(DIRECTORIES) for n in host.names(f"{d}/{unit}.d")}
    drop_ins = [host.text(places[name]) or "" for name in sorted(places) if name.endswith(".conf")]
    return [] if main is None else [main, *drop_ins]


def _lines(text: str) -> list[tuple[str, str]]:
    joined = re.sub(r"\\\n", " ", text)
    rows = (line.strip().partition("=") for line in joined.splitlines() if not line.lstrip().startswith(("#", ";")))
    return [(key.strip(), value.strip()) for key, equals, value in rows if equals]


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        # systemd would refuse the line as well.
        return text.split()


def _assignments(text: str) -> dict[str, str]:
    rows = (line.strip().partition("=") for line in text.splitlines() if not line.lstrip().startswith("#"))
    return {name: value.strip().strip("\"'") for name, equals, value in rows if equals}


def _expanded(words: list[str], variables: dict[str, str]) -> list[str]:
    made = []
    for word in words:
        found = VARIABLE.match(word)
        made += _words(variables.get(found.group(1), "")) if found else [word]
    return made


def _options(words: list[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for place, word in enumerate(words):
        if not word.startswith("-"):
            continue
        name, equals, value = word.lstrip("-").partition("=")
        follower = words[place + 1] if place + 1 < len(words) and not words[place + 1].startswith("-") else "true"
        found[name] = (*found.get(name, ()), value if equals else follower)
    return found
