# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parameters of kernel modules: defaults, the file, and whether the loaded modules have them."""

from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._catalog import module_parameters as catalog
from ansible_collections.gpu.fleet.plugins.module_utils._plan.component_wish import ComponentWish
from ansible_collections.gpu.fleet.plugins.module_utils._plan.facts import PciFunction
from ansible_collections.gpu.fleet.plugins.module_utils._plan.module_parameters import (
    OPTIONS_PATH,
    parse_options,
    plan_options,
    render_options,
    stale_parameters,
    wanted_parameters,
)

MODE = catalog.COHERENT_MODE
CDMM = {"nvidia": {MODE: "driver"}}
H100 = PciFunction("0000:41:00.0", "10de", "2330", "", "0302", None)
GH200 = PciFunction("0000:41:00.0", "10de", "2342", "", "0302", None)


@pytest.mark.parametrize(
    ("branch", "given", "wanted"),
    [
        (570, {}, {}),
        (580, {}, CDMM),
        (595, {"nvidia": {MODE: "numa"}}, {"nvidia": {MODE: "numa"}}),
        (595, {"nvidia": {MODE: None}}, {}),
        (595, {"nvidia_drm": {"modeset": "1"}}, {**CDMM, "nvidia_drm": {"modeset": "1"}}),
        (570, {"nvidia_uvm": {"uvm_disable_hmm": "1"}}, {"nvidia_uvm": {"uvm_disable_hmm": "1"}}),
    ],
)
def test_defaults_of_the_branch_and_what_the_user_wants_over_them(branch, given, wanted):
    assert wanted_parameters(ComponentWish(module_parameters=given), branch) == wanted


def test_the_file_is_read_back_as_it_was_written():
    parameters = {"nvidia": {"NVreg_A": "1", "NVreg_RegistryDwords": "a=1;b=0x2"}, "nvidia_drm": {"modeset": "1"}}
    text = render_options(parameters)
    assert "options nvidia NVreg_A=1 NVreg_RegistryDwords=a=1;b=0x2\n" in text
    assert parse_options(text) == parameters
    assert (render_options({}), parse_options("alias x y\noptions nvidia\n")) == ("", {})


def test_the_file_is_written_once_and_removed_when_it_is_ours():
    work = plan_options(CDMM, found=None, owned=())
    assert [(s.action, s.target) for s in work.steps] == [("set_parameters", OPTIONS_PATH)]
    assert plan_options(CDMM, found=render_options(CDMM), owned=()).steps == ()
    assert plan_options({}, found="options nvidia a=1\n", owned=()).steps == ()
    gone = plan_options({}, found=render_options(CDMM), owned=(f"file:{OPTIONS_PATH}",))
    assert [(s.action, s.target) for s in gone.steps] == [("forget_parameters", OPTIONS_PATH)]


@pytest.mark.parametrize(
    ("module", "name", "wanted", "shown", "stale"),
    [
        ("nvidia", "NVreg_A", "1", "1", False),
        ("nvidia", "NVreg_A", "0x10", "16", False),
        ("nvidia", "NVreg_A", "1", "0", True),
        ("nvidia", "NVreg_RegistryDwords", "a=1", '"a=1"', False),
        ("nvidia", "NVreg_RegistryDwords", "a=1", '""', True),
        ("nvidia_drm", "modeset", "1", "Y", False),
        ("nvidia_drm", "modeset", "1", "N", True),
        ("nvidia_uvm", "uvm_other", "1", None, False),
    ],
)
def test_values_that_the_loaded_modules_show(module, name, wanted, shown, stale):
    effective = {module: {name: shown}} if shown is not None else {}
    assert bool(stale_parameters({module: {name: wanted}}, effective, (H100,))) is stale


def test_a_default_for_coherent_memory_asks_no_other_host_to_reload():
    effective = {"nvidia": {MODE: '""'}}
    assert stale_parameters(CDMM, effective, (H100,)) == ()
    assert stale_parameters(CDMM, effective, (GH200,)) == (f'{MODE} of nvidia is "", wanted driver',)


@pytest.mark.parametrize("row", catalog.DEFAULTS, ids=lambda r: r.name)
def test_every_default_has_a_source(row):
    assert row.first_branch >= 580
    assert row.source


def test_names_in_params_differ_for_some():
    assert catalog.shown_name("NVreg_EnableStreamMemOPs") == "EnableStreamMemOPs"
    assert catalog.shown_name("NVreg_RestrictProfilingToAdminUsers") == "RmProfilingAdminOnly"
