# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The dynamic loader's cache."""

from __future__ import annotations

import pytest
from trees.ldcache import cache

from ansible_collections.gpu.fleet.plugins.module_utils._observe.ldcache import LdCacheError, parse

ROWS = [
    ("/lib32/libcuda.so.1", "i386"),
    ("/x/libcuda.so.1", "x86_64"),
    ("/x32/libcuda.so.1", "x32"),
    ("/a/libcuda.so.1", "aarch64"),
    ("/p/libcuda.so.1", "ppc64le"),
]


@pytest.mark.parametrize("old", [False, True])
def test_only_64_bit_libraries(old):
    assert parse(cache(ROWS, with_old_table=old)) == ["/x/libcuda.so.1", "/a/libcuda.so.1", "/p/libcuda.so.1"]


WHOLE = cache(ROWS)
DAMAGED = {
    "empty": b"",
    "text": b"hello",
    "cut in the header": WHOLE[:30],
    "cut in the table": WHOLE[:60],
    "cut in a string": WHOLE[:-1],
}


@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED)
def test_damaged(data):
    with pytest.raises(LdCacheError):
        parse(data)
