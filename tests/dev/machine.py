# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The outer machine: what it is, and which Debian packages it lacks."""

from __future__ import annotations

import os
import platform
import shutil
from pathlib import Path

from . import cache, progress

CHECKOUT = Path(__file__).resolve().parents[2]
DEBIAN = ("12", "13")
# Program that shows that a package is there -> package.
FOR_CHECKS = {
    "git": "git",
    "gcc": "gcc",
    "objdump": "binutils",
    "openssl": "openssl",
    "unshare": "util-linux",
    "gpgconf": "gnupg",
    "gpgv": "gpgv",  # Debian 13: apt has another program for it
    "apt-ftparchive": "apt-utils",
    "dpkg-deb": "dpkg",
    "rpmbuild": "rpm",
    "createrepo_c": "createrepo-c",
}
FOR_LAB = {
    **FOR_CHECKS,
    "mmdebstrap": "mmdebstrap",
    "eatmydata": "eatmydata",
    "systemd-nspawn": "systemd-container",
    "mount": "mount",
    "mkfs.ext4": "e2fsprogs",
    "ip": "iproute2",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
    "make": "make",
    "dpkg-architecture": "dpkg-dev",
    "modprobe": "kmod",
}
FOR_LOCAL = {"gcc": "gcc", "nm": "binutils", "unshare": "util-linux", "mount": "mount"}
HEADERS = {"/usr/include/stdio.h": "libc6-dev"}
# Packages by a file of theirs.
LAB_FILES = {**HEADERS, "/usr/share/keyrings/debian-archive-keyring.gpg": "debian-archive-keyring"}
APT = ["apt-get", "-o", "DPkg::Lock::Timeout=300", "-o", "Dpkg::Options::=--force-confold", "--quiet", "--yes"]
QUIET = {"DEBIAN_FRONTEND": "noninteractive", "NEEDRESTART_SUSPEND": "1"}
INSTALL_SECONDS = 900


class Unfit(Exception):
    """This machine cannot run what was asked for; the text says what was found, what is wanted and what to do."""


def require_root(verb: str) -> None:
    """Labs need namespaces and mounts of root's."""
    if os.geteuid() != 0:
        other = ", or `./dev demo --local`, which needs none" if verb == "demo" else ""
        found = f"needs root for namespaces and mounts, found uid {os.geteuid()}"
        raise Unfit(f"`./dev {verb}` {found}: run it by sudo{other}")


def require_debian(verb: str, os_release: Path = Path("/etc/os-release")) -> None:
    """Lab machines are Debian 12 or 13 on x86_64: hosts are built by their tools from their archive."""
    found = _os_release(os_release)
    name = f"{found.get('NAME', 'unknown system')} {found.get('VERSION_ID', '')}".strip()
    if found.get("ID") != "debian" or found.get("VERSION_ID") not in DEBIAN:
        raise Unfit(f"`./dev {verb}` needs Debian {' or '.join(DEBIAN)}, found {name}: use such a machine or container")
    if platform.machine() != "x86_64":
        raise Unfit(f"`./dev {verb}` needs an x86_64 machine, found {platform.machine()}: the lab's hosts are amd64")


def missing_packages(programs: dict[str, str], files: dict[str, str]) -> list[str]:
    """Debian packages whose program is not on PATH or whose file is absent."""
    wanted = {package for program, package in programs.items() if not shutil.which(program, path=_path())}
    wanted |= {package for file, package in files.items() if not Path(file).exists()}
    return sorted(wanted)


def install_packages(packages: list[str]) -> None:
    """Installs Debian packages in one go; nothing asks, nothing recommended comes along."""
    if not packages:
        return
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise Unfit(f"Missing on this machine: {' '.join(packages)}. Install these packages, or run `./dev` as root")
    with cache.locked(cache.root() / "apt.lock"), progress.step(f"installing {' '.join(packages)}"):
        progress.run([*APT, "update"], env=QUIET, timeout=INSTALL_SECONDS)
        progress.run([*APT, "install", "--no-install-recommends", *packages], env=QUIET, timeout=INSTALL_SECONDS)


def remove(path: Path) -> None:
    """Removes a file, a link or a folder with all in it; nothing when there is none."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _os_release(path: Path) -> dict[str, str]:
    if not path.exists():
        return {}
    pairs = (line.split("=", 1) for line in path.read_text().splitlines() if "=" in line)
    return {key: value.strip('"') for key, value in pairs}


def _path() -> str:
    return f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
