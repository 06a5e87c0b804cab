# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Edits the config.json of an OCI bundle so that its container reaches the simulated driver."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

STATE_FOLDER = "/var/lib/simhw"
HOOK = "/usr/lib/simhw/container-hook"


def edit_bundle(bundle: Path) -> None:
    """Rewrites config.json of the bundle in place, and nothing when it has been done before."""
    path = bundle / "config.json"
    config = json.loads(path.read_text())
    edited = with_driver(config, bundle.resolve())
    if edited != config:
        path.write_text(json.dumps(edited))


def with_driver(config: dict[str, Any], bundle: Path) -> dict[str, Any]:
    """`config` with the state folder mounted and, before all other hooks, one that shows /proc/driver of the host."""
    root = bundle / config["root"]["path"]
    mounts = config.get("mounts") or []
    hooks = config.get("hooks") or {}
    return {**config, "mounts": _mounts(mounts), "hooks": {**hooks, "createContainer": _hooks(hooks, root)}}


def _mounts(mounts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if any(mount["destination"] == STATE_FOLDER for mount in mounts):
        return mounts
    own = {"destination": STATE_FOLDER, "type": "bind", "source": STATE_FOLDER, "options": ["rbind", "rw"]}
    return [*mounts, own]


def _hooks(hooks: dict[str, Any], root: Path) -> list[dict[str, Any]]:
    present = hooks.get("createContainer") or []
    if any(hook["path"] == HOOK for hook in present):
        return list(present)
    return [{"path": HOOK, "args": [HOOK, str(root)]}, *present]
