# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mode nvml of CDI specs: one device for each GPU and each MIG device that NVML lists. Private to this collection."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable

from .._catalog.driver_files import CONTROL_NODES
from . import cdi_edits as edits
from . import cdi_findings as say
from .cdi_driver import driver_edits, graphics_edits
from .cdi_edits import Edits, Hooks
from .cdi_host import CdiHost, Gpu, MigDevice
from .cdi_parts import Device, Refused, chmod, nodes
from .cdi_wish import CdiWish

# A display adapter without compute, on DGX stations.
DISPLAYS = ("DGX Display", "NVIDIA DGX Display")


def make_nvml(wish: CdiWish, host: CdiHost) -> tuple[list[Device], Edits]:
    if host.nvml_error:
        raise Refused(say.nvml_unavailable(host.nvml_error))
    hooks = Hooks(wish, host.hook_path)
    devices = _chosen_devices(wish, host, hooks)
    common = (
        nodes(wish, host, CONTROL_NODES)
        + graphics_edits(wish, host, hooks)
        + driver_edits(wish, host, hooks)
        + Edits(hooks=hooks.make(edits.APPLICATION_PROFILE))
    )
    return devices, common


def _chosen_devices(wish: CdiWish, host: CdiHost, hooks: Hooks) -> list[Device]:
    if "none" in wish.device_ids:
        return [("none", Edits(env=["NVCT_EMPTY_DEVICE="]))]
    if "all" in wish.device_ids:
        whole = [(g, None) for g in host.gpus if not g.mig_enabled and g.name not in DISPLAYS]
        parts = [(g, m) for g in host.gpus if g.mig_enabled for m in g.mig_devices]
        chosen: list[tuple[Gpu, MigDevice | None]] = [*whole, *parts]
    else:
        chosen = [_by_id(host.gpus, name) for name in wish.device_ids]
    rows = []
    for gpu, mig in chosen:
        made = _mig_edits(wish, host, hooks, gpu, mig) if mig else gpu_edits(wish, host, hooks, gpu)
        rows += [(name_of(strategy, gpu, mig), made) for strategy in wish.device_name_strategies]
    return rows


def _by_id(gpus: Iterable[Gpu], wanted: str) -> tuple[Gpu, MigDevice | None]:
    for gpu in gpus:
        if wanted in (str(gpu.index), gpu.uuid):
            return gpu, None
        for mig in gpu.mig_devices:
            if wanted in (f"{gpu.index}:{mig.index}", mig.uuid):
                return gpu, mig
    raise Refused(say.unknown_device(wanted, [g.uuid for g in gpus] + [m.uuid for g in gpus for m in g.mig_devices]))


def name_of(strategy: str, gpu: Gpu, mig: MigDevice | None) -> str:
    """The name of a device by one strategy."""
    if strategy == "uuid":
        return mig.uuid if mig else gpu.uuid
    index = f"{gpu.index}:{mig.index}" if mig else str(gpu.index)
    if strategy == "index":
        return index
    return f"mig{index}" if mig else f"gpu{index}"


def gpu_edits(wish: CdiWish, host: CdiHost, hooks: Hooks, gpu: Gpu) -> Edits:
    """The nodes of a whole GPU, its DRM nodes and their links."""
    paths = [f"/dev/nvidia{gpu.minor}", *_drm_paths(host, gpu)]
    made = nodes(wish, host, paths) + _by_path_links(host, hooks, gpu)
    return made + Edits(hooks=chmod(hooks, made))


def _mig_edits(wish: CdiWish, host: CdiHost, hooks: Hooks, gpu: Gpu, mig: MigDevice) -> Edits:
    name = f"{gpu.index}:{mig.index}"
    if host.mig_minors is None:
        raise Refused(say.no_mig_minors(name))
    instance = f"gpu{gpu.minor}/gi{mig.gpu_instance}"
    capabilities = [f"{instance}/access", f"{instance}/ci{mig.compute_instance}/access"]
    for capability in capabilities:
        if capability not in host.mig_minors:
            raise Refused(say.no_mig_minor(name, capability))
    caps = [f"/dev/nvidia-caps/nvidia-cap{host.mig_minors[c]}" for c in capabilities]
    for path, capability in zip(caps, capabilities):
        if path not in host.nodes:
            raise Refused(say.capability_node_missing(name, path, capability))
    made = nodes(wish, host, [f"/dev/nvidia{gpu.minor}", *caps])
    # Only profiles with graphics may see the display side of the GPU.
    if "gfx" in mig.profile.partition("+")[2]:
        made = made + nodes(wish, host, _drm_paths(host, gpu)) + _by_path_links(host, hooks, gpu)
    return made


def _drm_paths(host: CdiHost, gpu: Gpu) -> list[str]:
    return [f"/dev/dri/{name}" for name in host.drm.get(gpu.pci_address or "", ())]


def _by_path_links(host: CdiHost, hooks: Hooks, gpu: Gpu) -> Edits:
    listed = {p for p in _drm_paths(host, gpu) if p in host.nodes}
    links = []
    for end in ("card", "render"):
        link = f"/dev/dri/by-path/pci-{gpu.pci_address}-{end}"
        text = host.by_path.get(link)
        if text is not None and posixpath.normpath(posixpath.join(posixpath.dirname(link), text)) in listed:
            links.append(f"{text}::{link}")
    return Edits(hooks=hooks.make(edits.CREATE_SYMLINKS, *links))
