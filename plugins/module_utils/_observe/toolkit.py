# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the toolkit's configuration and the units by which NVIDIA's packages refresh CDI specs.

Private to this collection.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from .._catalog.toolkit_config import REAL_LDCONFIG, SUSE
from .._plan.engine import Owned
from .._plan.toolkit_config import ConfigState
from .files import HostRoot
from .os_release import read_likes
from .texts.documents import parse_toml

OWN_UNITS = "/etc/systemd/system"
MASK = "/dev/null"


def read_toolkit_config(host: HostRoot, path: str, *, toml: Any, owned: Iterable[Owned]) -> ConfigState:
    """The file at ``path``, and what its defaults depend on. ``toml`` is the package tomlkit."""
    text = host.text(path)
    found = ConfigState(
        None, owned=tuple(owned), real_ldconfig=host.exists(REAL_LDCONFIG), suse=bool(set(read_likes(host)) & set(SUSE))
    )
    if text is None:
        return found
    parsed = parse_toml(text, toml)
    return replace(found, error=f"{path}: {parsed.fault}") if parsed.error else replace(found, document=parsed.document)


def read_mask(host: HostRoot, unit: str) -> str:
    """What stands for ``unit`` in /etc/systemd/system.

    Masked, link, file (a unit of the administrator or an old package) or none.
    """
    path = f"{OWN_UNITS}/{unit}"
    link = host.link(path)
    if link is not None:
        return "masked" if link == MASK else "link"
    return "file" if host.is_file(path) else "none"
