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
from .._plan.cdi_refresh import FILE, MASKED, OFF
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

    Masked, link, file (a unit of the administrator or an old package), switched off (the same with our condition) or
    none.
    """
    path = f"{OWN_UNITS}/{unit}"
    link = host.link(path)
    if link is not None:
        return MASKED if link == MASK else "link"
    if not host.is_file(path):
        return "none"
    return OFF if host.text(switch_path(unit)) == switch_text(unit) else FILE


def switch_path(unit: str) -> str:
    """The drop-in by which a unit that is a file is switched off."""
    return f"{OWN_UNITS}/{unit}.d/90-gpu-fleet.conf"


def switch_text(unit: str) -> str:
    """A condition that never holds while the drop-in is there."""
    return (
        f"# Managed by gpu.fleet: its own unit writes the CDI spec.\n[Unit]\nConditionPathExists=!{switch_path(unit)}\n"
    )
