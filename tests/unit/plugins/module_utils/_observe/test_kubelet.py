# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Trees of hosts with and without a kubelet."""

from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._observe.files import HostRoot
from ansible_collections.gpu.fleet.plugins.module_utils._observe.kubelet import parse_config, parse_flags, read_kubelet

# kubeadm 1.34, /var/lib/kubelet/config.yaml (part)
CONFIG = """apiVersion: kubelet.config.k8s.io/v1beta1
authentication:
  anonymous:
    enabled: false
cgroupDriver: systemd
containerRuntimeEndpoint: "unix:///var/run/containerd/containerd.sock"
kind: KubeletConfiguration
"""

# Kubernetes 1.34 (values our own)
CHECKPOINT = '{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{"nvidia.com/gpu":["GPU-1","GPU-2"]}},"Checksum":7}'


def make(root, files):
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return HostRoot(str(root))


def test_no_kubelet(tmp_path):
    assert not read_kubelet(HostRoot(str(tmp_path))).present


def test_config_of_a_kubelet_that_does_not_run(tmp_path):
    found = read_kubelet(make(tmp_path, {"var/lib/kubelet/config.yaml": CONFIG}))
    assert (found.present, found.running, found.cgroup_driver, found.engine) == (True, False, "systemd", "containerd")


def test_flags_of_the_process_win(tmp_path):
    arguments = ["/usr/bin/kubelet", "--config=/etc/k.yaml", "--root-dir", "/data/kubelet", "--hostname-override=n7",
                 "--container-runtime-endpoint=unix:///run/crio/crio.sock", ""]  # fmt: skip
    found = read_kubelet(
        make(
            tmp_path,
            {
                "proc/12/comm": "kubelet\n",
                "proc/12/cmdline": "\0".join(arguments),
                "proc/1/comm": "systemd\n",
                "etc/k.yaml": CONFIG,
                "var/lib/kubelet/device-plugins/nvidia-gpu.sock": "",
                "var/lib/kubelet/device-plugins/kubelet.sock": "",
                "var/lib/kubelet/device-plugins/kubelet_internal_checkpoint": CHECKPOINT,
            },
        )  # fmt: skip
    )
    assert (found.running, found.root, found.node_name) == (True, "/data/kubelet", "n7")
    assert (found.engine, found.cgroup_driver) == ("crio", "systemd")
    assert found.sockets == ("nvidia-gpu.sock",)
    assert found.registered == {"nvidia.com/gpu": 2}


@pytest.mark.parametrize("text", ["", "{", "[]"])
def test_a_checkpoint_that_cannot_be_read_tells_nothing(tmp_path, text):
    host = make(tmp_path, {"var/lib/kubelet/device-plugins/kubelet_internal_checkpoint": text})
    assert read_kubelet(host).registered is None


# arguments -> flags
FLAGS = {
    "both spellings": (["k", "--a=1", "--b", "2"], {"a": "1", "b": "2"}),
    "switch": (["k", "--a", "--b=2"], {"a": "", "b": "2"}),
    "value with an equals sign": (["k", "--labels=x=y"], {"labels": "x=y"}),
    "nothing": (["k"], {}),
}


@pytest.mark.parametrize(("arguments", "flags"), FLAGS.values(), ids=FLAGS)
def test_flags(arguments, flags):
    assert parse_flags(arguments) == flags


def test_config_reads_only_the_top_level():
    assert "enabled" not in parse_config(CONFIG)
