#!/usr/bin/python
# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state table of a fleet, and its report. The action plugin of the same name does the work on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: fleet_status
short_description: The state table of hosts and cluster, and the report
version_added: 0.1.0
description:
  - Makes the table of the operator's ordered states for every host, out of what the roles published.
  - Shows it with the reasons and findings below, and writes the whole as JSON.
  - Runs on the controller alone. No host and no cluster is asked.
  - The report is written in check mode too. It is the answer, not a managed file.
options:
  hosts:
    description: Names of all hosts, in the order of the table.
    type: list
    elements: str
    required: true
  results:
    description: Host to role to the result that the role published, such as C(driver_result).
    type: dict
    required: true
  operands:
    description: Role of an operand to the results of all hosts, which are added to O(results).
    type: dict
    default: {}
  cluster:
    description: Role to its steps (C(plan)) and C(findings) that belong to the cluster.
    type: dict
    default: {}
  cluster_reason:
    description: Why the cluster was left out. Empty where it was not.
    type: str
    default: ''
  verb:
    description: What was done. V(plan) shows the steps.
    type: str
    choices: [site, status, plan, uninstall]
    default: site
  roles:
    description:
      - The roles that tags chose. Another role has a state only where its host was looked at, and does not make its
        host bad. Empty stands for all.
    type: list
    elements: str
    default: []
  report_path:
    description: File on the controller that gets the JSON report. Empty writes none.
    type: str
    default: ''
  display:
    description: Whether to show the table.
    type: bool
    default: true
extends_documentation_fragment:
  - gpu.fleet._attributes.info
attributes:
  platform:
    platforms: all
author:
  - gpu.fleet contributors (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Report
  gpu.fleet.fleet_status:
    hosts: "{{ ansible_play_hosts_all }}"
    results: "{{ results }}"
    report_path: gpu-fleet-report.json
  run_once: true
"""

RETURN = r"""
states:
  description: One row a host and state.
  type: list
  elements: dict
  returned: always
  sample:
    - {host: gpu-a, state: state-driver, role: driver, value: ready, reason: ""}
    - {host: gpu-b, state: state-driver, role: driver, value: not_ready, reason: a reboot is required}
conditions:
  description: The operator's conditions Ready and Error for the whole fleet.
  type: list
  elements: dict
  returned: always
  sample:
    - {type: Ready, status: "False", reason: Error, message: ""}
    - {type: Error, status: "True", reason: DriverNotReady, message: "states not ready: state-driver on 1 host(s)"}
bad:
  description: Host to the reasons why it is not as O(verb) wants it. A state that waits for another one gives none.
  type: dict
  returned: always
  sample: {gpu-b: a reboot is required}
report:
  description: The whole report, as it is written to O(report_path).
  type: dict
  returned: always
  sample: {schema: 1, verb: site, hosts: [gpu-a], reboot_required: [], versions: {gpu-a: {driver: 595.71.05}}}
table:
  description: The lines that are shown.
  type: list
  elements: str
  returned: always
  sample: ["host   prereq  driver", "gpu-a  ready   ready"]
"""
