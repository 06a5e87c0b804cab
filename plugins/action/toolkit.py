# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the module gpu.fleet.toolkit and carries out what it plans."""

from __future__ import annotations

from ansible_collections.gpu.fleet.plugins.plugin_utils._steps_action import StepsAction


class ActionModule(StepsAction):
    """See StepsAction."""
