# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from dev import cache


@pytest.fixture(autouse=True)
def private_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_built_once_for_the_same_inputs():
    built = []

    def build(out):
        built.append(out)
        (out / "file").write_text("content")

    first = cache.artifact("kind", ["a", b"b"], build)
    assert cache.artifact("kind", ["a", b"b"], build) == first
    assert (first / "file").read_text() == "content"
    assert len(built) == 1


@pytest.mark.parametrize("make", [cache.artifact, cache.artifact_in_place])
def test_nothing_is_left_of_a_build_that_fails(make):
    def fail(out):
        (out / "half").touch()
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        make("kind", ["a"], fail)
    left = [path.name for path in (cache.root() / "kind").iterdir()]
    assert left == [f"{cache.digest(['a'])}.lock"]


def test_a_folder_counts_by_names_and_contents(tmp_path):
    folder = tmp_path / "folder"
    (folder / "__pycache__").mkdir(parents=True)
    (folder / "one").write_text("1")
    before = cache.digest([folder])
    (folder / "__pycache__/ignored.pyc").touch()
    assert cache.digest([folder]) == before
    (folder / "one").rename(folder / "two")
    assert cache.digest([folder]) != before


def test_two_processes_build_once(tmp_path):
    program = textwrap.dedent(
        """
        import sys, time
        from pathlib import Path
        from dev import cache
        def build(out):
            with open(sys.argv[1], "a") as log:
                log.write("built\\n")
            time.sleep(0.3)
        cache.artifact("kind", ["a"], build)
        """
    )
    log = tmp_path / "log"
    tests = [p for p in sys.path if p.endswith("/tests")][0]
    command = ["env", f"PYTHONPATH={tests}", sys.executable, "-c", program, str(log)]
    both = [subprocess.Popen(command) for _count in range(2)]
    assert [process.wait(30) for process in both] == [0, 0]
    assert log.read_text() == "built\n"
