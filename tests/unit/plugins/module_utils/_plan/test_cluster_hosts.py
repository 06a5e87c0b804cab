# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows for node_labels out of the variables of hosts."""

from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._plan.cluster_hosts import (
    cluster_hosts,
    node_rows,
    predicting_facts,
)
from ansible_collections.gpu.fleet.plugins.module_utils._plan.labels import predict_labels
from ansible_collections.gpu.fleet.plugins.module_utils._plan.proof import gpu_instances
from ansible_collections.gpu.fleet.plugins.module_utils._plan.resources import predict_resources
from lab.cluster.kwok_nodes import KwokGroup, make_nodes

ROLES = ("prereq", "driver", "mig", "toolkit", "validation")


def variables(name="gpu-a", *, state="ready", facts=None, **more):
    results = {role: {"state": state} for role in ROLES}
    return {"inventory_hostname": name, "gpu_fleet_results": results, "ansible_facts": facts or {}, **more}


def row(**more):
    (found,) = cluster_hosts([variables(**more)], planned=False)
    return found


@pytest.mark.parametrize("text", ["1:h100x8", "1:a100x2,mig=all-balanced", "1:t4x1", "1:none"])
@pytest.mark.parametrize("strategy", ["none", "single", "mixed"])
def test_predictions_are_those_of_the_whole_facts(text, strategy):
    (node,) = make_nodes([KwokGroup.parse(text)], mig_strategy=strategy)
    chosen = predicting_facts(node.facts)
    assert predict_labels(chosen, mig_strategy=strategy) == predict_labels(node.facts, mig_strategy=strategy)
    gpus = [predict_resources(facts["gpus"], mig_strategy=strategy) for facts in (chosen, node.facts)]
    assert gpus[0] == gpus[1]
    assert gpu_instances(chosen["gpus"]) == gpu_instances(node.facts["gpus"])


def test_what_no_prediction_reads_is_left_behind():
    (node,) = make_nodes([KwokGroup.parse("1:h100x8")], mig_strategy="mixed")
    assert len(str(predicting_facts(node.facts))) < len(str(node.facts)) / 3


def test_what_role_mig_published_reaches_the_labels():
    published = {"state": "ready", "config": "all-balanced", "config_state": "success"}
    results = {role: {"state": "ready"} for role in ROLES} | {"mig": published}
    (found,) = cluster_hosts([{"inventory_hostname": "a", "gpu_fleet_results": results}], planned=False)
    assert (found["mig_config"], found["mig_state"]) == ("all-balanced", "success")
    (found,) = node_rows([{"inventory_hostname": "a", "mig_result": published}])
    assert found == {
        "name": "a", "node": "", "names": ["a"], "addresses": [], "config": "all-balanced", "result": "success",
    }  # fmt: skip
    (found,) = node_rows([{"inventory_hostname": "a"}])
    assert (found["config"], found["result"]) == ("", "")


def test_names_and_addresses_that_the_node_may_have():
    facts = {"hostname": "a", "fqdn": "a.example.org", "all_ipv4_addresses": ["198.51.100.1", "198.51.100.2"]}
    found = row(facts=facts, ansible_host="198.51.100.2", gpu_fleet_node_name="node-a")
    assert found["names"] == ["gpu-a", "a", "a.example.org"]
    assert found["addresses"] == ["198.51.100.2", "198.51.100.1"]
    assert found["node"] == "node-a"


@pytest.mark.parametrize("state", ["error", "not_ready", "ignored"])
def test_facts_of_a_host_that_is_not_ready_are_not_sent(state):
    assert row(state=state, facts={"gpu_fleet": {"gpus": []}})["facts"] == {}


def test_a_host_that_was_never_looked_at_has_no_facts():
    (found,) = cluster_hosts([{"inventory_hostname": "gpu-a"}], planned=False)
    assert (found["state"], found["facts"], found["names"]) == ("unknown", {}, ["gpu-a"])


# actions of role mig in this run -> whether the layout is another one then
RELAID = {
    "created": (["create_gpu_instance", "save_wish"], True),
    "mode": (["set_mig_mode"], True),
    "only kept for the next boot": (["save_wish"], False),
    "nothing": ([], False),
}


@pytest.mark.parametrize(("actions", "relaid"), RELAID.values(), ids=RELAID)
def test_whether_this_run_changes_the_layout(actions, relaid):
    given = variables(facts={"gpu_fleet": {"observed_at": "2026-11-30T22:10:00Z"}})
    given["gpu_fleet_results"]["mig"]["plan"] = [{"action": action} for action in actions]
    (found,) = cluster_hosts([given], planned=False)
    assert (found["relaid"], found["observed_at"]) == (relaid, "2026-11-30T22:10:00Z")
