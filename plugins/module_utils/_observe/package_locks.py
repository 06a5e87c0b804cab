# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads what keeps packages of the driver at a version: holds, pins, versionlock, excludes, module streams. Private to
this collection.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .._catalog.distributions import APT
from .._catalog.packages import PINNING_PATTERN
from .._plan.facts import Package
from .files import HostRoot
from .installed import package_manager
from .repo_files import read_repo_files
from .texts.ini import parse_ini

PREFERENCES = "/etc/apt/preferences"
PREFERENCES_PARTS = "/etc/apt/preferences.d"
# apt ignores files with any other ending (apt_preferences(5)).
PREFERENCES_NAME = re.compile(r"[\w-]+(?:\.pref)?")
DNF_CONF = "/etc/dnf/dnf.conf"
# dnf 4 and yum; dnf 5.
VERSIONLOCKS = ("/etc/dnf/plugins/versionlock.list", "/etc/yum/pluginconf.d/versionlock.list")
VERSIONLOCK_TOML = "/etc/dnf/versionlock.toml"
TOML_NAME = re.compile(r"^name\s*=\s*[\"'](?P<name>[^\"']+)[\"']", re.MULTILINE)
STREAMS = "/etc/dnf/modules.d"

OURS = re.compile(r"nvidia|cuda|nvlsm", re.IGNORECASE)
EXCLUDES = ("excludepkgs", "exclude")


def read_locks(host: HostRoot, packages: Mapping[str, Package]) -> list[dict[str, str]]:
    """Rows of ``kind`` (hold, pinning_package, apt_pin, versionlock, exclude), ``where`` (a file, or dpkg),
    ``packages`` (names or patterns) and ``value`` (what they are kept at, '' for as they are).
    """
    installed = sorted(n for n, p in packages.items() if p.installed and fnmatch.fnmatchcase(n, PINNING_PATTERN))
    # Of rpm's packages those are held that a versionlock names: its lines are rows of their own.
    held = sorted(n for n, p in packages.items() if p.held and OURS.search(n)) if package_manager(host) == APT else []
    rows = [_row("pinning_package", name, name, "") for name in installed]
    rows += [_row("hold", "dpkg", name, packages[name].version) for name in held]
    return [*rows, *_pins(host), *_versionlocks(host), *_excludes(host)]


def _row(kind: str, where: str, packages: str, value: str) -> dict[str, str]:
    return {"kind": kind, "where": where, "packages": packages, "value": value}


def _pins(host: HostRoot) -> Iterator[dict[str, str]]:
    names = [n for n in host.names(PREFERENCES_PARTS) if PREFERENCES_NAME.fullmatch(n)]
    for path in (PREFERENCES, *(f"{PREFERENCES_PARTS}/{n}" for n in names)):
        for stanza in re.split(r"\n\s*\n", host.text(path) or ""):
            fields = _fields(stanza)
            if {"package", "pin", "pin-priority"} <= set(fields) and OURS.search(stanza):
                value = f"{fields['pin']}, priority {fields['pin-priority']}"
                yield _row("apt_pin", path, fields["package"], value)


def _fields(stanza: str) -> dict[str, str]:
    lines = (line.partition(":") for line in stanza.splitlines() if not line.startswith("#"))
    return {name.strip().lower(): value.strip() for name, colon, value in lines if colon}


def _versionlocks(host: HostRoot) -> Iterator[dict[str, str]]:
    for path in VERSIONLOCKS:
        lines = (line.strip() for line in (host.text(path) or "").splitlines())
        yield from (_row("versionlock", path, line, "") for line in lines if line[:1] != "#" and OURS.search(line))
    names = TOML_NAME.findall(host.text(VERSIONLOCK_TOML) or "")
    yield from (_row("versionlock", VERSIONLOCK_TOML, name, "") for name in names if OURS.search(name))


def _excludes(host: HostRoot) -> Iterator[dict[str, str]]:
    sections: list[tuple[str, str, Mapping[str, str]]] = [
        (DNF_CONF, name, values) for name, values in parse_ini(host.text(DNF_CONF) or "").items()
    ]
    sections += [(row.path, row.name, row.values) for row in read_repo_files(host)]
    for path, name, values in sections:
        for option in EXCLUDES:
            found = [p for p in _words(values.get(option, "")) if OURS.search(p)]
            if found:
                yield _row("exclude", f"{path} [{name}]", " ".join(found), "")


def _words(text: str) -> Iterable[str]:
    return text.replace(",", " ").split()


def read_streams(host: HostRoot) -> list[dict[str, Any]]:
    """Module streams of the driver that dnf has on record: ``module``, ``stream``, ``state`` (enabled,
    disabled ...), ``profiles``. Empty where dnf has none, and on apt systems.
    """
    rows = []
    for file in host.names(STREAMS):
        for name, values in parse_ini(host.text(f"{STREAMS}/{file}") or "").items():
            if OURS.search(name):
                profiles = list(_words(values.get("profiles", "")))
                stream, state = values.get("stream") or None, values.get("state") or None
                rows.append({"module": name, "stream": stream, "state": state, "profiles": profiles})
    return rows
