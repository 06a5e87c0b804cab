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
from collections.abc import Mapping, Sequence

from lab import fleet, labs, proving, suites
from lab.cluster.kwok import Kwok
from lab.cluster.kwok_nodes import KwokGroup, make_nodes
from lab.disk import FRESH
from lab.fleet import DEFAULT_HOSTS, HostSpec, bring_up
from lab.host import Host
from lab.lab import Lab
from simulator.models import MODELS
from simulator.profiles import FIRMWARE, PROFILES

from . import machine, progress

NEXT = """
Try next:
  ./dev lab shell                  beside the hosts: ansible-playbook gpu.fleet.site{kubectl}
  ./dev lab shell {name:17}on a host: lspci -d 10de:, apt, systemctl, dmesg
  ./dev lab break                  what can be broken; ./dev lab heal ends it
  ./dev lab restore {name:15}as before its first boot, in about a second
  ./dev lab status
  ./dev lab down"""


def run(options: argparse.Namespace) -> int:
    actions = {
        "up": up,
        "down": down,
        "shell": shell,
        "status": status,
        "profiles": profiles,
        "break": break_host,
        "heal": heal,
        "snapshot": snapshot,
        "restore": restore,
    }
    return actions[options.action](options)


def up(options: argparse.Namespace) -> int:
    """Starts a lab with its hosts; removes it again when that fails or is interrupted."""
    specs = [HostSpec.parse(text) for text in options.hosts or DEFAULT_HOSTS]
    groups = [KwokGroup.parse(text) for text in options.kwok]
    if groups and options.no_cluster:
        raise machine.Unfit("--kwok needs a cluster: leave out --no-cluster")
    lab = Lab.start(detached=True)
    try:
        bring_up(lab, specs, cluster=not options.no_cluster)
        proving.write_variables(lab, own=None if not options.hosts else {})
        if groups:
            strategy = str(proving.COMMON["gpu_fleet_mig_strategy"])
            Kwok(proving.plane_of(lab), make_nodes(groups, mig_strategy=strategy)).start()
    except BaseException:
        lab.stop()
        raise
    progress.say(f"lab {lab.id} is up")
    print()
    _columns(_rows(lab))
    kubectl = "" if options.no_cluster else ", kubectl get nodes"
    print(NEXT.format(name=specs[0].name, kubectl=kubectl))
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
    settings = {**os.environ, **lab.ansible_env(), "PS1": f"[lab {lab.id}: simulated hosts {_names(lab.hosts)}] \\w# "}
    commands = ["ansible-playbook gpu.fleet.site", "molecule test --scenario-name driver", "exit"]
    if (lab.folder / "cluster/admin.kubeconfig").exists():
        commands.insert(1, "kubectl get nodes")
    print(f"In lab {lab.id}, beside its hosts. Simulated there: GPUs, their kernel modules and NVML. Try:")
    print("".join(f"  {command}\n" for command in commands))
    sys.stdout.flush()
    return _interactive(lab.command(["bash", "--norc"]), settings)


def _on_host(host: Host) -> int:
    print(f"On {host.name} of lab {host.lab.id}: {_described(host)}. Leave by `exit`.")
    sys.stdout.flush()
    prompt = f"[{host.name}: {_short(host)}] \\w# "
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


def status(options: argparse.Namespace) -> int:
    """The lab that was asked for, or all of this machine, those of this checkout first."""
    found = _named(options.lab) if options.lab else sorted(map(Lab, labs.running()), key=lambda lab: not _is_own(lab))
    for lab in found:
        print("\n".join(_shown(lab)))
    if not found:
        print("no lab runs: `./dev lab up` starts one")
    return 0


def profiles(_options: argparse.Namespace) -> int:
    """What `lab up --hosts NAME=SUITE:PROFILE` takes."""
    print("Suites:")
    _columns([(name, suite.summary) for name, suite in suites.SUITES.items()])
    print("\nGPU profiles (all GPUs are simulated):")
    _columns([(name, profile.summary) for name, profile in PROFILES.items()])
    print("\nOr MODELxCOUNT, as in B200x4, of one of these models:")
    _columns([(key, model.name) for key, model in sorted(MODELS.items())])
    print("\nEach with a firmware, as in h100x2+secure-boot; without one it boots by a BIOS:")
    _columns([(f"+{name}", summary) for name, summary in FIRMWARE.items()])
    print("\nFor example: ./dev lab up --no-cluster --hosts big=trixie:hgx-h100 plain=bookworm")
    return 0


def break_host(options: argparse.Namespace) -> int:
    """Gives a host a fault; without arguments, says which there are."""
    from lab.faults import catalog, fault

    if options.fault is None:
        print("./dev lab break FAULT HOST [ARGUMENTS]")
        _columns([(row.usage, row.summary) for row in catalog.FAULTS.values()])
        return 0
    wanted = catalog.named(options.fault)
    lab = _chosen(options)
    host = _host(lab, options.host)
    words = fault.cause(host, wanted, options.arguments)
    print(f"lab {lab.id}: {host.name} has fault {' '.join([wanted.name, *words])}: {wanted.summary}, {wanted.lasts}.")
    print(f"  see it:  {wanted.look}\n  end it:  ./dev lab heal {host.name}")
    return 0


