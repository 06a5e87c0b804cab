# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads ``apt-cache policy PACKAGE...``. Private to this collection.

Sources: apt_preferences(5), apt-cache(8); NVIDIA/apt-packaging-fabric-manager#3.
"""

from __future__ import annotations

import re
from typing import Any

PACKAGE = re.compile(r"^(?P<name>[a-z0-9][a-z0-9.+:-]+):$")
FIELD = re.compile(r"^  (?P<words>\S[^:：]*?)\s?[:：]\s?(?P<value>.*)$")
VERSION = re.compile(r"^ (?P<mark>\*\*\*|   ) (?P<version>\S+)(?: (?P<pin>-?\d+))?(?: \(.*\))?$")
ORIGIN = re.compile(r"^\s{7,}(?P<pin>-?\d+) (?P<uri>\S+)(?: (?P<rest>.*?))?\s*$")
# Directory of a distribution in NVIDIA's network repository.
CUDA = re.compile(r"/cuda/repos/(?P<directory>[^/]+)/")


def read_apt_policy(text: str) -> dict[str, Any]:
    """Versions of packages and where each can be had.

    ``packages``: rows of ``package``, ``installed``, ``candidate`` (None: none, or the line is missing because every
    version is pinned below 0) and ``versions``: ``version``, ``pin``, ``installed``, ``sources`` (``pin``, ``uri``,
    ``suite``). Of the first package beside that: ``package``, ``installed``, ``candidate``, ``pin`` (the highest of its
    versions), ``versions`` (the numbers), ``installable``. ``repos``: directories of the CUDA repository;
    ``repos_mixed``: the same where there are several, which no host should have. Words in other languages are known by
    their order.
    """
    packages = _packages(text)
    first = packages[0] if packages else {"package": None, "installed": None, "candidate": None, "versions": []}
    pins = [v["pin"] for v in first["versions"] if v["pin"] is not None]
    uris = [s["uri"] for p in packages for v in p["versions"] for s in v["sources"]]
    repos = list(dict.fromkeys(found["directory"] for found in map(CUDA.search, uris) if found))
    return {
        "packages": packages,
        **{field: first[field] for field in ("package", "installed", "candidate")},
        "pin": max(pins) if pins else None,
        "versions": [v["version"] for v in first["versions"]],
        "installable": first["candidate"] is not None,
        "repos": repos,
        "repos_mixed": repos if len(repos) > 1 else [],
    }


def _packages(text: str) -> list[dict[str, Any]]:
    packages: list[dict[str, Any]] = []
    for line in text.splitlines():
        name, field, version, origin = PACKAGE.match(line), FIELD.match(line), VERSION.match(line), ORIGIN.match(line)
        if name:
            packages.append({"package": name["name"], "installed": None, "candidate": None, "versions": [], "told": []})
        elif not packages:
            continue
        elif origin and packages[-1]["versions"]:
            packages[-1]["versions"][-1]["sources"].append(_source(origin))
        elif version:
            packages[-1]["versions"].append(_version(version))
        elif field and field["value"]:
            packages[-1]["told"].append((field["words"], field["value"].strip()))
    return [_told(package) for package in packages]


def _told(package: dict[str, Any]) -> dict[str, Any]:
    """Installed stands before Candidate, in every language; without one of them the English word decides."""
    told = [(words, None if value.startswith("(") else value) for words, value in package.pop("told")]
    named = {words: value for words, value in told if words in ("Installed", "Candidate")}
    if len(told) >= 2 and not named:
        return {**package, "installed": told[0][1], "candidate": told[1][1]}
    return {**package, "installed": named.get("Installed"), "candidate": named.get("Candidate")}


def _version(found: re.Match[str]) -> dict[str, Any]:
    pin = found["pin"]
    return {
        "version": found["version"],
        "pin": int(pin) if pin else None,
        "installed": found["mark"] == "***",
        "sources": [],
    }


def _source(found: re.Match[str]) -> dict[str, Any]:
    rest = (found["rest"] or "").split()
    return {"pin": int(found["pin"]), "uri": found["uri"], "suite": rest[0] if len(rest) > 1 else None}
