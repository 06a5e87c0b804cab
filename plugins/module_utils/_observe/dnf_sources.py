# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads dnf's repositories. Private to this collection."""

from __future__ import annotations

import configparser

from .._plan.facts import DnfSource
from .files import HostRoot

PARTS = "/etc/yum.repos.d"


def read_dnf_sources(host: HostRoot, *, release: str, machine: str) -> tuple[DnfSource, ...]:
    """Every enabled section in the order of the files' names. ``release`` and ``machine`` stand for dnf's variables."""
    words = {"releasever": release, "basearch": machine}
    names = [n for n in host.names(PARTS) if n.endswith(".repo")]
    return tuple(row for n in names for row in parse_repo_file(f"{PARTS}/{n}", host.text(f"{PARTS}/{n}") or "", words))


def parse_repo_file(path: str, text: str, words: dict[str, str]) -> tuple[DnfSource, ...]:
    """The enabled sections of one file (dnf.conf(5)). A file that is none of this form has none, as for dnf."""
    parser = configparser.ConfigParser(interpolation=None, strict=False, allow_no_value=True)
    try:
        parser.read_string(text)
    except configparser.Error:
        return ()
    return tuple(
        DnfSource(path, name, uri.rstrip("/"))
        for name in parser.sections()
        if (parser[name].get("enabled") or "1").strip().lower() in ("1", "yes", "true", "on")
        for uri in _addresses(parser[name].get("baseurl") or "", words) or ("",)
    )


def _addresses(text: str, words: dict[str, str]) -> list[str]:
    for name, value in words.items():
        text = text.replace(f"${name}", value).replace(f"${{{name}}}", value)
    return text.replace(",", " ").split()
