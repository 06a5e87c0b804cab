# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the lab's HTTP server shows to hosts: NVIDIA's repositories and those of the distributions."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from dev.cache import artifact
from lab.cluster import programs
from lab.packages import cuda_apt, cuda_dnf, debian, el_base, gdrcopy, toolkit, ubuntu_archive
from lab.packages.distributions import DISTRIBUTIONS, Distribution, of_family
from lab.packages.keys import KINDS, key
from lab.packages.links import link
from lab.packages.module_keys import module_key
from lab.packages.variables import DEBIAN, EL, SERVER, TOOLKIT, UBUNTU
from simulator.build import artifact_dir as simulator_dir

# Debian packages that the machine which builds the repositories needs.
OUTER_PACKAGES = (
    "apt-utils",
    "binutils",
    "createrepo-c",
    "debian-archive-keyring",
    "dpkg-dev",
    "gcc",
    "gnupg",
    "openssl",
    "rpm",
    "util-linux",
)
HERE = Path(__file__).resolve().parent
MOST_AT_ONCE = 4  # repositories that are built side by side


def parts(folders: Iterable[str]) -> dict[str, Path]:
    """What hosts of these distributions need: path below the server -> folder or file in the cache.

    `folders` are names of the CUDA repository's. Every part is cached by itself; what no host needs is not built.
    """
    wanted = [DISTRIBUTIONS[folder] for folder in folders]
    found: dict[str, Path] = {}
    with ThreadPoolExecutor(MOST_AT_ONCE) as pool:
        for done in [pool.submit(maker) for maker in _makers(wanted)]:
            found |= done.result()
    return found


def _makers(wanted: Sequence[Distribution]) -> Iterator[Callable[[], dict[str, Path]]]:
    yield lambda: {TOOLKIT: toolkit_dir()}
    for family in dict.fromkeys(row.family for row in wanted if row.family != "el"):
        names = [row.folder for row in wanted if row.family == family]
        yield partial(_entries, partial(cuda_apt_dir, family), names)
    for row in wanted:
        yield partial(_part, gdrcopy.path(row), partial(gdrcopy_dir, row.folder))
        if row.family == "debian":
            yield partial(_part, f"{DEBIAN}/{row.suite}", partial(debian_dir, row.suite))
        elif row.family == "ubuntu":
            yield partial(_part, UBUNTU, partial(ubuntu_dir, row.folder))
        else:
            yield partial(_part, f"{EL}/{row.folder}", partial(el_dir, row.folder))
            yield partial(_entries, partial(cuda_dnf_dir, row.folder), [row.folder])


def _part(path: str, make: Callable[[], Path]) -> dict[str, Path]:
    return {path: make()}


def _entries(make: Callable[[], Path], names: Sequence[str]) -> dict[str, Path]:
    """The folders of these distributions in a built CUDA repository, and the files beside them."""
    entries = (entry for base in make().iterdir() for entry in base.iterdir())
    return {f"{entry.parent.name}/{entry.name}": entry for entry in entries if entry.is_file() or entry.name in names}


def build(out: Path) -> None:
    """Everything for all distributions, laid out in `out` (absent or empty)."""
    for path, source in parts(DISTRIBUTIONS).items():
        target = out / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, copy_function=link)
        else:
            link(str(source), str(target))


def key_fingerprint() -> str:
    """Fingerprint of the key that signs the CUDA repositories for apt."""
    return key("cuda").fingerprint


def cuda_apt_dir(family: str) -> Path:
    """cuda/<distro>/<arch>/ with the driver packages for the distributions of a family, also signed by other keys."""
    inputs = [*_inputs(), family, simulator_dir()]
    return artifact("packages-cuda", inputs, lambda out: cuda_apt.build(of_family(family), out))


def toolkit_dir() -> Path:
    """The repository of the container toolkit, with its real programs."""
    return artifact("packages-toolkit", [*_inputs(), programs.group("toolkit")], toolkit.build)


def debian_dir(suite: str) -> Path:
    """Real Debian packages of `suite`; newer ones in the archive do not count until the cache is cleared."""
    inputs: list[bytes | str | Path] = [suite, HERE / "debian.py", key("debian").fingerprint]
    return artifact("packages-debian", inputs, lambda out: debian.build(suite, out))


def ubuntu_dir(folder: str) -> Path:
    """The stand-in for the archive of a simulated Ubuntu, by its folder in the CUDA repository."""
    distribution = DISTRIBUTIONS[folder]
    debs = debian_dir(distribution.suite)
    inputs = [*_inputs(), f"{debs}", simulator_dir(), module_key("canonical").certificate]
    return artifact("packages-ubuntu", inputs, lambda out: ubuntu_archive.build(distribution, debs, out))


def el_dir(folder: str) -> Path:
    """Stand-ins for the repositories of a simulated EL, by its folder in the CUDA repository."""
    distribution = DISTRIBUTIONS[folder]
    debs = debian_dir(distribution.suite)
    inputs = [*_inputs(), f"{folder} {debs}"]
    return artifact("packages-el", inputs, lambda out: el_base.build(distribution, debs, out))


def cuda_dnf_dir(folder: str) -> Path:
    """cuda/<distro>/<arch>/ with the driver packages for a simulated EL, also signed by another key."""
    distribution = DISTRIBUTIONS[folder]
    debs = debian_dir(distribution.suite)
    inputs = [*_inputs(), f"{folder} {debs}", simulator_dir(), module_key("nvidia").certificate]
    return artifact("packages-cuda", inputs, lambda out: cuda_dnf.build(distribution, debs, out))


def gdrcopy_dir(folder: str) -> Path:
    """Packages of GDRCopy, to download one by one, for the distribution with this folder in the CUDA repository."""
    return artifact("packages-gdrcopy", [*_inputs(), folder], partial(gdrcopy.build, DISTRIBUTIONS[folder]))


def _inputs() -> list[bytes | str | Path]:
    fingerprints = (key(kind).fingerprint for kind in KINDS)
    return [HERE / "files", HERE / "tables", *sorted(HERE.glob("*.py")), *fingerprints, SERVER]
