# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compiles programs that use libc inside a Debian 12 root file system, so that they run on every lab host.

A program linked on a machine with a newer glibc refuses to start on Debian 12 (`version GLIBC_2.38 not found`).
"""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from dev.progress import output, run

GLIBC = (2, 36)  # Debian 12's
OUT = Path("/out")  # where, seen from inside, the compiled program goes
INSIDE = Path("/build")
FORCE_VARIABLE = "GPU_FLEET_BUILD_IN_BOOKWORM"


def needed(version: str | None = None) -> bool:
    """Whether this machine's C library (or `version`, as "glibc 2.41") is newer than Debian 12's."""
    if os.environ.get(FORCE_VARIABLE) == "1":
        return True
    name, number = [*(version or os.confstr("CS_GNU_LIBC_VERSION") or "").split(" ", 1), ""][:2]
    return name != "glibc" or tuple(int(part) for part in number.split(".")[:2]) > GLIBC


def compile_go(
    go: Path, arguments: Sequence[str | Path], folder: Path, out: Path, environment: Mapping[str, str]
) -> None:
    """Runs `go <arguments>` in `folder` inside Debian 12; `OUT` there is `out` here. Raises CommandFailed.

    The modules are fetched outside before, since the inside needs no network; both caches are shared with the outside.
    """
    run([go, "list", "-deps", "-f", "{{.ImportPath}}", arguments[-1]], cwd=folder, env=environment)
    inside = {**environment, "GOPROXY": "off", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}
    goroot = Path(output([go, "env", "GOROOT"]).strip())
    binds = [(goroot, goroot), (folder, INSIDE), (out, OUT)]
    binds += [(Path(environment[name]), Path(environment[name])) for name in ("GOCACHE", "GOMODCACHE")]
    command = f"cd {INSIDE} && exec nice -n 10 {shlex.join(map(str, [goroot / 'bin/go', *arguments]))}"
    in_chroot(command, binds, inside)


def in_chroot(command: str, binds: Sequence[tuple[Path, Path]], environment: Mapping[str, str]) -> None:
    """Runs a shell command in a throw-away Debian 12; `binds`: (folder here, path there). Raises CommandFailed."""
    from lab.rootfs import rootfs  # late: its own build may want a program of ours

    base = rootfs("bookworm")
    with tempfile.TemporaryDirectory(prefix="gpu-fleet-bookworm-") as scratch:
        script = _script(base, Path(scratch), command, binds)
        variables = [f"{name}={value}" for name, value in environment.items()]
        run(["unshare", "--mount", "--propagation", "private", "env", "-i", *variables, "/bin/bash", "-euc", script])


def _script(base: Path, scratch: Path, command: str, binds: Sequence[tuple[Path, Path]]) -> str:
    """Mounts end with the mount namespace of the shell that runs this."""
    top = scratch / "root"
    # The scratch folder may itself lie on an overlay, on which no other can stand; a tmpfs never does.
    lines = [
        f"mount -t tmpfs tmpfs {scratch}",
        f"mkdir {scratch}/root {scratch}/upper {scratch}/work",
        f"mount -t overlay overlay -o lowerdir={base},upperdir={scratch}/upper,workdir={scratch}/work {top}",
        f"mount -t proc proc {top}/proc",
        f"mount --rbind /dev {top}/dev",
    ]
    for here, there in binds:
        inside = shlex.quote(f"{top}{there}")
        lines.append(f"mkdir -p {inside} && mount --bind {shlex.quote(str(here))} {inside}")
    return "\n".join([*lines, f"exec chroot {top} /bin/bash -euc {shlex.quote(command)}"])
