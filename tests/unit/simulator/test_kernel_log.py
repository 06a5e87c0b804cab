# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os

import pytest

from simulator import kernel_log
from simulator.place import Place


@pytest.fixture
def place(tmp_path):
    found = Place(tmp_path)
    found.run.mkdir(parents=True)
    found.installed.mkdir(parents=True)
    (found.installed / "kernel").write_text("6.1.0-x\n")
    kernel_log.start(found)
    return found


def texts(place):
    return [line.partition(";")[2] for line in place.kernel_log.read_text().splitlines()]


def test_a_boot_begins_with_an_empty_log(place):
    kernel_log.write(place, "NVRM: something")
    kernel_log.start(place)
    assert texts(place) == ["Linux version 6.1.0-x (simulated host)"]


def test_each_line_is_a_record_with_the_next_number(place):
    kernel_log.write(place, "NVRM: one\nNVRM: two", level=kernel_log.ERROR, seconds=12.5)
    assert place.kernel_log.read_text().splitlines()[1:] == ["3,1,12500000,-;NVRM: one", "3,2,12500000,-;NVRM: two"]


def test_the_journal_gets_one_record_a_read(place):
    reader = os.open(place.kernel_log_pipe, os.O_RDWR | os.O_NONBLOCK)
    try:
        kernel_log.write(place, "NVRM: one\nNVRM: two", seconds=1)
        assert [os.read(reader, 8192) for _time in range(2)] == [
            b"6,1,1000000,-;NVRM: one\n",
            b"6,2,1000000,-;NVRM: two\n",
        ]
    finally:
        os.close(reader)


def test_old_records_go(place):
    kernel_log.write(place, "\n".join(map(str, range(kernel_log.KEPT + 5))))
    assert texts(place)[0] == "5"
    assert len(texts(place)) == kernel_log.KEPT


def test_a_tree_without_log_is_left_alone(tmp_path):
    kernel_log.write(Place(tmp_path), "NVRM: something")
    assert list(tmp_path.iterdir()) == []
