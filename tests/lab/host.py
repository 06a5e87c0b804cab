# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host of a lab: a Debian under systemd-nspawn with systemd, sshd and an address of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dev import machine, progress

from . import cgroups, keeper, module_runs, processes
from .disk import FRESH, STORES, Disk
from .rootfs import rootfs

if TYPE_CHECKING:
    from .lab import Lab

BOOT_SECONDS = 90
NAMESPACES = ("-m", "-p", "-n", "-C", "-i", "-u")  # options of nsenter
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# Files by path below the root; {name}, {address}, {gateway} are filled in.
FILES = {
    "etc/hostname": "{name}\n",
    "etc/resolv.conf": "",
    "etc/hosts": "127.0.0.1 localhost\n{address} {name}\n{gateway} lab\n",
    # Debian's default, crun, wants CAP_SYS_RESOURCE; the lab's cgroup tree may lack the pids controller.
    "etc/containers/containers.conf": '[containers]\npids_limit = 0\n[engine]\nruntime = "runc"\n',
    "etc/systemd/system/lab-network.service": """\
[Unit]
Description=Address of this host in the lab
DefaultDependencies=no
Before=network-pre.target
Wants=network-pre.target
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=ip address add {address}/24 dev host0
ExecStart=ip link set host0 up
ExecStart=ip route add default via {gateway}
""",
}


