# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Under which name /proc/devices has the major number of a device node. Private to this collection.

Source: NVIDIA Container Toolkit 1.20.0 (2026-08), nvidia-ctk system create-device-nodes; nvidia-modprobe 580.
"""

from __future__ import annotations

# pattern of the node's path (a star does not reach over a slash) -> names, the first that the kernel has counts
NAMES_OF_NODES = (
    ("/dev/nvidia[0-9]*", ("nvidia", "nvidia-frontend")),
    ("/dev/nvidiactl", ("nvidiactl", "nvidia", "nvidia-frontend")),
    ("/dev/nvidia-modeset", ("nvidia-modeset", "nvidia", "nvidia-frontend")),
    ("/dev/nvidia-uvm", ("nvidia-uvm",)),
    ("/dev/nvidia-uvm-tools", ("nvidia-uvm",)),
    ("/dev/nvidia-caps/*", ("nvidia-caps",)),
    ("/dev/nvidia-caps-imex-channels/*", ("nvidia-caps-imex-channels",)),
    ("/dev/nvidia-nvswitch*", ("nvidia-nvswitch",)),
)
