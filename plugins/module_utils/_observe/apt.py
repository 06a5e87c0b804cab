# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks apt what it would do, in a state directory of its own. Private to this collection."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from .._plan.facts import Resolution
from .command import Run
from .disk import scratch
from .files import HostRoot
from .texts.apt_errors import read_apt_errors

PARTS = "/etc/apt/sources.list.d"
PREFERENCES = "/etc/apt/preferences.d"

INSTALL = re.compile(r"^Inst (?P<name>\S+) (?:\[[^\]]*\] )?\((?P<version>\S+) ", re.MULTILINE)
REMOVE = re.compile(r"^(?:Remv|Purg) (?P<name>\S+)", re.MULTILINE)
# What another package merely recommends or suggests goes with what it was brought for.
ONLY_NEEDED = ("-o", "APT::AutoRemove::RecommendsImportant=false", "-o", "APT::AutoRemove::SuggestsImportant=false")
# apt 3 writes Error: and Warning:, earlier ones E: and W:
COMPLAINT = re.compile(r"^(?:E|W|Err|Error|Warning): ?.*", re.MULTILINE)


class AptState:
    """A temporary directory with the host's sources and preferences, our own added, and an index read for it."""

    def __init__(self, run: Run, directory: str, host: HostRoot) -> None:
        self._run = run
        self._directory = directory
        self.options = _options(directory, host)
        self.complaints = ""

    def add(self, folder: str, name: str, text: str) -> str:
        """Puts a file into ``folder`` (sources, preferences, keys); its path."""
        path = os.path.join(self._directory, folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def update(self) -> None:
        """Reads the indexes. apt reports a repository that fails as a warning: kept in ``complaints``."""
        _status, text, errors = self._run(["apt-get", *self.options, "update"])
        self.complaints = "\n".join(COMPLAINT.findall(f"{text}\n{errors}"))

    def install(self, packages: Sequence[str], *, without: Sequence[str] = ()) -> Resolution:
        """What ``apt-get install`` of names would do where ``without`` has to go; held packages may change."""
        flags = ["--no-install-recommends", "--allow-change-held-packages", "--allow-downgrades"]
        return self._simulate(["install", *flags, *packages, *(f"{name}-" for name in without)])

    def versions(self, package: str) -> tuple[str, ...]:
        """The versions of a package that the repositories offer, newest first."""
        _status, text, _errors = self._run(["apt-cache", *self.options, "madison", package])
        rows = (line.split("|") for line in text.splitlines())
        return tuple(dict.fromkeys(row[1].strip() for row in rows if len(row) >= 3))

    def removal(self, packages: Sequence[str]) -> Resolution:
        """What would go with ``packages`` as what needs them, and what was installed only for them."""
        return self._simulate(["autoremove", *ONLY_NEEDED, "--allow-change-held-packages", *packages])

    def dependants(self, packages: Sequence[str]) -> tuple[str, ...]:
        """``packages`` and what could not stay without them."""
        return self._simulate(["remove", "--allow-change-held-packages", *packages]).remove

    def _simulate(self, args: Sequence[str]) -> Resolution:
        status, text, errors = self._run(["apt-get", *self.options, "--simulate", "--yes", *args])
        if status == 0:
            return parse_simulation(text)
        said = f"{_reason(text, errors)}\n{self.complaints}".strip()
        return Resolution({}, (), said, read_apt_errors(f"{text}\n{errors}"))


@contextmanager
def apt_state(run: Run, host: HostRoot) -> Iterator[AptState]:
    """An AptState about ``host`` that is gone after the block."""
    with scratch("gpu-fleet-apt-") as directory:
        for folder in ("sources", "preferences", "keys", "lists/partial", "cache/archives/partial", "log"):
            os.makedirs(os.path.join(directory, folder))
        _copy(host.where(PARTS), os.path.join(directory, "sources"))
        _copy(host.where(PREFERENCES), os.path.join(directory, "preferences"))
        yield AptState(run, directory, host)


def _copy(source: str, target: str) -> None:
    """Files of gpu.fleet stay out: what is wanted of them is added, what they say now may be old."""
    for name in os.listdir(source) if os.path.isdir(source) else ():
        path = os.path.join(source, name)
        if os.path.isfile(path) and not name.startswith("gpu-fleet-"):
            shutil.copy(path, os.path.join(target, name))


def _options(directory: str, host: HostRoot) -> list[str]:
    settings = {
        "Dir::Etc::sourcelist": host.where("/etc/apt/sources.list"),
        "Dir::Etc::sourceparts": f"{directory}/sources",
        "Dir::Etc::preferencesparts": f"{directory}/preferences",
        "Dir::State::status": host.where("/var/lib/dpkg/status"),
        "Dir::State::lists": f"{directory}/lists",
        "Dir::Cache": f"{directory}/cache",
        # Also a simulation logs what it asked of the planner.
        "Dir::Log": f"{directory}/log",
        # The directory is root's alone, so apt's own user could not write there.
        "APT::Sandbox::User": "root",
        "Debug::NoLocking": "true",
        # Hooks of the host (command-not-found, appstream) would write outside of the directory.
        "APT::Update::Post-Invoke-Success": "",
    }
    return [part for name, value in settings.items() for part in ("-o", f"{name}={value}")]


def parse_simulation(text: str) -> Resolution:
    """The lines Inst and Remv of ``apt-get --simulate``. Names of a foreign architecture keep their suffix."""
    install = {found.group("name"): found.group("version") for found in INSTALL.finditer(text)}
    gone = tuple(found.group("name") for found in REMOVE.finditer(text) if found.group("name") not in install)
    return Resolution(install, gone)


def _reason(text: str, errors: str) -> str:
    """apt's reason: the block about unmet dependencies is on standard output, the last line alone says nothing."""
    head, words, block = text.partition("The following packages have unmet dependencies:")
    unmet = [line.strip() for line in block.splitlines() if line.startswith(" ")] if words else []
    return "\n".join([*unmet, *COMPLAINT.findall(errors)]) or errors.strip() or head.strip()
