# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Told = Callable[..., str]


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("GPU_FLEET_DEV_LOG", str(tmp_path / "dev.log"))


@pytest.fixture
def told() -> Told:
    """Runs a command that has to succeed; what it prints."""

    def run(*command: str | Path) -> str:
        return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=True).stdout

    return run
