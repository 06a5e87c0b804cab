# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads where the containerd of a Kubernetes distribution has its settings. Private to this collection."""

from __future__ import annotations

import re

from .._catalog.engines import DISTRIBUTIONS, Distribution
from .files import HostRoot

# Where systemd has units of packages, of snaps and of installers.
UNIT_DIRECTORIES = ("/etc/systemd/system", "/usr/local/lib/systemd/system", "/lib/systemd/system")
SYSTEM_SOCKET = "/run/containerd/containerd.sock"
VERSION = re.compile(r"^\s*version\s*=\s*(\d+)", re.MULTILINE)
# k3s and RKE2 take the first of these that is there, and without any of them their own of version 3.
TEMPLATES = ((3, "config-v3.toml.tmpl"), (2, "config.toml.tmpl"))
NEWEST = 3


def find_distribution(host: HostRoot) -> str:
    """The distribution whose containerd runs, else the one whose settings are there; empty for none.

    Where the system's own containerd runs, the settings of one that does not are what an earlier time has left.
    """
    rows = [row for row in DISTRIBUTIONS.values() if host.is_dir(row.home)]
    running = [row for row in rows if host.exists(row.socket)]
    there = [] if host.exists(SYSTEM_SOCKET) else rows
    settled = [row for row in there if host.exists(row.config) or read_unit(host, row)]
    return next((row.name for row in (*running, *settled)), "")


def read_unit(host: HostRoot, row: Distribution) -> str:
    """The unit that has to be restarted; empty where the host has none of them."""
    paths = ((u, f"{d}/{u}") for u in row.units for d in UNIT_DIRECTORIES)
    return next((unit for unit, path in paths if host.exists(path)), "")


def read_drop_in_path(host: HostRoot, row: Distribution) -> str:
    """The drop-in that fits the version of the distribution's settings; empty where these are edited themselves."""
    found = VERSION.search(host.text(row.config) or "")
    return row.drop_in(int(found.group(1)) if found else _version_of_template(host, row))


def read_managed(host: HostRoot, row: Distribution) -> bool:
    """Whether the distribution still writes its settings itself. Without a file it will."""
    path, words = row.managed or ("", "")
    text = host.text(path) if path else None
    return text is None or words in text


def _version_of_template(host: HostRoot, row: Distribution) -> int:
    folder = row.config.rpartition("/")[0]
    return next((version for version, name in TEMPLATES if host.exists(f"{folder}/{name}")), NEWEST)
