# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wanted of the MIG layouts of a host, and what that means for its GPUs. Private to this collection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .mig import Decision, plan_mig
from .mig_config_file import ConfigError, Target, parse_config, resolve, select_config
from .mig_documents import checkpoint_targets
from .mig_findings import config_finding
from .mig_layout import MigGpu
from .mig_named import named_layouts

SCHEMA = 1


@dataclass(frozen=True)
class MigWish:
    """Options of mig_config. Without ``config`` the layouts are those that need none (all-disabled, all-1g.5gb ...).

    ``gpu_clients`` are systemd units that are stopped around a change that disrupts; ``coming_clients`` are those that
    will run by then, though no driver is loaded yet.
    """

    config: Mapping[str, Any] | None = None
    selected_config: str | None = None
    mode_only: bool = False
    skip_reset: bool = False
    checkpoint: Mapping[str, Any] | None = None
    gpu_clients: tuple[str, ...] = ()
    coming_clients: tuple[str, ...] = ()

    def check(self) -> None:
        """Everything that can be wrong without looking at the GPUs. Raises ConfigError."""
        if self.checkpoint is None and self.config is not None:
            select_config(parse_config(self.config), self.selected_config)

    def name(self) -> str | None:
        """Name of the layout, None for a checkpoint. Raises ConfigError."""
        if self.checkpoint is not None:
            return None
        if self.config is None:
            return self.selected_config
        return select_config(parse_config(self.config), self.selected_config)[0]

    def targets(self, gpus: Sequence[MigGpu]) -> dict[int, Target]:
        """GPU index -> what it has to be. Raises ConfigError."""
        if self.checkpoint is not None:
            return checkpoint_targets(self.checkpoint, gpus)
        if self.config is None and not gpus:
            return {}
        document = named_layouts(gpus) if self.config is None else self.config
        _name, entries = select_config(parse_config(document), self.selected_config)
        return resolve(entries, gpus)

    def targets_or_none(self, gpus: Sequence[MigGpu]) -> dict[int, Target]:
        """Like ``targets``, empty where the wish cannot be met: for reports beside the error."""
        try:
            return self.targets(gpus)
        except ConfigError:
            return {}

    def decide(self, gpus: Sequence[MigGpu], stoppable: Iterable[int] = ()) -> Decision:
        """The plan for these GPUs; a wish that cannot be met is an error finding."""
        try:
            targets = self.targets(gpus)
        except ConfigError as error:
            return Decision(findings=(config_finding(error),))
        return plan_mig(gpus, targets, mode_only=self.mode_only, skip_reset=self.skip_reset, stoppable=stoppable)

    def document(self) -> dict[str, Any]:
        """The form in which a wish is saved for the next boot; only what was selected is kept of a config."""
        config = self.config
        if config is not None and self.checkpoint is None:
            name, _entries = select_config(parse_config(config), self.selected_config)
            config = {"version": config["version"], "mig-configs": {name: config["mig-configs"][name]}}
        return {
            "schema": SCHEMA,
            "config": config,
            "selected_config": self.selected_config,
            "mode_only": self.mode_only,
            "checkpoint": self.checkpoint,
            "gpu_clients": list(self.gpu_clients),
        }


def parse_wish(document: Any) -> MigWish:
    """The wish out of its saved form. Raises ConfigError."""
    if not isinstance(document, Mapping) or document.get("schema") != SCHEMA:
        found = document.get("schema") if isinstance(document, Mapping) else document
        message = f"the saved wish has schema {found!r}, wanted {SCHEMA}; run role mig again"
        raise ConfigError("invalid_config", message)
    return MigWish(
        config=document.get("config"),
        selected_config=document.get("selected_config"),
        mode_only=bool(document.get("mode_only")),
        checkpoint=document.get("checkpoint"),
        gpu_clients=tuple(document.get("gpu_clients") or ()),
    )
