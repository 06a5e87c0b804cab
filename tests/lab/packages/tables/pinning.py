# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packages that hold one file, an apt preference for a branch or for one version, in both apt repositories.

All of them own /etc/apt/preferences.d/nvidia-driver-pin, so they exclude each other (content of
nvidia-driver-pinning-595.71.05 on Debian 13). The pin counts from the next run of apt on.
"""

from __future__ import annotations

from lab.packages.tables.component import Component

SINCE = 580


def pinning(name: str, what: str, tree: str) -> Component:
    """One such package."""
    return Component(
        f"nvidia-driver-pinning-{name}",
        f"apt preferences that keep the driver at {what}",
        sole=("nvidia-driver-pinning",),
        tree=tree,
        since=SINCE,
        of_all=True,
    )


PINNING = (
    pinning("{b}", "branch {b}", "pinning-branch"),
    pinning("{v}", "version {v}", "pinning-version"),
)
