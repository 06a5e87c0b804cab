# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines for the journal, at once: a unit that is killed has told how far it came. Private to this collection."""

from __future__ import annotations

import sys


def say(line: str) -> None:
    """One line of what is done, on standard output."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def complain(line: str) -> None:
    """One line of what went wrong, on standard error."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
