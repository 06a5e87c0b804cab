# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GPU models of the simulator: one row per board. build.py turns the rows into the C table of the simulated NVML."""

from __future__ import annotations

from simulator import boards_ampere, boards_blackwell, boards_hopper, boards_older
from simulator.model import MigProfile, Model

__all__ = ["MODELS", "MigProfile", "Model"]


_TABLES = (boards_ampere.BOARDS, boards_hopper.BOARDS, boards_blackwell.BOARDS, boards_older.BOARDS)
MODELS: dict[str, Model] = {model.key: model for table in _TABLES for model in table}
