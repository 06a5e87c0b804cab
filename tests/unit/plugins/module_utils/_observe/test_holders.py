# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who holds the driver: process, unit, container and pod."""

from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._observe.files import HostRoot
from ansible_collections.gpu.fleet.plugins.module_utils._observe.modules import read_holders
from ansible_collections.gpu.fleet.plugins.module_utils._observe.texts.control_group import Place, read_control_group

ID = "4bb1a2b6f5c3e0d9a8877665544332211000ffeeddccbbaa99887766554433aa"
UID = "0f0b1d2c-aaaa-bbbb-cccc-1234567890ab"
SLICE = f"kubepods-burstable-pod{UID.replace('-', '_')}.slice"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("0::/system.slice/nvidia-persistenced.service\n", Place("nvidia-persistenced.service")),
        ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/jupyter.service\n", Place("jupyter.service")),
        ("0::/user.slice/user-1000.slice/session-4.scope\n", Place()),
        ("0::/\n", Place()),
        ("", Place()),
        (f"0::/kubepods.slice/kubepods-burstable.slice/{SLICE}/cri-containerd-{ID}.scope\n", Place("", ID, UID)),
        (f"0::/kubepods.slice/kubepods-burstable.slice/{SLICE}/crio-{ID}.scope/container\n", Place("", ID, UID)),
        (f"0::/kubepods/besteffort/pod{UID}/{ID}\n", Place("", ID, UID)),
        (f"0::/system.slice/docker-{ID}.scope\n", Place("", ID)),
        (f"0::/docker/{ID}\n", Place("", ID)),
        (f"0::/machine.slice/libpod-{ID}.scope/container\n", Place("", ID)),
        (f"0::/system.slice/k3s.service/kubepods/pod{UID}/{ID}\n", Place("", ID, UID)),
        (f"12:devices:/docker/{ID}\n1:name=systemd:/docker/{ID}\n0::/\n", Place("", ID)),
    ],
)
def test_place_of_a_process(text, place):
    assert read_control_group(text) == place


def test_holders_with_command_and_pod(tmp_path):
    process = tmp_path / "proc/4211"
    (process / "fd").mkdir(parents=True)
    (process / "fd/3").symlink_to("/dev/nvidia0")
    (process / "fd/4").symlink_to("/dev/gdrdrv")
    (process / "fd/5").symlink_to("/etc/passwd")
    (process / "comm").write_text("python3\n")
    (process / "cmdline").write_text("python3\0train.py\0--token=secret\0")
    (process / "cgroup").write_text(f"0::/kubepods.slice/{SLICE}/cri-containerd-{ID}.scope\n")
    (tmp_path / f"var/log/pods/research_train-0_{UID}").mkdir(parents=True)
    (holder,) = read_holders(HostRoot(str(tmp_path)))
    assert (holder.pid, holder.command, holder.devices) == (4211, "python3 train.py", ("/dev/gdrdrv", "/dev/nvidia0"))
    assert (holder.unit, holder.container, holder.pod) == ("", ID, "research/train-0")
    assert "secret" not in str(holder)


def test_a_pod_without_logs_is_named_by_its_uid(tmp_path):
    process = tmp_path / "proc/7"
    (process / "fd").mkdir(parents=True)
    (process / "fd/3").symlink_to("/dev/nvidiactl")
    (process / "cgroup").write_text(f"0::/kubepods/pod{UID}/{ID}\n")
    (holder,) = read_holders(HostRoot(str(tmp_path)))
    assert (holder.name, holder.pod) == ("?", UID)
