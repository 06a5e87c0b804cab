# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks rpm what is installed. Private to this collection."""

from __future__ import annotations

import fnmatch

from .._plan.facts import Package
from .command import Run
from .files import HostRoot
from .texts.rpm_list import parse_nevra

QUERY = "%{NAME}\\t%{EPOCHNUM}\\t%{VERSION}\\t%{RELEASE}\\t%{ARCH}\\n"
LOCKS = "/etc/dnf/plugins/versionlock.list"
# rpm keeps every key that it trusts as a package of this name.
KEY = "gpg-pubkey"


class NoRpm(Exception):
    """rpm does not answer; the message has its words."""


def read_rpm_packages(host: HostRoot, run: Run) -> dict[str, Package]:
    """Installed packages by name, versions with epoch where it is not 0. Raises NoRpm.

    Of several versions of a name the last one counts; keys have their version in the name. Held is what a line of
    dnf's versionlock.list names.
    """
    root = [] if host.root == "/" else ["--root", host.root]
    status, text, errors = run(["rpm", *root, "-qa", "--qf", QUERY])
    if status != 0:
        raise NoRpm(f"rpm -qa ended with {status}: {errors.strip()}; repair its database: rpm --rebuilddb")
    locks = tuple(line.strip() for line in (host.text(LOCKS) or "").splitlines() if line.strip()[:1] not in ("", "#"))
    return parse_rpm_packages(text, locks)


def parse_rpm_packages(text: str, locks: tuple[str, ...] = ()) -> dict[str, Package]:
    """The packages in the output of ``rpm -qa --qf`` QUERY."""
    found: dict[str, Package] = {}
    for row in filter(None, map(parse_nevra, text.splitlines())):
        version = f"{row['version']}-{row['release']}"
        version = f"{row['epoch']}:{version}" if row["epoch"] else version
        name = f"{KEY}-{row['version']}" if row["name"] == KEY else row["name"]
        held = any(is_locked(row["name"], version, row["arch"], lock) for lock in locks)
        found[name] = Package(name, version, row["arch"], "installed", held)
    return found


def is_locked(name: str, version: str, arch: str, lock: str) -> bool:
    """Whether a line of versionlock.list names the package: a pattern with or without epoch and machine.

    A line with ! in front hides versions; it names no package here.
    """
    forms = (f"{name}-{version}.{arch}", f"{name}-{version}", f"{name}-{version.partition(':')[2] or version}", name)
    return any(fnmatch.fnmatchcase(form, lock) for form in forms)
