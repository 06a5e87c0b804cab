# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""States that DCGM reports as numbers. Private to this collection."""

from __future__ import annotations

# DcgmImexDaemonStatus, DCGM 4.5 (dcgmlib/src/DcgmImexManager.h), 2026-11-30
IMEX_DAEMON = {
    -3: "COMMAND_ERROR",
    -2: "NOT_CONFIGURED",
    -1: "NOT_INSTALLED",
    0: "INITIALIZING",
    1: "STARTING_AUTH_SERVER",
    2: "WAITING_FOR_PEERS",
    3: "WAITING_FOR_RECOVERY",
    4: "INIT_GPU",
    5: "READY",
    6: "SHUTTING_DOWN",
    7: "UNAVAILABLE",
}
# Nobody answers: github.com/NVIDIA/NVSentinel/issues/1471 has -3 on hosts that are no part of a domain.
NO_IMEX = (-3, -2, -1)
