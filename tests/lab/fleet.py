# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fills a lab: hosts by name with GPUs plugged in, package repositories, and a cluster that the hosts join."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from dev import machine, progress
from simulator import profiles

from . import access, rootfs, suites
from .host import Host
from .lab import Lab

DEFAULT_HOSTS = ("gpu1=bookworm:h100x2", "gpu2=trixie:a100x2")
_SPEC = re.compile(r"(?P<name>[a-z][a-z0-9-]{0,9})=(?P<suite>\w+)(:(?P<profile>[\w+-]+))?")


@dataclass(frozen=True)
class HostSpec:
    """A host as asked for on the command line; no profile means no GPU and no simulator."""

    name: str
    suite: str
    profile: str = ""

    @classmethod
    def parse(cls, text: str) -> HostSpec:
        """Reads NAME=SUITE:PROFILE. machine.Unfit when it is something else."""
        match = _SPEC.fullmatch(text)
        if not match or match["suite"] not in suites.SUITES:
            wanted = f"NAME=SUITE:PROFILE, SUITE one of {', '.join(suites.SUITES)}, NAME up to 10 of a-z 0-9 -"
            raise machine.Unfit(f"--hosts {text!r} is not {wanted}, as in {DEFAULT_HOSTS[0]}")
        try:
            hardware_summary(match["profile"] or "none")
        except ValueError as error:
            raise machine.Unfit(f"--hosts {text!r}: {error}") from None
        return cls(match["name"], match["suite"], match["profile"] or "")


def hardware_summary(profile: str) -> str:
    """What is plugged in by a profile. ValueError names the known ones."""
    return profiles.profile(profile).summary


def bring_up(lab: Lab, specs: Sequence[HostSpec], *, cluster: bool, also: Iterable[str] = ()) -> None:
    """Serves the packages, boots the hosts side by side and waits until each has settled (and its node is Ready).

    `also`: further suites, of which hosts will be added later.
    """
    simulated = [spec.name for spec in specs if suites.SUITES[spec.suite].is_simulated]
    if cluster and simulated:
        raise machine.Unfit(f"Simulated systems ({', '.join(simulated)}) are no nodes of a cluster: add --no-cluster")
    used = {*also, *(spec.suite for spec in specs)}
    build(used, cluster=cluster)
    serve_packages(lab, used)
    if cluster:
        _cluster(lab, specs)
        return
    with progress.step(f"booting {', '.join(spec.name for spec in specs)} in lab {lab.id}"):
        for host in [add(lab, spec) for spec in specs]:
            host.wait()


def build(used: Iterable[str] = ("bookworm", "trixie"), *, cluster: bool) -> None:
    """Makes all that hosts of these suites are laid out from, where the cache lacks it; downloads beside compiling."""
    from lab.cluster import node, programs
    from lab.packages import repository

    folders = [suites.SUITES[name].folder for name in sorted(used)]
    jobs: list[Callable[[], object]] = [lambda: rootfs.build_all(used), lambda: repository.parts(folders)]
    if cluster:
        jobs += [programs.build_all]
    with ThreadPoolExecutor(len(jobs)) as pool:
        for done in [pool.submit(job) for job in jobs]:
            done.result()
    if cluster:
        node.layer()


def make_bare(lab: Lab) -> None:
    """Boots the nodes of the lab's cluster as they were before their first boot, and waits until each is Ready."""
    from lab.cluster import controlplane, node

    with progress.step(f"making {', '.join(host.name for host in lab.hosts)} bare again in lab {lab.id}"):
        for host in lab.hosts:
            host.restore()
            node.wait_ready(controlplane.ControlPlane(lab), host)


def serve_packages(lab: Lab, used: Iterable[str]) -> None:
    """Offers the repositories for these suites, and names them in the inventory by the product's variables."""
    from lab.packages import repository, variables

    lab.serve(repository.parts(suites.SUITES[name].folder for name in sorted(used)))
    access.write_group_vars(lab, dict(variables.product_variables()))


def add(lab: Lab, spec: HostSpec, *, layers: Sequence[Path] = (), setup: Sequence[Callable[[Path], None]] = ()) -> Host:
    """Boots one host with its GPUs and the lab's Debian repository; `wait()` for it afterwards."""
    return lab.add_host(spec.name, spec.suite, spec.profile, layers=layers, extra_setup=[*_equipment(spec), *setup])


def _equipment(spec: HostSpec) -> list[Callable[[Path], None]]:
    from lab.packages import sources

    suite = suites.SUITES[spec.suite]
    steps: list[Callable[[Path], None]] = [lambda root: suites.disguise(root, suite)]
    steps.append(lambda root: sources.give(root, suite.folder))
    if spec.profile:
        from simulator import hardware

        steps.append(lambda root: hardware.plug_in(root, spec.profile, kernel=rootfs.kernel(suite)))
    return steps


def _cluster(lab: Lab, specs: Sequence[HostSpec]) -> None:
    from lab.cluster import controlplane, node

    plane = controlplane.ControlPlane(lab)
    plane.start()
    with progress.step(f"booting {', '.join(spec.name for spec in specs)} as nodes in lab {lab.id}"):
        hosts = [add(lab, spec, layers=[node.layer()], setup=[node.setup(plane)]) for spec in specs]
        for host in hosts:
            host.wait()
            node.wait_ready(plane, host)
