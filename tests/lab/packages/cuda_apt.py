# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NVIDIA's CUDA repository for apt: flat, one folder a distribution; and the same repository after a change of keys."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from dev.progress import step
from lab.packages import deb, driver, index, pool
from lab.packages.distributions import ARCHITECTURE, Distribution
from lab.packages.extras import deb_packages
from lab.packages.keys import Key, key, sign
from lab.packages.links import link
from lab.packages.package import FILES, Package
from lab.packages.packagings import packaging_of
from lab.packages.variables import CUDA, CUDA_EXPIRED, CUDA_ROTATED, SERVER
from lab.packages.versions import DRIVERS

PIN = FILES / "cuda-keyring/etc/apt/preferences.d/cuda-repository-pin-600"
# Base of the repositories -> key that signs the indexes there. The packages are the same, and so is cuda-keyring.
VARIANTS = (CUDA_ROTATED, CUDA_EXPIRED)
SIGNERS = {CUDA: "cuda", CUDA_ROTATED: "cuda-next", CUDA_EXPIRED: "cuda-retired"}


def build(distributions: Sequence[Distribution], out: Path) -> None:
    """Lays out cuda/<distro>/<arch>/ and its variants in `out` for distributions of one family."""
    family = distributions[0].family
    with step(f"building the CUDA repositories for {family}"), tempfile.TemporaryDirectory() as scratch:
        debs = Path(scratch) / "pool"
        debs.mkdir()
        pool.write_debs(_packages(distributions[0], Path(scratch) / "objects"), debs, Path(scratch))
        for distribution in distributions:
            folder = _repository(distribution, debs, out / CUDA, Path(scratch))
            for base in VARIANTS:
                _resign(folder, out / base / distribution.folder / ARCHITECTURE, key(SIGNERS[base]))
            withdraw(folder)
    for base, signer in SIGNERS.items():
        shutil.copyfile(key(signer).public, out / base / f"{key(signer).short_id}.pub")


def _packages(distribution: Distribution, objects: Path) -> Iterable[Package]:
    for release in distribution.releases:
        yield from driver.packages(release, packaging_of(distribution, release), objects)
    yield from deb_packages()


def _repository(distribution: Distribution, debs: Path, base: Path, scratch: Path) -> Path:
    folder, signer = base / distribution.folder / ARCHITECTURE, key(SIGNERS[CUDA])
    shutil.copytree(debs, folder, copy_function=link)
    deb.write(_keyring(distribution), folder, scratch)
    shutil.copyfile(signer.public, folder / f"{signer.short_id}.pub")
    shutil.copyfile(PIN, folder / f"cuda-{distribution.folder}.pin")
    index.write(folder, "NVIDIA", "NVIDIA CUDA", signer)
    return folder


def _resign(source: Path, folder: Path, signer: Key) -> None:
    """The same repository with signatures of another key."""
    shutil.copytree(source, folder, copy_function=link, ignore=shutil.ignore_patterns("InRelease", "*.gpg", "*.pub"))
    shutil.copyfile(signer.public, folder / f"{signer.short_id}.pub")
    sign(signer, folder / "Release")


def withdraw(folder: Path) -> None:
    """Removes the packages of releases that are only in the index any more."""
    for release in DRIVERS:
        if release.fault == "withdrawn":
            for path in folder.glob(f"*[_-]{release.version}-*"):
                path.unlink()


def _keyring(distribution: Distribution) -> Package:
    """NVIDIA's package that configures the repository: key, list, pin."""
    keyring = "usr/share/keyrings/cuda-archive-keyring.gpg"
    return Package(
        "cuda-keyring",
        "1.1-1",
        "GPG keyring for the CUDA repository",
        architecture="all",
        trees=("cuda-keyring",),
        tokens={"DISTRIBUTION": distribution.folder, "ARCHITECTURE": ARCHITECTURE, "BASE": f"{SERVER}/{CUDA}"},
        files={keyring: key("cuda").binary},
    )
