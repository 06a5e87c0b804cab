# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""site killed half-way, and run again: the end is the same as without."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from lab import access, file_tree, fleet, proving
from lab.file_tree import Tree
from lab.fleet import HostSpec
from lab.host import Host
from lab.lab import Lab
from lab.watched import Calm, not_ready

# A host like the calm one, on which site is killed twice.
KILLED = "killed"
SECONDS = 300
# What site was just told to do when it is killed, and how many seconds it has been at it.
POINTS = (("TASK [gpu.fleet.driver : Install, keep or remove the driver]", 8.0), ("TASK [gpu.fleet.toolkit :", 1.5))


@dataclass(frozen=True)
class Ends:
    """How both hosts ended, and the run after the kills."""

    calm: Host
    killed: Host
    last: proving.Run
    trees: tuple[Tree, Tree]


@pytest.fixture(scope="module")
def ends(lab: Lab, calm: Calm) -> Iterator[Ends]:
    assert calm.run.status == 0, calm.run.end()
    host = fleet.add(lab, HostSpec.parse(f"{KILLED}={calm.spec}"))
    host.wait()
    for text, seconds in POINTS:
        kill_at(lab, calm.variables, text, seconds)
    last = proving.play(lab, "gpu.fleet.site", "--limit", KILLED, "--extra-vars", calm.variables)
    yield Ends(calm.host, host, last, (calm.ready, file_tree.snapshot(host)))
    host.down()
    access.write_inventory(lab)


def kill_at(lab: Lab, variables: str, text: str, seconds: float) -> None:
    """Starts site and kills it and all its processes on the controller, `seconds` after it has said `text`."""
    log = lab.folder / "killed.log"
    command = ["ansible-playbook", "gpu.fleet.site", "--limit", KILLED, "--extra-vars", variables]
    with log.open("wb") as out:
        process = subprocess.Popen(
            lab.command(command),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**os.environ, **lab.ansible_env()},
            start_new_session=True,
        )
    deadline = time.monotonic() + SECONDS
    while text not in log.read_text() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    assert text in log.read_text(), f"site ended before it said {text!r}:\n{log.read_text()[-3000:]}"
    time.sleep(seconds)
    assert process.poll() is None, f"site ended by itself within {seconds} s after {text!r}: kill it earlier"
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def test_site_succeeds_after_it_was_killed(ends: Ends) -> None:
    assert ends.last.status == 0, ends.last.end()
    assert not_ready(ends.last) == []


def test_both_hosts_have_the_same_files(ends: Ends) -> None:
    calm, killed = ({name: _kind(text) for name, text in tree.items()} for tree in ends.trees)
    rows = file_tree.differences(calm, killed)
    assert [row for row in rows if not row.startswith(("/var/log/", "/var/cache/apt", "/var/lib/apt"))] == []


def _kind(text: str) -> str:
    """Type, mode and owner without content, which names the host and its GPUs."""
    return " ".join(text.split()[:3])


@pytest.mark.parametrize(
    "command",
    [
        "dpkg-query --show",
        "dpkg --get-selections",
        "nvidia-smi -L | sed 's/ (UUID.*//'",
        "systemctl list-unit-files -q",
    ],
)
def test_both_hosts_answer_alike(ends: Ends, command: str) -> None:
    assert ends.killed.shell(command) == ends.calm.shell(command)


def test_another_site_has_nothing_to_do(lab: Lab, calm: Calm, ends: Ends) -> None:
    run = proving.play(lab, "gpu.fleet.site", "--limit", f"{calm.host.name},{KILLED}", "--extra-vars", calm.variables)
    assert run.status == 0, run.end()
    assert run.total("changed") == 0
    assert run.report["plan"] == []
