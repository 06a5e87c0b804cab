# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads what of the user-space driver containers get. Private to this collection."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from dataclasses import dataclass

from .._catalog import driver_files as names
from .._plan.cdi_host import DriverFiles, File, Library, WslFiles
from .devices import join
from .files import HostRoot
from .libraries import Libraries, find_files


@dataclass(frozen=True)
class Places:
    """Where to look: options of module cdi_spec by the same names."""

    driver_root: str = "/"
    library_search_paths: tuple[str, ...] = ()
    config_search_paths: tuple[str, ...] = ()
    env_path: tuple[str, ...] = ()
    xdg_data_dirs: tuple[str, ...] = names.DATA_DIRECTORIES
    kernel_release: str = ""
    machine: str = "x86_64"


def read_driver_files(host: HostRoot, places: Places, *, version: str | None, explicit: bool = False) -> DriverFiles:
    """The files of the driver ``version``; None: of the loaded one, else of the newest that is there.

    ``explicit``: also the loaders of EXPLICIT_LIBRARIES. Without any library, ``library_directories`` of the result
    is empty.
    """
    libraries = Libraries(host, root=places.driver_root, search_paths=places.library_search_paths)
    version = version or _version(host, libraries)
    if version is None:
        return DriverFiles()
    directories = libraries.directories(version)
    find = _Finder(host, places)
    return DriverFiles(
        version=version,
        library_directories=directories,
        libraries=_driver_libraries(libraries, directories, version, explicit=explicit),
        graphics_libraries=_graphics_libraries(libraries, version),
        xorg_modules=find.firsts(_xorg_directories(directories), [names.XORG_DRIVER, f"{names.GLX_SERVER}.{version}"]),
        programs=find.programs(names.PROGRAMS),
        graphics_programs=find.programs(names.GRAPHICS_PROGRAMS),
        firmware=find.every(_firmware_directories(host, places.kernel_release), f"nvidia/{version}/gsp*.bin"),
        sockets=find.firsts(names.SOCKET_DIRECTORIES, names.SOCKETS) + find.paths([names.MPS_DIRECTORY]),
        configs=find.configs(names.SHARE_CONFIGS, "/usr/share") + find.configs(names.ETC_CONFIGS, "/etc"),
        vulkan_configs=find.configs(_vulkan_names(places.machine), "/etc", and_root=True),
    )


def read_storage_mounts(host: HostRoot, driver_root: str) -> tuple[File, ...]:
    """What GPUDirect Storage needs beside its nodes: udev's data and the configuration of cuFile."""
    return _Finder(host, Places(driver_root=driver_root)).paths(["/run/udev", "/etc/cufile.json"])


def read_wsl_files(host: HostRoot, stores: Iterable[str]) -> WslFiles:
    """The driver in the first of ``stores`` that has libcuda.so.1.1; ``store`` of the result is None where none has."""
    mark = find_files(host, stores, names.WSL_STORE_MARK)
    find = _Finder(host, Places())
    dxcore = find.firsts([names.WSL_LIBRARY_DIRECTORY], [names.WSL_DXCORE])
    if not mark:
        return WslFiles(None, dxcore)
    store = posixpath.dirname(mark[0])
    required = find.firsts([store], names.WSL_STORE_FILES)
    everything = [f for p in names.WSL_STORE_PATTERNS for f in find.every([store], p)]
    further = [f for f in everything if posixpath.basename(f.path) not in names.WSL_STORE_FILES]
    return WslFiles(store, dxcore, required, tuple(dict.fromkeys(further)))


def _version(host: HostRoot, libraries: Libraries) -> str | None:
    there = libraries.versions()
    loaded = host.line("/sys/module/nvidia/version")
    return loaded if loaded in there else next(iter(there), None)


