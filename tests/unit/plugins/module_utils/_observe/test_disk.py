# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes on a real file system that is full, has no inode left, or is read-only; and df."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._observe.disk import DiskError, naming_disk, read_file_system
from ansible_collections.gpu.fleet.plugins.module_utils._observe.texts.df import read_df
from ansible_collections.gpu.fleet.plugins.module_utils._plan.disk import FileSystem

# A file system of its own, seen by one process alone.
UNSHARE = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-ec"]
UTILS = "ansible_collections.gpu.fleet.plugins.module_utils"

# options of the mount, what makes it as it is to be
DISKS = {
    "full": ("size=64k", "dd if=/dev/zero of=@/big bs=4096 2>/dev/null || true"),
    "no inode": ("nr_inodes=2", "touch @/1"),
    "read-only": ("size=64k", "mount -o remount,ro @"),
}
WRITE = "_act.files.write_atomically('@/a', b'x' * 9000)"
RECORD = "_act.ownership.Ownership('r', directory='@/s').record('a', before=None, ours='x' * 9000)"
# disk, call -> words of the error
CASES = {
    "file": ("full", WRITE, "a cannot be written: it needs 8.8 KiB, "),
    "file below a new folder": ("full", WRITE.replace("@", "@/deep"), "deep/a cannot be written: "),
    "file, no inode": ("no inode", WRITE, "has no inode left"),
    "file, read-only": ("read-only", WRITE, "is mounted read-only"),
    "folder": ("no inode", "_act.files.make_directory('@/a/b')", "a/b cannot be written"),
    "link": ("no inode", "_act.files.make_link('@/a', 'x')", "a cannot be written"),
    "link of a device": ("no inode", "_act.modules.replace_link('@/a', 'x')", "a.gpu-fleet cannot be written"),
    "record": ("full", RECORD, "s/owned/r.json cannot be written"),
    "temporary": ("no inode", "_observe.disk.scratch('x').__enter__()", "has no inode left"),
}


@pytest.fixture(scope="session")
def namespaces():
    """Whether the machine gives namespaces of one's own."""
    if subprocess.run([*UNSHARE, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine gives no namespaces, so no file system can be mounted")


@pytest.mark.parametrize(("disk", "call", "words"), CASES.values(), ids=CASES)
@pytest.mark.usefixtures("namespaces")
def test_every_write_names_path_and_remedy(tmp_path, disk, call, words):
    place = tmp_path / "disk"
    place.mkdir()
    options, before = DISKS[disk]
    room, name, function = call.split(".", 2)
    code = (
        f"from {UTILS}.{room} import {name}\n"
        "import tempfile; tempfile._candidate_tempdir_list = lambda: ['@']\n"
        f"try: {name}.{function}\n"
        "except OSError as error: print(type(error).__name__, error)"
    ).replace("@", str(place))
    script = f'mount -t tmpfs -o {options} none @; {before}; exec "$1" -c "$2"'.replace("@", str(place))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(place)}
    command = [*UNSHARE, script, "sh", sys.executable, code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("DiskError "), done.stdout + done.stderr
    assert words in done.stdout
    assert "Remedy: " in done.stdout


def test_another_error_stays_what_it_is(tmp_path):
    with pytest.raises(NotADirectoryError), naming_disk(str(tmp_path)):
        os.mkdir("/dev/null/x")


def test_an_error_that_is_named_already_keeps_its_path(tmp_path):
    with pytest.raises(DiskError, match="first"), naming_disk(str(tmp_path)):
        raise DiskError(28, "first", "/first")


def test_a_path_that_is_not_there_is_on_the_file_system_of_what_is(tmp_path):
    found = read_file_system(str(tmp_path / "not/there"))
    assert found.mount == read_file_system(str(tmp_path)).mount
    assert 0 <= found.free <= found.size


DF = """\
df: /nothing: No such file or directory
Filesystem     1024-blocks     Used Available Capacity Mounted on
overlay           20480000 20479996         4     100% /
/dev/nvme0n1p1     1000000   999000      -100     100% /var/lib/with space
overlay           20480000 20479996         4     100% /
"""


def test_df_is_read_row_by_row():
    assert read_df(DF) == [
        FileSystem("/", 4096, 20480000 * 1024), FileSystem("/var/lib/with space", 0, 1000000 * 1024),
    ]  # fmt: skip
    assert read_df("") == []
