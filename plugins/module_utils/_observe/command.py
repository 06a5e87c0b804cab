# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs programs for readers. Private to this collection."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from typing import Protocol

# Texts of programs are parsed, so they must not follow the user's language.
LOCALE = {"LC_ALL": "C.UTF-8", "LANGUAGE": "C"}


class Run(Protocol):
    """``run(["systemctl", "show", ...])`` gives exit status, standard output and standard error as texts.

    A program that is not there gives exit status 127, as a shell would; nothing is raised for a failing program.
    """

    def __call__(self, args: Sequence[str]) -> tuple[int, str, str]: ...


def run(args: Sequence[str]) -> tuple[int, str, str]:
    """Runs ``args`` without a shell, in the C locale and without standard input; see Run."""
    try:
        done = subprocess.run(
            list(args),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            env={**os.environ, **LOCALE},
        )
    except FileNotFoundError:
        return 127, "", f"{args[0]}: not found"
    except PermissionError as error:
        return 126, "", f"{args[0]}: {error.strerror}"
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
