# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the module gpu.fleet.container_runtime, and brings the Python packages that the host lacks."""

from __future__ import annotations

from ansible_collections.gpu.fleet.plugins.plugin_utils._helper_action import HelperAction


class ActionModule(HelperAction):
    """See HelperAction."""
