# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The CDI modes that need no NVML. Private to this collection."""

from __future__ import annotations

import posixpath

from . import cdi_edits as edits
from . import cdi_findings as say
from .cdi_driver import driver_edits, ldcache_hook
from .cdi_edits import Edits, Hooks, mount_edits
from .cdi_host import CdiHost, File
from .cdi_parts import Device, Refused, chmod, matching, nodes
from .cdi_wish import NO_HOOKS, CdiWish

# The nodes of each mode's device "all".
MANAGEMENT_NODES = ("/dev/nvidia*", "/dev/nvidia-caps/nvidia-cap*", "/dev/nvidia-caps-imex-channels/channel*")
NOT_FOR_MANAGEMENT = ("nvidia-fs", "nvidia-nvswitch", "nvidia-nvlink")
GATED_NODES = {
    "gds": ("/dev/nvidia-fs*",),
    "gdrcopy": ("/dev/gdrdrv",),
    "mofed": ("/dev/infiniband/uverbs*", "/dev/infiniband/rdma_cm"),
    "nvswitch": ("/dev/nvidia-nvswitchctl", "/dev/nvidia-nvswitch*"),
}
IMEX_CHANNEL = "/dev/nvidia-caps-imex-channels/channel"
MAX_IMEX_CHANNEL = (1 << 20) - 1
DXG = "/dev/dxg"
SMI = "/usr/bin/nvidia-smi"


def make_management(wish: CdiWish, host: CdiHost) -> tuple[list[Device], Edits]:
    """Every node of the driver for programs that manage GPUs, MIG capabilities and IMEX channels included."""
    hooks = Hooks(wish, host.hook_path, off=(edits.DISABLE_NODE_MODIFICATION,))
    paths = [
        p for p in matching(host.nodes, MANAGEMENT_NODES) if not posixpath.basename(p).startswith(NOT_FOR_MANAGEMENT)
    ]
    if not paths:
        raise Refused(say.nothing_found("management"))
    made = nodes(wish, host, paths)
    return [("all", made + Edits(hooks=chmod(hooks, made)))], driver_edits(wish, host, hooks)


def make_gated(wish: CdiWish, host: CdiHost) -> tuple[list[Device], Edits]:
    made = nodes(wish, host, matching(host.nodes, GATED_NODES[host.mode]))
    if host.mode == "gds" and made.nodes:
        made = made + mount_edits(host.storage_mounts)
    return [("all", made)], Edits()


def make_imex(wish: CdiWish, host: CdiHost) -> tuple[list[Device], Edits]:
    there = [p[len(IMEX_CHANNEL) :] for p in matching(host.nodes, (f"{IMEX_CHANNEL}*",))]
    wanted = [i[len("channel") :] if i.startswith("channel") else i for i in wish.device_ids]
    channels = there if "all" in wanted else wanted
    for channel in channels:
        if not channel.isdigit() or int(channel) > MAX_IMEX_CHANNEL or channel not in there:
            raise Refused(say.unknown_channel(channel, there))
    # Engines fill in the numbers of these nodes when a container starts.
    nodes = {c: host.nodes[IMEX_CHANNEL + c] for c in channels}
    return [(c, Edits(nodes=[{"path": n.path, "hostPath": n.host_path}])) for c, n in nodes.items()], Edits()


def make_wsl(wish: CdiWish, host: CdiHost) -> tuple[list[Device], Edits]:
    files = host.wsl
    if files is None or files.store is None:
        raise Refused(say.no_driver_store(wish.wsl_driver_store_paths))
    hooks = Hooks(wish, host.hook_path)
    program = [f for f in files.required if posixpath.basename(f.path) == "nvidia-smi"]
    links = [f"{f.path}::{SMI}" for f in program]
    libraries = [f.path for f in (*files.required, *files.dxcore)]
    made = hooks.make(edits.CREATE_SYMLINKS, *links) + ldcache_hook(hooks, libraries)
    linked = [File(SMI, f.host_path) for f in program] if wish.hooks == NO_HOOKS else []
    common = mount_edits([*files.dxcore, *files.required, *files.further, *linked]) + Edits(hooks=made)
    return [("all", nodes(wish, host, [DXG]))], common
