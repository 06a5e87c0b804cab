# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the files of modprobe.d(5). Private to this collection."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .files import HostRoot

# The first folder that has a file of a name hides those of the same name behind it.
FOLDERS = ("/etc/modprobe.d", "/run/modprobe.d", "/usr/local/lib/modprobe.d", "/usr/lib/modprobe.d", "/lib/modprobe.d")


@dataclass(frozen=True)
class ModprobeLine:
    """One line: its file, the command (options, blacklist, install, softdep ...), the module, the rest."""

    path: str
    command: str
    module: str
    rest: str


def read_modprobe(host: HostRoot) -> tuple[ModprobeLine, ...]:
    """Every line of all files that count, in the order in which modprobe reads them: by the names of the files."""
    files: dict[str, str] = {}
    for folder in FOLDERS:
        for name in host.names(folder):
            if name.endswith(".conf"):
                files.setdefault(name, f"{folder}/{name}")
    return tuple(line for name in sorted(files) for line in parse_modprobe(files[name], host.text(files[name]) or ""))


def parse_modprobe(path: str, text: str) -> Iterator[ModprobeLine]:
    """The lines of one file; a backslash continues a line, modules are told apart without regard to - and _."""
    for line in text.replace("\\\n", " ").splitlines():
        words = line.split(maxsplit=2)
        if len(words) >= 2 and not words[0].startswith("#"):
            yield ModprobeLine(path, words[0], words[1].replace("-", "_"), words[2] if len(words) > 2 else "")
