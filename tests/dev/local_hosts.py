# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated GPU hosts in folders, and plays against them on the local connection: all of it without root."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from lab.claims import ClaimFailed
from simulator import driver
from simulator.build import artifact_dir
from simulator.kernel_modules import Information
from simulator.place import Place
from simulator.sandbox import DRIVER, Sandbox
from simulator.tree import KERNEL, LICENSES

from . import collection, progress

LIBRARIES = "usr/lib/x86_64-linux-gnu"
PROGRAMS = ("usr/bin/containerd", "usr/bin/nvidia-container-runtime", "usr/bin/nvidia-cdi-hook")
NOT_OF_THE_DRIVER = "libsimhw"
PLAY_SECONDS = 300
# Only root makes device files. In a namespace of the user's own a file can be the machine's /dev/null, for a while.
UNSHARE = ["unshare", "--user", "--map-root-user", "--mount"]
WITH_NODES = 'while [ "$1" != -- ]; do mount --bind /dev/null "$1" || exit 1; shift; done; shift; exec "$@"'
BOOT = (
    "import sys; from ansible_collections.gpu.fleet.plugins.module_utils._host import mig; "
    "sys.exit(mig.run(host_root=sys.argv[1], lock=sys.argv[1] + '/run/gpu-fleet.lock', wait=0))"
)


