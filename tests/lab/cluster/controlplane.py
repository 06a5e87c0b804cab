# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""etcd, kube-apiserver, kube-controller-manager and kube-scheduler as processes of a lab.

Everything lies below `<lab folder>/cluster`: `admin.kubeconfig`, `audit.log`, `pki/`, `etcd/`, one log a component.
"""

from __future__ import annotations

import subprocess
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from dev.progress import CommandFailed, step, tail
from lab import processes
from lab.cluster import audit, components, pki
from lab.cluster.programs import program
from lab.cluster.spawned import STOP_SECONDS, end
from lab.lab import Lab

READY_SECONDS = 60
# In the order in which they are stopped.
COMPONENTS = ("kube-scheduler", "kube-controller-manager", "kube-apiserver", "etcd")


class ControlPlaneFailed(CommandFailed):
    """A component died or did not get ready; the text has the end of its log."""


class ControlPlane:
    """The control plane of one lab; may be used from inside and from outside of it."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.folder = lab.folder / "cluster"
        self.kubeconfig = self.folder / "admin.kubeconfig"
        self.paths = components.Paths(self.folder, lab.gateway)
        self.audit_log = self.paths.audit_log
        self._started: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        """Returns when the API server is ready and the controllers work. Raises ControlPlaneFailed, CommandFailed."""
        for name in (*COMPONENTS, "kubectl"):
            program(name)
        if not self.kubeconfig.exists():
            pki.make(self.paths, self.kubeconfig)
        with step("starting the control plane"):
            self._spawn("etcd")
            self._spawn("kube-apiserver")
            self._wait("/readyz answers", lambda: self._can("get", "--raw", "/readyz"))
            # Not earlier: until the API server has made its own RBAC rules, it refuses the controller-manager.
            self._spawn("kube-controller-manager")
            self._spawn("kube-scheduler")
            self._wait("the default ServiceAccount exists", lambda: self._can("get", "serviceaccount", "default"))

    def stop(self) -> None:
        """Ends the components by their pids; no error when they do not run."""
        for name in COMPONENTS:
            for pid in self.pids(name):
                end(processes.identity(pid))
            if name in self._started:
                self._started.pop(name).wait(STOP_SECONDS)

    def running(self) -> bool:
        """Whether all components run."""
        return all(self.pids(name) for name in COMPONENTS)

    def pids(self, name: str) -> list[int]:
        """Pids of one component, as seen from this process."""
        command = self._command(name)
        return [pid for pid in processes.with_arguments(*command) if processes.command_line(pid)[0] == command[0]]

    def user_kubeconfig(self, user: str, *, group: str = "") -> Path:
        """A kubeconfig of another user, so that a test can tell requests apart or refuse rights."""
        path = self.folder / f"{user}.kubeconfig"
        pki.write_kubeconfig(self.paths, path, user, group=group)
        return path

    def kubectl(self, *args: str, timeout: float = 60) -> str:
        """What `kubectl` as cluster administrator prints; CommandFailed with its message when it fails."""
        command: list[str | Path] = [program("kubectl"), f"--cache-dir={self.folder}/kubectl-cache", *args]
        try:
            return self.lab.output(command, env={"KUBECONFIG": str(self.kubeconfig)}, timeout=timeout)
        except CommandFailed as error:  # without the words that lead into the lab
            raise CommandFailed(f"`kubectl {' '.join(args)}` ended{str(error).rpartition('` ended')[2]}") from error

    def requests_by_verb(self, since: int = 0, *, user: str = "", agent: str = "") -> Counter[str]:
        """Counts of the requests after the byte `since` of the audit log (`audit.position`)."""
        return audit.requests_by_verb(self.audit_log, since, user=user, agent=agent)

    def _command(self, name: str) -> list[str]:
        given = components.flags(name, self.paths)
        return [str(program(name)), *(f"--{flag}={value}" for flag, value in given.items())]

    def _spawn(self, name: str) -> None:
        self._started[name] = self.lab.spawn(self._command(name), self.folder / f"{name}.log")

    def _can(self, *args: str) -> bool:
        try:
            self.kubectl("--request-timeout=5s", *args, timeout=10)
        except (CommandFailed, subprocess.TimeoutExpired):
            return False
        return True

    def _wait(self, what: str, done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + READY_SECONDS
        while not done():
            dead = [name for name, process in self._started.items() if process.poll() is not None]
            if dead:
                raise ControlPlaneFailed(f"{dead[0]} ended before {what}:\n{tail(self.folder / f'{dead[0]}.log')}")
            if time.monotonic() > deadline:
                raise ControlPlaneFailed(f"waited {READY_SECONDS} s until {what}, in vain; logs: {self.folder}/*.log")
            time.sleep(0.1)


def route_pods(lab: Lab, routes: Sequence[tuple[str, str]]) -> None:
    """Lets the lab, thus the API server's proxy and the other nodes, reach pods: (pod network, node address) each."""
    lab.run(["sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"])
    for network, address in routes:
        lab.run(["ip", "route", "replace", network, "via", address])
