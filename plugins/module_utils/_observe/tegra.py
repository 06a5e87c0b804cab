# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads what Tegra systems list in CSV files for containers. Private to this collection."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from fnmatch import fnmatchcase

from .._plan.cdi_host import File, TegraFiles
from .devices import join, read_node
from .files import MAX_LINKS, HostRoot
from .libraries import Libraries, find_files

DIRECTORY = "/etc/nvidia-container-runtime/host-files-for-container.d"
FILES = tuple(f"{DIRECTORY}/{name}" for name in ("devices.csv", "drivers.csv", "l4t.csv"))
RELEASE = "/etc/nv_tegra_release"
KINDS = ("dev", "dir", "lib", "sym")


def read_tegra(
    host: HostRoot,
    *,
    driver_root: str,
    dev_root: str,
    files: Iterable[str] = (),
    ignored: Iterable[str] = (),
    search_paths: Iterable[str] = (),
) -> TegraFiles:
    """What the CSV files name and the host has. ``ignored``: patterns of links; **/ before one means the name alone."""
    rows = [row for path in (tuple(files) or FILES) for row in parse(host.text(path) or "")]
    named = {kind: [path for k, path in rows if k == kind] for kind in KINDS}
    links = [p for p in named["sym"] if not any(_ignores(pattern, p) for pattern in ignored)]
    libraries = Libraries(host, root=driver_root)
    places = [*search_paths, "/"]
    found = {
        k: [p for n in names for p in libraries.locate_in(places, n)]
        for k, names in (("lib", named["lib"]), ("sym", links))
    }
    nodes = [
        read_node(host, _below(p, dev_root), dev_root=dev_root)
        for n in named["dev"]
        for p in find_files(host, ["/"], n, root=dev_root)
    ]
    directories = [p for n in named["dir"] for p in [join(driver_root, n)] if host.is_dir(p)]
    return TegraFiles(
        nodes=tuple(dict.fromkeys(n for n in nodes if n is not None)),
        directories=tuple(File(libraries.relative(p), p) for p in dict.fromkeys(directories)),
        libraries=tuple(libraries.library(p) for p in dict.fromkeys(found["lib"])),
        linked=tuple(File(libraries.relative(p), p) for p in dict.fromkeys(found["sym"])),
        links=tuple(dict.fromkeys(link for p in links for link in _chain(host, libraries, join(driver_root, p)))),
        release=File(RELEASE, RELEASE) if host.is_file(RELEASE) else None,
    )


def parse(text: str) -> list[tuple[str, str]]:
    """(kind, path) of every line of the form ``kind, path``; other lines say nothing."""
    rows = (tuple(part.strip() for part in line.split(",", 1)) for line in text.splitlines())
    return [(row[0], row[1]) for row in rows if len(row) == 2 and row[0] in KINDS and row[1]]


def _ignores(pattern: str, path: str) -> bool:
    if pattern.startswith("**/"):
        return fnmatchcase(posixpath.basename(path), pattern[3:])
    return fnmatchcase(path, pattern) and path.count("/") == pattern.count("/")


def _below(path: str, root: str) -> str:
    return path if root == "/" else path[len(root.rstrip("/")) :]


def _chain(host: HostRoot, libraries: Libraries, path: str) -> list[str]:
    """text::path of every symbolic link on the way from ``path``; nothing where the end is missing."""
    links: list[str] = []
    if not host.exists(path):
        return links
    while len(links) <= MAX_LINKS:
        text = host.link(path)
        if text is None:
            break
        links.append(f"{text}::{libraries.relative(path)}")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(path), text))
    return links
