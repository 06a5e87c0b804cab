# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Answers what deciders ask of the host's package manager. Private to this collection."""

from __future__ import annotations

from .._plan.ask import Answer, Ask
from .ask_apt import ask_apt
from .ask_dnf import ask_dnf
from .command import Run
from .files import HostRoot
from .repository_key import Fetch

ASKS = {"apt": ask_apt, "dnf": ask_dnf}


def ask_manager(host: HostRoot, run: Run, ask: Ask, *, fetch: Fetch) -> Answer:
    """The answer of the manager that ``ask`` names. Raises KeyRefused."""
    return ASKS[ask.manager](host, run, ask, fetch=fetch)
