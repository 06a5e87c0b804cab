# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the toolkit's configuration and the units by which NVIDIA's packages refresh CDI specs.

Private to this collection.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._plan.engine import Owned
from .._plan.toolkit_config import ConfigState
from .files import HostRoot
from .texts.documents import parse_toml

OWN_UNITS = "/etc/systemd/system"
MASK = "/dev/null"


def read_toolkit_config(host: HostRoot, path: str, *, toml: Any, owned: Iterable[Owned]) -> ConfigState:
    """The file at ``path``. ``toml`` is the package tomlkit."""
    text = host.text(path)
    if text is None:
        return ConfigState(None, "", tuple(owned))
    parsed = parse_toml(text, toml)
    if parsed.error:
        return ConfigState(None, f"{path}: {parsed.fault}", tuple(owned))
    return ConfigState(parsed.document, "", tuple(owned))


def read_mask(host: HostRoot, unit: str) -> str:
    """What stands for ``unit`` in /etc/systemd/system.

    Masked, link, file (a unit of the administrator or an old package) or none.
    """
    path = f"{OWN_UNITS}/{unit}"
    link = host.link(path)
    if link is not None:
        return "masked" if link == MASK else "link"
    return "file" if host.is_file(path) else "none"
