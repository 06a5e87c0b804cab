# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fetches a repository's key and holds it against its pinned fingerprint. Private to this collection."""

from __future__ import annotations

from collections.abc import Callable

from .files import HostRoot
from .openpgp import NoKey, armor, fingerprint

# URL -> content; raises OSError (urllib's errors are of that kind) or ValueError.
Fetch = Callable[[str], bytes]


class KeyRefused(Exception):
    """The key cannot be had or is another one; the message names address, both fingerprints and the option."""


def fetch_key(url: str, *, fetch: Fetch, wanted: str, option: str) -> str:
    """The armored key at ``url`` whose fingerprint is ``wanted``. Raises KeyRefused."""
    try:
        data = fetch(url)
    except (OSError, ValueError) as error:
        raise KeyRefused(f"the repository's key cannot be read from {url}: {error}; check {option}_url") from error
    try:
        found = fingerprint(data)
    except NoKey as error:
        raise KeyRefused(f"{url} is no key: {error}; check {option}_url") from error
    if found != normal(wanted):
        raise KeyRefused(
            f"{url} holds the key {found}, wanted {normal(wanted)} ({option}_fingerprint); "
            "do not trust it before you know why it differs"
        )
    return armor(data)


def read_key(host: HostRoot, path: str) -> str | None:
    """The fingerprint of the key file at ``path``; None where it is absent or holds no key."""
    data = host.data(path)
    if data is None:
        return None
    try:
        return fingerprint(data)
    except NoKey:
        return None


def normal(text: str) -> str:
    """A fingerprint without the blanks that people copy with it, in upper case."""
    return "".join(text.split()).upper()
