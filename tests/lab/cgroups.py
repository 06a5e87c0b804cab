# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The control groups of a lab: one folder `gpufleet-<id>` in each hierarchy of the outer machine.

A machine has either one cgroup v2 tree with the controllers, or (hybrid) a v2 tree without them and v1 hierarchies.
Inside the lab its folder is the root of every hierarchy, so neither systemd nor a kubelet sees anything else.
"""

from __future__ import annotations

import errno
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

PREFIX = "gpufleet-"
COMMANDS = "commands"  # leaf of the v2 folder for commands: only leaves may hold processes once controllers are on
BLOCK = "blkio"  # the v1 controller of disks
REMOVE_SECONDS = 10
_NOT_YET = {errno.EBUSY, errno.ENOTEMPTY, errno.ENOENT}  # holds processes or folders still; gone already
_JOIN = 'for d in $1; do echo $$ > "$d/cgroup.procs" || exit 125; done; shift; exec "$@"'


@dataclass(frozen=True)
class Hierarchy:
    """One mounted hierarchy; `controllers` as in the mount option, empty for cgroup v2."""

    mount: Path
    controllers: str


def hierarchies(mountinfo: str | None = None) -> list[Hierarchy]:
    """Every cgroup hierarchy with controllers and the v2 tree, as mounted on this machine (proc_pid_mountinfo(5))."""
    text = Path("/proc/self/mountinfo").read_text() if mountinfo is None else mountinfo
    found: dict[str, Hierarchy] = {}
    for line in text.splitlines():
        fields, rest = line.split(" - ")
        kind, options = rest.split()[0], rest.split()[-1]
        if kind == "cgroup2":
            found.setdefault("", Hierarchy(Path(fields.split()[4]), ""))
        elif kind == "cgroup":
            names = [o for o in options.split(",") if o not in {"rw", "ro", "xattr", "noprefix", "clone_children"}]
            if not any("=" in name for name in names):  # name=systemd and release_agent=... carry no controller
                found.setdefault(",".join(names), Hierarchy(Path(fields.split()[4]), ",".join(names)))
    return list(found.values())


def folders(lab_id: str) -> list[Path]:
    """The lab's folder in each hierarchy, whether it exists or not."""
    return [h.mount / f"{PREFIX}{lab_id}" for h in hierarchies()]


def create(lab_id: str) -> None:
    """Makes the lab's folders; the lab's process 1 starts in `folders`, which become the roots that it sees."""
    for hierarchy in hierarchies():
        folder = hierarchy.mount / f"{PREFIX}{lab_id}"
        folder.mkdir()
        if not hierarchy.controllers:
            _delegate(hierarchy.mount)
            (folder / COMMANDS).mkdir()
        if "cpuset" in hierarchy.controllers.split(","):
            prepare_cpuset(folder)


def command_folders(lab_id: str) -> list[Path]:
    """What a command enters that is started in the lab from outside."""
    return [folder / COMMANDS if (folder / COMMANDS).exists() else folder for folder in folders(lab_id)]


def prepare_cpuset(folder: Path) -> None:
    """Gives a v1 cpuset folder its parent's CPUs and memory nodes; folders made in it later inherit by themselves."""
    (folder / "cgroup.clone_children").write_text("1")
    for name in ("cpuset.cpus", "cpuset.mems"):
        if not (folder / name).read_text().strip():
            (folder / name).write_text((folder.parent / name).read_text())


def joining(joined: Iterable[Path], args: Sequence[str | Path]) -> list[str]:
    """The command `args`, wrapped so that it first enters the given cgroup folders."""
    return ["sh", "-c", _JOIN, "sh", " ".join(map(str, joined)), *map(str, args)]


def kill_and_remove(lab_id: str) -> None:
    """Kills what is left in the lab's folders and removes them; TimeoutError when that takes over 10 s."""
    deadline = time.monotonic() + REMOVE_SECONDS
    while left := [folder for folder in folders(lab_id) if folder.exists()]:
        if time.monotonic() > deadline:
            raise TimeoutError(f"The control groups of lab {lab_id} still hold the processes {_processes(left)}")
        for folder in left:
            _kill(folder)
            remove_tree(folder)
        time.sleep(0.02)


def remove_tree(folder: Path) -> None:
    """Removes a cgroup folder and those in it, as far as they hold no process any more."""
    for path in sorted((p for p in folder.rglob("*") if p.is_dir()), reverse=True):
        _remove_when_empty(path)
    _remove_when_empty(folder)


def _remove_when_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError as error:
        if error.errno not in _NOT_YET:
            raise


def _kill(folder: Path) -> None:
    if (folder / "cgroup.kill").exists():  # v2, from Linux 5.14 on; every process of a lab is in its v2 folder
        (folder / "cgroup.kill").write_text("1")


def _processes(left: Iterable[Path]) -> str:
    return " ".join(sorted({pid for f in left for p in f.rglob("cgroup.procs") for pid in p.read_text().split()}))


def _delegate(mount: Path) -> None:
    wanted = set((mount / "cgroup.controllers").read_text().split()) & {"cpu", "cpuset", "io", "memory", "pids"}
    control = mount / "cgroup.subtree_control"
    for name in sorted(wanted - set(control.read_text().split())):
        control.write_text(f"+{name}")
