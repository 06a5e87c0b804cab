# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said about values of variables that are wrong, and that all defaults are right."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from ansible_collections.gpu.fleet.plugins.filter.wrong_variables import wrong_variables
from ansible_collections.gpu.fleet.plugins.plugin_utils._check_variables import check_variable

ROLES = Path(__file__).parents[4] / "roles"
SPECS = {
    path.parts[-3]: yaml.safe_load(path.read_text())["argument_specs"]["main"]["options"]
    for path in sorted(ROLES.glob("*/meta/argument_specs.yml"))
}
LIST = {"type": "list", "elements": "str", "default": ["a", "b"]}
HANDLERS = {"type": "list", "elements": "dict", "options": {"name": {"type": "str", "required": True}}}
BARE = {"type": "list", "elements": "str", "default": []}
INT = {"type": "int"}
MAPPINGS = "wanted a list of mappings with name, as in x: [{name: text}]"
CHOICES = {"type": "str", "choices": ["auto", "true", "false"]}

# spec, value -> the sentence, empty for none
CASES = {
    "text for a list": (LIST, "a,b", "x is a,b (text), wanted a list of texts, as in x: [a, b]"),
    "no example in the defaults": (
        BARE,
        "a",
        "x is a (text), wanted a list of texts, as in x: [text]",
    ),
    "list": (LIST, ["c"], ""),
    "a survey's empty text for a list": (LIST, "", ""),
    "number for a list": (LIST, 3, ""),
    "list for a text": ({"type": "str", "default": ""}, ["a"], "x is [a] (a list), wanted text, as in x: text"),
    "mapping for a path": ({"type": "path"}, {"a": 1}, "x is {a: 1} (a mapping), wanted a path, as in x: /path"),
    "number for a text": ({"type": "str"}, 580, ""),
    "null": (LIST, None, "x is null (no value), wanted a list of texts, as in x: [a, b]"),
    "text for a bool": ({"type": "bool"}, "maybe", "x is maybe (text), wanted true or false, as in x: true"),
    "a survey's bool": ({"type": "bool"}, "true", ""),
    "text for a number": ({**INT, "default": 300}, "soon", "x is soon (text), wanted a whole number, as in x: 300"),
    "a survey's number": (INT, "3", ""),
    "text for a mapping": ({"type": "dict"}, "abc", "x is abc (text), wanted a mapping, as in x: {key: value}"),
    "no choice": (CHOICES, "perhaps", "x is perhaps, wanted one of auto, true, false"),
    "empty is no choice": (CHOICES, "", "x is '', wanted one of auto, true, false"),
    "a bool among texts": (CHOICES, True, ""),
    "a part is missing": (
        HANDLERS,
        [{}],
        f"x is wrong (missing required arguments: name found in x), {MAPPINGS}",
    ),
    "an element is of another type": (
        HANDLERS,
        ["a b"],
        "x is wrong (",
    ),
    "a long one": ({"type": "bool"}, "y" * 99, f"x is {'y' * 57}... (text), wanted true or false, as in x: true"),
    "one that nobody may read": (
        {**INT, "no_log": True},
        "secret",
        "x is hidden here (text), wanted a whole number, as in x: 3",
    ),
    "a part that nobody may read": (
        {**HANDLERS, "no_log": True},
        ["secret"],
        f"x is wrong, {MAPPINGS}",
    ),
}


@pytest.mark.parametrize(("spec", "value", "told"), CASES.values(), ids=CASES)
def test_one_variable(spec, value, told):
    said = check_variable("x", spec, value)
    assert said.startswith(told)
    assert bool(said) is bool(told)


VARIABLES = [(role, name) for role, options in SPECS.items() for name in options]


@pytest.mark.parametrize(("role", "name"), VARIABLES, ids=[name for _role, name in VARIABLES])
def test_every_default_of_every_role_is_right_and_every_mapping_or_list_can_be_wrong(role, name):
    spec = SPECS[role][name]
    if "default" in spec:
        assert check_variable(name, spec, spec["default"]) == ""
    wrong = {"list": "nvidia", "dict": "nvidia", "bool": "perhaps", "int": "soon"}.get(
        spec.get("type", "str"), ["nvidia"]
    )
    (result,) = wrong_variables({name: wrong}, {role: SPECS[role]}).items()
    assert (result[0], result[1]["state"]) == (role, "error")
    assert result[1]["reason"].startswith(f"{name} is ")
    assert f"(role {role})" in result[1]["reason"]


def test_each_role_has_its_own_and_shared_ones_are_of_the_first():
    values = {
        "gpu_fleet_cluster": "perhaps",
        "gpu_fleet_allow_reboot": "",
        "driver_hold": "maybe",
        "gfd_timeout": "soon",
    }
    found = wrong_variables(values, SPECS)
    assert {role: result["reason"].split()[0] for role, result in found.items()} == {
        "prereq": "gpu_fleet_cluster", "driver": "driver_hold", "gfd": "gfd_timeout",
    }  # fmt: skip
    assert found["prereq"]["reason"].endswith("(shared by the roles, see README.md)")


def test_where_all_is_right_no_role_is_named():
    assert wrong_variables({"driver_branch": "580", "gpu_fleet_cluster": False}, SPECS) == {}
