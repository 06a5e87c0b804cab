# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An apt repository of ours: key, source entry, and what stands in its way. Private to this collection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .facts import AptSource
from .model import Finding
from .work import Work, join_work, remove_file, write_file

KEYRINGS = "/etc/apt/keyrings"
SOURCES = "/etc/apt/sources.list.d"
HEADER = "# Managed by gpu.fleet; removed with the role that wrote it.\n"


@dataclass(frozen=True)
class Repository:
    """``name`` is a part of file names; ``uri`` ends with a slash for a flat repository (suite ``/``).

    ``components``: of a repository that the host trusts already, by ``signed_by``; then there is no key of ours.
    """

    name: str
    uri: str
    suite: str
    architecture: str
    key_url: str
    key_fingerprint: str
    components: str = ""
    signed_by: str = ""

    @property
    def key_path(self) -> str:
        """The file with the one key that signs this repository."""
        return f"{KEYRINGS}/gpu-fleet-{self.name}.asc"

    @property
    def source_path(self) -> str:
        """The deb822 file with the one entry."""
        return f"{SOURCES}/gpu-fleet-{self.name}.sources"

    def render(self, *, key_path: str | None = None) -> str:
        """The text of the deb822 file (sources.list(5)); ``key_path`` replaces the path of the key."""
        components = f"Components: {self.components}\n" if self.components else ""
        # Two entries for one address have to say the same of its key, nothing included.
        key = self.signed_by.replace("\n", "\n ") if self.components else key_path or self.key_path
        signed = f"Signed-By: {key}\n" if key else ""
        return (
            f"{HEADER}Types: deb\nURIs: {self.uri}\nSuites: {self.suite}\n{components}"
            f"Architectures: {self.architecture}\n{signed}"
        )


def plan_repository(repository: Repository, files: Mapping[str, str | None], *, key: str | None) -> Work:
    """Key, then source. ``key`` is the armored key that was fetched and checked, None: the one on the host is right."""
    steps = []
    if key is not None:
        reason = f"apt trusts {repository.uri} by the key {repository.key_fingerprint} only"
        found = files.get(repository.key_path)
        steps.append(write_file(repository.key_path, key, found=found, action="add_key", reason=reason))
    steps.append(
        write_file(
            repository.source_path,
            repository.render(),
            found=files.get(repository.source_path),
            action="add_repository",
            reason="the packages come from this repository",
        )
    )
    return join_work(steps)


def plan_no_repository(repository: Repository, files: Mapping[str, str | None], owned: Iterable[str]) -> Work:
    """Takes away what we put there, the source before its key. A file that the record does not name stays."""
    names = set(owned)
    paths = (
        (repository.source_path, "remove_repository", "nothing comes from this repository any more"),
        (repository.key_path, "remove_key", "no repository of ours is signed by this key any more"),
    )
    return join_work(
        remove_file(path, found=files.get(path), action=action, reason=reason)
        for path, action, reason in paths
        if f"file:{path}" in names
    )


def find_conflicts(repository: Repository, sources: Iterable[AptSource]) -> tuple[Finding, ...]:
    """Other entries for the same repository: apt stops at two entries with different Signed-By."""
    others = (s for s in sources if s.path != repository.source_path and _same(s, repository))
    return tuple(
        Finding(
            id="GPU-PKG-001",
            severity="error",
            summary=f"{source.path} has an entry for the same repository with another key",
            wanted=f"one entry for {repository.uri}, signed by {repository.key_path}",
            found=f"{source.path}: Signed-By {source.signed_by or '(empty)'}",
            remedy=f"remove that entry: rm {source.path} (and its keyring package cuda-keyring, where installed)",
            source="github.com/NVIDIA/nvidia-container-toolkit#258",
        )
        for source in others
    )


def _same(source: AptSource, repository: Repository) -> bool:
    return (source.uri.rstrip("/"), source.suite) == (repository.uri.rstrip("/"), repository.suite)
