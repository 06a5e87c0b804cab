# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads dnf's repositories. Private to this collection."""

from __future__ import annotations

from .._plan.facts import DnfSource
from .files import HostRoot
from .repo_files import dnf_words, read_repo_files


def read_dnf_sources(host: HostRoot, *, release: str, machine: str) -> tuple[DnfSource, ...]:
    """Every enabled section in the order of the files' names. ``release`` and ``machine`` stand for dnf's variables."""
    words = dnf_words(release=release, machine=machine)
    return tuple(
        DnfSource(section.path, section.name, uri)
        for section in read_repo_files(host)
        if section.enabled
        for uri in section.addresses(words) or ("",)
    )
