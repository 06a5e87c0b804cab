# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pieces of a CDI spec: nodes, mounts and hooks, and how they are put together. Private to this collection."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from .cdi_host import File, Node
from .cdi_wish import CdiWish

MOUNT_OPTIONS = ("ro", "nosuid", "nodev", "rbind", "rprivate")
SOCKET_OPTIONS = ("nosuid", "nodev", "rbind", "rprivate", "noexec")

CREATE_SYMLINKS = "create-symlinks"
CHMOD = "chmod"
ENABLE_CUDA_COMPAT = "enable-cuda-compat"
UPDATE_LDCACHE = "update-ldcache"
DISABLE_NODE_MODIFICATION = "disable-device-node-modification"
APPLICATION_PROFILE = "update-application-profile"

# Worked around a defect of old crun versions; only on request since toolkit 1.18.
OFF_BY_DEFAULT = (CHMOD,)
# These do nothing without arguments, so they are left out then.
NEED_ARGUMENTS = (CREATE_SYMLINKS, CHMOD)

Entry = dict[str, Any]


@dataclass
class Edits:
    """The edits of one device, or those common to all, while they are collected."""

    env: list[str] = field(default_factory=list)
    nodes: list[Entry] = field(default_factory=list)
    mounts: list[Entry] = field(default_factory=list)
    hooks: list[Entry] = field(default_factory=list)
    gids: list[int] = field(default_factory=list)

    def __add__(self, other: Edits) -> Edits:
        return Edits(
            self.env + other.env,
            self.nodes + other.nodes,
            self.mounts + other.mounts,
            self.hooks + other.hooks,
            self.gids + other.gids,
        )

    def without(self, other: Edits) -> Edits:
        """What is not in ``other``; everything if nothing would be left, for a device without edits is invalid."""
        left = Edits(
            [e for e in self.env if e not in other.env],
            [n for n in self.nodes if n not in other.nodes],
            [m for m in self.mounts if m not in other.mounts],
            [h for h in self.hooks if h not in other.hooks],
            self.gids,
        )
        return left if left.document() else self

    def document(self) -> Entry:
        """The edits as a spec holds them: each once, sorted, empty parts left out."""
        parts = {
            "env": _unique(self.env),
            "deviceNodes": sorted(_unique(self.nodes), key=lambda n: _depth_first(n["path"])),
            "mounts": sorted(_unique(self.mounts), key=lambda m: _depth_first(m["containerPath"])),
            "hooks": _unique(self.hooks),
            "additionalGids": sorted(set(self.gids)),
        }
        return {name: part for name, part in parts.items() if part}


class Hooks:
    """Makes hook entries as the options want them."""

    def __init__(self, wish: CdiWish, hook_path: str, *, off: Iterable[str] = ()) -> None:
        """``off``: hooks that the mode leaves out."""
        self._path = hook_path
        self._ldconfig_path = wish.ldconfig_path
        disabled = {*wish.disabled_hooks, *off, *OFF_BY_DEFAULT} | ({"all"} if wish.hooks == "none" else set())
        self._disabled = disabled - set(wish.enabled_hooks)
        self._enabled = set(wish.enabled_hooks)

    def make(self, name: str, *arguments: str) -> list[Entry]:
        """The hook as a list of one entry, or of none where it is off or has nothing to do."""
        off = name in self._disabled or ("all" in self._disabled and name not in self._enabled)
        if off or (name in NEED_ARGUMENTS and not arguments):
            return []
        program = posixpath.basename(self._path)
        # nvidia-ctk has the hooks below a subcommand.
        args = [program, "hook", name] if program == "nvidia-ctk" else [program, name]
        args += self._spelled(name, arguments)
        return [{"hookName": "createContainer", "path": self._path, "args": args, "env": ["NVIDIA_CTK_DEBUG=false"]}]

    def _spelled(self, name: str, arguments: tuple[str, ...]) -> list[str]:
        if name == CREATE_SYMLINKS:
            return [word for a in arguments for word in ("--link", a)]
        if name == CHMOD:
            return ["--mode", "755", *(word for a in arguments for word in ("--path", a))]
        if name == UPDATE_LDCACHE:
            ldconfig = ["--ldconfig-path", self._ldconfig_path] if self._ldconfig_path else []
            return ldconfig + [word for a in arguments for word in ("--folder", a)]
        return list(arguments)


def node_edits(nodes: Iterable[Node], *, with_gids: bool = True) -> Edits:
    """Device nodes, and the groups that a process needs to open those which are not open to all."""
    nodes = list(nodes)
    gids = [n.gid for n in nodes if n.gid and n.mode & 0o6 != 0o6] if with_gids else []
    return Edits(nodes=[_node(n) for n in nodes], gids=gids)


def mount_edits(files: Iterable[File], options: tuple[str, ...] = MOUNT_OPTIONS) -> Edits:
    """Bind mounts of files."""
    mounts = [{"hostPath": f.host_path, "containerPath": f.path, "options": list(options)} for f in files]
    return Edits(mounts=mounts)


def is_library_name(name: str) -> bool:
    """Whether the loader would take ``name`` for a library: lib....so or lib....so.<anything>."""
    ending = name.split(".so")[-1]
    return fnmatchcase(name, "lib?*.so*") and (not ending or ending.startswith("."))


def _node(node: Node) -> Entry:
    """Zero values are left out, as the reference's encoder does; readers take absence for zero."""
    entry: Entry = {"path": node.path}
    if node.host_path != node.path:
        entry["hostPath"] = node.host_path
    numbers = {"major": node.major, "minor": node.minor, "fileMode": node.mode}
    entry.update({name: number for name, number in numbers.items() if number})
    entry["permissions"] = "rwm"
    if node.gid:
        entry["gid"] = node.gid
    return entry


def _unique(entries: list[Any]) -> list[Any]:
    kept: list[Any] = []
    for entry in entries:
        if entry not in kept:
            kept.append(entry)
    return kept


def _depth_first(path: str) -> tuple[int, str]:
    """Parents come before what is below them."""
    return posixpath.normpath(path).count("/"), path
