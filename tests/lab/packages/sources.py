# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Gives a host the repositories of its distribution; NVIDIA's only when asked, since the product configures them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from lab.packages import el_base, ubuntu_archive
from lab.packages.distributions import ARCHITECTURE, DISTRIBUTIONS, Distribution
from lab.packages.dnf_index import write_repository_file
from lab.packages.kernels import record, record_image
from lab.packages.keys import key
from lab.packages.variables import CUDA, DEBIAN, EL, SERVER, UBUNTU

SOURCE = """\
Types: deb
URIs: {url}
Suites: {suites}
{components}Signed-By: /{keyring}
"""
CUDA_KEYRING = "usr/share/keyrings/cuda-archive-keyring.gpg"
RPM_KEY = "etc/pki/rpm-gpg/RPM-GPG-KEY-lab"
# Debian's package of dnf plugins turns one on that wants a repository of local packages.
LOCAL_PLUGIN = "etc/dnf/plugins/local.conf"
# Packages of an EL have their libraries where Debian's linker does not look.
LIBRARY_PATH, LIBRARY_FOLDER = "etc/ld.so.conf.d/lib64.conf", "/usr/lib64\n"


def give(rootfs: Path, folder: str) -> None:
    """Makes the lab's repositories the host's only ones; `folder` is its distribution's in the CUDA repository."""
    distribution = DISTRIBUTIONS[folder]
    writers: dict[str, Callable[[Path, Distribution], None]] = {DEBIAN: _debian, UBUNTU: _ubuntu, EL: _el}
    writers[distribution.family](rootfs, distribution)


def give_cuda(rootfs: Path, folder: str, base: str = CUDA, trusted: str = "") -> None:
    """Configures NVIDIA's CUDA repository below `base` as its own package or .repo file does.

    `trusted` is the kind of key that the host has, by default the one of the repository below cuda/.
    """
    url, name = f"{SERVER}/{base}/{folder}/{ARCHITECTURE}", f"cuda-{folder}"
    if DISTRIBUTIONS[folder].family == EL:
        signer = key(trusted or "cuda-rpm")
        key_url = f"{SERVER}/{CUDA}/{folder}/{ARCHITECTURE}/{signer.short_id}.pub"
        write_repository_file(rootfs / f"etc/yum.repos.d/{name}.repo", f"{name}-{ARCHITECTURE}", url, key_url)
        return
    (rootfs / CUDA_KEYRING).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(key(trusted or "cuda").binary, rootfs / CUDA_KEYRING)
    (rootfs / CUDA_KEYRING).chmod(0o644)
    line = f"deb [signed-by=/{CUDA_KEYRING}] {url}/ /\n"
    (rootfs / f"etc/apt/sources.list.d/{name}-{ARCHITECTURE}.list").write_text(line)


def write_source(rootfs: Path, name: str, url: str, suites: str, components: str = "") -> None:
    """Writes the one apt source of the host, trusted by the key of its kind; removes all others.

    `suites` and `components` as in sources.list(5).
    """
    folder = rootfs / "etc/apt/sources.list.d"
    folder.mkdir(parents=True, exist_ok=True)
    for path in (rootfs / "etc/apt/sources.list", *folder.iterdir()):
        path.unlink(missing_ok=True)
    keyring = f"usr/share/keyrings/lab-{name}.asc"
    (rootfs / keyring).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(key(name).public, rootfs / keyring)
    (rootfs / keyring).chmod(0o644)
    line = f"Components: {components}\n" if components else ""
    text = SOURCE.format(url=url, suites=suites, components=line, keyring=keyring)
    (folder / f"lab-{name}.sources").write_text(text)


def _debian(rootfs: Path, distribution: Distribution) -> None:
    write_source(rootfs, "debian", f"{SERVER}/{DEBIAN}/{distribution.suite}", "./")
    record_image(rootfs, distribution.suite)


def _ubuntu(rootfs: Path, distribution: Distribution) -> None:
    suites = f"{ubuntu_archive.CODENAME} {ubuntu_archive.UPDATES}"
    components = f"{ubuntu_archive.BASE} {ubuntu_archive.RESTRICTED}"
    write_source(rootfs, "ubuntu", f"{SERVER}/{UBUNTU}", suites, components)
    record(rootfs, f"linux-image-{distribution.kernel}", ubuntu_archive.kernel_version(distribution.kernel))


def _el(rootfs: Path, distribution: Distribution) -> None:
    folder = rootfs / "etc/yum.repos.d"
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        path.unlink()
    (rootfs / RPM_KEY).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(key("el").public, rootfs / RPM_KEY)
    for name in (el_base.BASE, el_base.EPEL):
        url = f"{SERVER}/{EL}/{distribution.folder}/{name}/{ARCHITECTURE}"
        write_repository_file(folder / f"lab-{name.lower()}.repo", name.lower(), url, f"file:///{RPM_KEY}")
    (rootfs / LOCAL_PLUGIN).unlink(missing_ok=True)
    (rootfs / LIBRARY_PATH).write_text(LIBRARY_FOLDER)
