# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads container engines: their files, what they themselves say is in effect, when they were started.

Private to this collection.
"""

from __future__ import annotations

import posixpath
import shutil
import time
from collections.abc import Iterable, Sequence
from typing import Any

from .._catalog.driver_files import PROGRAM_DIRECTORIES
from .._plan.engine import Document, EngineState, EngineWish, Owned
from .command import Run
from .files import HostRoot
from .texts.documents import parse_json, parse_toml

PROGRAMS = {"containerd": "containerd", "crio": "crio", "docker": "dockerd", "podman": "podman"}
UNITS = {"containerd": "containerd.service", "crio": "crio.service", "docker": "docker.service"}


class Unreadable(Exception):
    """A configuration that cannot be parsed; the message says where and why."""


class EngineReader:
    """Reads one engine. ``toml`` is the package tomlkit; ``executable`` the engine's program on the running machine."""

    def __init__(self, host: HostRoot, wish: EngineWish, *, run: Run, toml: Any, executable: str | None) -> None:
        self._host = host
        self._wish = wish
        self._run = run
        self._toml = toml
        self.executable = executable or self._found()

    def _found(self) -> str | None:
        # A tree that is not the running machine has no program that could be run.
        return shutil.which(PROGRAMS[self._wish.runtime]) if self._host.root == "/" else None

    def read(self, *, config_source: str, owned: Iterable[Owned]) -> EngineState:
        """The engine's files, and the configuration from which options are inherited."""
        errors: list[str] = []
        main = self._file(self._wish.config_path, errors)
        drop_in = self._file(self._wish.drop_in_path, errors) if self._wish.drop_in_path else None
        source = main
        if config_source == "command" and self._wish.runtime != "docker":
            try:
                source = self.dump(self.source_command())
            except Unreadable as error:
                errors.append(str(error))
        return EngineState(main, drop_in, source, tuple(errors), tuple(owned), self._dumped())

    def _dumped(self) -> Document | None:
        """What the engine says is in effect; None where it cannot be asked, or refuses its files."""
        # A tree's files name paths of the host, so only on the host itself does the engine speak of the same files.
        if self._wish.runtime != "containerd" or self.executable is None or self._host.root != "/":
            return None
        status, out, _err = self._run(self.source_command()[0])
        return self.parse(out, self.executable) if status == 0 else None

    def parse(self, text: str, where: str) -> Document:
        """The document in ``text``. Raises Unreadable."""
        docker = self._wish.runtime == "docker"
        parsed = parse_json(text if text.strip() else "{}") if docker else parse_toml(text, self._toml)
        if parsed.error:
            raise Unreadable(f"{where}: {parsed.fault}")
        if not isinstance(parsed.document, dict):
            raise Unreadable(f"{where}: wanted a table of settings, found {type(parsed.document).__name__}")
        return parsed.document

    def dump(self, commands: Sequence[Sequence[str]]) -> Document:
        """What the first of ``commands`` that succeeds prints, parsed. Raises Unreadable."""
        said = "no program of the engine was found; set executable, or config_source: file"
        for command in commands:
            status, out, err = self._run(command)
            if status == 0:
                return self.parse(out, " ".join(command))
            said = f"{' '.join(command)} ended with status {status}: {(err or out).strip()}"
        raise Unreadable(said)

    def source_command(self) -> list[list[str]]:
        """The commands that print the configuration in effect, the preferred one first."""
        program = self.executable
        if program is None:
            return []
        if self._wish.runtime == "containerd":
            return [[program, "--config", self._host.where(self._wish.config_path), "config", "dump"]]
        if self._wish.runtime == "crio":
            status = posixpath.join(posixpath.dirname(program), "crio-status")
            return [[program, "status", "config"], [status, "config"]]
        return []

    def check_command(self) -> list[str] | None:
        """The command by which the engine itself says whether it would accept its files; None where it has none."""
        program, path = self.executable, self._host.where(self._wish.config_path)
        if program is None:
            return None
        if self._wish.runtime == "containerd":
            return [program, "--config", path, "config", "dump"]
        if self._wish.runtime == "docker":
            return [program, "--validate", "--config-file", path]
        if self._wish.runtime == "crio" and self._wish.drop_in_path:
            directory = self._host.where(posixpath.dirname(self._wish.drop_in_path))
            return [program, "--config", path, "--config-dir", directory, "config"]
        return None

    def started_before_files(self) -> bool:
        """Whether the engine runs with files that were changed after its start."""
        started = read_start(self._run, UNITS[self._wish.runtime]) if self._host.root == "/" else None
        found = [self._host.stat(p) for p in (self._wish.config_path, self._wish.drop_in_path) if p]
        return started is not None and any(f is not None and f.st_mtime > started for f in found)

    def _file(self, path: str, errors: list[str]) -> Document | None:
        text = self._host.text(path)
        if text is None:
            return None
        try:
            return self.parse(text, path)
        except Unreadable as error:
            errors.append(str(error))
            return None


def read_start(run: Run, unit: str) -> float | None:
    """When the unit's main process was started (seconds since the epoch); None where it does not run."""
    status, out, _err = run(["systemctl", "show", "--property=ActiveState,ExecMainStartTimestampMonotonic", unit])
    values = dict(line.split("=", 1) for line in out.splitlines() if "=" in line)
    since_boot = values.get("ExecMainStartTimestampMonotonic", "0")
    if status != 0 or values.get("ActiveState") != "active" or not int(since_boot or 0):
        return None
    return time.time() - (time.monotonic() - int(since_boot) / 1e6)


def find_runtime(host: HostRoot) -> str | None:
    """The engine that a host has: the one that the kubelet speaks to, else one that runs, else one that is installed.

    Docker comes before containerd, of which it brings one of its own.
    """
    kubelet = "".join(host.text(path) or "" for path in KUBELET_FILES)
    for runtime, sockets in SOCKETS:
        if any(f"unix://{s}" in kubelet for s in sockets):
            return runtime
    for runtime, sockets in SOCKETS:
        if any(host.exists(s) for s in sockets):
            return runtime
    for runtime in RUNTIMES:
        if any(host.is_executable(f"{d}/{PROGRAMS[runtime]}") for d in PROGRAM_DIRECTORIES):
            return runtime
    return None


KUBELET_FILES = ("/var/lib/kubelet/config.yaml", "/var/lib/kubelet/kubeadm-flags.env", "/etc/default/kubelet")
SOCKETS = (
    ("crio", ("/run/crio/crio.sock", "/var/run/crio/crio.sock")),
    ("docker", ("/run/docker.sock", "/var/run/docker.sock", "/run/cri-dockerd.sock", "/var/run/cri-dockerd.sock")),
    ("containerd", ("/run/containerd/containerd.sock", "/var/run/containerd/containerd.sock")),
)
RUNTIMES = ("crio", "docker", "containerd", "podman")
