# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys that sign repositories of NVIDIA, by the ids that apt and rpm print. Private to this collection."""

from __future__ import annotations

from dataclasses import dataclass

from .distributions import APT, DISTRIBUTIONS, RETIRED_KEYS, RPM_KEY, TOOLKIT_KEY_FINGERPRINT

SIGNATURES = "github.com/NVIDIA/cuda-repo-management SIGNATURES.md"


@dataclass(frozen=True)
class RepositoryKey:
    """``repository``: what the key signs. ``retired``: NVIDIA signs with another one today."""

    fingerprint: str
    repository: str
    retired: bool
    source: str
    as_of: str


APT_KEYS = tuple(dict.fromkeys(d.key_fingerprint for d in DISTRIBUTIONS if d.manager == APT and d.key_fingerprint))
KEYS = (
    *(RepositoryKey(fingerprint, "CUDA repository", False, SIGNATURES, "2026-11-30") for fingerprint in APT_KEYS),
    RepositoryKey(RPM_KEY, "CUDA repository (rpm)", False, SIGNATURES, "2024-12-31"),
    *(RepositoryKey(f, "CUDA repository until April 2022", True, SIGNATURES, "2024-12-31") for f in RETIRED_KEYS),
    RepositoryKey(
        TOOLKIT_KEY_FINGERPRINT, "NVIDIA Container Toolkit", False, "nvidia.github.io/libnvidia-container", "2026-11-30"
    ),
)


def key_of(identifier: str) -> RepositoryKey | None:
    """The key whose fingerprint ends with the hex digits of an id (8 or 16 of them), or None for a foreign one."""
    digits = identifier.upper().replace("0X", "")
    return next((k for k in KEYS if len(digits) >= 8 and k.fingerprint.endswith(digits)), None)
