# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads nvidia-container-runtime's config.toml. Private to this collection."""

from __future__ import annotations

from typing import Any

from .documents import parse_toml, table_of

CLI, RUNTIME = "nvidia-container-cli", "nvidia-container-runtime"


def read_toolkit_config(text: str) -> dict[str, Any]:
    """What the file decides about containers; None for what it leaves to the toolkit.

    ``valid_toml``, else ``error`` and ``error_line``. ``mode``: auto, cdi, legacy, csv or jit-cdi; ``no_cgroups``:
    rootless engines need it, others lose their devices by it; ``root``: of the driver (/run/nvidia/driver for driver
    containers); ``ldconfig``; ``debug``: log file of the runtime; ``unprivileged_envvar``: whether a container without
    privileges gets GPUs by NVIDIA_VISIBLE_DEVICES; ``device_list_as_volume_mounts``: the other way that plugins use;
    ``runtimes``: the programs that are tried.
    """
    parsed = parse_toml(text)
    top = parsed.table
    cli, runtime = table_of(top.get(CLI)), table_of(top.get(RUNTIME))
    runtimes = runtime.get("runtimes")
    return {
        "valid_toml": parsed.error is None,
        "error": parsed.error,
        "error_line": parsed.error_line,
        "mode": _text(runtime.get("mode")),
        "no_cgroups": _flag(cli.get("no-cgroups")),
        "root": _text(cli.get("root")),
        "ldconfig": _text(cli.get("ldconfig")),
        "debug": _text(runtime.get("debug")),
        "unprivileged_envvar": _flag(top.get("accept-nvidia-visible-devices-envvar-when-unprivileged")),
        "device_list_as_volume_mounts": _flag(top.get("accept-nvidia-visible-devices-as-volume-mounts")),
        "runtimes": [str(r) for r in runtimes] if isinstance(runtimes, list) else None,
    }


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None
