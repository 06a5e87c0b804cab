# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Answers what deciders ask of dnf. Private to this collection."""

from __future__ import annotations

from .._plan.ask import Answer, Ask
from .._plan.packages import is_of
from .._plan.repository_dnf import DnfRepository
from .._plan.versions import upstream_version
from .along import settle
from .command import Run
from .dnf import DnfState, dnf_state
from .files import HostRoot
from .repository_key import Fetch, fetch_key


def ask_dnf(host: HostRoot, run: Run, ask: Ask, *, fetch: Fetch) -> Answer:
    """Answers an Ask out of fresh metadata in a temporary directory. Raises KeyRefused."""
    with dnf_state(run, host) as state:
        if ask.kind == "remove":
            resolution, taken = state.removal(ask.packages)
            return Answer(resolution, taken=taken)
        repository, key = ask.repository, None
        if isinstance(repository, DnfRepository):
            if ask.needs_key:
                wanted = repository.key_fingerprint
                key = fetch_key(repository.key_url, fetch=fetch, wanted=wanted, option="repository_key")
            state.add(f"gpu-fleet-{repository.name}.repo", ask.pin)
        return _install(state, ask, key)


def _install(state: DnfState, ask: Ask, key: str | None) -> Answer:
    versions = state.versions(ask.kernel_package)
    newest = next((upstream_version(v) for v in versions if is_of(v, ask.prefix)), "")
    names = tuple(exact(name, newest, versioned=name in ask.of_set) for name in ask.packages)
    compiled = exact(ask.compiled, newest, versioned=False)
    resolution, along = settle(
        ask,
        (*names, *filter(state.versions, ask.welcome)),
        lambda asked: state.install(asked, erase=bool(ask.without)),
        state.versions,
        lambda name: exact(name, newest, versioned=True),
    )
    return Answer(
        resolution,
        along=along,
        key=key,
        versions=versions,
        compiled=ask.compiled,
        offered=not compiled or bool(state.versions(compiled)),
    )


def exact(name: str, version: str, *, versioned: bool) -> str:
    """A name with the version where it has that of the set, and in place of a ``*``.

    kmod-nvidia-580.*-5.14.0-1 is kmod-nvidia-580.95.05-5.14.0-1: names of compiled modules have the driver's in them.
    """
    if not version:
        return name
    branch = version.partition(".")[0]
    filled = name.replace(f"{branch}.*", version)
    return f"{filled}-{version}" if versioned else filled
