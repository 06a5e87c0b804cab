# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fills a lab: hosts by name with GPUs plugged in, package repositories, and a cluster that the hosts join."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dev import machine, progress

from .lab import Lab
from .rootfs import SUITES, build_all

DEFAULT_HOSTS = ("gpu1=bookworm:h100x2", "gpu2=trixie:a100x2")
_SPEC = re.compile(r"(?P<name>[a-z][a-z0-9-]{0,9})=(?P<suite>\w+)(:(?P<profile>[\w-]+))?")


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
        if not match or match["suite"] not in SUITES:
            wanted = f"NAME=SUITE:PROFILE, SUITE one of {', '.join(SUITES)}, NAME up to 10 of a-z 0-9 -"
            raise machine.Unfit(f"--hosts {text!r} is not {wanted}, as in {DEFAULT_HOSTS[0]}")
        return cls(match["name"], match["suite"], match["profile"] or "")


def bring_up(lab: Lab, specs: Sequence[HostSpec], *, cluster: bool) -> None:
    """Boots the hosts side by side and waits until each has settled."""
    build_all()
    with progress.step(f"booting {', '.join(spec.name for spec in specs)} in lab {lab.id}"):
        hosts = [lab.add_host(spec.name, spec.suite, spec.profile) for spec in specs]
        for host in hosts:
            host.wait()
