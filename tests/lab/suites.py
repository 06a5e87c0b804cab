# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The systems that lab hosts run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Suite:
    """`title` as people call it, with `simulated` where only its files and package manager are not Debian's own."""

    title: str
    summary: str


SUITES = {
    "bookworm": Suite("Debian 12", "Debian 12, real"),
    "trixie": Suite("Debian 13", "Debian 13, real"),
}
