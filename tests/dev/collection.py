# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The collection as Ansible finds it: the checkout itself by a link, its dependency, and a copy for ansible-test."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from . import cache, progress
from .machine import CHECKOUT

LOCAL_CACHE = CHECKOUT / ".cache"
LINK = LOCAL_CACHE / "ansible_collections/gpu/fleet"
# kubernetes.core is on PyPI only inside this wheel; 14.5.0 holds kubernetes.core 6.6.0.
WHEEL, DEPENDENCY = "ansible==14.5.0", "ansible_collections/kubernetes/core/"
DOWNLOAD_SECONDS = 600


def search_path() -> str:
    """Value of ANSIBLE_COLLECTIONS_PATH: the checkout in place, then the cached dependency."""
    return f"{in_place()}:{dependencies()}"


def in_place() -> Path:
    """The folder that holds `ansible_collections/gpu/fleet`, a link to the checkout."""
    LINK.parent.mkdir(parents=True, exist_ok=True)
    if not LINK.is_symlink():
        LINK.symlink_to("../../..")
    return LOCAL_CACHE


def dependencies() -> Path:
    """The folder that holds `ansible_collections/kubernetes/core`."""
    return cache.artifact("collections", [WHEEL, DEPENDENCY], _download)


def copy_for_ansible_test(title: str) -> Path:
    """A copy of the checkout's files outside of it: ansible-test wants the real path of a collection tree.

    Returns the copied collection; it is made afresh, one for each checkout and title.
    """
    name = hashlib.sha256(str(CHECKOUT).encode()).hexdigest()[:8]
    tree = cache.root() / "ansible-test" / f"{name}-{title}" / "ansible_collections"
    shutil.rmtree(tree, ignore_errors=True)
    for file in tracked_files():
        target = tree / "gpu/fleet" / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(CHECKOUT / file, target, follow_symlinks=False)
    (tree / "kubernetes").symlink_to(dependencies() / "ansible_collections/kubernetes")
    return tree / "gpu/fleet"


def tracked_files() -> list[Path]:
    """Files of the checkout that git knows or would add, relative to it."""
    listing = ["git", "-C", str(CHECKOUT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, check=True, capture_output=True, text=True).stdout.split("\0")
    return [Path(name) for name in dict.fromkeys(names) if name and (CHECKOUT / name).is_file()]


def _download(out: Path) -> None:
    with progress.step("fetching kubernetes.core"):
        wheels = out / "wheels"
        pip = [sys.executable, "-m", "pip", "download", "--no-input", "--quiet", "--no-deps", "--dest", str(wheels)]
        progress.run([*pip, "--python-version", "3.12", "--only-binary", ":all:", WHEEL], timeout=DOWNLOAD_SECONDS)
        with zipfile.ZipFile(next(wheels.glob("*.whl"))) as wheel:
            wheel.extractall(out, [name for name in wheel.namelist() if name.startswith(DEPENDENCY)])
        shutil.rmtree(wheels)
