# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How readers and actors run programs; modules and the program gpu-fleet-host each bring their own way. Private to this
collection.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

# Texts of programs are parsed, so they must not follow the user's language.
LOCALE = {"LC_ALL": "C.UTF-8", "LANGUAGE": "C"}


class Run(Protocol):
    """``run(["systemctl", "show", ...])`` gives exit status, standard output and standard error as texts.

    A program that is not there gives exit status 127, as a shell would; nothing is raised for a failing program.
    """

    def __call__(self, args: Sequence[str]) -> tuple[int, str, str]: ...


def not_started(args: Sequence[str], error: OSError) -> tuple[int, str, str]:
    """The answer of a program that could not be started; raises ``error`` where that is not the program's fault."""
    if isinstance(error, FileNotFoundError):
        return 127, "", f"{args[0]}: not found"
    if isinstance(error, PermissionError):
        return 126, "", f"{args[0]}: {error.strerror}"
    raise error
