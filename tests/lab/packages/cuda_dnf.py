# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NVIDIA's CUDA repository for dnf: module streams and precompiled modules up to EL 9, plain packages since EL 10."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from dev.progress import output, step
from lab.packages import dnf_index, driver, modules_yaml, pool, rpm
from lab.packages.cuda_apt import withdraw
from lab.packages.distributions import ARCHITECTURE, Distribution
from lab.packages.el_base import kernel_version, mark
from lab.packages.extras import rpm_packages
from lab.packages.kernel_modules import MODULES, Build, compiled, parts
from lab.packages.keys import Key, key
from lab.packages.modules_yaml import BINARY, OPEN, PRECOMPILED, Artifact
from lab.packages.package import Package
from lab.packages.packagings import packaging_of
from lab.packages.tables.component import OPEN_ONLY_FROM, of_branch
from lab.packages.variables import CUDA, CUDA_ROTATED, SERVER
from lab.packages.versions import BRANCHES, Driver, newest

STREAMS_UNTIL = 9
# Branches with modules that are compiled for the lab's kernel already; NVIDIA has them for all.
PRECOMPILED_BRANCHES = (580, 595)
# The one release that is there again, signed by the next key.
ROTATED = newest(595)
QUERY = "%{NAME}\\t%{EPOCHNUM}:%{VERSION}-%{RELEASE}.%{ARCH}\\t%{VERSION}\\n"


def build(distribution: Distribution, debs: Path, out: Path) -> None:
    """Lays out cuda/<distro>/<arch>/ and its variant in `out`; `debs` is the Debian repository of its suite."""
    with step(f"building the CUDA repository for {distribution.folder}"), tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        target = out / CUDA / distribution.folder / ARCHITECTURE
        target.mkdir(parents=True)
        pool.write_rpms(_packages(distribution, debs, scratch), target, scratch, key("cuda-rpm"))
        _finish(distribution, target, CUDA, key("cuda-rpm"))
        withdraw(target)
        rotated = out / CUDA_ROTATED / distribution.folder / ARCHITECTURE
        rotated.mkdir(parents=True)
        for path in target.glob(f"*-{ROTATED.version}-*.rpm"):
            shutil.copyfile(path, rotated / path.name)
        rpm.sign(sorted(rotated.iterdir()), key("cuda-next"))
        _finish(distribution, rotated, CUDA_ROTATED, key("cuda-next"))


def _packages(distribution: Distribution, debs: Path, scratch: Path) -> Iterator[Package]:
    for release in distribution.releases:
        yield from driver.packages(release, packaging_of(distribution, release), scratch / "objects")
    yield from rpm_packages()
    if _has_streams(distribution):
        yield from _precompiled(distribution, debs)


def _has_streams(distribution: Distribution) -> bool:
    return int(distribution.folder.removeprefix("rhel")) <= STREAMS_UNTIL


def _precompiled(distribution: Distribution, debs: Path) -> Iterator[Package]:
    builds = [Build(newest(branch), "") for branch in PRECOMPILED_BRANCHES]
    folder = compiled(distribution, debs, builds, "nvidia")
    for row in builds:
        yield kernel_package(distribution, row.driver, folder / row.name)


def kernel_package(distribution: Distribution, release: Driver, built: Path) -> Package:
    """kmod-nvidia-<driver>-<kernel>, which links its modules on the host (NVIDIA/yum-packaging-precompiled-kmod)."""
    kernel = kernel_version(distribution)
    number, _dash, rest = kernel.rpartition("-")
    of_kernel = rest.removesuffix(rest[rest.index(".el") :])
    folder = f"usr/lib64/nvidia/{ARCHITECTURE}/{release.version}/{kernel}"
    return Package(
        f"kmod-nvidia-{release.version}-{number}-{of_kernel}",
        f"3:{release.version}-3{rest.removeprefix(of_kernel)}",
        "NVIDIA kernel modules, compiled",
        ARCHITECTURE,
        {
            "Provides": f"kernel-modules = {distribution.kernel}, nvidia-kmod = 3:{release.version}",
            "Requires": f"(kernel = {kernel} if kernel)",
            "Supplements": f"(nvidia-driver = 3:{release.version} and kernel = {kernel})",
            "Conflicts": "kmod-nvidia-latest-dkms",
        },
        trees=("kmod-nvidia",),
        tokens={"KERNEL": distribution.kernel, "FOLDER": f"/{folder}", "MODULES": " ".join(MODULES)},
        files={f"{folder}/{name}": built / name for name in parts()},
    )


def _finish(distribution: Distribution, folder: Path, base: str, signer: Key) -> None:
    """Index, streams, the .repo file and the key of a repository."""
    url, name = f"{SERVER}/{base}/{distribution.folder}/{ARCHITECTURE}", f"cuda-{distribution.folder}"
    modules = ""
    if _has_streams(distribution):
        found = list(artifacts(folder.glob("*.rpm"), distribution))
        kinds = {branch: kinds_of(branch) for branch in BRANCHES if any(row.branch == branch for row in found)}
        modules = modules_yaml.render(modules_yaml.documents(found, kinds, mark(distribution)))
    dnf_index.write(folder, signer, modules)
    key_file = f"{signer.short_id}.pub"
    shutil.copyfile(signer.public, folder / key_file)
    repository = folder / f"{name}.repo"
    dnf_index.write_repository_file(repository, f"{name}-{ARCHITECTURE}", url, f"{url}/{key_file}")


def kinds_of(branch: int) -> tuple[str, ...]:
    """The kinds of kernel modules that a branch has, as ends of names of streams."""
    binary = (BINARY,) if branch < OPEN_ONLY_FROM else ()
    return (*((PRECOMPILED,) if branch in PRECOMPILED_BRANCHES else ()), *binary, OPEN)


def artifacts(files: Iterable[Path], distribution: Distribution) -> Iterator[Artifact]:
    """The packages that streams are made of: those of the driver, not those beside it (genmodules.py, BRANCH_PKGS)."""
    branches = {release.version: release.branch for release in distribution.releases}
    names = {branch: set(_stream_names(distribution, branch)) for branch in BRANCHES}
    for line in output(["rpm", "-qp", "--nosignature", "--queryformat", QUERY, *sorted(files)]).splitlines():
        name, rest, version = line.split("\t")
        branch = branches.get(version)
        if branch and (name in names[branch] or name.startswith("kmod-nvidia-")):
            yield Artifact(name, f"{name}-{rest}", branch, version == newest(branch).version)


def _stream_names(distribution: Distribution, branch: int) -> Iterator[str]:
    for row in of_branch(packaging_of(distribution, newest(branch)).rows, branch):
        if row.version == "{p}" or row.name in modules_yaml.FABRIC_MANAGER:
            yield row.name
