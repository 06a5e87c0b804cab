# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compiles and signs the driver's kernel modules ahead, for packages that bring them without DKMS.

It is done in the root file system of the hosts, with their compiler and linker, so that what a host links is the same.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dev.progress import run
from lab.packages import headers
from lab.packages.distributions import Distribution
from lab.packages.module_keys import ModuleKey
from lab.packages.package import Package
from lab.packages.package import lay as lay_package
from lab.packages.tables.component import LICENSES
from lab.packages.versions import Driver
from lab.rootfs import rootfs

MODULES = ("nvidia", "nvidia-modeset", "nvidia-drm", "nvidia-uvm", "nvidia-peermem")
# An overlay that nobody else sees, gone with the last process in it.
INSIDE = """
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2,workdir=$3" "$4" && mount --rbind /dev "$4/dev" || exit 1
root=$4; shift 4; exec chroot "$root" "$@"
"""
# Per module: what a host links, the link itself (a package's script does the same), and a signature to append.
BUILD = """
set -e
cd "$1"
make -s -C "$2" M="$PWD" KCFLAGS=-g0 modules
cp "$2/arch/x86/module.lds" .
for module in $MODULES; do
    ld -r -m elf_x86_64 -z noexecstack --build-id=sha1 -T module.lds -o $module.ko $module.o $module.mod.o
    /usr/lib/linux-kbuild-*/scripts/sign-file sha256 ../secret.pem ../certificate.der $module.ko $module.signed
    tail -c +$(($(stat -c %s $module.ko) + 1)) $module.signed >$module.ko.sig
done
"""


@dataclass(frozen=True)
class Workshop:
    """A root file system to compile for one kernel in."""

    kernel: str
    lower: Path
    scratch: Path

    @property
    def upper(self) -> Path:
        """What is laid over the root file system; to put files there, and to find what was made."""
        return self.scratch / "upper"

    def run(self, command: Sequence[str | Path]) -> None:
        """Runs a command in the root file system. Raises CommandFailed."""
        folders = [self.lower, self.upper, self.scratch / "work", self.scratch / "merged"]
        run(["unshare", "--mount", "--propagation", "private", "sh", "-c", INSIDE, "inside", *folders, *command])

    def compile(self, driver: Driver, flavour: str, signer: ModuleKey) -> Path:
        """Compiles and signs the modules of a release, `flavour` is a key of LICENSES.

        Returns the folder with module.lds and, for each of MODULES, `.o`, `.mod.o`, `.ko` and `.ko.sig`: what to append
        to the module to have it signed.
        """
        name = f"{driver.version}{flavour}"
        folder = self.upper / "build" / name
        if folder.exists():
            return folder
        tokens = {
            "VERSION": driver.version,
            "BRANCH": str(driver.branch),
            "LICENSE": LICENSES[flavour],
            "DKMS": "nvidia",
        }
        tree = Path(tempfile.mkdtemp(dir=self.scratch))
        lay_package(Package("", "", "", trees=("nvidia-kernel-source",), tokens=tokens), tree)
        shutil.move(next((tree / "usr/src").iterdir()), folder)
        for path in (signer.secret, signer.certificate):
            shutil.copy(path, self.upper / "build" / path.name)
        kernel = f"/usr/lib/modules/{self.kernel}/build"
        self.run(["env", f"MODULES={' '.join(MODULES)}", "sh", "-c", BUILD, "build", f"/build/{name}", kernel])
        return folder


@contextmanager
def workshop(distribution: Distribution, debs: Path) -> Iterator[Workshop]:
    """A place to compile for the kernel of a simulated distribution; `debs` is the Debian repository of its suite."""
    with tempfile.TemporaryDirectory() as folder:
        made = Workshop(distribution.kernel, rootfs(distribution.suite), Path(folder))
        for name in ("upper/build", "work", "merged"):
            (made.scratch / name).mkdir(parents=True)
        headers.lay(debs, distribution.kernel, f"usr/src/linux-headers-{distribution.kernel}", made.upper)
        headers.lay_common(debs, made.upper)
        yield made