def heal(options: argparse.Namespace) -> int:
    """Ends the faults of a host, or of all."""
    from lab.faults import catalog

    lab = _chosen(options)
    for host in [lab.host(options.host)] if options.host else lab.hosts:
        ended = catalog.heal_all(host)
        print(f"lab {lab.id}: {host.name}", f"is rid of {', '.join(ended)}" if ended else "had no fault")
    return 0


def snapshot(options: argparse.Namespace) -> int:
    lab = _chosen(options)
    host = lab.host(options.host)
    with progress.step(f"lab {lab.id}: keeping {host.name} as {options.name!r}; it boots for that"):
        host.snapshot(options.name)
    return 0


def restore(options: argparse.Namespace) -> int:
    from lab.faults import fault

    lab = _chosen(options)
    host = lab.host(options.host)
    with progress.step(f"lab {lab.id}: bringing {host.name} back to {options.name!r}"):
        host.restore(options.name)
        fault.forget(host)
    return 0


def _chosen(options: argparse.Namespace) -> Lab:
    """The lab named by --lab; else the one of this checkout, one that stays before one of a run; else the only one."""
    if options.lab:
        return _named(options.lab)[0]
    found = [Lab(folder) for folder in labs.running()]
    own = [lab for lab in found if _is_own(lab)]
    for choice in ([lab for lab in own if lab.stays], own, found):
        if len(choice) == 1:
            return choice[0]
        if choice:
            ids = ", ".join(f"{lab.id} ({lab.checkout})" for lab in choice)
            raise machine.Unfit(f"Wanted one running lab, found {ids}: name it with --lab ID")
    raise machine.Unfit("Wanted one running lab, found none: start one by `./dev lab up`")


def _named(lab_id: str) -> list[Lab]:
    running = labs.running()
    found = [Lab(folder) for folder in running if folder.name == lab_id]
    if not found:
        ids = ", ".join(folder.name for folder in running) or "none"
        raise machine.Unfit(f"--lab {lab_id}: no such lab runs; running: {ids}")
    return found


def _host(lab: Lab, name: str | None) -> Host:
    if name is None:
        raise machine.Unfit(f"Which host? Lab {lab.id} has {_names(lab.hosts)}: ./dev lab break FAULT HOST [ARGUMENTS]")
    return lab.host(name)


def _is_own(lab: Lab) -> bool:
    return lab.checkout == str(machine.CHECKOUT)


def _shown(lab: Lab) -> list[str]:
    """What `lab status` says of a lab. One that ends while it is looked at may lack anything."""
    try:
        of = "" if _is_own(lab) else f" of {lab.checkout or 'another checkout'}"
        return [f"lab {lab.id}{of}, {_life(lab)}, files in {lab.folder}", *_aligned(_rows(lab))]
    except (OSError, ValueError, LookupError, StopIteration, machine.Unfit):
        if labs.owner(lab.folder) is not None:
            raise
        return [f"lab {lab.id} is being removed"]


def _life(lab: Lab) -> str:
    if lab.stays:
        return "stays until `./dev lab down`"
    owner = labs.owner(lab.folder)
    if owner is None:
        raise machine.Unfit(f"Lab {lab.id} is being removed")
    return f"ends with process {owner.pid}"


def _rows(lab: Lab) -> list[tuple[str, ...]]:
    """A line a host: name, address, state, what it is."""
    from lab.faults import fault

    rows: list[tuple[str, ...]] = []
    for host in lab.hosts:
        faults = ", ".join(" ".join([name, *words]) for name, words in fault.present(host).items())
        kept = ", ".join(name for name in host.disk.snapshots if name != FRESH)
        more = [f"BROKEN: {faults}" if faults else "", f"snapshots: {kept}" if kept else ""]
        rows.append((host.name, host.address, host.state(), "; ".join([_described(host), *filter(None, more)])))
    return rows or [("no host",)]


def _columns(rows: Sequence[tuple[str, ...]]) -> None:
    print("\n".join(_aligned(rows)))


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  " + "  ".join(f"{text:{width}}" for text, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def _names(hosts: Sequence[Host]) -> str:
    return ", ".join(host.name for host in hosts) or "no host"


def _short(host: Host) -> str:
    """For prompts: the system, the profile, and that it is simulated."""
    return f"{suites.SUITES[host.suite].title}, simulated {host.profile}" if host.profile else host.suite


def _described(host: Host) -> str:
    gpus = f"simulated {fleet.hardware_summary(host.profile)}" if host.profile else "no GPU"
    return f"{suites.SUITES[host.suite].title}, {gpus}"
