# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stand-ins for the repositories of an EL distribution: BaseOS with the kernel's headers, and EPEL with dkms."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from dev.progress import output, run, step
from lab.packages import dnf_index, headers, pool
from lab.packages.distributions import ARCHITECTURE, Distribution
from lab.packages.keys import key
from lab.packages.package import Package
from lab.packages.packagings import RPM_ARCHITECTURES
from lab.packages.tables.el_base import DKMS_REQUIRES, EPOCHS, KERNEL, STUBS, Stub

BASE, EPEL = "BaseOS", "EPEL"
# Parts of Debian's package of dkms that one for EL has, too.
DKMS_PARTS = ("etc/dkms", "etc/modprobe.d", "usr/lib", "usr/sbin", "usr/share/man")


def build(distribution: Distribution, debs: Path, out: Path) -> None:
    """Lays out both repositories in `out`; `debs` is the Debian repository of the distribution's suite."""
    signer = key("el")
    title = f"building the base repositories of {distribution.folder}"
    with step(title), tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        contents = {
            BASE: [*(stub(row, distribution) for row in STUBS), kernel_devel(distribution, debs, scratch)],
            EPEL: [dkms(distribution, debs, scratch)],
        }
        for name, packages in contents.items():
            target = out / name / ARCHITECTURE
            target.mkdir(parents=True)
            pool.write_rpms(packages, target, scratch, signer)
            dnf_index.write(target, signer)
    shutil.copyfile(signer.public, out / "RPM-GPG-KEY-lab")


def mark(distribution: Distribution) -> str:
    """The distribution's mark in releases, such as .el9."""
    return f".el{distribution.folder.removeprefix('rhel')}"


def kernel_version(distribution: Distribution) -> str:
    """Version and release of the kernel's packages: uname's release without the machine."""
    return distribution.kernel.removesuffix(f".{ARCHITECTURE}")


def stub(row: Stub, distribution: Distribution) -> Package:
    """The package of a row."""
    kernel = kernel_version(distribution)
    version = kernel if row.version == KERNEL else f"{row.version}{mark(distribution)}"
    epoch = f"{EPOCHS[row.name]}:" if row.name in EPOCHS else ""
    return Package(
        row.name,
        f"{epoch}{version}",
        "part of the distribution",
        RPM_ARCHITECTURES[row.of_all],
        {"Requires": ", ".join(row.requires).format(k=kernel)},
    )


def kernel_devel(distribution: Distribution, debs: Path, scratch: Path) -> Package:
    """Debian's headers under the kernel's release; all of them, since hosts of EL have no other packages of Debian."""
    tree = Path(tempfile.mkdtemp(dir=scratch))
    headers.lay(debs, distribution.kernel, f"usr/src/kernels/{distribution.kernel}", tree)
    headers.lay_common(debs, tree)
    return Package(
        "kernel-devel",
        kernel_version(distribution),
        "headers to build modules",
        ARCHITECTURE,
        folders={"usr": tree / "usr"},
    )


def dkms(distribution: Distribution, debs: Path, scratch: Path) -> Package:
    """dkms itself, which is the same program on all distributions."""
    source = next(debs.glob("dkms_*.deb"))
    tree = Path(tempfile.mkdtemp(dir=scratch))
    run(["dpkg-deb", "--extract", source, tree])
    version = output(["dpkg-deb", "--field", source, "Version"]).partition("-")[0]
    return Package(
        "dkms",
        f"{version}-1{mark(distribution)}",
        "builds modules for each kernel",
        "noarch",
        {"Requires": ", ".join(DKMS_REQUIRES)},
        folders={name: tree / name for name in DKMS_PARTS},
    )
