# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`./dev lab`: a lab that stays between commands."""

from __future__ import annotations

import argparse
import os
import subprocess

from lab import labs
from lab.fleet import DEFAULT_HOSTS, HostSpec, bring_up
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
        command = [*lab.host(options.host).command(["bash", "-l"])]
        return subprocess.run(command, check=False).returncode
    settings = {**os.environ, **lab.ansible_env(), "PS1": f"lab {lab.id}:\\w# "}
    return subprocess.run(lab.command(["bash", "--norc"]), env=settings, check=False).returncode


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
