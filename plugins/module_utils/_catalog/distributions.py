# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Linux distributions that this release installs on, and where NVIDIA publishes for them. Private to this collection.

A new distribution is one row in DISTRIBUTIONS.
"""

from __future__ import annotations

from dataclasses import dataclass

CUDA_REPOSITORY = "https://developer.download.nvidia.com/compute/cuda/repos"
TOOLKIT_REPOSITORY = "https://nvidia.github.io/libnvidia-container/stable/deb"
TOOLKIT_KEY = "https://nvidia.github.io/libnvidia-container/gpgkey"
TOOLKIT_KEY_FINGERPRINT = "C95B321B61E88C1809C4F759DDCAE044F796ECB0"

# Signed before April 2022, retired since: a host that still trusts it is no error, but it must not be ours.
RETIRED_KEYS = ("AE09FE4BBD223A84B2CCFCE3F60F4B3D7FA2AF80",)


@dataclass(frozen=True)
class Distribution:
    """``id`` and ``version`` as in os-release(5); ``directory`` and ``key_file`` below the CUDA repository."""

    id: str
    version: str
    directory: str
    key_file: str
    key_fingerprint: str
    source: str
    as_of: str

    @property
    def name(self) -> str:
        """The distribution as people say it."""
        return f"{self.id} {self.version}"


@dataclass(frozen=True)
class Machine:
    """``machine`` as uname(2) gives it; its directory in the CUDA repository and Debian's architecture name."""

    machine: str
    directory: str
    debian: str


DISTRIBUTIONS = (
    Distribution(
        "debian",
        "12",
        "debian12",
        "3bf863cc.pub",
        "EB693B3035CD5710E231E123A4B469963BF863CC",
        "github.com/NVIDIA/cuda-repo-management SIGNATURES.md",
        "2024-12-31",
    ),
    Distribution(
        "debian",
        "13",
        "debian13",
        "8793F200.pub",
        "02182E60104FCDC26EAE1B8597A5D4CB8793F200",
        "public repositories that pin this key; no page of NVIDIA names it",
        "2026-11-30",
    ),
)

MACHINES = (
    Machine("x86_64", "x86_64", "amd64"),
    Machine("aarch64", "sbsa", "arm64"),
)


def distribution_of(identifier: str, version: str) -> Distribution | None:
    """The row of a distribution by os-release's ID and VERSION_ID; None where this release does not install on it."""
    return next((d for d in DISTRIBUTIONS if (d.id, d.version) == (identifier, version)), None)


def machine_of(machine: str) -> Machine | None:
    """The row of a machine by uname's word, or None."""
    return next((m for m in MACHINES if m.machine == machine), None)


def supported() -> str:
    """All distributions and machines as one text for messages."""
    names = ", ".join(d.name for d in DISTRIBUTIONS)
    return f"{names} on {', '.join(m.machine for m in MACHINES)}"
