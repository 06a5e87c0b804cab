# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows for node_labels out of the variables of hosts. Private to this collection.

Of the facts only what predictions read is taken: a thousand hosts' whole facts would fill the controller's memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .mig import CHANGES_DEVICES
from .states import host_state

FACTS = ("machine", "vgpu_present")
DRIVER = ("loaded_version", "cuda_version")
GPU = ("index", "uuid", "name", "pci_class", "memory_mib", "compute_capability", "fabric")
MIG = ("capable", "enabled")
MIG_DEVICE = ("profile", "gpu_instance", "memory_mib", "attributes")
Values = Mapping[str, Any]


def cluster_hosts(hosts: Iterable[Values], *, planned: bool) -> list[dict[str, Any]]:
    """One row a host: name, node, names, addresses, state (as host_state), the facts of those that are ready, and since
    when (``observed_at``) its GPUs are known to be as they are; ``relaid``: this run changes its MIG layout;
    ``mig_config`` and ``mig_state``: what role mig published for mig-manager's labels.

    ``hosts`` are the variables of each host; ``planned`` says whether nothing was carried out, because of check mode.
    """
    return [_row(variables, planned) for variables in hosts]


def _row(variables: Values, planned: bool) -> dict[str, Any]:
    facts = variables.get("ansible_facts") or {}
    results = variables.get("gpu_fleet_results") or {}
    stack = facts.get("gpu_fleet") or {}
    state = host_state(results, planned=planned)
    mig = results.get("mig") or {}
    return {
        **node_row(variables),
        "state": state,
        "facts": predicting_facts(stack) if state == "ready" else {},
        "observed_at": stack.get("observed_at") or "",
        "relaid": any(s["action"] in CHANGES_DEVICES for s in mig.get("plan") or ()),
        "mig_config": mig.get("config") or "",
        "mig_state": mig.get("config_state") or "",
    }


def node_rows(hosts: Iterable[Values]) -> list[dict[str, Any]]:
    """By what the node of each host is found: name, node, names, addresses; and what role mig published for
    mig-manager's labels: config, result. ``hosts`` are the variables of each host.
    """
    return [{**node_row(variables), **_mig_labels(variables.get("mig_result") or {})} for variables in hosts]


def _mig_labels(result: Values) -> dict[str, str]:
    return {"config": result.get("config") or "", "result": result.get("config_state") or ""}


def node_row(variables: Values) -> dict[str, Any]:
    """The same for one host."""
    facts = variables.get("ansible_facts") or {}
    name = variables["inventory_hostname"]
    addresses = [
        variables.get("ansible_host"),
        *(facts.get("all_ipv4_addresses") or ()),
        *(facts.get("all_ipv6_addresses") or ()),
    ]
    return {
        "name": name,
        "node": variables.get("gpu_fleet_node_name") or "",
        "names": _distinct([name, facts.get("hostname"), facts.get("fqdn")]),
        "addresses": _distinct(addresses),
    }


def predicting_facts(facts: Values) -> dict[str, Any]:
    """What labels and resources are predicted from, out of a result of gpu_info; empty where that is none."""
    if "gpus" not in facts:
        return {}
    return {
        **_chosen(facts, FACTS),
        "driver": _chosen(facts.get("driver") or {}, DRIVER),
        "gpus": [_gpu(row) for row in facts["gpus"]],
    }


def _gpu(row: Values) -> dict[str, Any]:
    mig = row["mig"]
    devices = [_chosen(device, MIG_DEVICE) for device in mig.get("devices") or ()]
    return {**_chosen(row, GPU), "mig": {**_chosen(mig, MIG), "devices": devices}}


def _chosen(values: Values, keys: Iterable[str]) -> dict[str, Any]:
    return {key: values[key] for key in keys if key in values}


def _distinct(values: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(value for value in values if value))
