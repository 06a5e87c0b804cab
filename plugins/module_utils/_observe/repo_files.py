# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the .repo files of dnf, enabled or not. Private to this collection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .files import HostRoot
from .texts.ini import parse_ini

FOLDER = "/etc/yum.repos.d"
OFF = ("0", "no", "false", "off")


@dataclass(frozen=True)
class RepoSection:
    """One section: its file, its name (the id of the repository) and all its options as they are written."""

    path: str
    name: str
    values: Mapping[str, str]

    @property
    def enabled(self) -> bool:
        """Whether dnf uses it: it does where nothing is said."""
        return self.values.get("enabled", "1").strip().lower() not in OFF


def read_repo_files(host: HostRoot) -> tuple[RepoSection, ...]:
    """Every section in the order of the files' names."""
    paths = [f"{FOLDER}/{name}" for name in host.names(FOLDER) if name.endswith(".repo")]
    return tuple(
        RepoSection(path, name, values) for path in paths for name, values in parse_ini(host.text(path) or "").items()
    )
