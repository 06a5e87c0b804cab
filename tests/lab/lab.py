# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab: throw-away namespaces with a network of their own, in which hosts boot and commands run.

    with Lab.start() as lab:
        lab.add_host("gpu1", "bookworm", "h100x2").wait()
        lab.run(["ansible", "all", "-m", "ping"], env=lab.ansible_env())

Inside a lab (a command run by it), `Lab.current()` is the same object again.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from dev import machine, progress

from . import access, cgroups, keeper, labs, limits, processes
from .host import NAMESPACES as ENTER
from .host import Host

MAX_HOSTS = 8
START_SECONDS = 20
VARIABLE = "GPU_FLEET_LAB"
NAMESPACES = ("--mount", "--pid", "--net", "--cgroup", "--ipc", "--uts")
UNSHARE = ("unshare", *NAMESPACES, "--fork", "--kill-child", "--mount-proc", "--propagation", "private")


class Lab:
    """A running lab, named by its folder; see the module for use."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.id = folder.name

    @classmethod
    def start(cls, *, detached: bool = False) -> Lab:
        """Starts a lab. It dies with this process's main thread (call it there), unless it is `detached`."""
        lab = cls(labs.claim())
        try:
            lab._start_keeper(detached)
        except BaseException:
            lab.stop()
            raise
        return lab

    @classmethod
    def current(cls) -> Lab:
        """The lab that this process runs in. machine.Unfit outside of one."""
        if VARIABLE not in os.environ:
            raise machine.Unfit("Not inside a lab: start this by `./dev integration`, or in `./dev lab shell`")
        return cls(Path(os.environ[VARIABLE]))

    @property
    def checkout(self) -> str:
        """The checkout whose `./dev` started it; empty when that was not written down."""
        path = self.folder / "checkout"
        return path.read_text().strip() if path.exists() else ""

    @property
    def stays(self) -> bool:
        """Whether it outlives the command that started it."""
        return (self.folder / "stays").exists()

    @property
    def gateway(self) -> str:
        """The lab's own address: packages over HTTP on port 80, and whatever else listens there."""
        return keeper.GATEWAY

    @property
    def hosts(self) -> list[Host]:
        """The hosts, in the order of their addresses."""
        made = [Host.load(self, path.parent) for path in (self.folder / "hosts").glob("*/host.json")]
        return sorted(made, key=lambda host: int(host.address.rpartition(".")[2]))

    def host(self, name: str) -> Host:
        """The host of that name. machine.Unfit when there is none."""
        for host in self.hosts:
            if host.name == name:
                return host
        names = ", ".join(h.name for h in self.hosts) or "none"
        raise machine.Unfit(f"Lab {self.id} has no host {name!r}; its hosts: {names}")

    def add_host(
        self,
        name: str,
        suite: str,
        profile: str = "",
        *,
        extra_setup: Sequence[Callable[[Path], None]] = (),
        layers: Sequence[Path] = (),
    ) -> Host:
        """Boots one more host; `wait()` for it afterwards.

        `layers` are folders that lie read-only over its suite's root; `extra_setup` is called with its root before
        it boots.
        """
        limits.require_inotify()
        taken = {h.address for h in self.hosts}
        if len(taken) >= MAX_HOSTS:
            raise ValueError(f"Lab {self.id} has {len(taken)} hosts already, and a lab has at most {MAX_HOSTS}")
        address = next(a for n in range(MAX_HOSTS) if (a := f"{keeper.NETWORK}.{11 + n}") not in taken)
        host = Host(self, name, suite, profile, address)
        host.up(extra_setup, layers)
        access.write_inventory(self)
        return host

    def serve(self, parts: Mapping[str, Path]) -> None:
        """Offers folders and files at http://198.51.100.1/<path>; what is there already stays as it is."""
        for name, path in parts.items():
            target = self.folder / "www" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.exists():
                target.symlink_to(path)

    def path(self, path: Path) -> Path:
        """Where this process finds a path of the lab's mount namespace (lab hosts' roots are mounted only there)."""
        return path if self.inside else Path(f"/proc/{self.keeper_pid}/root") / path.relative_to("/")

    @property
    def inside(self) -> bool:
        """Whether this process is in the lab's namespaces."""
        return processes.pid_namespace() == json.loads((self.folder / "ready").read_text())["namespace"]

    @property
    def keeper_pid(self) -> int:
        """Pid of the lab's process 1, as seen from this process."""
        if self.inside:
            return 1
        found = [p for p in processes.with_arguments(str(self.folder)) if _program(p) == Path(keeper.__file__).name]
        if not found:
            raise machine.Unfit(f"Lab {self.id} does not run")
        return found[0]

    def command(self, args: Sequence[str | Path]) -> list[str]:
        """`args` as a command that runs in the lab's namespaces and control groups, whoever starts it."""
        if self.inside:
            return [str(a) for a in args]
        enter = ["nsenter", "-t", str(self.keeper_pid), *ENTER, f"--wd={Path.cwd()}", "--"]
        return cgroups.joining(cgroups.command_folders(self.id), [*enter, *map(str, args)])

    def environment(self) -> dict[str, str]:
        """What every command in the lab gets in addition."""
        return {VARIABLE: str(self.folder), "LC_ALL": "C.UTF-8"}

    def ansible_env(self) -> dict[str, str]:
        """Environment for Ansible runs in the lab: inventory, collections, keys; nothing of the user's own is used."""
        return access.ansible_env(self)

    def run(
        self,
        args: Sequence[str | Path],
        *,
        env: Mapping[str, str] | None = None,
        log: Path | None = None,
        cwd: Path | None = None,
        timeout: float | None = None,
        check: bool = True,
    ) -> int:
        """Runs a program in the lab, its output to the log; as progress.run."""
        merged = {**self.environment(), **(env or {})}
        return progress.run(self.command(args), log=log, cwd=cwd, env=merged, timeout=timeout, check=check)

    def output(self, args: Sequence[str | Path], *, env: Mapping[str, str] | None = None, timeout: float = 120) -> str:
        """What a program run in the lab prints; as progress.output."""
        return progress.output(self.command(args), env={**self.environment(), **(env or {})}, timeout=timeout)

    def spawn(self, args: Sequence[str | Path], log: Path) -> subprocess.Popen[bytes]:
        """Starts a program in the lab that goes on until it is ended, at the latest with the lab."""
        with log.open("ab") as out:
            return subprocess.Popen(
                self.command(args),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**os.environ, **self.environment()},
                start_new_session=True,  # Ctrl-C at the terminal is not for it
            )

    def stop(self) -> None:
        """Ends all that runs in the lab and removes it; its logs go beside the log of this start of `./dev`."""
        with _undisturbed():
            self._keep_journals()
            _keep_logs(self.folder)
            labs.remove(self.folder)

    def __enter__(self) -> Lab:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _keep_journals(self) -> None:
        for host in self.hosts:
            if host.leader is not None:
                (host.folder / "journal.log").write_text(host.run(["journalctl", "--no-pager", "--boot"]))

    def _start_keeper(self, detached: bool) -> None:
        for name in ("hosts", "www", "etc"):
            (self.folder / name).mkdir()
        (self.folder / "checkout").write_text(f"{machine.CHECKOUT}\n")
        if detached:
            (self.folder / "stays").touch()
        access.prepare(self)
        cgroups.create(self.id)
        controllers = [h.controllers for h in cgroups.hierarchies() if h.controllers]
        program = [*UNSHARE, sys.executable, keeper.__file__, str(self.folder), *controllers]
        command = cgroups.joining(cgroups.folders(self.id), program)
        with (self.folder / "keeper.log").open("ab") as log:
            process = subprocess.Popen(
                command if detached else ["setpriv", "--pdeathsig", "KILL", *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        labs.record(self.folder, processes.identity(process.pid if detached else None))
        self._await_keeper(process)

    def _await_keeper(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not (self.folder / "ready").exists():
            if process.poll() is not None or time.monotonic() > deadline:
                said = progress.tail(self.folder / "keeper.log")
                raise TimeoutError(f"Lab {self.id} did not start within {START_SECONDS} s. It said:\n{said}")
            time.sleep(0.02)


def _program(pid: int) -> str:
    """Name of the script of a Python process: its second argument."""
    return Path([*processes.command_line(pid), "", ""][1]).name


def _keep_logs(folder: Path) -> None:
    kept = progress.log_path().parent / f"lab-{folder.name}"
    for path in [*folder.glob("*.log"), *folder.glob("cluster/*.log"), *folder.glob("hosts/*/*.log")]:
        target = kept / path.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """A second Ctrl-C does not interrupt tidying up."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
