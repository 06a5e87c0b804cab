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
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .._catalog.driver_files import PROGRAM_DIRECTORIES
from .._catalog.engines import AUTO, DISTRIBUTIONS
from .._plan.engine import Document, EngineState, EngineWish, Owned
from .command import Run
from .distributions import find_distribution, read_drop_in_path, read_managed, read_unit
from .files import HostRoot
from .texts.documents import parse_json, parse_toml
from .unit_flags import read_flags

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
        self._row = DISTRIBUTIONS.get(wish.distribution)
        self.executable = executable or self._found()

    def _found(self) -> str | None:
        # A tree that is not the running machine has no program that could be run.
        if self._host.root != "/":
            return None
        if self._row is None:
            return shutil.which(PROGRAMS[self._wish.runtime])
        # The system's containerd knows nothing of a distribution's files, and not every distribution's own can judge
        # them.
        return self._row.program if self._host.is_executable(self._row.program or "/") else None

    @property
    def unit(self) -> str | None:
        """The systemd unit by which the engine is restarted; None for an engine without one."""
        return UNITS.get(self._wish.runtime) if self._row is None else read_unit(self._host, self._row) or None

    def read(self, *, config_source: str, owned: Iterable[Owned]) -> EngineState:
        """The engine's files, and the configuration from which options are inherited."""
        errors: list[str] = []
        main = self._file(self._wish.config_path, errors)
        drop_in = self._file(self._wish.drop_in_path, errors) if self._wish.drop_in_path else None
        source = main
        if config_source == "command" and self._wish.runtime != "docker":
            # Who asks for the command's answer means the program of the running machine, whatever tree is read.
            self.executable = self.executable or shutil.which(PROGRAMS[self._wish.runtime])
            try:
                source = self.dump(self.source_command())
            except Unreadable as error:
                errors.append(str(error))
        return EngineState(
            main=main,
            drop_in=drop_in,
            source=source,
            errors=tuple(errors),
            owned=tuple(owned),
            dumped=self._dumped(),
            managed=self._row is None or read_managed(self._host, self._row),
            flags=read_flags(self._host, UNITS["docker"]) if self._wish.runtime == "docker" else {},
        )

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
        started = read_start(self._run, self.unit) if self._host.root == "/" and self.unit else None
        # A distribution writes its own file while it starts.
        ours = (self._wish.drop_in_path,) if self._row else (self._wish.config_path, self._wish.drop_in_path)
        found = [self._host.stat(p) for p in ours if p]
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


def engine_places(host: HostRoot, options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of module container_runtime with the places of the distribution that brings containerd.

    ``distribution`` auto (or absent) looks for one where ``config_path`` does not say what is meant.
    """
    name = options.get("distribution") or AUTO
    if name == AUTO:
        name = find_distribution(host) if options["runtime"] == "containerd" and not options.get("config_path") else ""
    row = DISTRIBUTIONS.get(name)
    if row is None:
        return {**options, "distribution": ""}
    given = options.get("drop_in_path")
    return {
        **options,
        "distribution": row.name,
        "config_path": options.get("config_path") or row.config,
        "drop_in_path": read_drop_in_path(host, row) if given is None else given,
    }


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
    if find_distribution(host):
        return "containerd"
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
