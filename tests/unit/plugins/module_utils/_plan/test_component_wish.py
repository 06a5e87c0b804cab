# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of components, settings and module parameters at the border."""

from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._plan.component_wish import component_wish
from ansible_collections.gpu.fleet.plugins.module_utils._plan.wrong_option import WrongOption

DEFAULTS = {
    "components": {},
    "module_parameters": {},
    "blacklist_nouveau": True,
    "fabric_manager_config": {},
    "imex_nodes": [],
    "gridd_config": {},
    "gridd_token": "",
    "service_timeout": 180,
}
TOKEN = "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9"


def test_defaults_are_auto():
    wish = component_wish(DEFAULTS)
    assert (wish.component("imex"), wish.imex_nodes, wish.gridd_token) == ("auto", (), "")


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (True, "true"),
        (False, "false"),
        ("yes", "true"),
        ("False", "false"),
        ("auto", "auto"),
        ("", "auto"),
        (None, "auto"),
    ],
)
def test_words_of_a_component(value, word):
    assert component_wish({**DEFAULTS, "components": {"gds": value}}).component("gds") == word


def test_values_become_text():
    wish = component_wish(
        {
            **DEFAULTS,
            "module_parameters": {"nvidia-drm": {"modeset": True, "fbdev": None}, "nvidia": {"NVreg_A": 1}},
            "fabric_manager_config": {"FABRIC_MODE": 1, "LOG_USE_SYSLOG": "1"},
            "gridd_config": {"FeatureType": 4},
            "gridd_token": f"{TOKEN}\n",
        }
    )
    assert wish.module_parameters == {"nvidia_drm": {"modeset": "1", "fbdev": None}, "nvidia": {"NVreg_A": "1"}}
    assert wish.fabric_manager_config == {"FABRIC_MODE": "1", "LOG_USE_SYSLOG": "1"}
    assert (wish.gridd_config, wish.gridd_token) == ({"FeatureType": "4"}, TOKEN)
    assert TOKEN not in repr(wish)


WRONG = {
    "unknown component": ({"components": {"gpudirect": True}}, "components has 'gpudirect'"),
    "word of a component": ({"components": {"gds": "maybe"}}, "components.gds is 'maybe'"),
    "unknown module": ({"module_parameters": {"nouveau": {"modeset": 0}}}, "module_parameters has 'nouveau'"),
    "parameters as text": ({"module_parameters": {"nvidia": "NVreg_A=1"}}, "wanted a dictionary"),
    "name of a parameter": ({"module_parameters": {"nvidia": {"NVreg A": 1}}}, "has 'NVreg A'"),
    "value with a space": ({"module_parameters": {"nvidia": {"NVreg_A": "1 b=2"}}}, "without white space"),
    "value with a line": ({"module_parameters": {"nvidia": {"NVreg_A": "1\ninstall x y"}}}, "without white space"),
    "key of the fabric manager": ({"fabric_manager_config": {"A=1": 2}}, "fabric_manager_config has 'A=1'"),
    "two lines for the fabric manager": ({"fabric_manager_config": {"A": "1\nB=2"}}, "wanted one line"),
    "list for gridd": ({"gridd_config": {"A": [1]}}, "gridd_config.A is [1]"),
    "node": ({"imex_nodes": ["10.0.0.1 # head"]}, "imex_nodes has '10.0.0.1 # head'"),
    "node twice": ({"imex_nodes": ["a", "b", "a"]}, "'a' twice"),
    "short token": ({"gridd_token": "secret"}, "no client configuration token"),
    "token of several words": ({"gridd_token": "/path/to the/token.tok"}, "no client configuration token"),
    "timeout": ({"service_timeout": -1}, "service_timeout is -1"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_options_are_named_with_what_was_wanted(name):
    options, words = WRONG[name]
    with pytest.raises(WrongOption) as error:
        component_wish({**DEFAULTS, **options})
    assert words in str(error.value)
    assert "wanted" in str(error.value)


def test_a_token_is_in_no_message():
    with pytest.raises(WrongOption) as error:
        component_wish({**DEFAULTS, "gridd_token": "short-secret"})
    assert "short-secret" not in str(error.value)
