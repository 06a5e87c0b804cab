# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands that make device nodes."""

from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._act.modules import node_command


@pytest.mark.parametrize(
    ("path", "arguments"),
    [
        ("/dev/nvidia0", "-c 0"),
        ("/dev/nvidia15", "-c 15"),
        ("/dev/nvidiactl", "-c 255"),
        ("/dev/nvidia-uvm", "-u -c 0"),
        ("/dev/nvidia-uvm-tools", "-u -c 0"),
        ("/dev/nvidia-modeset", "-m"),
    ],
)
def test_each_node_has_its_command(path, arguments):
    assert node_command(path) == ["nvidia-modprobe", *arguments.split()]
