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
ON = ("1", "yes", "true", "on")


@dataclass(frozen=True)
class RepoSection:
    """One section: its file, its name (the id of the repository) and all its options as they are written."""

    path: str
    name: str
    values: Mapping[str, str]

    @property
    def enabled(self) -> bool:
        """Whether dnf uses it: it does where nothing is said."""
        return (self.values.get("enabled") or "1").strip().lower() in ON

    def addresses(self, words: Mapping[str, str]) -> list[str]:
        """Its base addresses without a slash at their ends; ``words`` stand for dnf's variables of these names."""
        text = self.values.get("baseurl", "")
        for name, value in words.items():
            text = text.replace(f"${name}", value).replace(f"${{{name}}}", value)
        return [uri.rstrip("/") for uri in text.replace(",", " ").split()]


def dnf_words(*, release: str, machine: str) -> dict[str, str]:
    """dnf's variables that addresses are written with (dnf.conf(5)); ``release`` is the major one."""
    return {"releasever": release, "basearch": machine}


def read_repo_files(host: HostRoot) -> tuple[RepoSection, ...]:
    """Every section in the order of the files' names."""
    paths = [f"{FOLDER}/{name}" for name in host.names(FOLDER) if name.endswith(".repo")]
    return tuple(section for path in paths for section in parse_repo_file(path, host.text(path) or ""))


def parse_repo_file(path: str, text: str) -> tuple[RepoSection, ...]:
    """The sections of one file. A file that is none of this form has none, as for dnf."""
    return tuple(RepoSection(path, name, values) for name, values in parse_ini(text).items())