class LocalHost:
    """One simulated host below a folder of its name: GPUs, loaded driver, its libraries, programs that do nothing."""

    def __init__(self, folder: Path, profile: str) -> None:
        self.name, self.root, self.profile = folder.name, folder, profile
        folder.mkdir(parents=True)
        self.box = Sandbox(folder, profile)
        self.box.environment["PATH"] = f"{artifact_dir() / 'bin'}:{os.environ['PATH']}"
        self._lay_libraries(folder / LIBRARIES)
        for name in PROGRAMS:
            program = folder / name
            program.parent.mkdir(parents=True, exist_ok=True)
            program.write_text("#!/bin/sh\n")
            program.chmod(0o755)

    def variables(self) -> dict[str, Any]:
        """Of the inventory. LD_LIBRARY_PATH is how NVML comes from the simulator."""
        return {
            "ansible_connection": "local",
            "ansible_python_interpreter": sys.executable,
            "ansible_remote_tmp": str(self.root.parent / "tmp"),
            "host_root": str(self.root),
            "simulated": self.box.environment,
        }

    def gpus(self) -> list[str]:
        """What the simulated nvidia-smi lists: GPUs, and MIG devices below them."""
        done = self.box.smi("-L")
        if done.returncode:
            raise ClaimFailed(f"nvidia-smi -L on {self.name}: {done.stderr or done.stdout}")
        return [line.split(" (UUID")[0].strip() for line in done.stdout.splitlines()]

    def lose_power(self) -> None:
        """Drops what hardware loses, then loads the driver as a boot does."""
        place = Place(self.root)
        driver.stop(place)
        driver.start(place, Information("nvidia", DRIVER, LICENSES["open"], KERNEL, (), sources=""), options="")

    def boot_program(self) -> str:
        """What `gpu-fleet-host mig` says at a boot."""
        environment = {**os.environ, **self.box.environment, "PYTHONPATH": str(collection.in_place())}
        command = [sys.executable, "-c", BOOT, str(self.root)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
        if done.returncode:
            raise ClaimFailed(f"gpu-fleet-host mig on {self.name} ended with {done.returncode}: {done.stderr}")
        return done.stdout.splitlines()[-1]

    def node_files(self) -> list[Path]:
        """The device files as plain files; those of MIG instances are made here, as nvidia-modprobe does on a host."""
        folder = self.root / "dev/nvidia-caps"
        folder.mkdir(exist_ok=True)
        for file in (self.root / "proc/driver/nvidia/capabilities").rglob("*"):
            if file.is_file():
                minor = dict(line.split(": ") for line in file.read_text().splitlines())["DeviceFileMinor"]
                (folder / f"nvidia-cap{minor}").touch()
        return sorted(path for path in (self.root / "dev").rglob("*") if path.is_file())

    @staticmethod
    def _lay_libraries(folder: Path) -> None:
        """The driver's libraries under their versioned names, as its packages lay them."""
        folder.mkdir(parents=True)
        for library in (artifact_dir() / "lib").iterdir():
            stem, _dot, number = library.name.partition(".so")
            if stem != NOT_OF_THE_DRIVER:
                shutil.copy(library, folder / f"{stem}.so.{DRIVER}")
                if number:
                    (folder / library.name).symlink_to(f"{stem}.so.{DRIVER}")


class LocalFleet:
    """Hosts below one folder, and the plays that run on them."""

    def __init__(self, folder: Path, profiles: dict[str, str]) -> None:
        self.folder = folder
        self.hosts = [LocalHost(folder / name, profile) for name, profile in profiles.items()]
        rows = {host.name: host.variables() for host in self.hosts}
        self._inventory = folder / "inventory.json"
        self._inventory.write_text(json.dumps({"gpu_hosts": {"hosts": rows}}))

    def play(
        self, module: str, arguments: dict[str, Any], *, check: bool = False, hosts: str = "all", nodes: bool = False
    ) -> dict[str, dict[str, Any]]:
        """Runs a module of the collection on the hosts by ansible-playbook; host -> its result.

        `check`: in check mode. `nodes`: device files are character devices meanwhile. ClaimFailed when it fails.
        """
        results = self.folder / "results"
        shutil.rmtree(results, ignore_errors=True)
        results.mkdir()
        playbook = self.folder / "play.json"
        playbook.write_text(json.dumps([_play(module, arguments, hosts, str(results))]))
        options = ["--check", "--diff"] if check else []
        command = ["ansible-playbook", "-i", str(self._inventory), *options, str(playbook)]
        self._run(self._in_namespace(command) if nodes else command)
        return {file.stem: json.loads(file.read_text()) for file in sorted(results.iterdir())}

    def nodes_are_possible(self) -> bool:
        """Whether this machine lets its users have namespaces with mounts of their own."""
        command = self._in_namespace(["true"])
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    def _in_namespace(self, command: list[str]) -> list[str]:
        files = [str(file) for host in self.hosts for file in host.node_files()]
        return [*UNSHARE, "sh", "-c", WITH_NODES, "nodes", *files, "--", *command]

    def _run(self, command: list[str]) -> None:
        settings = {
            "ANSIBLE_COLLECTIONS_PATH": str(collection.in_place()),
            "ANSIBLE_HOME": str(self.folder / "ansible"),
            "ANSIBLE_NOCOLOR": "1",
        }
        log = self.folder / "play.log"
        log.unlink(missing_ok=True)
        status = progress.run(command, log=log, cwd=self.folder, env=settings, timeout=PLAY_SECONDS, check=False)
        text = log.read_text(errors="replace")
        with progress.log_path().open("a") as whole:
            whole.write(text)
        if status:
            raise ClaimFailed(f"ansible-playbook ended with status {status}:\n{progress.tail(log)}")


def _play(module: str, arguments: dict[str, Any], hosts: str, results: str) -> dict[str, Any]:
    task = {"name": f"Run {module}", f"gpu.fleet.{module}": {**arguments, "host_root": "{{ host_root }}"}}
    keep = {
        "name": "Keep the result",
        "ansible.builtin.copy": {
            "content": "{{ result | to_json }}",
            "dest": f"{results}/{{{{ inventory_hostname }}}}.json",
        },
        "check_mode": False,
        "diff": False,
    }
    return {
        "name": module,
        "hosts": hosts,
        "gather_facts": False,
        "environment": "{{ simulated }}",
        "tasks": [{**task, "register": "result"}, keep],
    }