def _driver_libraries(
    libraries: Libraries, directories: tuple[str, ...], version: str, *, explicit: bool
) -> tuple[Library, ...]:
    with_vdpau = [*directories, *(f"{d}/vdpau" for d in directories)]
    paths = libraries.locate_in(with_vdpau, f"*.so.{version}")
    for pattern in names.LEGACY_LIBRARIES + (names.EXPLICIT_LIBRARIES if explicit else ()):
        paths += libraries.locate_in(directories, pattern)
    return tuple(libraries.library(p) for p in dict.fromkeys(paths))


def _graphics_libraries(libraries: Libraries, version: str) -> tuple[File, ...]:
    patterns = (*names.EGL_PLATFORM_LIBRARIES, f"{names.ALLOCATOR}.{version}", f"{names.VULKAN_PRODUCER}.{version}")
    paths = dict.fromkeys(p for pattern in patterns for p in libraries.locate(pattern))
    return tuple(File(libraries.relative(p), p) for p in paths)


def _xorg_directories(directories: tuple[str, ...]) -> list[str]:
    own = [
        f"{d}/{sub}"
        for d in directories
        for sub in ("nvidia/xorg", *(f"xorg/{m}" for m in names.XORG_MODULE_DIRECTORIES))
    ]
    return own + [f"{root}/{m}" for root in names.XORG_ROOTS for m in names.XORG_MODULE_DIRECTORIES]


def _firmware_directories(host: HostRoot, kernel_release: str) -> list[str]:
    custom = host.line(names.FIRMWARE_CLASS_PATH)
    release = [f"/lib/firmware/updates/{kernel_release}", "/lib/firmware/updates", f"/lib/firmware/{kernel_release}"]
    return ([custom] if custom else []) + release + ["/lib/firmware"]


def _vulkan_names(machine: str) -> tuple[str, ...]:
    own = names.VULKAN_ICD_OF_MACHINE.get(machine)
    return names.VULKAN_CONFIGS + ((own,) if own else ())


class _Finder:
    """Finds files below the driver root; they keep their paths, links are not resolved."""

    def __init__(self, host: HostRoot, places: Places) -> None:
        self._host = host
        self._places = places
        self._root = places.driver_root
        self._relative = Libraries(host, root=self._root).relative

    def _file(self, host_path: str) -> File:
        return File(self._relative(host_path), host_path)

    def every(self, directories: Iterable[str], pattern: str) -> tuple[File, ...]:
        """All matches in all directories, each once."""
        paths = dict.fromkeys(find_files(self._host, directories, pattern, root=self._root))
        return tuple(self._file(p) for p in paths)

    def firsts(self, directories: Iterable[str], wanted: Iterable[str]) -> tuple[File, ...]:
        """For each name its first place."""
        directories = list(directories)
        matches = (self.every(directories, name)[:1] for name in wanted)
        return tuple(dict.fromkeys(f for match in matches for f in match))

    def paths(self, wanted: Iterable[str]) -> tuple[File, ...]:
        """Those absolute paths at which anything is, a directory too."""
        places = [join(self._root, p) for p in wanted]
        return tuple(self._file(p) for p in places if self._host.exists(p))

    def programs(self, wanted: Iterable[str]) -> tuple[File, ...]:
        """For each program the first place that has it, executable."""
        directories = [*self._places.env_path, *names.PROGRAM_DIRECTORIES]
        matches = ([f for f in self.every(directories, n) if self._host.is_executable(f.host_path)][:1] for n in wanted)
        return tuple(f for match in matches for f in match)

    def configs(self, wanted: Iterable[str], seen_below: str, *, and_root: bool = False) -> tuple[File, ...]:
        """For each configuration file its first place; containers see it below ``seen_below``."""
        return tuple(
            File(join(seen_below, name), path) for name in wanted for path in self._config_places(name, and_root)[:1]
        )

    def _config_places(self, name: str, and_root: bool) -> list[str]:
        if self._places.config_search_paths:
            found = find_files(self._host, self._places.config_search_paths, name)
        else:
            found = find_files(self._host, [names.CONFIG_DIRECTORY, *self._places.xdg_data_dirs], name, root=self._root)
        return found or (find_files(self._host, ["/"], name, root=self._root) if and_root else [])
