# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads Docker's daemon.json. Private to this collection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..._plan.docker import effective
from .documents import parse_json

NVIDIA = "nvidia"
# Where this collection and NVIDIA's own units write specs; one directory under two names.
RUN_DIRECTORIES = ("/var/run/cdi", "/run/cdi")


def read_docker_daemon(text: str) -> dict[str, Any]:
    """What the file says of GPUs.

    ``valid_json``, else ``error`` and ``error_line``. ``default_runtime`` (None: not said, runc); ``runtimes``: name
    -> program; ``runtime_path``: NVIDIA's; ``cdi_feature`` (None: not said, on from 28.2); ``spec_dirs``: directories
    of CDI specs, which replace the built-in list (None: not said); ``var_run_cdi_missing``: specs that are made at
    boot are not seen.
    """
    parsed = parse_json(text or "{}")
    document = _sound(parsed.table)
    found = effective(document)
    runtimes = found["handlers"]
    name = NVIDIA if NVIDIA in runtimes else next((n for n, p in runtimes.items() if NVIDIA in p), "")
    directories = found["cdi_spec_dirs"]
    return {
        "valid_json": parsed.error is None,
        "error": parsed.error,
        "error_line": parsed.error_line,
        "default_runtime": found["default_runtime"],
        "runtimes": runtimes,
        "runtime_path": runtimes.get(name),
        "cdi_feature": found["cdi_enabled"],
        "spec_dirs": directories,
        "var_run_cdi_missing": directories is not None
        and not {d.rstrip("/") for d in directories} & set(RUN_DIRECTORIES),
    }


def _sound(document: Mapping[str, Any]) -> dict[str, Any]:
    """The keys that have the type that Docker wants."""
    kinds = {"runtimes": dict, "features": dict, "default-runtime": str, "cdi-spec-dirs": list}
    sound = {key: document[key] for key, kind in kinds.items() if isinstance(document.get(key), kind)}
    if "cdi-spec-dirs" in sound:
        sound["cdi-spec-dirs"] = [d for d in sound["cdi-spec-dirs"] if isinstance(d, str)]
    return sound
