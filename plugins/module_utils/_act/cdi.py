# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes and removes CDI specs and what the boot-time unit knows of them. Private to this collection.

Module cdi_spec and the program gpu-fleet-host run this same code.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from .._observe.cdi import NvmlView, read_cdi_host
from .._observe.cdi_specs import Load, rank_of, read_foreign, read_spec, read_spec_facts
from .._observe.command import Run
from .._observe.files import HostRoot
from .._plan.cdi import (
    CREATE_NODE,
    FORGET,
    MODE,
    REMOVE,
    SAVE,
    WISH_PATH,
    WRITE,
    CdiState,
    ExistingSpec,
    build,
    further_paths,
    wanted_specs,
)
from .._plan.cdi_stale import stale_because
from .._plan.cdi_text import spec_text
from .._plan.cdi_wish import CdiWish, check_wish
from .._plan.model import Step
from .files import make_directory, remove_file, write_atomically

SCHEMA = 1


class WishError(Exception):
    """The file of saved options cannot be used; the message names it and the way out."""


class NodeError(Exception):
    """A device node could not be made; the message has the program's words."""


class CdiSpecs:
    """One wanted spec on one host: observe it, and carry out the steps of its plan."""

    def __init__(
        self, host: HostRoot, wish: CdiWish, *, read_gpus: Callable[[], NvmlView], load: Load, run: Run
    ) -> None:
        self._run = run
        self._host = host
        self._wish = wish
        self._read_gpus = read_gpus
        self._load = load

    def observe(self) -> CdiState:
        """What the spec is made of, what is at its path, and whether that still fits the host."""
        wish = self._wish
        if check_wish(wish):
            return CdiState(None, None)
        host = read_cdi_host(self._host, wish, self._read_gpus)
        existing = read_spec(self._host, wish.path, self._load)
        stale: tuple[Any, ...] = ()
        if existing is not None and existing.document is not None:
            gpus = host.gpus if host.mode == "nvml" and not host.nvml_error else None
            facts = read_spec_facts(self._host, existing.document, driver_version=host.driver.version, gpus=gpus)
            stale = stale_because(existing.document, facts)
        return self._with_foreign(CdiState(host, existing, stale, self._saved(), self._further()))

    def observe_removal(self) -> CdiState:
        """What is at the path; the host itself does not matter."""
        existing = read_spec(self._host, self._wish.path, self._load)
        return self._with_foreign(CdiState(None, existing, (), self._saved(), self._further()))

    def _with_foreign(self, state: CdiState) -> CdiState:
        path = self._wish.path
        foreign = read_foreign(self._host, path, self._wish.kind, self._load)
        return replace(state, foreign=foreign, rank=rank_of(self._host, path))

    def act(self, step: Step, state: CdiState) -> None:
        """Carries out one step. Raises OSError, NodeError, WishError."""
        path = self._host.where(step.target)
        if step.action == CREATE_NODE:
            self._create(step.target, state)
        elif step.action == WRITE:
            # Nodes that were made on the way are described as they are, not as they were foreseen.
            now = self.observe() if state.host is not None and state.host.creatable else state
            spec = dict(wanted_specs(self._wish, build(self._wish, now))[step.target])
            write_atomically(path, spec_text(spec, self._wish.format).encode(), mode=MODE)
        elif step.action == REMOVE:
            remove_file(path)
        elif step.action == SAVE:
            self._save([*self._others(), self._wish.saved()])
        elif step.action == FORGET:
            self._save(self._others())

    def _create(self, path: str, state: CdiState) -> None:
        creatable = state.host.creatable if state.host else {}
        command = ["nvidia-modprobe", "-f", creatable[path].capability]
        status, out, err = self._run(command)
        if status != 0:
            raise NodeError(f"{' '.join(command)} ended with status {status}: {(err or out).strip()}")

    def _further(self) -> dict[str, ExistingSpec]:
        """Specs of a part of the GPUs that stand beside the wanted one; a file of another kind is none of ours."""
        found = {path: read_spec(self._host, path, self._load) for path in further_paths(self._wish)}
        kinds = further_paths(self._wish)
        return {p: f for p, f in found.items() if f and f.document and f.document.get("kind") == kinds[p]}

    def _saved(self) -> Mapping[str, Any] | None:
        rows = read_wishes(self._host, self._load)
        return next((row for row in rows if row.get("path") == self._wish.path), None)

    def _others(self) -> list[dict[str, Any]]:
        return [row for row in read_wishes(self._host, self._load) if row.get("path") != self._wish.path]

    def _save(self, rows: list[dict[str, Any]]) -> None:
        path = self._host.where(WISH_PATH)
        if not rows:
            remove_file(path)
            return
        make_directory(os.path.dirname(os.path.dirname(path)), mode=0o700)
        document = {"schema": SCHEMA, "specs": sorted(rows, key=lambda row: str(row["path"]))}
        write_atomically(path, spec_text(document, "yaml").encode(), mode=0o600)


def read_wishes(host: HostRoot, load: Load) -> list[dict[str, Any]]:
    """The options of every spec that is written at boot; empty without the file. Raises WishError."""
    text = host.text(WISH_PATH)
    if text is None:
        return []
    try:
        document = load(text)
    except ValueError as error:
        raise WishError(f"{WISH_PATH} is no YAML ({error}); remove it and run role gpu.fleet.toolkit again") from error
    if (
        not isinstance(document, dict)
        or document.get("schema") != SCHEMA
        or not isinstance(document.get("specs"), list)
    ):
        raise WishError(f"{WISH_PATH} is not of schema {SCHEMA}; remove it and run role gpu.fleet.toolkit again")
    return list(document["specs"])
