# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads a mig-parted config file. Private to this collection."""

from __future__ import annotations

import json
from typing import Any

from .._plan.mig_config_file import ConfigError
from .files import HostRoot
from .helpers import find_helper


class HelperNeeded(Exception):
    """A Python package that this host lacks; ``name`` is its import name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"this host's Python lacks {name}")
        self.name = name


def read_config_file(host: HostRoot, path: str) -> Any:
    """The document in ``path``, YAML or JSON. Raises ConfigError(invalid_config), HelperNeeded."""
    text = host.text(path)
    if text is None:
        raise _unreadable(path, "is not there")
    try:
        return json.loads(text)
    except ValueError:
        return _read_yaml(path, text)


def _read_yaml(path: str, text: str) -> Any:
    yaml = find_helper("yaml")
    if yaml is None:
        raise HelperNeeded("yaml")
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise _unreadable(path, f"is no YAML: {' '.join(str(error).split())}") from error


def _unreadable(path: str, why: str) -> ConfigError:
    return ConfigError(
        "invalid_config", f"config_file {path} {why}; write a mig-parted config there", found=f"{path} {why}"
    )
