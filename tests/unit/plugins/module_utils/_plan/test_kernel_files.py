# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The blacklist of the kernel's own drivers, and every initramfs that has to have it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._plan.kernel_files import (
    BLACKLIST_PATH,
    DRACUT,
    UPDATE_INITRAMFS,
    BootFiles,
    BootImage,
    plan_blacklist,
    plan_no_blacklist,
    render_blacklist,
)

OLD = BootImage("6.1.0-57-amd64", "/boot/initrd.img-6.1.0-57-amd64", 100.0)
NEW = BootImage("6.1.0-60-amd64", "/boot/initrd.img-6.1.0-60-amd64", 300.0)
BARE = BootFiles(("nouveau",), (OLD, NEW), UPDATE_INITRAMFS)
TEXT = render_blacklist(("nouveau",))
DONE = replace(BARE, blacklist=TEXT, written=50.0)
OWNED = (f"file:{BLACKLIST_PATH}",)


def rows(work) -> list[tuple[str, str]]:
    return [(s.action, s.target) for s in work.steps]


def test_the_file_comes_before_every_initramfs():
    work = plan_blacklist(BARE, wanted=True, owned=())
    assert rows(work) == [
        ("blacklist", BLACKLIST_PATH),
        ("rebuild_initramfs", OLD.path),
        ("rebuild_initramfs", NEW.path),
    ]
    assert work.calls[1].args == {"argv": ["update-initramfs", "-u", "-k", "6.1.0-57-amd64"]}
    assert f"file:{BLACKLIST_PATH}" in work.objects


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (DONE, []),
        # Killed after the file and one initramfs: the other one is still older.
        (replace(DONE, written=200.0), [("rebuild_initramfs", OLD.path)]),
        (replace(DONE, blacklist="blacklist nouveau\n"), ["blacklist", "rebuild_initramfs", "rebuild_initramfs"]),
        (replace(BARE, images=()), [("blacklist", BLACKLIST_PATH)]),
        (replace(BARE, tool=""), [("blacklist", BLACKLIST_PATH)]),
        (replace(BARE, drivers=()), []),
    ],
)
def test_only_what_lacks_is_done(found, wanted):
    done = rows(plan_blacklist(found, wanted=True, owned=()))
    assert done == wanted or [a for a, _target in done] == wanted


def test_dracut_makes_the_initramfs_of_one_kernel():
    work = plan_blacklist(replace(BARE, tool=DRACUT, images=(OLD,)), wanted=True, owned=())
    assert work.calls[-1].args == {"argv": ["dracut", "--force", "--kver", OLD.release]}


def test_both_drivers_of_the_kernel():
    assert render_blacklist(("nouveau", "nova_core")).splitlines()[1:] == [
        "blacklist nouveau",
        "blacklist nova_core",
        "options nouveau modeset=0",
    ]
    assert "nouveau" not in render_blacklist(("nova_core",))


def test_our_file_goes_with_the_role_and_out_of_every_initramfs():
    assert rows(plan_no_blacklist(DONE, OWNED))[0] == ("forget_blacklist", BLACKLIST_PATH)
    assert len(plan_no_blacklist(DONE, OWNED).steps) == 3
    assert rows(plan_blacklist(DONE, wanted=False, owned=OWNED)) == rows(plan_no_blacklist(DONE, OWNED))


def test_a_file_of_somebody_else_stays():
    assert rows(plan_no_blacklist(DONE, ())) == []
    gone = plan_no_blacklist(BARE, OWNED)
    assert (rows(gone), gone.gone) == ([], (f"file:{BLACKLIST_PATH}",))
