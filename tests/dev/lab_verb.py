# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`./dev lab`: a lab that stays between commands."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Mapping

from lab import labs, proving
from lab.cluster import programs
from lab.fleet import DEFAULT_HOSTS, HostSpec, bring_up
from lab.host import Host
from lab.lab import Lab

from . import machine, progress


def run(options: argparse.Namespace) -> int:
    return {"up": up, "down": down, "shell": shell, "status": status}[options.action](options)


def up(options: argparse.Namespace) -> int:
    """Starts a lab with its hosts; removes it again when that fails or is interrupted."""
    specs = [HostSpec.parse(text) for text in options.hosts or DEFAULT_HOSTS]
    lab = Lab.start(detached=True)
    try:
        bring_up(lab, specs, cluster=not options.no_cluster)
        proving.write_variables(lab, own=None if not options.hosts else {})
    except BaseException:
        lab.stop()
        raise
    progress.say(f"lab {lab.id} is up: `./dev lab shell`, `./dev lab shell {specs[0].name}`, `./dev lab down`")
    return 0


def down(options: argparse.Namespace) -> int:
    lab = _chosen(options)
    with progress.step(f"stopping lab {lab.id}"):
        lab.stop()
    return 0


def shell(options: argparse.Namespace) -> int:
    """An interactive shell in the lab, ready for ansible-playbook and kubectl; or on a host."""
    lab = _chosen(options)
    if options.host:
        return _on_host(lab.host(options.host))
    simulated = ", ".join(f"{host.name} {host.profile or 'no GPU'}" for host in lab.hosts)
    settings = {**os.environ, **lab.ansible_env(), "PS1": f"lab {lab.id} ({simulated}):\\w# "}
    commands = ["ansible-playbook gpu.fleet.site", "exit"]
    if (lab.folder / "cluster/admin.kubeconfig").exists():
        settings["PATH"] = f"{programs.program('kubectl').parent}:{settings['PATH']}"
        commands.insert(1, "kubectl get nodes")
    print(f"In lab {lab.id}; GPUs, their kernel modules and NVML are simulated: {simulated}. Try:")
    print("".join(f"  {command}\n" for command in commands))
    sys.stdout.flush()
    return _interactive(lab.command(["bash", "--norc"]), settings)


def _on_host(host: Host) -> int:
    prompt = f"{host.name} ({host.suite}, {host.profile or 'no GPU'}, simulated):\\w# "
    settings = ["env", f"TERM={os.environ.get('TERM', 'dumb')}", f"PS1={prompt}"]
    return _interactive(host.command([*settings, "bash", "--norc"]), os.environ)


def _interactive(command: list[str], settings: Mapping[str, str]) -> int:
    """Ctrl-C is for what runs in the shell, not for `./dev`."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        shell = ["env", "--default-signal=INT", *command]
        return subprocess.run(shell, env=settings, check=False).returncode
    finally:
        signal.signal(signal.SIGINT, before)


def status(_options: argparse.Namespace) -> int:
    found = [Lab(folder) for folder in labs.running()]
    for lab in found:
        print(f"lab {lab.id} in {lab.folder}, owner {labs.owner(lab.folder).pid}")
        for host in lab.hosts:
            print(f"  {host.name:12} {host.address:16} {host.suite:10} {host.profile or '-':18} {host.state()}")
    if not found:
        print("no lab runs: `./dev lab up` starts one")
    return 0


def _chosen(options: argparse.Namespace) -> Lab:
    folders = labs.running()
    if options.lab:
        folders = [folder for folder in folders if folder.name == options.lab]
    if len(folders) != 1:
        ids = ", ".join(folder.name for folder in labs.running()) or "none"
        raise machine.Unfit(
            f"Wanted one running lab, found {ids}: start one by `./dev lab up`, or name it with --lab ID"
        )
    return Lab(folders[0])
