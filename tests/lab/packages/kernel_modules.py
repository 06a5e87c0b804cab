# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compiles and signs the driver's kernel modules ahead, for packages that bring them without DKMS.

It is done in the root file system of the hosts, with their compiler and linker, so that what a host links is the same.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dev.cache import artifact
from dev.progress import run, step
from lab.packages import headers
from lab.packages.distributions import Distribution
from lab.packages.module_keys import ModuleKey, module_key
from lab.packages.package import FILES, Package
from lab.packages.package import lay as lay_package
from lab.packages.tables.component import LICENSES
from lab.packages.versions import Driver
from lab.rootfs import rootfs

SOURCE = "nvidia-kernel-source"
MODULES = ("nvidia", "nvidia-modeset", "nvidia-drm", "nvidia-uvm", "nvidia-peermem")
# An overlay that nobody else sees, gone with the last process in it.
INSIDE = """
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2,workdir=$3" "$4" && mount --rbind /dev "$4/dev" || exit 1
root=$4; shift 4; exec chroot "$root" "$@"
"""
# Per module: what a host links, the link itself (a package's script does the same), and a signature to append.
BUILD = """
set -e
headers=/usr/lib/modules/$1/build; shift
for name; do
    cd "/build/$name"
    make -s -C "$headers" M="$PWD" KCFLAGS=-g0 modules
    cp "$headers/arch/x86/module.lds" .
    for module in $MODULES; do
        ld -r -m elf_x86_64 -z noexecstack --build-id=sha1 -T module.lds -o $module.ko $module.o $module.mod.o
        /usr/lib/linux-kbuild-*/scripts/sign-file sha256 ../secret.pem ../certificate.der $module.ko $module.signed
        tail -c +$(($(stat -c %s $module.ko) + 1)) $module.signed >$module.ko.sig
    done
done
"""


@dataclass(frozen=True)
class Build:
    """Modules of one release; `flavour` is a key of LICENSES."""

    driver: Driver
    flavour: str

    @property
    def name(self) -> str:
        """Of its folder among others."""
        return f"{self.driver.version}{self.flavour}"


def parts() -> list[str]:
    """Names of the files that a host makes modules of: what it links, and signatures to append to the result."""
    return ["module.lds", *(f"{module}{end}" for module in MODULES for end in (".o", ".mod.o", ".ko.sig"))]


def compiled(distribution: Distribution, debs: Path, builds: Sequence[Build], signer: str) -> Path:
    """A folder in the cache with a folder for each of the builds, which holds `parts`.

    `debs` is the Debian repository of the distribution's suite, `signer` one of module_keys.SIGNERS. Raises
    CommandFailed.
    """
    here, lower, keys = Path(__file__).parent, rootfs(distribution.suite), module_key(signer)
    inputs: list[bytes | str | Path] = [here / "kernel_modules.py", here / "headers.py", FILES / SOURCE]
    inputs += [f"{debs} {lower} {distribution.kernel}", keys.certificate, *(row.name for row in builds)]
    return artifact("packages-modules", inputs, lambda out: _compile(distribution, debs, builds, keys, out))


def _compile(distribution: Distribution, debs: Path, builds: Sequence[Build], signer: ModuleKey, out: Path) -> None:
    kernel = distribution.kernel
    with step(f"compiling modules for {kernel}"), tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        upper = scratch / "upper"
        for path in (upper / "build", scratch / "work", scratch / "merged"):
            path.mkdir(parents=True)
        headers.lay(debs, kernel, f"usr/src/linux-headers-{kernel}", upper)
        headers.lay_common(debs, upper)
        for path in (signer.secret, signer.certificate):
            shutil.copy(path, upper / "build" / path.name)
        for row in builds:
            _lay_source(row, upper / "build", scratch)
        names = [row.name for row in builds]
        places: list[str | Path] = [rootfs(distribution.suite), upper, scratch / "work", scratch / "merged"]
        command = ["env", f"MODULES={' '.join(MODULES)}", "sh", "-c", BUILD, "build", kernel, *names]
        run(["unshare", "--mount", "--propagation", "private", "sh", "-c", INSIDE, "inside", *places, *command])
        for name in names:
            (out / name).mkdir()
            for part in parts():
                shutil.copy(upper / "build" / name / part, out / name / part)


def _lay_source(row: Build, folder: Path, scratch: Path) -> None:
    tree, driver = Path(tempfile.mkdtemp(dir=scratch)), row.driver
    values = {
        "VERSION": driver.version,
        "BRANCH": str(driver.branch),
        "LICENSE": LICENSES[row.flavour],
        "DKMS": "nvidia",
    }
    lay_package(Package("", "", "", trees=(SOURCE,), tokens=values), tree)
    shutil.move(next((tree / "usr/src").iterdir()), folder / row.name)
