# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What rpm believes to be installed on a simulated Enterprise Linux host: packages without files.

Versions as of Rocky Linux 9 and 10. What other packages want of a base system is a row here.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from dev import cache, progress

from .suites import Suite

# Name -> version-release and what it provides beside its name.
COMMON: dict[str, tuple[str, tuple[str, ...]]] = {
    "bash": ("5.1.8-9", ("/bin/sh", "/usr/bin/sh", "/bin/bash", "/usr/bin/bash")),
    "coreutils": ("8.32-39", ("/usr/bin/env",)),
    "dnf": ("4.14.0-31", ("dnf-command(config-manager)", "dnf-command(versionlock)")),
    "elfutils-libelf-devel": ("0.193-1", ()),
    "gcc": ("11.5.0-11", ()),
    "glibc": ("2.34-231", ("libc.so.6()(64bit)",)),
    "grubby": ("8.40-69", ()),
    "kmod": ("28-11", ("/usr/sbin/modprobe",)),
    "make": ("4.3-8", ()),
    "openssl": ("3.5.1-4", ("/usr/bin/openssl",)),
    "pciutils": ("3.7.0-7", ()),
    "perl-interpreter": ("5.32.1-481", ("/usr/bin/perl",)),
    "podman": ("5.6.0-1", ()),
    "python3": ("3.9.23-2", ("/usr/bin/python3",)),
    "rpm": ("4.16.1.3-39", ()),
    "sed": ("4.8-9", ()),
    "systemd": ("252-55", ("systemd-units",)),
    "systemd-udev": ("252-55", ("udev",)),
    "tar": ("1.34-7", ()),
    "xz": ("5.2.5-8", ()),
}
KERNEL_PARTS = ("kernel", "kernel-core", "kernel-modules", "kernel-modules-core")
SPEC = """\
%global debug_package %{nil}
Name: lab-base
Version: 1
Release: 1
Summary: The base system
License: simulated
AutoReqProv: no
%description
The base system.
"""
PART = """
%package -n {name}
Version: {version}
Release: {release}
Summary: {name} (simulated)
{relations}
%description -n {name}
Stands for what a host has.
{scripts}%files -n {name}
"""
# The linker's cache follows every transaction that brings or takes libraries, as the C library's own package sees to.
FOLDERS = "/lib /usr/lib /lib64 /usr/lib64"
SCRIPTS = {
    "glibc": f"%transfiletriggerin -n glibc -P 2000000 -- {FOLDERS}\n/sbin/ldconfig\n"
    f"%transfiletriggerpostun -n glibc -P 2000000 -- {FOLDERS}\n/sbin/ldconfig\n"
}
# Debian keeps its rpm from the database of the system; Enterprise Linux has it here.
MACROS = "%_dbpath /var/lib/rpm\n"


def install(root: Path, suite: Suite, kernel: str) -> None:
    """Enters the base system and the running kernel into the rpm database of a root. Raises progress.CommandFailed."""
    (root / "etc/rpm").mkdir(parents=True, exist_ok=True)
    (root / "etc/rpm/macros.lab").write_text(MACROS)
    work = root / "tmp/lab-base"
    work.mkdir()
    (work / "base.spec").write_text(spec(suite, kernel))
    build = ["rpmbuild", "-bb", "--quiet", "--define", "_topdir /tmp/lab-base", "/tmp/lab-base/base.spec"]
    log = cache.root() / "logs" / f"rpm-base-{suite.folder}.log"
    progress.run(["chroot", root, *build], log=log)
    progress.run(
        ["chroot", root, "sh", "-euc", "rpm --initdb; rpm --install --nodeps /tmp/lab-base/RPMS/*/*.rpm"], log=log
    )
    shutil.rmtree(work)


def spec(suite: Suite, kernel: str) -> str:
    """The spec file of all of them. `kernel` as in `uname --kernel-release`."""
    number = suite.release["PLATFORM_ID"].removeprefix("platform:el")
    rows: dict[str, tuple[str, tuple[str, ...]]] = {
        name: (f"{version}.el{number}", provides) for name, (version, provides) in COMMON.items()
    }
    rows["rocky-release"] = (f"{suite.release['VERSION_ID']}-1.el{number}", _release_provides(suite.release, number))
    version = kernel.removesuffix(".x86_64")
    rows |= {name: (version, (f"{name}-uname-r = {kernel}",)) for name in KERNEL_PARTS}
    return SPEC + "".join(_part(name, *row) for name, row in rows.items())


def _release_provides(release: Mapping[str, str], number: str) -> tuple[str, ...]:
    names = ("system-release", "redhat-release", "system-release(releasever)")
    versions = (release["VERSION_ID"], release["VERSION_ID"], number)
    return tuple(f"{name} = {version}" for name, version in zip(names, versions, strict=True))


def _part(name: str, whole: str, provides: tuple[str, ...]) -> str:
    version, _dash, release = whole.rpartition("-")
    relations = "".join(f"Provides: {provided}\n" for provided in provides)
    scripts = SCRIPTS.get(name, "")
    return PART.format(name=name, version=version, release=release, relations=relations, scripts=scripts)
