# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Python interpreters of this machine, and the virtual environments with ansible-core that are made from them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from . import cache, machine, progress

HERE = Path(__file__).parent
PIP_SECONDS = 900
# Interpreter's version as `python -c` prints it -> newest ansible-core that runs on it.
NEWEST = {"3.13": "2.21", "3.12": "2.21", "3.11": "2.19"}
OLDEST_CORE = "2.19"
# ansible-core 2.19 runs on these; the oldest is what Debian 12 users have.
FOR_OLDEST = ("3.11", "3.12", "3.13")
# Inside a virtual environment this names the interpreter that it was made from.
_PROBE = "import sys; v = '%d.%d' % sys.version_info[:2]; print(v, f'{sys.base_prefix}/bin/python{v}')"
_NAME = re.compile(r"python3(\.\d+)?$")


@dataclass(frozen=True)
class Leg:
    """One ansible-core with an interpreter to run it and the file of what else its environment holds."""

    core: str
    python: str
    interpreter: Path
    requirements: Path

    @property
    def title(self) -> str:
        return f"ansible-core {self.core} on Python {self.python}"


def newest_leg() -> Leg:
    """The newest ansible-core that an interpreter of this machine can run, with every tool. machine.Unfit if none."""
    found = interpreters()
    for python, core in NEWEST.items():
        if python in found:
            return Leg(core, python, found[python], HERE / "requirements.txt")
    names = ", ".join(NEWEST)
    raise machine.Unfit(f"No Python of {names} on PATH or below pyenv's versions: install the package python3")


def oldest_leg() -> Leg:
    """The oldest supported ansible-core."""
    found = interpreters()
    python = next(p for p in FOR_OLDEST if p in found)
    return Leg(OLDEST_CORE, python, found[python], HERE / "requirements-oldest.txt")


def legs() -> list[Leg]:
    """The ansible-core releases that this machine can test, oldest first; says loudly when the newest is left out."""
    newest, oldest = newest_leg(), oldest_leg()
    if newest.core == oldest.core:
        progress.say(f"NOT TESTED: ansible-core after {newest.core}, as it needs Python 3.12 or later and none is here")
        return [newest]
    return [oldest, newest]


def environment(leg: Leg) -> Path:
    """The cached virtual environment of a leg."""
    inputs: list[bytes | str | Path] = [leg.core, leg.python, str(leg.interpreter), leg.requirements]
    return cache.artifact_in_place("venv", inputs, lambda out: _make(leg, out))


def interpreters() -> dict[str, Path]:
    """Version as in `3.12` -> interpreter; pyenv's own before those on PATH, the newest patch release of each."""
    candidates = sorted(_found(_pyenv(), "versions/3.*/bin/python3"), key=_patch_release, reverse=True)
    for directory in os.environ.get("PATH", "").split(":"):
        candidates += sorted(_found(Path(directory or "."), "python3.[0-9]*"))
    candidates += [Path(p) for p in (shutil.which("python3"), "/usr/bin/python3") if p]
    found: dict[str, Path] = {}
    for candidate in candidates:
        version, path = _probe(candidate)
        if version:
            found.setdefault(version, path)
    return found


def _found(folder: Path, pattern: str) -> list[Path]:
    """What a folder has; nothing where it may not be read, as PATH may name folders of another user's."""
    return list(folder.glob(pattern)) if os.access(folder, os.R_OK | os.X_OK) else []


def _pyenv() -> Path:
    """pyenv's folder; `su` keeps another user's PYENV_ROOT, which may not be ours to read."""
    named = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    return named if os.access(named, os.R_OK | os.X_OK) else Path.home() / ".pyenv"


def _patch_release(path: Path) -> tuple[int, ...]:
    return tuple(int(part) for part in path.parents[1].name.split(".") if part.isdigit())


def _probe(candidate: Path) -> tuple[str, Path]:
    """Version and path of the interpreter itself; an empty version for what is none, as a pyenv shim."""
    # What may not be run, or stands in a folder that may not be entered, is none either.
    if "shims" in candidate.parts or not _NAME.match(candidate.name) or not os.access(candidate, os.X_OK):
        return "", candidate
    done = subprocess.run([candidate, "-Ic", _PROBE], capture_output=True, text=True, check=False)
    version, path = [*done.stdout.split(maxsplit=1), "", ""][:2]
    return version, Path(path.strip())


def _make(leg: Leg, out: Path) -> None:
    with progress.step(f"installing {leg.title}"):
        if not _has_venv(leg.interpreter):
            machine.install_packages([f"python{leg.python}-venv"])
        progress.run([leg.interpreter, "-m", "venv", out], timeout=PIP_SECONDS)
        wanted: list[str | Path] = [f"ansible-core=={leg.core}.*", "-r", leg.requirements]
        progress.run([out / "bin/pip", "install", "--no-input", "--quiet", *wanted], timeout=PIP_SECONDS)


def _has_venv(interpreter: Path) -> bool:
    probe = [str(interpreter), "-c", "import ensurepip, venv"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0
