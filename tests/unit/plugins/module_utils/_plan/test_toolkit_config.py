# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The toolkit's config.toml."""

from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._plan.engine import Owned, differences
from ansible_collections.gpu.fleet.plugins.module_utils._plan.toolkit_config import (
    ConfigState,
    cast_settings,
    plan_toolkit_config,
)

PATH = "/etc/nvidia-container-runtime/config.toml"
MODE = "nvidia-container-runtime.mode"
DOCUMENT = {"disable-require": False, "nvidia-container-runtime": {"mode": "auto"}}

# settings, document -> after (None: no step)
CASES = {
    "as wanted": ({MODE: "auto"}, DOCUMENT, None),
    "changed": ({MODE: "cdi"}, DOCUMENT, {**DOCUMENT, "nvidia-container-runtime": {"mode": "cdi"}}),
    "text for a truth value": ({"disable-require": "yes"}, DOCUMENT, {**DOCUMENT, "disable-require": True}),
    "removed with its table": ({MODE: None}, DOCUMENT, {"disable-require": False}),
    "no file, nothing wanted": ({}, None, None),
    "list with colons": (
        {"nvidia-container-runtime.runtimes": "runc:crun"},
        {},
        {"nvidia-container-runtime": {"runtimes": ["runc", "crun"]}},
    ),
}


@pytest.mark.parametrize(("settings", "document", "after"), CASES.values(), ids=CASES)
def test_settings(settings, document, after):
    plan = plan_toolkit_config(PATH, "present", settings, ConfigState(document))
    assert [f.after for f in plan.files] == ([] if after is None else [after])


REFUSED = {
    "no such mode": {MODE: "magic"},
    "no truth value": {"disable-require": "perhaps"},
    "no list": {"nvidia-container-runtime.runtimes": 3},
    "ldconfig of the container": {"nvidia-container-cli.ldconfig": "/sbin/ldconfig"},
}


@pytest.mark.parametrize("settings", REFUSED.values(), ids=REFUSED)
def test_refused(settings):
    plan = plan_toolkit_config(PATH, "present", settings, ConfigState(DOCUMENT)).plan
    assert plan.blocked
    assert plan.steps == ()


def test_ldconfig_of_the_container_where_it_is_allowed():
    settings = {"nvidia-container-cli.ldconfig": "/x", "features.allow-ldconfig-from-container": True}
    assert not plan_toolkit_config(PATH, "present", settings, ConfigState({})).plan.blocked


UNKNOWN = {
    "nvidia-container-runtime.mod": "nvidia-container-runtime.mode",
    "no-cgroups": "nvidia-container-cli.no-cgroups",
    "nvidia_container_cli.root": "nvidia-container-cli.root",
}


@pytest.mark.parametrize(("name", "close"), UNKNOWN.items(), ids=UNKNOWN)
def test_unknown_key_is_an_error_that_lists_close_names(name, close):
    _values, (finding,) = cast_settings({name: "x"})
    assert (finding.id, finding.severity) == ("GPU-CTR-110", "error")
    assert close in finding.remedy


def test_unknown_key_may_go():
    plan = plan_toolkit_config(PATH, "present", {"future.key": None}, ConfigState({"future": {"key": 1}, "a": 1}))
    assert [f.after for f in plan.files] == [{"a": 1}]


# host -> what differs from a plain one in nvidia-container-cli of a new file
HOSTS = {
    "plain": ({}, {"ldconfig": "@/sbin/ldconfig"}),
    "wrapped ldconfig": ({"real_ldconfig": True}, {"ldconfig": "@/sbin/ldconfig.real"}),
    "SUSE": ({"suse": True}, {"ldconfig": "@/sbin/ldconfig", "user": "root:video"}),
}


@pytest.mark.parametrize(("host", "cli"), HOSTS.values(), ids=HOSTS)
def test_a_new_file_has_the_defaults_of_the_host(host, cli):
    (change,) = plan_toolkit_config(PATH, "present", {MODE: "cdi"}, ConfigState(None, **host)).files
    assert change.after["nvidia-container-cli"] == {"environment": [], "load-kmods": True, **cli}
    assert change.after["nvidia-container-runtime"]["mode"] == "cdi"
    assert change.after["nvidia-container-runtime"]["runtimes"] == ["runc", "crun"]


def test_defaults_of_a_new_file_stay_and_go_with_it():
    (change,) = plan_toolkit_config(PATH, "present", {MODE: "cdi"}, ConfigState(None)).files
    rows = [(key, value) for key, _old, value in differences({}, change.after)]
    owned = (Owned(PATH, (), None, "present"), *(Owned(PATH, key, None, value) for key, value in rows))
    state = ConfigState(change.after, owned=owned)
    assert plan_toolkit_config(PATH, "present", {MODE: "cdi"}, state).files == ()
    assert plan_toolkit_config(PATH, "absent", {}, state).files[0].after is None


OWNED = (Owned(PATH, ("nvidia-container-runtime", "mode"), "auto", "cdi"),)


def test_what_is_wanted_no_longer_goes_back():
    state = ConfigState({"nvidia-container-runtime": {"mode": "cdi"}}, owned=OWNED)
    assert plan_toolkit_config(PATH, "present", {}, state).files[0].after == {
        "nvidia-container-runtime": {"mode": "auto"}
    }
    assert plan_toolkit_config(PATH, "absent", {}, state).files[0].after == {
        "nvidia-container-runtime": {"mode": "auto"}
    }


def test_broken_file_is_an_error():
    assert plan_toolkit_config(PATH, "present", {}, ConfigState(None, "line 3")).plan.blocked
