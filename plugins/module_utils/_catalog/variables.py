# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The variables that several roles share, and those in which a run keeps what it found. Private to this collection.

A role's own variables are in its meta/argument_specs.yml. A new shared variable is one row here and one in README.md.
"""

from __future__ import annotations

from typing import Any

# Set by users: name -> type and choices, as in an argument spec. An empty text stands for: not set.
SHARED: dict[str, dict[str, Any]] = {
    "gpu_fleet_allow_reboot": {"type": "bool"},
    "gpu_fleet_cluster": {"type": "str", "choices": ["auto", "true", "false", "yes", "no"]},
    "gpu_fleet_driver_root": {"type": "path"},
    "gpu_fleet_mig_strategy": {"type": "str", "choices": ["none", "single", "mixed"]},
    "gpu_fleet_namespace": {"type": "str"},
    "gpu_fleet_node_name": {"type": "str"},
    "gpu_fleet_proxy": {"type": "str"},
    "gpu_fleet_registry": {"type": "str"},
    "gpu_fleet_report_path": {"type": "path"},
}

# Set by the playbooks.
KEPT = (
    "gpu_fleet_cluster_hosts",
    "gpu_fleet_cluster_reason",
    "gpu_fleet_cluster_results",
    "gpu_fleet_cluster_speaker",
    "gpu_fleet_hosts_removed",
    "gpu_fleet_nodes",
    "gpu_fleet_operand_results",
    "gpu_fleet_parts",
    "gpu_fleet_plan_only",
    "gpu_fleet_results",
    "gpu_fleet_stopped",
    "gpu_fleet_variables_wrong",
    "gpu_fleet_verb",
)

# Handed to AWX by set_stats; a workflow's next job gets them as extra variables.
STATS = (
    "gpu_fleet_findings",
    "gpu_fleet_reboot_required",
    "gpu_fleet_states",
    "gpu_fleet_versions",
)
