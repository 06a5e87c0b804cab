# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Linux distributions that NVIDIA publishes drivers for, and where. Private to this collection.

A new distribution is one row in DISTRIBUTIONS.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

CUDA_REPOSITORY = "https://developer.download.nvidia.com/compute/cuda/repos"
TOOLKIT_REPOSITORY = "https://nvidia.github.io/libnvidia-container/stable/deb"
TOOLKIT_REPOSITORY_RPM = "https://nvidia.github.io/libnvidia-container/stable/rpm"
TOOLKIT_KEY = "https://nvidia.github.io/libnvidia-container/gpgkey"
TOOLKIT_KEY_FINGERPRINT = "C95B321B61E88C1809C4F759DDCAE044F796ECB0"

# Signed before April 2022, retired since: a host that still trusts it is no error, but it must not be ours.
RETIRED_KEYS = ("AE09FE4BBD223A84B2CCFCE3F60F4B3D7FA2AF80",)


@dataclass(frozen=True)
class Distribution:
    """``id`` and ``version`` as in os-release(5); ``directory`` and ``key_file`` below the CUDA repository.

    ``version`` of dnf systems is the major one: Rocky Linux 9.8 is rocky 9. ``key_fingerprint`` is empty where nobody
    publishes the whole of it: then the user has to name it.
    """

    id: str
    version: str
    manager: str
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


APT, DNF = "apt", "dnf"
SIGNATURES = "github.com/NVIDIA/cuda-repo-management SIGNATURES.md"
KEYRING = "github.com/NVIDIA/apt-packaging-cuda-keyring"
PUBLIC = "public repositories that pin this key; no page of NVIDIA names it"
PUBLIC_EL10 = "public .repo files name the key file; the whole fingerprint was seen nowhere"

APT_KEY = "EB693B3035CD5710E231E123A4B469963BF863CC"
RPM_KEY = "610C7B14E068A878070DA4E99CD0A493D42D0685"
ROCKY, ALMA, RHEL = "rocky", "almalinux", "rhel"

DISTRIBUTIONS = (
    Distribution("debian", "12", APT, "debian12", "3bf863cc.pub", APT_KEY, SIGNATURES, "2024-12-31"),
    Distribution(
        "debian",
        "13",
        APT,
        "debian13",
        "8793F200.pub",
        "02182E60104FCDC26EAE1B8597A5D4CB8793F200",
        PUBLIC,
        "2026-11-30",
    ),
    Distribution("ubuntu", "22.04", APT, "ubuntu2204", "3bf863cc.pub", APT_KEY, KEYRING, "2024-12-31"),
    Distribution("ubuntu", "24.04", APT, "ubuntu2404", "3bf863cc.pub", APT_KEY, PUBLIC, "2026-11-30"),
    Distribution(
        *("ubuntu", "26.04", APT, "ubuntu2604", "60DF8A40.pub", "14BAFBC7562AD710CA04E69905FBB6DA60DF8A40"),
        PUBLIC,
        "2026-12-01",
    ),
    *(
        Distribution(name, "9", DNF, "rhel9", "D42D0685.pub", RPM_KEY, SIGNATURES, "2024-12-31")
        for name in (ROCKY, ALMA, RHEL)
    ),
    *(
        Distribution(name, "10", DNF, "rhel10", "CDF6BA43.pub", "", PUBLIC_EL10, "2026-12-01")
        for name in (ROCKY, ALMA, RHEL)
    ),
    Distribution("amzn", "2023", DNF, "amzn2023", "D42D0685.pub", RPM_KEY, PUBLIC, "2026-12-01"),
)

MACHINES = (
    Machine("x86_64", "x86_64", "amd64"),
    Machine("aarch64", "sbsa", "arm64"),
)


def distribution_of(identifier: str, version: str) -> Distribution | None:
    """The row of a distribution by os-release's ID and VERSION_ID; None where the catalog has none."""
    return next((d for d in DISTRIBUTIONS if d.id == identifier and d.version == release_of(d.manager, version)), None)


def release_of(manager: str, version: str) -> str:
    """The part of VERSION_ID that decides about packages: minor releases of dnf systems share them."""
    return version.partition(".")[0] if manager == DNF else version


def machine_of(machine: str) -> Machine | None:
    """The row of a machine by uname's word, or None."""
    return next((m for m in MACHINES if m.machine == machine), None)


def supported(managers: Iterable[str] = (APT, DNF)) -> str:
    """All distributions with one of the package managers, and machines, as one text for messages."""
    wanted = set(managers)
    names = ", ".join(d.name for d in DISTRIBUTIONS if d.manager in wanted)
    return f"{names} on {', '.join(m.machine for m in MACHINES)}"
