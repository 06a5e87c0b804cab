# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The user-space driver's part of a CDI spec. Private to this collection."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from fnmatch import fnmatchcase

from .._catalog.driver_files import ALLOCATOR, GLX_SERVER, VULKAN_PRODUCER
from . import cdi_edits as edits
from . import cdi_findings as say
from .cdi_edits import Edits, Hooks, mount_edits
from .cdi_host import CdiHost, File, Library
from .cdi_parts import Document, Refused
from .cdi_wish import NO_HOOKS, CdiWish


def driver_edits(wish: CdiWish, host: CdiHost, hooks: Hooks) -> Edits:
    driver = host.driver
    if driver.version is None:
        raise Refused(say.no_driver_files(wish.driver_root))
    if not driver.library_directories:
        raise Refused(say.no_libraries(driver.version, wish.driver_root))
    sockets = () if "disable-ipc-discoverer" in wish.feature_flags else driver.sockets
    files = [File(x.path, x.host_path) for x in driver.libraries] + [*driver.firmware, *driver.programs]
    return (
        Edits(env=[f"NVIDIA_CTK_LIBCUDA_DIR={':'.join(driver.library_directories)}"])
        + mount_edits(files)
        + mount_edits(link_files(wish, driver.libraries))
        + mount_edits(sockets, edits.SOCKET_OPTIONS)
        + Edits(hooks=_library_hooks(driver.version, driver.libraries, hooks))
    )


def _library_hooks(version: str, libraries: Iterable[Library], hooks: Hooks) -> list[Document]:
    libraries = list(libraries)
    return (
        hooks.make(edits.CREATE_SYMLINKS, *library_links(libraries))
        + hooks.make(edits.ENABLE_CUDA_COMPAT, f"--host-driver-version={version}")
        + ldcache_hook(hooks, [x.path for x in libraries])
        + hooks.make(edits.DISABLE_NODE_MODIFICATION)
    )


def ldcache_hook(hooks: Hooks, paths: Iterable[str]) -> list[Document]:
    """The loader has to know the directories of these libraries; without any there is nothing to do."""
    folders = dict.fromkeys(posixpath.dirname(p) for p in paths if edits.is_library_name(posixpath.basename(p)))
    return hooks.make(edits.UPDATE_LDCACHE, *folders) if folders else []


def library_links(libraries: Iterable[Library]) -> list[str]:
    """Links that programs and loaders expect beside the mounted files, as target::link, each once."""
    links = (link for library in libraries for link in _links_of(library))
    return list(dict.fromkeys(links))


def link_files(wish: CdiWish, libraries: Iterable[Library]) -> list[File]:
    """The same links as files that are mounted, and what ldconfig would add, for containers that get no hooks."""
    if wish.hooks != NO_HOOKS:
        return []
    libraries = list(libraries)
    files = (File(path, x.host_path) for x in libraries for path in _names_of(x))
    mounted = {x.path for x in libraries}
    # The first library of a name is the one that the loader would take.
    return list({f.path: f for f in reversed([f for f in files if f.path not in mounted])}.values())[::-1]


def _names_of(library: Library) -> list[str]:
    links = [link.partition("::")[2] for link in _links_of(library)]
    directory = posixpath.dirname(library.path)
    return links if library.soname is None else [*links, f"{directory}/{library.soname}"]


def _links_of(library: Library) -> list[str]:
    directory, name = posixpath.split(library.path)
    links = []
    # Programs open libcuda.so and libnvidia-opticalflow.so by these names, and GLVND libGLX_indirect.so.0, whatever
    # the host has.
    for pattern, target, link in (
        ("libcuda.so.*.*", "libcuda.so.1", "libcuda.so"),
        ("libGLX_nvidia.so.*.*", name, "libGLX_indirect.so.0"),
        ("libnvidia-opticalflow.so.*.*", "libnvidia-opticalflow.so.1", "libnvidia-opticalflow.so"),
    ):
        if fnmatchcase(name, pattern):
            links.append(f"{target}::{directory}/{link}")
    if library.soname is None or not fnmatchcase(name, "*.*.*"):
        return links
    if library.soname != name and library.soname in library.links:
        links.append(f"{name}::{directory}/{library.soname}")
    plain = f"{library.soname.partition('.so')[0]}.so"
    if plain != library.soname and plain in library.links:
        links.append(f"{library.soname}::{directory}/{plain}")
    return links


def graphics_edits(wish: CdiWish, host: CdiHost, hooks: Hooks) -> Edits:
    driver = host.driver
    named = [*driver.graphics_libraries, *driver.xorg_modules]
    allocator = f"{ALLOCATOR}.{driver.version}"
    mounted = [f for f in named if posixpath.basename(f.path) != allocator]
    links = [(file, link) for file in named for link in _graphics_links(file, driver.version)]
    files = [*mounted, *driver.graphics_programs, *driver.configs, *driver.vulkan_configs]
    if wish.hooks == NO_HOOKS:
        return mount_edits(files) + mount_edits(File(link.partition("::")[2], file.host_path) for file, link in links)
    return mount_edits(files) + Edits(hooks=hooks.make(edits.CREATE_SYMLINKS, *(link for _file, link in links)))


def _graphics_links(file: File, version: str | None) -> list[str]:
    directory, name = posixpath.split(file.path)
    if name == f"{ALLOCATOR}.{version}":
        # The X server and GBM find the allocator by this name only.
        return [f"../libnvidia-allocator.so.1::{directory}/gbm/nvidia-drm_gbm.so"]
    return [f"{name}::{directory}/{stem}" for stem in (VULKAN_PRODUCER, GLX_SERVER) if name == f"{stem}.{version}"]
