# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host for the driver's life cycle, bare at first, and what is asked of it afterwards."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest

from lab import access, fleet
from lab.driver_task import Answer, bring, foresee, prepare
from lab.fleet import HostSpec
from lab.host import Host
from lab.lab import Lab
from lab.suites import EL, SUITES

Maker = Callable[[str], Host]
LOADED = re.compile(r"Kernel Module(?: for x86_64)?\s+(\d[\d.]+)")


@pytest.fixture(scope="module")
def make(lab: Lab) -> Iterator[Maker]:
    """Makes the one host of a suite with its distribution's repositories alone; the one before it goes."""
    made: list[Host] = []

    def of_suite(name: str) -> Host:
        while made:
            made.pop().down()
        host = fleet.add(lab, HostSpec.parse(f"driver={name}:h100x1"))
        made.append(host)
        host.wait()
        ready = prepare(lab, host)
        assert ready.status == 0, ready.end()
        return host

    yield of_suite
    while made:
        made.pop().down()
    access.write_inventory(lab)


def brought(lab: Lab, host: Host, **options: object) -> Answer:
    """Check mode first, then the run: both say the same, and the run succeeds."""
    planned = foresee(lab, host, **options)
    assert planned.run.status == 0, planned.run.end()
    done = bring(lab, host, **options)
    assert done.run.status == 0, done.run.end()
    assert planned.steps == done.steps
    assert planned.result["version"] == done.result["version"]
    return done


def unchanged(lab: Lab, host: Host, **options: object) -> None:
    """The same wish again: nothing to do, and hardly a question asked of the host."""
    again = bring(lab, host, **options)
    assert again.run.status == 0, again.run.end()
    assert (again.steps, again.result["changed"]) == ([], False)
    assert again.module_runs <= 2


def installed(host: Host) -> dict[str, str]:
    """Upstream versions of NVIDIA's packages, by name."""
    if SUITES[host.suite].family == EL:
        said = host.run(["rpm", "-qa", "--qf", "%{NAME} %{VERSION}\\n"])
    else:
        said = host.run(["dpkg-query", "--show", "--showformat", "${Package} ${Version} ${db:Status-Status}\n"])
        said = "\n".join(row.removesuffix(" installed") for row in said.splitlines() if row.endswith(" installed"))
    rows = (line.split() for line in said.splitlines() if "nvidia" in line or "cuda" in line)
    return {name: version.partition("-")[0] for name, version in rows}


def loaded(host: Host) -> str | None:
    """The version of the driver that runs; None for none."""
    if not host.succeeds("test -e /proc/driver/nvidia/version"):
        return None
    found = LOADED.search(host.run(["cat", "/proc/driver/nvidia/version"]))
    return found.group(1) if found else None


def flavour(host: Host) -> str:
    """What modinfo says of the module that the next boot takes."""
    terms = host.run(["modinfo", "--field=license", "nvidia"]).strip()
    return {"Dual MIT/GPL": "open", "NVIDIA": "proprietary"}[terms]
