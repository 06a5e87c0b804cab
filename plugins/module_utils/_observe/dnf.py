# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks dnf what it would do, with repositories and a cache of its own. Private to this collection."""

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
from .repo_files import FOLDER
from .texts.dnf import read_dnf_errors
from .texts.dnf_transaction import read_dnf_transaction

# dnf ends with 1 where --assumeno was the answer, too.
DECLINED = "Operation aborted."
NOTHING = "Nothing to do."
VERSIONS = "%{epoch}:%{version}-%{release}"


class DnfState:
    """A temporary directory with the host's repositories, our own added, and metadata read for them."""

    def __init__(self, run: Run, directory: str, host: HostRoot) -> None:
        self._run = run
        self._directory = directory
        self._options = _options(directory, host)

    def add(self, name: str, text: str) -> None:
        """Puts a .repo file beside the others."""
        with open(os.path.join(self._directory, "repos", name), "w", encoding="utf-8") as file:
            file.write(text)

    def install(self, packages: Sequence[str], *, erase: bool) -> Resolution:
        """What ``dnf install`` would do; ``erase``: what excludes the packages goes."""
        flags = ["--setopt=install_weak_deps=0", *(["--allowerasing"] if erase else [])]
        return self._simulate(["install", *flags, *packages])[0]

    def versions(self, package: str) -> tuple[str, ...]:
        """The versions that the repositories offer, newest first, excluded ones too; with epoch where it is not 0."""
        args = ["--quiet", "repoquery", "--disableexcludes=all", "--showduplicates", f"--qf={VERSIONS}\n", package]
        _status, text, _errors = self._run(["dnf", *self._options, *args])
        found = (line.strip().removeprefix("0:") for line in text.splitlines() if re.match(r"\d+:\S+$", line.strip()))
        return tuple(sorted(set(found), key=_order, reverse=True))

    def removal(self, packages: Sequence[str]) -> tuple[Resolution, tuple[str, ...]]:
        """What would go with ``packages``; and of that what needs them, without what was there only for them."""
        return self._simulate(["remove", "--setopt=clean_requirements_on_remove=1", *packages])

    def _simulate(self, args: Sequence[str]) -> tuple[Resolution, tuple[str, ...]]:
        status, text, errors = self._run(["dnf", *self._options, "--assumeno", *args])
        if DECLINED in f"{text}{errors}" or (status == 0 and NOTHING in text):
            found = read_dnf_transaction(text)
            return Resolution(found["install"], tuple(found["remove"])), tuple(found["taken"])
        said = errors.strip() or text.strip()
        return Resolution({}, (), said, read_dnf_errors(f"{text}\n{errors}")), ()


def _order(version: str) -> tuple[list[int], str]:
    return [int(n) for n in re.findall(r"\d+", version)], version


@contextmanager
def dnf_state(run: Run, host: HostRoot) -> Iterator[DnfState]:
    """A DnfState about ``host`` that is gone after the block."""
    with scratch("gpu-fleet-dnf-") as directory:
        for folder in ("repos", "cache", "log"):
            os.makedirs(os.path.join(directory, folder))
        source = host.where(FOLDER)
        # What is wanted of our own files is added; what they say now may be old.
        for name in os.listdir(source) if os.path.isdir(source) else ():
            if name.endswith(".repo") and not name.startswith("gpu-fleet-"):
                shutil.copy(os.path.join(source, name), os.path.join(directory, "repos", name))
        yield DnfState(run, directory, host)


def _options(directory: str, host: HostRoot) -> list[str]:
    settings = {
        "reposdir": f"{directory}/repos",
        "cachedir": f"{directory}/cache",
        "logdir": f"{directory}/log",
        "color": "never",
        # The keys of signed metadata lie in the host's own cache, and --assumeno would refuse them here. What is
        # installed in the end is checked by the host's own settings.
        "*.repo_gpgcheck": "0",
    }
    root = [] if host.root == "/" else [f"--installroot={host.root}"]
    return [*root, *(f"--setopt={name}={value}" for name, value in settings.items())]
