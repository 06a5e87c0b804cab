# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from ansible_collections.gpu.fleet.plugins.module_utils._catalog.gpu_clients import CLIENTS, DEFAULT_CLIENTS
from ansible_collections.gpu.fleet.plugins.module_utils._plan.mig_clients import unit_names
from ansible_collections.gpu.fleet.plugins.module_utils._plan.mig_config_file import ConfigError

ROLE = Path(__file__).parents[5] / "roles/mig"


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ([], ()),
        (["nvidia-dcgm"], ("nvidia-dcgm.service",)),
        (["a.service", "a"], ("a.service",)),
        (["getty@tty1.service", "x.socket"], ("getty@tty1.service", "x.socket")),
        (["dcgm-3.1"], ("dcgm-3.1.service",)),
    ],
)
def test_names_of_units(given, names):
    assert unit_names(given) == names


@pytest.mark.parametrize("name", ["", "a b", "--now", "a;b", "../a"])
def test_what_is_no_name_of_a_unit(name):
    with pytest.raises(ConfigError, match="gpu_clients holds"):
        unit_names([name])


def test_the_role_and_its_description_have_the_list():
    assert yaml.safe_load((ROLE / "defaults/main.yml").read_text())["mig_gpu_clients"] == list(DEFAULT_CLIENTS)
    options = yaml.safe_load((ROLE / "meta/argument_specs.yml").read_text())["argument_specs"]["main"]["options"]
    assert options["mig_gpu_clients"]["default"] == list(DEFAULT_CLIENTS)


def test_rows_are_units_with_a_source():
    assert unit_names(DEFAULT_CLIENTS) == DEFAULT_CLIENTS
    assert all(row.source and row.date for row in CLIENTS)
