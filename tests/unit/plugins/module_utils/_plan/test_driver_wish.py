# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of module driver: one clear message for each wrong value."""

from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._plan.driver_wish import WrongOption, driver_wish

RIGHT = {
    "state": "present",
    "source": "auto",
    "precompiled": "auto",
    "branch": "",
    "version": "",
    "flavour": "auto",
    "package_set": "compute",
    "hold": True,
    "persistenced": True,
    "kernel_headers": True,
    "load": True,
    "modules": ["nvidia-uvm", "nvidia"],
    "components": {},
    "module_parameters": {},
    "blacklist_nouveau": True,
    "fabric_manager_config": {},
    "imex_nodes": [],
    "gridd_config": {},
    "gridd_token": "",
    "service_timeout": 180,
    "repository_url": "",
    "repository_key_url": "",
    "repository_key_fingerprint": "",
}


@pytest.mark.parametrize(
    ("given", "branch", "prefix"),
    [
        ({}, 595, "595"),
        ({"branch": "580"}, 580, "580"),
        ({"branch": " 570 "}, 570, "570"),
        ({"version": "570.172.08"}, 570, "570.172.08"),
        ({"version": "595.71.05-1", "branch": "595"}, 595, "595.71.05-1"),
    ],
)
def test_branch_and_version(given, branch, prefix):
    wish = driver_wish({**RIGHT, **given})
    assert (wish.branch, wish.prefix) == (branch, prefix)


@pytest.mark.parametrize(
    ("given", "found"),
    [("", "auto"), ("auto", "auto"), (True, "true"), ("yes", "true"), ("False", "false"), ("no", "false")],
)
def test_precompiled_as_yaml_and_surveys_spell_it(given, found):
    assert driver_wish({**RIGHT, "precompiled": given}).precompiled == found


@pytest.mark.parametrize("given", ["file:/srv/cuda", "file:///srv/cuda/", " file://srv/cuda "])
def test_a_local_folder_is_an_address_that_apt_and_dnf_take(given):
    assert driver_wish({**RIGHT, "repository_url": given}).repository_url == "file:///srv/cuda"


def test_an_empty_branch_and_version_leave_the_choice_to_the_source():
    assert driver_wish(RIGHT).any_branch
    assert not driver_wish({**RIGHT, "branch": "580"}).any_branch
    assert not driver_wish({**RIGHT, "version": "580.142"}).any_branch


def test_modules_come_in_the_order_of_loading():
    assert driver_wish(RIGHT).modules == ("nvidia", "nvidia_uvm")


def test_fingerprint_may_be_copied_with_blanks():
    given = "EB69 3B30 35CD 5710 E231  E123 A4B4 6996 3BF8 63cc"
    wish = driver_wish({**RIGHT, "repository_key_fingerprint": given})
    assert wish.repository_key_fingerprint == "EB693B3035CD5710E231E123A4B469963BF863CC"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            {"source": "runfile"},
            "source is 'runfile', which this release does not support yet; wanted one of auto, cuda_repo, distro",
        ),
        ({"source": "ppa"}, "source is 'ppa', wanted one of auto, cuda_repo, distro, preinstalled"),
        ({"precompiled": "maybe"}, "precompiled is 'maybe', wanted one of auto, true, false"),
        ({"branch": "production"}, "branch is 'production', wanted a driver branch: one of 470, "),
        ({"branch": "600"}, "branch is 600, wanted a branch that this release knows: 470, "),
        ({"version": "latest"}, "version is 'latest', wanted a driver version such as 595.71.05"),
        ({"version": "595"}, "version is '595', wanted a driver version"),
        ({"branch": "580", "version": "595.71.05"}, "version is '595.71.05', which is not of branch '580'"),
        ({"modules": ["nvidia", "nouveau"]}, "modules has 'nouveau', wanted modules of the driver: nvidia, "),
        ({"repository_url": "ftp://x"}, "repository_url is 'ftp://x', wanted an address that begins with https://"),
        ({"repository_key_url": "/etc/key"}, "repository_key_url is '/etc/key', wanted an address"),
        (
            {"repository_key_fingerprint": "3BF863CC"},
            "repository_key_fingerprint is '3BF863CC', wanted the 40 hexadecimal",
        ),
    ],
)
def test_wrong_option(given, words):
    with pytest.raises(WrongOption) as refused:
        driver_wish({**RIGHT, **given})
    assert words in str(refused.value)
