# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads a configuration of CRI-O: a file, a drop-in, or ``crio status config``. Private to this collection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..._plan.engine import lookup
from .documents import parse_toml, table_of, texts_of

NVIDIA = "nvidia"


def read_crio_config(text: str) -> dict[str, Any]:
    """What the configuration says of GPUs.

    ``valid_toml``, else ``error`` and ``error_line``. ``handlers``: name -> program; ``nvidia_runtime``,
    ``nvidia_binary``, ``default_runtime`` (None: not said); ``cdi_spec_dirs`` (None: not said, /etc/cdi and
    /var/run/cdi; CDI is always on); ``hooks_dir``: where OCI hooks are read from, the way before CDI.
    """
    parsed = parse_toml(text)
    runtime = table_of(lookup(dict(parsed.table), "crio", "runtime"))
    handlers = {
        str(name): str(entry.get("runtime_path") or "")
        for name, entry in table_of(runtime.get("runtimes")).items()
        if isinstance(entry, Mapping)
    }
    ours = NVIDIA if NVIDIA in handlers else next((n for n, p in handlers.items() if NVIDIA in p), None)
    default = runtime.get("default_runtime")
    return {
        "valid_toml": parsed.error is None,
        "error": parsed.error,
        "error_line": parsed.error_line,
        "handlers": handlers,
        "nvidia_runtime": ours is not None,
        "nvidia_binary": handlers.get(ours or "") or None,
        "default_runtime": default if isinstance(default, str) else None,
        "cdi_spec_dirs": texts_of(runtime["cdi_spec_dirs"]) if "cdi_spec_dirs" in runtime else None,
        "hooks_dir": texts_of(runtime["hooks_dir"]) if "hooks_dir" in runtime else None,
    }
