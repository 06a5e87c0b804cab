# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a distribution's containerd has its settings."""

from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._catalog.engines import DISTRIBUTIONS
from ansible_collections.gpu.fleet.plugins.module_utils._observe.distributions import (
    find_distribution,
    read_managed,
    read_unit,
)
from ansible_collections.gpu.fleet.plugins.module_utils._observe.engines import engine_places, find_runtime
from ansible_collections.gpu.fleet.plugins.module_utils._observe.files import HostRoot

K3S = "/var/lib/rancher/k3s/agent/etc/containerd"
V2, V3 = "version = 2\n", "# made by k3s\nversion = 3\n"

# files -> distribution, its configuration, drop-in
HOSTS = {
    "none": ({}, "", None, None),
    "a folder that was left": ({"/var/lib/rancher/k3s/old": ""}, "", None, None),
    "k3s of today": (
        {f"{K3S}/config.toml": V3},
        "k3s",
        f"{K3S}/config.toml",
        f"{K3S}/config-v3.toml.d/99-nvidia.toml",
    ),
    "k3s of yesterday": (
        {f"{K3S}/config.toml": V2},
        "k3s",
        f"{K3S}/config.toml",
        f"{K3S}/config.toml.d/99-nvidia.toml",
    ),
    "k3s before its first start, with an old template": (
        {"/etc/systemd/system/k3s-agent.service": "", f"{K3S}/config.toml.tmpl": ""},
        "k3s",
        f"{K3S}/config.toml",
        f"{K3S}/config.toml.d/99-nvidia.toml",
    ),
    "RKE2": (
        {"/var/lib/rancher/rke2/agent/etc/containerd/config.toml": V3},
        "rke2",
        "/var/lib/rancher/rke2/agent/etc/containerd/config.toml",
        "/var/lib/rancher/rke2/agent/etc/containerd/config-v3.toml.d/99-nvidia.toml",
    ),
    "k0s": (
        {"/var/lib/k0s/x": "", "/run/k0s/containerd-cri.toml": V2},
        "k0s",
        "/run/k0s/containerd-cri.toml",
        "/etc/k0s/containerd.d/nvidia.toml",
    ),
    "MicroK8s": (
        {"/var/snap/microk8s/current/args/containerd-template.toml": V2},
        "microk8s",
        "/var/snap/microk8s/current/args/containerd-template.toml",
        "",
    ),
}


def test_what_is_left_of_a_distribution_does_not_hide_the_engine_that_runs(tmp_path):
    host = tree(tmp_path, {f"{K3S}/config.toml": V3, "/run/containerd/containerd.sock": ""})
    assert find_distribution(host) == ""
    tree(tmp_path, {"/run/k3s/containerd/containerd.sock": ""})
    assert find_distribution(host) == "k3s"


def tree(root, files):
    for path, text in files.items():
        (root / path.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
        (root / path.lstrip("/")).write_text(text)
    return HostRoot(str(root))


@pytest.mark.parametrize(("files", "name", "config", "drop_in"), HOSTS.values(), ids=HOSTS)
def test_places(tmp_path, files, name, config, drop_in):
    host = tree(tmp_path, files)
    assert find_distribution(host) == name
    places = engine_places(host, {"runtime": "containerd", "distribution": "auto"})
    assert (places["distribution"], places.get("config_path"), places.get("drop_in_path")) == (name, config, drop_in)
    assert find_runtime(host) == ("containerd" if name else None)


OPTIONS = {
    "named": ({"distribution": "k0s"}, "k0s", "/etc/k0s/containerd.d/nvidia.toml"),
    "switched off": ({"distribution": "none"}, "", None),
    "a path says what is meant": ({"config_path": "/etc/containerd/config.toml"}, "", None),
    "a drop-in of one's own": ({"drop_in_path": "/x.toml"}, "k3s", "/x.toml"),
    "another engine": ({"runtime": "docker"}, "", None),
}


@pytest.mark.parametrize(("options", "name", "drop_in"), OPTIONS.values(), ids=OPTIONS)
def test_options_go_before_what_is_found(tmp_path, options, name, drop_in):
    host = tree(tmp_path, {f"{K3S}/config.toml": V3})
    places = engine_places(host, {"runtime": "containerd", **options})
    assert (places["distribution"], places.get("drop_in_path")) == (name, drop_in)


def test_the_unit_is_that_of_the_host(tmp_path):
    row = DISTRIBUTIONS["rke2"]
    assert read_unit(tree(tmp_path, {}), row) == ""
    path = "/usr/local/lib/systemd/system/rke2-agent.service"
    assert read_unit(tree(tmp_path, {path: ""}), row) == "rke2-agent.service"


MANAGED = {"no file": (None, True), "k0s": ("# k0s_managed=true\n", True), "taken over": ("version = 3\n", False)}


@pytest.mark.parametrize(("text", "managed"), MANAGED.values(), ids=MANAGED)
def test_settings_that_somebody_took_over(tmp_path, text, managed):
    host = tree(tmp_path, {} if text is None else {"/etc/k0s/containerd.toml": text})
    assert read_managed(host, DISTRIBUTIONS["k0s"]) == managed
