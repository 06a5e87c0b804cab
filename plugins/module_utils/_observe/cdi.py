# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads what a CDI spec is made of. Private to this collection."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from typing import Callable

from .._catalog.driver_files import DATA_DIRECTORIES, PROGRAM_DIRECTORIES, WSL_DXCORE, WSL_LIBRARY_DIRECTORY
from .._plan.cdi_csv import INTEGRATED
from .._plan.cdi_host import CdiHost, DriverFiles, Gpu, TegraFiles
from .._plan.cdi_wish import DEFAULT_HOOK_PATH, CdiWish
from .capabilities import read_creatable
from .devices import read_by_path_links, read_drm_names, read_kernel_majors, read_mig_minors, read_nodes
from .driver_files import Places, read_driver_files, read_storage_mounts, read_wsl_files
from .files import HostRoot
from .libraries import Libraries, find_files
from .tegra import read_tegra

TEGRA_RELEASE = "/etc/nv_tegra_release"
TEGRA_FAMILY = "/sys/devices/soc0/family"

WSL_STORES = "/usr/lib/wsl/drivers"


@dataclass(frozen=True)
class NvmlView:
    """What NVML said: driver version and GPUs, or the error. ``absent``: the driver is not installed or not loaded.

    ``lost``: a sentence for each GPU that NVML counts but cannot open.
    """

    version: str | None = None
    gpus: tuple[Gpu, ...] = ()
    error: str | None = None
    absent: bool = False
    lost: tuple[str, ...] = ()
    cuda_version: str | None = None


def read_cdi_host(host: HostRoot, wish: CdiWish, read_gpus: Callable[[], NvmlView]) -> CdiHost:
    """Everything that the spec of ``wish`` needs.

    NVML is asked by ``read_gpus``, at most once, and only where it matters.
    """
    nvml = NvmlView()
    mode = wish.mode
    if mode in ("nvml", "csv") or (mode == "auto" and not _is_wsl(host)):
        nvml = read_gpus()
    if mode == "auto":
        mode = resolve_mode(host, nvml)
    hook_path, hook_found = read_hook(host, wish)
    nodes = read_nodes(host, dev_root=wish.dev_root)
    addresses = [g.pci_address for g in nvml.gpus if g.pci_address]
    return CdiHost(
        mode=mode,
        gpus=nvml.gpus,
        nvml_error=nvml.error,
        nvml_absent=nvml.absent,
        lost=nvml.lost,
        driver=_read_driver(host, wish, mode, nvml),
        nodes=nodes,
        creatable=read_creatable(host, nvml.gpus, nodes),
        drm={a: read_drm_names(host, a) for a in addresses},
        by_path=read_by_path_links(host, dev_root=wish.dev_root) if addresses else {},
        mig_minors=read_mig_minors(host),
        majors=read_kernel_majors(host, nodes),
        hook_path=hook_path,
        hook_found=hook_found,
        storage_mounts=read_storage_mounts(host, wish.driver_root) if mode == "gds" else (),
        cuda_version=nvml.cuda_version,
        tegra=_read_tegra(host, wish) if mode == "csv" else None,
        wsl=read_wsl_files(host, _driver_stores(host, wish)) if mode == "wsl" else None,
    )


def resolve_mode(host: HostRoot, nvml: NvmlView) -> str:
    """What auto means on this host; nvml where nothing says otherwise."""
    if _is_wsl(host):
        return "wsl"
    integrated = any(mark in g.name for g in nvml.gpus for mark in INTEGRATED)
    has_nvml = nvml.error is None
    return "csv" if integrated or (_is_tegra(host) and not has_nvml) else "nvml"


def read_hook(host: HostRoot, wish: CdiWish) -> tuple[str, bool]:
    """Path of the hook program as the spec is to name it, and whether it is there."""
    if wish.hook_path.startswith("/"):
        return wish.hook_path, host.is_executable(wish.hook_path)
    places = [*_split(wish.env_path), *PROGRAM_DIRECTORIES]
    found = [p for p in find_files(host, places, wish.hook_path) if host.is_executable(p)]
    return (found[0], True) if found else (DEFAULT_HOOK_PATH, host.is_executable(DEFAULT_HOOK_PATH))


def _read_driver(host: HostRoot, wish: CdiWish, mode: str, nvml: NvmlView) -> DriverFiles:
    if mode not in ("nvml", "management") or nvml.error:
        return DriverFiles()
    explicit = "enable-explicit-driver-libraries" in wish.feature_flags
    return read_driver_files(host, places_of(wish), version=nvml.version, explicit=explicit)


def places_of(wish: CdiWish) -> Places:
    """Where the wish's options say the driver is."""
    return Places(
        driver_root=wish.driver_root,
        library_search_paths=wish.library_search_paths,
        config_search_paths=wish.config_search_paths,
        env_path=_split(wish.env_path),
        xdg_data_dirs=_split(wish.xdg_data_dirs) or DATA_DIRECTORIES,
        kernel_release=wish.kernel_release or platform.release(),
        machine=wish.machine or platform.machine(),
    )


def _read_tegra(host: HostRoot, wish: CdiWish) -> TegraFiles:
    return read_tegra(
        host,
        driver_root=wish.driver_root,
        dev_root=wish.dev_root,
        files=wish.csv_files,
        ignored=wish.csv_ignore_patterns,
        search_paths=wish.library_search_paths,
    )


def _split(paths: str) -> tuple[str, ...]:
    return tuple(p for p in paths.split(":") if p)


def _is_wsl(host: HostRoot) -> bool:
    if find_files(host, [WSL_LIBRARY_DIRECTORY], WSL_DXCORE):
        return True
    return bool(Libraries(host).locate(WSL_DXCORE))


def _is_tegra(host: HostRoot) -> bool:
    family = host.line(TEGRA_FAMILY)
    return host.exists(TEGRA_RELEASE) or (family or "").lower().startswith("tegra")


def _driver_stores(host: HostRoot, wish: CdiWish) -> list[str]:
    return list(wish.wsl_driver_store_paths) or [f"{WSL_STORES}/{name}" for name in host.names(WSL_STORES)]
