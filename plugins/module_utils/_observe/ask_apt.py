# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Answers what deciders ask of apt. Private to this collection."""

from __future__ import annotations

from .._plan.ask import Answer, Ask
from .._plan.repository import Repository
from .along import settle
from .apt import AptState, apt_state
from .command import Run
from .files import HostRoot
from .repository_key import Fetch, fetch_key


def ask_apt(host: HostRoot, run: Run, ask: Ask, *, fetch: Fetch) -> Answer:
    """Answers an Ask out of fresh indexes in a temporary state directory. Raises KeyRefused."""
    with apt_state(run, host) as state:
        if ask.kind == "remove":
            return Answer(state.removal(ask.packages), taken=state.dependants(ask.packages))
        key = _add_repository(state, ask, fetch)
        state.update()
        names = (*ask.packages, *filter(state.versions, ask.welcome))
        resolution, along = settle(ask, names, lambda asked: state.install(asked, without=ask.without), state.versions)
        return Answer(
            resolution,
            along=along,
            key=key,
            versions=state.versions(ask.kernel_package),
            compiled=ask.compiled,
            offered=not ask.compiled or bool(state.versions(ask.compiled)),
        )


def _add_repository(state: AptState, ask: Ask, fetch: Fetch) -> str | None:
    """Our source, key and pin as they will be; the key where it had to be fetched."""
    repository = ask.repository
    key = None
    if isinstance(repository, Repository):
        path = repository.key_path
        if ask.needs_key:
            wanted = repository.key_fingerprint
            key = fetch_key(repository.key_url, fetch=fetch, wanted=wanted, option="repository_key")
            path = state.add("keys", "key.asc", key)
        state.add("sources", f"gpu-fleet-{repository.name}.sources", repository.render(key_path=path))
    if ask.pin:
        state.add("preferences", "gpu-fleet-pin", ask.pin)
    return key
