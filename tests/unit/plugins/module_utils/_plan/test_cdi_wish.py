# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of module cdi_spec."""

from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._plan.cdi_wish import check_wish, make_wish

PATHS = {
    "default": ({}, "/var/run/cdi/nvidia.yaml", "yaml"),
    "suffix decides": ({"path": "/etc/cdi/a.json", "format": "yaml"}, "/etc/cdi/a.json", "json"),
    "no suffix": ({"path": "/etc/cdi/a", "format": "json"}, "/etc/cdi/a.json", "json"),
    "a dot is no suffix": ({"path": "/etc/cdi/example.com-gpu"}, "/etc/cdi/example.com-gpu.yaml", "yaml"),
    "readers skip yml": ({"path": "/etc/cdi/a.yml"}, "/etc/cdi/a.yaml", "yaml"),
}


@pytest.mark.parametrize(("options", "path", "form"), PATHS.values(), ids=PATHS)
def test_path_and_format(options, path, form):
    wish = make_wish(options)
    assert (wish.path, wish.format) == (path, form)


def test_lists_may_have_commas_and_empty_options_are_defaults():
    wish = make_wish(
        {"device_ids": ["0,1:0", "GPU-x"], "driver_root": "/run/nvidia/driver", "dev_root": None, "vendor": ""}
    )
    assert wish.device_ids == ("0", "1:0", "GPU-x")
    assert wish.dev_root == "/run/nvidia/driver"
    assert wish.vendor == "nvidia.com"


def test_saved_options_give_the_same_wish():
    wish = make_wish({"class": "gpu.x", "device_ids": ["0"], "all_device": False, "path": "/etc/cdi/x.yaml"})
    assert make_wish(wish.saved()) == wish
    assert make_wish({}).saved() == {"path": "/var/run/cdi/nvidia.yaml"}


REFUSED = {
    "class": {"class": "gpu/x"},
    "vendor": {"vendor": "1and1"},
    "mode": {"mode": "magic"},
    "strategy": {"device_name_strategies": ["name"]},
    "strategy twice": {"device_name_strategies": ["index", "index"]},
    "relative path": {"path": "nvidia.yaml"},
    "all hooks enabled": {"enabled_hooks": ["all"]},
}


@pytest.mark.parametrize("options", REFUSED.values(), ids=REFUSED)
def test_refused(options):
    (finding,) = check_wish(make_wish(options))
    assert finding.severity == "error"
    assert next(iter(options)).partition("_")[0] in finding.summary
