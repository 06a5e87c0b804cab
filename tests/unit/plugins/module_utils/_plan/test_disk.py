# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said about a file system that takes no more."""

from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._plan.disk import (
    FULL,
    QUOTA,
    READ_ONLY,
    FileSystem,
    cannot_write,
    packages_do_not_fit,
    size_text,
)

SIZES = {0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 20 << 10: "20 KiB", 1500 << 20: "1.5 GiB", 1 << 60: "1048576 TiB"}


@pytest.mark.parametrize(("number", "text"), SIZES.items())
def test_sizes(number, text):
    assert size_text(number) == text


VAR = FileSystem("/var", free=4096, size=20 << 30, free_inodes=100)
NO_INODE = FileSystem("/var", free=4 << 30, size=20 << 30, free_inodes=0)

# reason, file system, bytes needed -> what is told
WRITES = {
    "full": (FULL, VAR, 9000, ("it needs 8.8 KiB, /var has 4.0 KiB of 20 GiB free", "du -xhd2 /var")),
    "no inode": (FULL, NO_INODE, 9000, ("/var has no inode left", "du --inodes -xd3 /var")),
    "no inodes there at all": (FULL, FileSystem("/", 0, 1024, None), 1, ("it needs 1 B, / has 0 B of 1.0 KiB",)),
    "a folder": (FULL, VAR, 0, ("cannot be written: /var has 4.0 KiB",)),
    "quota": (QUOTA, VAR, 9000, ("it needs 8.8 KiB, the quota on /var is used up", "quota -vs")),
    "read-only": (READ_ONLY, VAR, 9000, ("/var is mounted read-only", "mount -o remount,rw /var")),
}


@pytest.mark.parametrize(("reason", "place", "needed", "words"), WRITES.values(), ids=WRITES)
def test_a_write_names_path_room_and_remedy(reason, place, needed, words):
    said = cannot_write("/var/lib/x", reason, place, needed=needed)
    assert said.startswith("/var/lib/x cannot be written: ")
    assert "Remedy: " in said
    assert [word for word in words if word not in said] == []


ROOT = FileSystem("/", free=9 << 30, size=20 << 30)

# fields of the error, file systems -> what is told before the remedy, mounts in the remedy
PACKAGES = {
    "all is told": (
        {"path": "/var/cache/apt/archives/", "needed": "1,433 MB"}, [ROOT, VAR],
        "a file system is full for /var/cache/apt/archives/, 1,433 MB are needed: /var has 4.0 KiB of 20 GiB free",
        "/var",
    ),
    "nothing is told": ({}, [], "a file system is full", "/var /usr /boot"),
    "what was half unpacked is away again": (
        {"needed": "9 GB"}, [ROOT], "a file system is full, 9 GB are needed: / has 9.0 GiB of 20 GiB free", "/",
    ),
    "two are full": (
        {}, [VAR, FileSystem("/boot", 0, 1 << 29)],
        "a file system is full: /var has 4.0 KiB of 20 GiB free; /boot has 0 B of 512 MiB free", "/var /boot",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("failure", "places", "told", "mounts"), PACKAGES.values(), ids=PACKAGES)
def test_packages_that_do_not_fit(failure, places, told, mounts):
    said, remedy = packages_do_not_fit(failure, places).split(". Remedy: ")
    assert said == told
    assert f"du -xhd2 {mounts} |" in remedy
