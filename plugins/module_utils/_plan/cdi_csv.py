# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mode csv of CDI specs: Tegra systems, whose makers list the files in CSV files. Private to this collection."""

from __future__ import annotations

import posixpath
import re

from .._catalog.driver_files import CONTROL_NODES
from . import cdi_edits as edits
from . import cdi_findings as say
from .cdi_driver import ldcache_hook, library_links, link_files
from .cdi_edits import Edits, Hooks, mount_edits, node_edits
from .cdi_host import CdiHost, File, Gpu, Node, TegraFiles
from .cdi_nvml import gpu_edits, name_of
from .cdi_parts import Device, Refused
from .cdi_wish import NO_HOOKS, CdiWish

# Integrated GPUs as NVML names them, and where Thor has its own on the bus.
INTEGRATED = ("(nvgpu)", "NVIDIA Thor")
THOR_ADDRESS = "0000:01:00.0"
ORIN = "Orin (nvgpu)"
ORIN_COMPAT = "/usr/local/cuda/compat_orin"

REGULAR_NODE = re.compile(r"/dev/nvidia[0-9]+$")
# With a discrete GPU beside it, the integrated one has its display node, and not the other's node.
DISCRETE_NODE, DISPLAY_NODE = "/dev/nvidia1", "/dev/nvidia2"


def make_csv(wish: CdiWish, host: CdiHost) -> tuple[list[Device], Edits]:
    """Device 0, or with a discrete GPU beside the integrated one two devices."""
    tegra = host.tegra or TegraFiles()
    hooks = Hooks(wish, host.hook_path)
    mixed = len(host.gpus) > 1 and "disable-multiple-csv-devices" not in wish.feature_flags
    if mixed and is_integrated(host.gpus[0]) and not is_integrated(host.gpus[1]):
        devices = _mixed(wish, host, tegra, hooks)
    else:
        devices = _single(wish, tegra)
    return devices, _common(wish, host, tegra, hooks)


def is_integrated(gpu: Gpu) -> bool:
    """Whether a GPU is part of the system on chip. NVML has no call for that."""
    if gpu.pci_address is None:
        return any(mark in gpu.name for mark in INTEGRATED)
    return gpu.pci_address == THOR_ADDRESS


def _single(wish: CdiWish, tegra: TegraFiles) -> list[Device]:
    for wanted in wish.device_ids:
        if wanted not in ("all", "0"):
            raise Refused(say.unknown_device(wanted, ["0"]))
    # Without a UUID of its own the device has no name of that strategy.
    names = {"index": "0", "type-index": "gpu0"}
    made = _nodes(wish, tegra.nodes)
    return [(names[s], made) for s in wish.device_name_strategies if s in names]


def _mixed(wish: CdiWish, host: CdiHost, tegra: TegraFiles, hooks: Hooks) -> list[Device]:
    everything = "all" in wish.device_ids
    chosen = [g for g in host.gpus[:2] if everything or {str(g.index), g.uuid} & set(wish.device_ids)]
    unknown = [i for i in wish.device_ids if i != "all" and not any(i in (str(g.index), g.uuid) for g in chosen)]
    if unknown:
        raise Refused(say.unknown_device(unknown[0], [g.uuid for g in host.gpus]))
    rows = []
    for gpu in chosen:
        made = _integrated(wish, host, tegra) if gpu.index == 0 else _discrete(wish, host, tegra, hooks, gpu)
        rows += [(name_of(strategy, gpu, None), made) for strategy in wish.device_name_strategies]
    return rows


def _integrated(wish: CdiWish, host: CdiHost, tegra: TegraFiles) -> Edits:
    display = [host.nodes[DISPLAY_NODE]] if DISPLAY_NODE in host.nodes else []
    return _nodes(wish, [n for n in tegra.nodes if n.path != DISCRETE_NODE] + display)


def _discrete(wish: CdiWish, host: CdiHost, tegra: TegraFiles, hooks: Hooks, gpu: Gpu) -> Edits:
    control = [host.nodes[p] for p in CONTROL_NODES if p in host.nodes]
    others = [n for n in tegra.nodes if not REGULAR_NODE.match(n.path) and n.path not in CONTROL_NODES]
    return gpu_edits(wish, host, hooks, gpu) + _nodes(wish, control + others)


def _common(wish: CdiWish, host: CdiHost, tegra: TegraFiles, hooks: Hooks) -> Edits:
    libraries = [File(x.path, x.host_path) for x in tegra.libraries]
    mounted = [*tegra.directories, *libraries, *tegra.linked, *([tegra.release] if tegra.release else [])]
    made = (
        hooks.make(edits.CREATE_SYMLINKS, *library_links(tegra.libraries))
        + hooks.make(edits.CREATE_SYMLINKS, *tegra.links)
        + _cuda_compat(wish, host, hooks)
        + ldcache_hook(hooks, [f.path for f in mounted if edits.is_library_name(posixpath.basename(f.path))])
    )
    return mount_edits([*mounted, *_linked(wish, tegra)]) + Edits(hooks=made)


def _linked(wish: CdiWish, tegra: TegraFiles) -> list[File]:
    """Links as mounts, for containers that get no hooks; a mount follows the host's own link."""
    if wish.hooks != NO_HOOKS:
        return []
    root = wish.driver_root.rstrip("/")
    paths = [link.partition("::")[2] for link in tegra.links]
    return [*link_files(wish, tegra.libraries), *(File(path, f"{root}{path}") for path in paths)]


def _cuda_compat(wish: CdiWish, host: CdiHost, hooks: Hooks) -> list[dict[str, object]]:
    if host.cuda_version is None:
        return []
    orin = any(ORIN in g.name for g in host.gpus)
    root = [f"--cuda-compat-container-root={wish.csv_compat_container_root or ORIN_COMPAT}"] if orin else []
    return hooks.make(edits.ENABLE_CUDA_COMPAT, f"--host-cuda-version={host.cuda_version}", *root)


def _nodes(wish: CdiWish, nodes: tuple[Node, ...] | list[Node]) -> Edits:
    return node_edits(nodes, with_gids="no-additional-gids-for-device-nodes" not in wish.feature_flags)
