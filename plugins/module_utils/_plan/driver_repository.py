# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a host's driver comes from: which repositories are ours. Private to this collection."""

from __future__ import annotations

from .._catalog import distributions
from .driver_host import DriverHost
from .driver_wish import DISTRO, PREINSTALLED, DriverWish
from .facts import AptSource
from .model import Finding
from .repository import Repository, find_conflicts
from .repository_dnf import DnfRepository, find_dnf_conflicts

ARCHIVE = "debian-archive"
# The driver is in non-free; its installer of firmware and what it wants are in the other two (Debian archive index).
COMPONENTS = ("contrib", "non-free", "non-free-firmware")


def driver_repository(wish: DriverWish, host: DriverHost) -> Repository | DnfRepository | None:
    """The repository that we bring for the source; None where the host's own have the packages, or none are wanted."""
    if wish.source == PREINSTALLED:
        return None
    return archive_repository(host) if wish.source == DISTRO else cuda_repository(wish, host)


def our_repositories(wish: DriverWish, host: DriverHost) -> tuple[Repository | DnfRepository, ...]:
    """All that an earlier run with another source may have brought."""
    return (cuda_repository(wish, host), _archive("", "", "", ""))


def cuda_repository(wish: DriverWish, host: DriverHost) -> Repository | DnfRepository:
    """NVIDIA's CUDA repository for the host's distribution and machine, or the user's copy of it."""
    row = distributions.distribution_of(host.os.id, host.os.version)
    machine = distributions.machine_of(host.kernel.machine)
    folder = f"{row.directory}/{machine.directory}" if row and machine else ""
    uri = f"{wish.repository_url or distributions.CUDA_REPOSITORY}/{folder}/"
    key_url = wish.repository_key_url or f"{uri}{row.key_file if row else ''}"
    fingerprint = wish.repository_key_fingerprint or (row.key_fingerprint if row else "")
    if row and row.manager == distributions.DNF:
        return DnfRepository("cuda", uri, key_url, fingerprint)
    return Repository("cuda", uri, "/", machine.debian if machine else "", key_url, fingerprint)


def archive_repository(host: DriverHost) -> Repository | None:
    """Debian's non-free beside the host's own entry for main, on the same mirror; None where the host has it."""
    found = [s for s in host.sources if "main" in s.components and not s.path.endswith(f"gpu-fleet-{ARCHIVE}.sources")]
    has = {c for s in found for c in s.components}
    if host.os.id != "debian" or not found or has.issuperset(COMPONENTS):
        return None
    machine = distributions.machine_of(host.kernel.machine)
    missing = " ".join(c for c in COMPONENTS if c not in has)
    return _archive_beside(found[0], missing, machine.debian if machine else "")


def _archive_beside(source: AptSource, components: str, architecture: str) -> Repository:
    return _archive(source.uri, source.suite, components, source.signed_by, architecture)


def _archive(uri: str, suite: str, components: str, signed_by: str, architecture: str = "") -> Repository:
    return Repository(ARCHIVE, uri, suite, architecture, "", "", components, signed_by)


def find_repository(repository: Repository | DnfRepository | None, host: DriverHost) -> tuple[Finding, ...]:
    """What is in the way of a repository of ours: other entries for it, and a key that nobody names."""
    if repository is None or (isinstance(repository, Repository) and repository.components):
        return ()
    if not repository.key_fingerprint:
        return (_no_key(repository),)
    if isinstance(repository, DnfRepository):
        return find_dnf_conflicts(repository, host.repositories)
    return find_conflicts(repository, host.sources)


def _no_key(repository: Repository | DnfRepository) -> Finding:
    return Finding(
        id="GPU-PKG-121",
        severity="error",
        summary=f"no source names the whole fingerprint of the key that signs {repository.uri}",
        wanted="driver_repository_key_fingerprint, 40 hexadecimal digits",
        found="no fingerprint in the catalog for this distribution, and none given",
        remedy="read it where you trust it (gpg --show-keys on the key file), and set driver_repository_key_url and"
        " driver_repository_key_fingerprint",
        source="plugins/module_utils/_catalog/distributions.py",
    )
