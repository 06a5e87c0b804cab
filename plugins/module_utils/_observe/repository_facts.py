# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the repositories of NVIDIA's packages that a host has, and the keys it trusts for them. Private to this
collection.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .._catalog.distributions import DISTRIBUTIONS, DNF, MACHINES, release_of
from .._catalog.repository_keys import key_of
from .._plan.facts import AptSource, Package
from .apt_sources import read_sources
from .files import HostRoot
from .kernel import read_kernel
from .openpgp import NoKey, fingerprint
from .os_release import read_os_release
from .repo_files import RepoSection, dnf_words, read_repo_files
from .rpm import KEY

# Folders of the CUDA repository, also below a mirror of another name.
_FOLDERS = "|".join(dict.fromkeys(d.directory for d in DISTRIBUTIONS))
_MACHINES = "|".join(m.directory for m in MACHINES)
CUDA = re.compile(rf"/(?:{_FOLDERS})/(?:{_MACHINES})/?$|/compute/cuda/repos/|nvidia-driver-local-repo")
TOOLKIT = re.compile(r"libnvidia-container")
NVIDIA = re.compile(r"nvidia|cuda", re.IGNORECASE)

FINGERPRINTS = re.compile(r"(?:[0-9A-Fa-f]{40}!?\s*)+")

NO_KEY_NAMED = "the entry names no key: every key that apt or rpm trusts counts"
NOT_HERE = "the key is not on this host: dnf fetches it when it first needs it"
NO_KEY = "there is no key in this file"


def read_repositories(host: HostRoot, packages: Mapping[str, Package]) -> list[dict[str, Any]]:
    """Rows of ``kind`` (cuda, toolkit, other), ``path``, ``name`` (dnf's id, '' for apt), ``uri``,
    ``enabled``, ``keys``: rows of ``where``, ``fingerprint`` (None: see ``unknown``), ``retired``
    and ``known`` (whether the catalog has it as NVIDIA's). apt's entries that are switched off are not told.
    """
    rows = [_apt(host, source) for source in read_sources(host) if kind_of(source.uri, source.path)]
    words = _words(host)
    for section in read_repo_files(host):
        uri = " ".join(section.addresses(words)) or section.values.get("mirrorlist", "")
        if kind_of(uri, f"{section.path} {section.name}"):
            rows.append(_dnf(host, section, uri, packages))
    return rows


def _words(host: HostRoot) -> dict[str, str]:
    os = read_os_release(host)
    return dnf_words(release=release_of(DNF, os.version), machine=read_kernel(host).machine)


def kind_of(uri: str, name: str) -> str:
    """cuda, toolkit, other (some other repository of NVIDIA's packages), '' for one that is none of these."""
    if CUDA.search(uri.rstrip("/")):
        return "cuda"
    if TOOLKIT.search(uri):
        return "toolkit"
    return "other" if NVIDIA.search(f"{uri} {name}") else ""


def _apt(host: HostRoot, source: AptSource) -> dict[str, Any]:
    if source.signed_by.startswith("/"):
        keys = [_key(source.signed_by, host.data(source.signed_by))]
    elif FINGERPRINTS.fullmatch(source.signed_by):
        keys = [_named(source.path, word) for word in source.signed_by.rstrip("!").split()]
    elif source.signed_by:
        # The key itself, in the entry: a lone dot stands for an empty line (deb822(5)).
        keys = [_key(source.path, re.sub(r"^\.$", "", source.signed_by, flags=re.MULTILINE).encode())]
    else:
        keys = [_unknown(source.path, NO_KEY_NAMED)]
    return {
        "kind": kind_of(source.uri, source.path),
        "path": source.path,
        "name": "",
        "uri": source.uri,
        "enabled": True,
        "signing_keys": keys,
    }


def _dnf(host: HostRoot, section: RepoSection, uri: str, packages: Mapping[str, Package]) -> dict[str, Any]:
    keys = section.values.get("gpgkey", "").replace(",", " ").split()
    return {
        "kind": kind_of(uri, f"{section.path} {section.name}"),
        "path": section.path,
        "name": section.name,
        "uri": uri,
        "enabled": section.enabled,
        "signing_keys": [_rpm_key(host, where, packages) for where in keys] or [_unknown(section.path, NO_KEY_NAMED)],
    }


def _rpm_key(host: HostRoot, where: str, packages: Mapping[str, Package]) -> dict[str, Any]:
    """A file of the host, or an address whose name is the key's id as rpm has it in its database."""
    if where.startswith("file:"):
        return _key(where, host.data("/" + where.removeprefix("file:").lstrip("/")))
    found = re.search(r"([0-9A-Fa-f]{8})\.pub$", where)
    trusted = found is not None and f"{KEY}-{found.group(1).lower()}" in packages
    known = key_of(found.group(1)) if found and trusted else None
    return _named(where, known.fingerprint) if known else _unknown(where, NOT_HERE)


def _key(where: str, data: bytes | None) -> dict[str, Any]:
    try:
        return _named(where, fingerprint(data or b""))
    except NoKey:
        return _unknown(where, NO_KEY)


def _named(where: str, found: str) -> dict[str, Any]:
    known = key_of(found)
    return {
        "where": where,
        "fingerprint": found,
        "known": known is not None,
        "retired": known.retired if known else None,
        "unknown": {},
    }


def _unknown(where: str, reason: str) -> dict[str, Any]:
    return {"where": where, "fingerprint": None, "known": None, "retired": None, "unknown": {"fingerprint": reason}}
