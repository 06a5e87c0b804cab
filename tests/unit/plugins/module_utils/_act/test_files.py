# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Atomic writes and ownership records."""

from __future__ import annotations

import os
import stat

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._act.files import remove_file, write_atomically
from ansible_collections.gpu.fleet.plugins.module_utils._act.lock import LockedError, host_lock
from ansible_collections.gpu.fleet.plugins.module_utils._act.ownership import Ownership, OwnershipError


def test_replaces_text_and_mode(tmp_path):
    path = tmp_path / "deep" / "file"
    write_atomically(str(path), b"one")
    write_atomically(str(path), b"two", mode=0o600)
    assert path.read_bytes() == b"two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(path.parent) == ["file"]


def test_a_link_keeps_its_place(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_atomically(str(tmp_path / "link"), b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_failed_write_leaves_the_old_file(tmp_path):
    (tmp_path / "file").mkdir()
    with pytest.raises(OSError, match="file"):
        write_atomically(str(tmp_path / "file"), b"new")
    assert os.listdir(tmp_path) == ["file"]


def test_remove_says_whether_it_was_there(tmp_path):
    (tmp_path / "file").write_text("")
    assert [remove_file(str(tmp_path / "file")), remove_file(str(tmp_path / "file"))] == [True, False]


def test_lock_is_exclusive_and_names_its_holder(tmp_path):
    path = str(tmp_path / "lock")
    holder = f"process {os.getpid()}"
    with host_lock(path=path), pytest.raises(LockedError, match=holder), host_lock(path=path, timeout=0):
        raise AssertionError("the lock was given twice")
    with host_lock(path=path, timeout=0):
        assert os.path.exists(path)


def test_ownership_keeps_the_first_before(tmp_path):
    state = tmp_path / "state"
    owned = Ownership("driver", directory=str(state))
    owned.record("hold nvidia-open", before=False, ours=True)
    owned.record("hold nvidia-open", before=True, ours="again")
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    again = Ownership("driver", directory=str(state))
    assert again.objects == {"hold nvidia-open": {"before": False, "ours": "again"}}
    again.forget("hold nvidia-open")
    assert not os.path.exists(again.path)


@pytest.mark.parametrize(("text", "words"), [("{", "no JSON"), ('{"schema": 9, "objects": {}}', "schema 9")])
def test_a_bad_record_is_no_empty_record(tmp_path, text, words):
    (tmp_path / "owned").mkdir()
    (tmp_path / "owned/mig.json").write_text(text)
    with pytest.raises(OwnershipError, match=words):
        Ownership("mig", directory=str(tmp_path))
