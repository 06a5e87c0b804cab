# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides which variables of an inventory nothing reads. Private to this collection."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from .._catalog.states import CLUSTER_ROLES, HOST_ROLES
from .._catalog.variables import KEPT, SHARED, STATS
from .model import Finding

# Prefixes of roles, such as driver_, are everyday words: only what looks like one of our names is taken for a slip.
ALIKE = 0.75
OWN_PREFIX = "gpu_fleet_"
PREFIXES = (OWN_PREFIX, *(f"{role}_" for role in (*HOST_ROLES, *CLUSTER_ROLES)))
PUBLISHED_SUFFIX = "_result"


def unread_variables(names: Iterable[str], *, known: Iterable[str]) -> list[dict[str, Any]]:
    """A warning for each variable whose name nothing reads, as module results have findings.

    ``names`` are the variables of a host; ``known`` those of the roles. A name that begins like a role is reported
    where it resembles one of the role's variables; one of our own prefix always.
    """
    ours = sorted({*known, *SHARED})
    silent = {*ours, *KEPT, *STATS}
    unknown = sorted(n for n in set(names) if n not in silent and not n.endswith(PUBLISHED_SUFFIX))
    pairs = ((name, _closest(name, ours)) for name in unknown)
    return [asdict(_finding(name, near)) for name, near in pairs if near or name.startswith(OWN_PREFIX)]


def _closest(name: str, known: list[str]) -> str:
    """The known variable of the same prefix whose rest is most alike, else an empty text."""
    prefix = next((p for p in PREFIXES if name.startswith(p)), "")
    rests = [k[len(prefix) :] for k in known if prefix and k.startswith(prefix)]
    near = difflib.get_close_matches(name[len(prefix) :], rests, n=1, cutoff=ALIKE)
    return f"{prefix}{near[0]}" if near else ""


def _finding(name: str, near: str) -> Finding:
    return Finding(
        id="GPU-ANS-102",
        severity="warning",
        summary=f"variable {name} is set, and nothing reads it",
        wanted="a variable of gpu.fleet (README.md, or the role's meta/argument_specs.yml)",
        found=f"{name} (inventory or extra variables)",
        remedy=f"write {near}" if near else f"remove {name}, or look for its name in README.md",
        source="gpu.fleet",
    )
