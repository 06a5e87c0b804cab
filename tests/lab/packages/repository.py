# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The folder that the lab's HTTP server shows to hosts: NVIDIA's two repositories and one of Debian for each suite."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from dev.cache import artifact
from dev.progress import step
from lab.cluster import programs
from lab.packages import deb, debian, driver, index, toolkit
from lab.packages.keys import key
from lab.packages.variables import CUDA, SERVER, TOOLKIT
from lab.packages.versions import ARCHITECTURE, DISTRIBUTIONS, DRIVERS
from simulator.build import artifact_dir as simulator_dir

# Debian packages that the machine which builds the repositories needs.
OUTER_PACKAGES = ("apt-utils", "dpkg-dev", "gcc", "gnupg", "debian-archive-keyring")
HERE = Path(__file__).resolve().parent
TOOLKIT_ARCHITECTURE = "amd64"
TOOLKIT_LIST = f"deb {SERVER}/{TOOLKIT}/stable/deb/$(ARCH) /\n#deb {SERVER}/{TOOLKIT}/experimental/deb/$(ARCH) /\n"


def artifact_dir() -> Path:
    """The whole folder; its parts are cached one by one, so that a change in one does not rebuild the others."""
    makers: dict[str, Callable[[], Path]] = {CUDA: cuda_dir, TOOLKIT: toolkit_dir}
    makers |= {f"debian/{suite}": partial(debian_dir, suite) for suite in DISTRIBUTIONS.values()}
    with ThreadPoolExecutor(len(makers)) as pool:
        pending = {name: pool.submit(make) for name, make in makers.items()}
        parts = {name: part.result() for name, part in pending.items()}
    return artifact("packages", [f"{name} {path}" for name, path in parts.items()], lambda out: _join(parts, out))


def build(out: Path) -> None:
    """As `artifact_dir`, laid out in `out` (absent or empty)."""
    shutil.copytree(artifact_dir(), out, copy_function=_link, dirs_exist_ok=True)


def key_fingerprint() -> str:
    """Fingerprint of the key that signs the CUDA repositories."""
    return key("cuda").fingerprint


def cuda_dir() -> Path:
    """<distro>/<arch>/ with the driver packages, below the base that `driver_repository_url` names."""
    inputs: list[bytes | str | Path] = [*_sources(), simulator_dir(), key_fingerprint(), SERVER]
    return artifact("packages-cuda", inputs, _cuda)


def toolkit_dir() -> Path:
    """The repository of the container toolkit, with its real programs."""
    inputs: list[bytes | str | Path] = [*_sources(), programs.group("toolkit"), key("toolkit").fingerprint, SERVER]
    return artifact("packages-toolkit", inputs, _toolkit)


def debian_dir(suite: str) -> Path:
    """Real Debian packages of `suite`; newer ones in the archive do not count until the cache is cleared."""
    inputs: list[bytes | str | Path] = [suite, HERE / "debian.py", key("debian").fingerprint]
    return artifact("packages-debian", inputs, lambda out: debian.build(suite, out))


def _sources() -> list[Path]:
    return [HERE / "files", *sorted(HERE.glob("*.py"))]


def _cuda(out: Path) -> None:
    signer = key("cuda")
    with step("building the CUDA repositories"), tempfile.TemporaryDirectory() as scratch:
        pool = Path(scratch) / "pool"
        pool.mkdir()
        for release in DRIVERS:
            driver.build(release, pool, Path(scratch))
        for distribution in DISTRIBUTIONS:
            folder = out / distribution / ARCHITECTURE
            shutil.copytree(pool, folder)
            deb.write(_keyring(distribution), folder, Path(scratch))
            shutil.copyfile(signer.public, folder / f"{signer.short_id}.pub")
            pin = deb.FILES / "cuda-keyring/etc/apt/preferences.d/cuda-repository-pin-600"
            shutil.copyfile(pin, folder / f"cuda-{distribution}.pin")
            index.write(folder, "NVIDIA", "NVIDIA CUDA", signer)
        shutil.copyfile(signer.public, out / f"{signer.short_id}.pub")


def _keyring(distribution: str) -> deb.Package:
    """NVIDIA's package that configures the repository: key, list, pin."""
    keyring = "usr/share/keyrings/cuda-archive-keyring.gpg"
    return deb.Package(
        "cuda-keyring",
        "1.1-1",
        "GPG keyring for the CUDA repository",
        architecture="all",
        trees=("cuda-keyring",),
        tokens={"DISTRIBUTION": distribution, "ARCHITECTURE": ARCHITECTURE, "BASE": f"{SERVER}/{CUDA}"},
        files={keyring: key("cuda").binary},
    )


def _toolkit(out: Path) -> None:
    signer = key("toolkit")
    with step("building the container toolkit's repository"), tempfile.TemporaryDirectory() as scratch:
        stable = out / "stable/deb"
        folder = stable / TOOLKIT_ARCHITECTURE
        folder.mkdir(parents=True)
        for package in toolkit.packages(Path(scratch) / "objects"):
            deb.write(package, folder, Path(scratch))
        index.write(folder, "NVIDIA", "NVIDIA container toolkit", signer)
        shutil.copyfile(signer.public, out / "gpgkey")
        (stable / "nvidia-container-toolkit.list").write_text(TOOLKIT_LIST)


def _join(parts: dict[str, Path], out: Path) -> None:
    for name, path in parts.items():
        shutil.copytree(path, out / name, copy_function=_link)


def _link(source: str, target: str) -> None:
    """Hard links, since all parts lie in one cache; a copy where `build` goes to another file system."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
