# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether NVIDIA's own boot unit for MIG layouts is switched on. Private to this collection."""

from __future__ import annotations

from .files import HostRoot

UNIT = "nvidia-mig-manager.service"
FOLDER = "/etc/systemd/system"


def enabled_mig_manager(host: HostRoot) -> str:
    """The link that starts nvidia-mig-manager.service (of mig-parted, also on DGX OS) at boot; empty: none."""
    folders = (f"{FOLDER}/{name}" for name in host.names(FOLDER) if name.endswith((".wants", ".requires")))
    return next((f"{folder}/{UNIT}" for folder in folders if UNIT in host.names(folder)), "")
