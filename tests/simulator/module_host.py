# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulated machine on which the collection's modules run, without a connection in between."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from simulator.build import artifact_dir
from simulator.runner import Runner
from simulator.sandbox import Sandbox
from simulator.state import State, edit

BOOT = "boot"
RUNNER = Runner(artifact_dir() / "lib")


class Host:
    """A simulated machine on which modules run."""

    def __init__(self, folder: Path, machine: str | Sequence[str] | State) -> None:
        self.box = Sandbox(folder, machine)
        self.box.environment["PATH"] = f"{artifact_dir() / 'bin'}:/usr/bin:/bin"
        self.root = folder

    def module(self, name: str, *, check: bool = False, by_mode: bool = False, **options: Any) -> dict[str, Any]:
        """The module's result; in ``writes`` the NVML calls that changed something. ``by_mode``: see Runner.run."""
        arguments = {"host_root": str(self.root), "_ansible_check_mode": check, **options}
        before = len(self.box.writes)
        _status, said = RUNNER.run(self.box.environment, name, arguments, by_mode=by_mode)
        assert said.strip().startswith("{"), said
        return {**json.loads(said), "writes": self.box.writes[before:]}

    def layout(self, **options: Any) -> dict[str, Any]:
        return self.module("mig_config", **options)

    def want(self, devices: dict[str, int], **options: Any) -> dict[str, Any]:
        entry = {"devices": "all", "mig-enabled": True, "mig-devices": devices}
        return self.layout(config={"version": "v1", "mig-configs": {"want": [entry]}}, **options)

    def boot(self) -> tuple[int, str]:
        """Exit status and texts of the boot-time verb."""
        return RUNNER.run(self.box.environment, BOOT, {"host_root": str(self.root)})

    def set_gpu(self, index: int = 0, **values: str) -> None:
        with edit(self.box.state_path) as state:
            state.gpus[index].update(values)

    def wish_path(self) -> Path:
        return self.root / "var/lib/gpu-fleet/mig/wish.yaml"
