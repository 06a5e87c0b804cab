# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host made of a description, as the files case.yaml hold it."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible_collections.gpu.fleet.plugins.module_utils._observe.files import DeviceNode, HostRoot
from trees.elf import shared_object
from trees.ldcache import cache


class TreeHost(HostRoot):
    """A host root whose character devices are known by name: making real ones needs root."""

    def __init__(self, root: Path, nodes: Mapping[str, DeviceNode]) -> None:
        super().__init__(str(root))
        self._nodes = nodes

    def device(self, path: str) -> DeviceNode | None:
        """The node at the end of all links."""
        return self._nodes.get(self.resolve(path))


def build(case: Mapping[str, Any], root: Path) -> TreeHost:
    """Lays ``case["tree"]`` out below ``root``."""
    machine = case.get("host", {}).get("arch", "x86_64")
    nodes = {}
    for row in case["tree"]:
        path = root / row["path"].lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        if row["type"] == "char":
            path.write_text("")
            mode = int(str(row.get("mode", "666")), 8)
            numbers = (row["major"], row["minor"], mode, row.get("uid", 0), row.get("gid", 0))
            nodes[row["path"]] = DeviceNode(row["path"], *numbers)
        else:
            MAKERS[row["type"]](path, row, machine)
    return TreeHost(root, nodes)


def _file(path: Path, row: Mapping[str, Any], machine: str) -> None:
    path.write_text(row.get("content", ""))
    path.chmod(int(str(row.get("mode", "755" if row["type"] == "exec" else "644")), 8))


def _socket(path: Path, row: Mapping[str, Any], machine: str) -> None:
    # The path of a socket is short by its address type, so it is bound by its name alone.
    here = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


MAKERS = {
    "dir": lambda path, row, machine: path.mkdir(exist_ok=True),
    "file": _file,
    "exec": _file,
    "link": lambda path, row, machine: path.symlink_to(row["target"]),
    "elf": lambda path, row, machine: path.write_bytes(shared_object(row.get("soname"), row.get("arch", machine))),
    "socket": _socket,
    "ldcache": lambda path, row, machine: path.write_bytes(
        cache(
            [(e["path"], e.get("arch", machine)) for e in row["entries"]], with_old_table=row.get("format") == "compat"
        )
    ),
}