@dataclass(frozen=True)
class Host:
    """`profile` names the GPUs plugged into it (simulator.profiles), empty for none and no simulator either."""

    lab: Lab
    name: str
    suite: str
    profile: str
    address: str

    @classmethod
    def load(cls, lab: Lab, folder: Path) -> Host:
        """The host that was brought up with this folder."""
        return cls(lab, **json.loads((folder / "host.json").read_text()))

    @property
    def folder(self) -> Path:
        return self.lab.folder / "hosts" / self.name

    @property
    def disk(self) -> Disk:
        """Its disk, with the snapshots that were made of it."""
        return Disk(self.lab, self.folder)

    @property
    def root(self) -> Path:
        """Its root file system, as this process reaches it. Absolute links in it lead to the outer machine's files."""
        return self.lab.path(self.folder / "root")

    @property
    def machine(self) -> str:
        """Name of its control groups and interfaces, which holds the lab's id."""
        return f"{self.lab.id}-{self.name}"

    @property
    def public_key(self) -> str:
        return (self.folder / "ssh_host_ed25519_key.pub").read_text().strip()

    def up(self, extra_setup: Sequence[Callable[[Path], None]] = (), layers: Sequence[Path] = ()) -> None:
        """Lays out the root and boots it; arguments as Lab.add_host. ValueError when the name is taken."""
        if self.folder.exists():
            raise ValueError(f"Lab {self.lab.id} has a host {self.name!r} already")
        self.disk.make([*layers, rootfs(self.suite)])
        self._lay_out()
        module_runs.install(self.root)
        for setup in extra_setup:
            setup(self.root)
        description = {"name": self.name, "suite": self.suite, "profile": self.profile, "address": self.address}
        (self.folder / "host.json").write_text(json.dumps(description))
        self.disk.save(FRESH)
        self._boot()

    def wait(self, seconds: float = BOOT_SECONDS) -> str:
        """Waits until sshd answers and systemd has settled; returns its state, `running` or `degraded`.

        TimeoutError with the end of the console when that takes too long.
        """
        program = Path(__file__).with_name("knock.py")
        knock = [sys.executable, str(program), self.address, "22", str(seconds)]
        if self.lab.run(knock, check=False) != 0:
            console = progress.tail(self.folder / "console.log")
            raise TimeoutError(f"Host {self.name} did not answer on ssh for {seconds:.0f} s. Its console:\n{console}")
        return self.state(wait=True)

    def state(self, *, wait: bool = False) -> str:
        """What `systemctl is-system-running` says; `off` when the host does not run."""
        if self.leader is None:
            return "off"
        ask = ["timeout", str(BOOT_SECONDS), "systemctl", "is-system-running", *(["--wait"] if wait else [])]
        return self._complete(ask).stdout.strip()

    @property
    def leader(self) -> int | None:
        """Pid of the host's systemd, as seen from here; None when it does not run."""
        nspawn = processes.with_arguments("systemd-nspawn", f"--machine={self.machine}")
        inner = [child for pid in nspawn for child in processes.children(pid)]
        return next((pid for pid in inner if pid not in nspawn), None)

    def command(self, args: Sequence[str | Path]) -> list[str]:
        """`args` as a command that runs as root on the host, past ssh. machine.Unfit when the host does not run."""
        leader = self.leader
        if leader is None:
            raise machine.Unfit(f"Host {self.name} of lab {self.lab.id} does not run")
        environment = ["env", "-i", "HOME=/root", "LANG=C.UTF-8", f"PATH={PATH}", "TERM=dumb"]
        enter = ["nsenter", "-t", str(leader), *NAMESPACES, "-r", "-w", "--"]
        command = [*enter, *environment, *map(str, args)]
        return cgroups.joining(self._disk_groups(), command) if self.disk.is_slow.exists() else command

    def run(self, args: Sequence[str | Path], *, timeout: float = 300) -> str:
        """Runs a program on the host as root, past ssh; returns what it prints. Failures as progress.output."""
        return progress.output(self.command(args), timeout=timeout)

    def shell(self, script: str, *, timeout: float = 300) -> str:
        """Runs a shell script on the host; as `run`."""
        return self.run(["sh", "-euc", script], timeout=timeout)

    def succeeds(self, script: str) -> bool:
        """Whether a shell script ends with status 0 on the host."""
        return self._complete(["sh", "-euc", script]).returncode == 0

    def reboot_and_wait(self, seconds: float = BOOT_SECONDS) -> str:
        """Reboots in order; returns the state of systemd afterwards, as `wait`."""
        before = self.leader
        self.run(["systemctl", "reboot"])
        self._await_leader(lambda pid: pid not in (None, before), seconds, "did not come back")
        return self.wait(seconds)

    def power_cut(self) -> None:
        """Ends the host at once, as when its power is cut; `power_on` boots it again. Nothing when it is off."""
        (self.folder / "stopped").touch()
        if self.leader is not None:
            subprocess.run(["kill", "-KILL", str(self.leader)], check=True)
        self._await_off(BOOT_SECONDS)

    def power_off(self, seconds: float = BOOT_SECONDS) -> None:
        """Shuts the host down in order; `power_on` boots it again. Nothing when it is off."""
        (self.folder / "stopped").touch()
        if self.leader is not None:
            self.run(["systemctl", "poweroff"])
        self._await_off(seconds)

    def power_on(self) -> None:
        """Boots the host from what its disk held."""
        (self.folder / "stopped").unlink(missing_ok=True)
        self._boot()

    def snapshot(self, name: str) -> str:
        """Keeps what is on its disk as `name`, for `restore`; it reboots for that. Returns as `wait`."""
        self.power_off()
        self.disk.save(name)
        self.power_on()
        return self.wait()

    def restore(self, name: str = FRESH, setup: Sequence[Callable[[Path], None]] = ()) -> str:
        """Boots the host as it was at a snapshot, by default before its first boot. Returns as `wait`.

        `setup` is called with its root before it boots. machine.Unfit, with the host untouched, without the snapshot.
        """
        if name not in self.disk.snapshots:
            raise machine.Unfit(f"Host {self.name} has no snapshot {name!r}; it has {', '.join(self.disk.snapshots)}")
        self.power_cut()
        self.disk.restore(name)
        for change in setup:
            change(self.root)
        self.power_on()
        return self.wait()

    def down(self) -> None:
        """Ends the host at once and removes it with all its files."""
        self.power_cut()
        self.disk.remove()

    def _disk_groups(self) -> list[Path]:
        """The host's group of the v1 hierarchy for disks: a slow disk is slow for commands run past ssh, too."""
        found = [h for h in cgroups.hierarchies() if cgroups.BLOCK in h.controllers.split(",")]
        inside, outside = keeper.CGROUP1, f"{cgroups.PREFIX}{self.lab.id}"
        return [(inside / h.controllers if self.lab.inside else h.mount / outside) / self.machine for h in found]

    def _lay_out(self) -> None:
        values = {"name": self.name, "address": self.address, "gateway": keeper.GATEWAY}
        for path, text in FILES.items():
            target = self.root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            target.write_text(text.format(**values))
        wants = self.root / "etc/systemd/system/sysinit.target.wants"
        wants.mkdir(exist_ok=True)
        (wants / "lab-network.service").symlink_to("../lab-network.service")
        self._keys()

    def _keys(self) -> None:
        key = self.folder / "ssh_host_ed25519_key"
        progress.output(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", self.name, "-f", key])
        for path, mode in ((key, 0o600), (key.with_suffix(".pub"), 0o644)):
            target = self.root / "etc/ssh" / path.name
            target.write_bytes(path.read_bytes())
            target.chmod(mode)
        (self.root / "root/.ssh").mkdir(mode=0o700, exist_ok=True)
        (self.root / "root/.ssh/authorized_keys").write_text((self.lab.folder / "id.pub").read_text())

    def _boot(self) -> None:
        search = f"PYTHONPATH={Path(__file__).parents[1]}"
        program = ["env", search, sys.executable, "-m", "lab.supervisor", str(self.folder), self.machine, self.name]
        binds = [f"{self.folder}/disk/{source}:{target}" for source, target in STORES.items()]
        self.lab.spawn([*program, *binds], self.folder / "console.log")

    def _complete(self, args: Sequence[str]) -> subprocess.CompletedProcess[str]:
        command, limit = self.command(args), BOOT_SECONDS + 10
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=limit, check=False
        )

    def _await_off(self, seconds: float) -> None:
        self._await_leader(lambda pid: pid is None, seconds, "did not stop")
        deadline = time.monotonic() + seconds
        while processes.with_arguments("lab.supervisor", str(self.folder)):  # until its interface is gone, too
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"Host {self.name} did not end within {seconds:.0f} s; see {self.folder}/console.log"
                )
            time.sleep(0.02)

    def _await_leader(self, wanted: Callable[[int | None], bool], seconds: float, failure: str) -> None:
        deadline = time.monotonic() + seconds
        while not wanted(self.leader):
            if time.monotonic() > deadline:
                raise TimeoutError(f"Host {self.name} {failure} within {seconds:.0f} s; see {self.folder}/console.log")
            time.sleep(0.05)
