# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A dnf repository of ours: key, .repo file with excludes, and what stands beside it. Private to this collection."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .facts import DnfSource
from .model import Finding

KEYS = "/etc/pki/rpm-gpg"
REPOSITORIES = "/etc/yum.repos.d"
# What a repository's key signs.
PACKAGES, INDEX = "packages", "index"
HEADER = "# Managed by gpu.fleet; removed with the role that wrote it.\n"


@dataclass(frozen=True)
class DnfRepository:
    """``name`` is a part of file names; ``uri`` ends with a slash.

    ``signs``: what the key signs, PACKAGES or the INDEX, which has the packages' checksums.
    ``priority``: below 99 what it offers is not looked for elsewhere, where the lock would not hold.
    """

    name: str
    uri: str
    key_url: str
    key_fingerprint: str
    signs: str = PACKAGES
    priority: int | None = None

    @property
    def key_path(self) -> str:
        """The file with the one key that signs the packages of this repository."""
        return f"{KEYS}/RPM-GPG-KEY-gpu-fleet-{self.name}"

    @property
    def source_path(self) -> str:
        """The file with the one section."""
        return f"{REPOSITORIES}/gpu-fleet-{self.name}.repo"

    @property
    def rpm_key(self) -> str:
        """The package as which rpm keeps the key, without its time."""
        return f"gpg-pubkey-{self.key_fingerprint[-8:].lower()}"

    def render(self, excludes: Sequence[str] = (), *, all_streams: bool = False) -> str:
        """The text of the file (dnf.conf(5)). ``all_streams``: packages are seen whatever module stream is enabled."""
        lines = [
            f"[gpu-fleet-{self.name}]",
            f"name=NVIDIA {self.name} (gpu.fleet)",
            f"baseurl={self.uri}",
            "enabled=1",
            *self._checks(all_streams),
            f"gpgkey=file://{self.key_path}",
            *([f"excludepkgs={' '.join(excludes)}"] if excludes else []),
            *(["module_hotfixes=1"] if all_streams else []),
            *([f"priority={self.priority}"] if self.priority is not None else []),
        ]
        return HEADER + "".join(f"{line}\n" for line in lines)

    def _checks(self, question: bool) -> tuple[str, ...]:
        """An index is checked when it is installed from: a question cannot trust a key for the time of one answer."""
        if self.signs == PACKAGES:
            return ("gpgcheck=1",)
        return (f"repo_gpgcheck={int(not question)}", "gpgcheck=0")


def find_dnf_conflicts(repository: DnfRepository, sources: Iterable[DnfSource]) -> tuple[Finding, ...]:
    """Other sections for the same repository: what they offer goes past our excludes."""
    others = (s for s in sources if s.path != repository.source_path and s.uri == repository.uri.rstrip("/"))
    return tuple(
        Finding(
            id="GPU-PKG-001",
            severity="error",
            summary=f"{source.path} has a section for the same repository, past our lock of the version",
            wanted=f"one section for {repository.uri}, in {repository.source_path}",
            found=f"[{source.id}] in {source.path}",
            remedy=f"remove that file: rm {source.path}",
            source="github.com/NVIDIA/cuda-repo-management#4",
        )
        for source in others
    )
