# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The folder that the lab's HTTP server shows to hosts: NVIDIA's repositories and one of Debian for each suite."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from dev.cache import artifact
from lab.cluster import programs
from lab.packages import cuda_apt, debian, toolkit
from lab.packages.distributions import SUITES, of_family
from lab.packages.keys import KINDS, key
from lab.packages.links import link
from lab.packages.variables import SERVER, TOOLKIT
from simulator.build import artifact_dir as simulator_dir

# Debian packages that the machine which builds the repositories needs.
OUTER_PACKAGES = ("apt-utils", "binutils", "dpkg-dev", "gcc", "gnupg", "debian-archive-keyring")
HERE = Path(__file__).resolve().parent


def artifact_dir() -> Path:
    """The whole folder; its parts are cached one by one, so that a change in one does not rebuild the others."""
    makers: dict[str, Callable[[], Path]] = {"": cuda_apt_dir, TOOLKIT: toolkit_dir}
    makers |= {f"debian/{suite}": partial(debian_dir, suite) for suite in SUITES}
    with ThreadPoolExecutor(len(makers)) as pool:
        pending = {name: pool.submit(make) for name, make in makers.items()}
        parts = {name: part.result() for name, part in pending.items()}
    return artifact("packages", [f"{name} {path}" for name, path in parts.items()], lambda out: _join(parts, out))


def build(out: Path) -> None:
    """As `artifact_dir`, laid out in `out` (absent or empty)."""
    shutil.copytree(artifact_dir(), out, copy_function=link, dirs_exist_ok=True)


def key_fingerprint() -> str:
    """Fingerprint of the key that signs the CUDA repositories for apt."""
    return key("cuda").fingerprint


def cuda_apt_dir() -> Path:
    """cuda/<distro>/<arch>/ with the driver packages for Debian, and the same signed by other keys."""
    return artifact(
        "packages-cuda", [*_inputs(), simulator_dir()], lambda out: cuda_apt.build(of_family("debian"), out)
    )


def toolkit_dir() -> Path:
    """The repository of the container toolkit, with its real programs."""
    return artifact("packages-toolkit", [*_inputs(), programs.group("toolkit")], toolkit.build)


def debian_dir(suite: str) -> Path:
    """Real Debian packages of `suite`; newer ones in the archive do not count until the cache is cleared."""
    inputs: list[bytes | str | Path] = [suite, HERE / "debian.py", key("debian").fingerprint]
    return artifact("packages-debian", inputs, lambda out: debian.build(suite, out))


def _inputs() -> list[bytes | str | Path]:
    fingerprints = (key(kind).fingerprint for kind in KINDS)
    return [HERE / "files", HERE / "tables", *sorted(HERE.glob("*.py")), *fingerprints, SERVER]


def _join(parts: dict[str, Path], out: Path) -> None:
    for name, path in parts.items():
        shutil.copytree(path, out / name, copy_function=link, dirs_exist_ok=True)
