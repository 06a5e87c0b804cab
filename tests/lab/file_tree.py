# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is on a lab host that its image did not bring: the files of its overlay's upper layer, and of /run and /dev."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from .host import Host

# What a running system, ssh and Ansible leave by themselves; below each, anything.
NOISE = (
    "/dev/console",
    "/dev/core",
    "/dev/log",
    "/dev/mqueue",
    "/dev/pts",
    "/dev/shm",
    "/etc/.pwd.lock",
    "/root/.ansible",
    "/run/containerd",
    "/run/containers",
    "/run/crun",
    "/run/cups",
    "/run/dbus",
    "/run/host",
    "/run/initctl",
    "/run/lock",
    "/run/log",
    "/run/motd.dynamic",
    "/run/mount",
    "/run/netns",
    "/run/sshd",
    "/run/sshd.pid",
    "/run/systemd",
    "/run/udev",
    "/run/user",
    "/run/utmp",
    "/run/xtables.lock",
    "/tmp",
    "/var/lib/cni",
    "/var/lib/kubelet",
    "/var/lib/lab",
    "/var/lib/lastlog",
    "/var/lib/systemd",
    "/var/lib/wtmpdb",
    "/var/log/btmp",
    "/var/log/containers",
    "/var/log/journal",
    "/var/log/lastlog",
    "/var/log/pods",
    "/var/log/wtmp",
    "/var/tmp",
)

Tree = dict[str, str]


def snapshot(host: Host) -> Tree:
    """Path to a text that changes when the file does: type, mode, owner and what it holds, but no times."""
    tree = written(host.disk.upper, host.disk.lower)
    listing = host.shell("find /run /dev -printf '%p\\t%y %m %U:%G %l\\n' 2>/dev/null || true")  # some go meanwhile
    tree.update((name, text) for name, _tab, text in (line.partition("\t") for line in listing.splitlines()))
    return {name: text for name, text in sorted(tree.items()) if not is_noise(name)}


def written(upper: Path, lower: Sequence[Path]) -> Tree:
    """What an overlay's upper layer has that those below it, the topmost first, have not."""
    tree = {}
    for folder, folders, files in os.walk(upper):
        place = folder.removeprefix(str(upper))
        folders[:] = [name for name in folders if not is_noise(f"{place}/{name}")]
        for name in (*folders, *files):
            path = f"{place}/{name}"
            if not is_noise(path) and not _only_leads_on(upper, lower, path):
                tree[path] = _described(Path(folder, name))
    return tree


def _only_leads_on(upper: Path, lower: Sequence[Path], path: str) -> bool:
    """Whether it is a directory as below: a file that is written in it brings it into the upper layer."""
    here = Path(f"{upper}{path}")
    if here.is_symlink() or not here.is_dir():
        return False
    below = next((found for layer in lower if os.path.lexists(found := Path(f"{layer}{path}"))), None)
    return below is not None and _described(below) == _described(here)


def is_noise(name: str) -> bool:
    """Whether the system writes there by itself."""
    return any(name == place or name.startswith(f"{place}/") for place in NOISE)


def differences(before: Tree, after: Tree) -> list[str]:
    """One line for each path that came, went or changed."""
    rows = []
    for name in sorted({*before, *after}):
        if name not in before:
            rows.append(f"{name} came: {after[name]}")
        elif name not in after:
            rows.append(f"{name} went: {before[name]}")
        elif before[name] != after[name]:
            rows.append(f"{name} changed: {before[name]} -> {after[name]}")
    return rows


def _described(path: Path) -> str:
    found = path.lstat()
    kind, mode = stat.S_IFMT(found.st_mode), stat.S_IMODE(found.st_mode)
    owner = f"{mode:o} {found.st_uid}:{found.st_gid}"
    if stat.S_ISLNK(kind):
        return f"link to {os.readlink(path)}"
    if stat.S_ISCHR(kind) and found.st_rdev == 0:
        return "removed from the image"
    if stat.S_ISDIR(kind):
        return f"directory {owner}"
    if stat.S_ISREG(kind):
        return f"file {owner} {hashlib.sha256(path.read_bytes()).hexdigest()[:16]}"
    return f"{kind:o} {owner} {found.st_rdev}"
