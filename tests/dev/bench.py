# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`./dev bench`: what a run costs that changes nothing, a CDI spec beside NVIDIA's own program, gpu_info and MIG
plans.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time

from lab import proving
from lab.fleet import HostSpec, bring_up
from lab.host import Host
from lab.lab import Lab

from . import bench_info, bench_mig, progress
from .tally import Tally

MODULE_RUNS = 11  # of an unchanged host in `site`, facts and gpu_info included
SITE_SECONDS = 1800
ROUNDS = 3
GPUS = 8
# As the proving fleet, with many GPUs on the host whose GPUs are whole.
SPECS = (HostSpec("gpu1", "bookworm", f"h100x{GPUS}"), *proving.SPECS[1:])
PINGS = {
    "hosts": ",".join(spec.name for spec in SPECS),
    "gather_facts": False,
    "tasks": [{"name": f"Ping {number}", "ansible.builtin.ping": {}} for number in range(1, MODULE_RUNS + 1)],
}
# On the host: seconds from the first read to the last write of ours, and of NVIDIA's whole process, in turns. The
# time of a file is that of its write, to some milliseconds.
SPEC_SECONDS = """
import contextlib, json, os, subprocess, sys, time
sys.path.insert(0, "/usr/local/lib/gpu-fleet/python")
from gpu_fleet._host import cdi
from gpu_fleet._observe.helpers import find_helper
SPEC = "/var/run/cdi/nvidia.yaml"
def ours():
    os.unlink(SPEC)
    begin = time.time()
    assert cdi.run() == 0  # after the write it reads everything again, which is no part of this
    return os.stat(SPEC).st_mtime - begin
def theirs():
    command = ["nvidia-ctk", "cdi", "generate", "--output", "/tmp/nvidia-ctk.yaml"]
    begin = time.time()
    subprocess.run(command, check=True, capture_output=True)
    return time.time() - begin
find_helper("yaml"), find_helper("pynvml")
with contextlib.redirect_stdout(sys.stderr):
    rows = [(ours(), theirs()) for _round in range(9)]
print(json.dumps(rows))
"""


def run(_options: argparse.Namespace) -> int:
    return check().report()


def check() -> Tally:
    """The counts can fail; times are printed as ratios, since they depend on the machine."""
    tally = Tally()
    with Lab.start() as lab:
        bring_up(lab, SPECS, cluster=True)
        proving.write_variables(lab)
        with progress.step("bringing the hosts to ready"):
            _succeeded(proving.play(lab, "gpu.fleet.site"))
        with progress.step("gpu.fleet.site with nothing to do"):
            _count(lab, tally)
        with progress.step(f"the host part of it, and {MODULE_RUNS} pings, {ROUNDS} times each"):
            ratio = _against_pings(lab)
        print(f"           host part: {ratio:.1f} times the time of {MODULE_RUNS} pings, budget 4.0")
        with progress.step(f"CDI spec of {GPUS} GPUs"):
            ours, theirs = _spec_seconds(lab.host(SPECS[0].name))
        print(f"           cdi_spec: {ours / theirs:.2f} times the time of nvidia-ctk cdi generate, budget 1.0")
    bench_info.show()
    wrong = bench_mig.show()
    tally.failures += [f"bench: {text}" for text in wrong]
    tally.passed += not wrong
    return tally


def _count(lab: Lab, tally: Tally) -> None:
    """Counts the module runs that reach each host in a run with nothing to do."""
    proving.reset_counts(lab.hosts)
    run = proving.play(lab, "gpu.fleet.site")
    _succeeded(run)
    for name, found in proving.counts(lab.hosts).items():
        changed = run.recap[name]["changed"]
        text = f"{name}: {found} remote module runs on an unchanged host, budget {MODULE_RUNS}; changed={changed}"
        progress.say(text)
        if found <= MODULE_RUNS and changed == 0:
            tally.passed += 1
        else:
            tally.failures.append(f"bench: {text}")


def _against_pings(lab: Lab) -> float:
    """Median time of the host part of an unchanged site through that of as many pings as it may have module runs."""
    pings = lab.folder / "pings.yml"
    pings.write_text(json.dumps([PINGS]))
    rows = [
        (_seconds(lab, "gpu.fleet.site", "-e", "gpu_fleet_cluster=false"), _seconds(lab, str(pings)))
        for _round in range(ROUNDS)
    ]
    site, eleven = (statistics.median(column) for column in zip(*rows, strict=True))
    return site / eleven


def _seconds(lab: Lab, *arguments: str) -> float:
    begin = time.monotonic()
    lab.run(["ansible-playbook", *arguments], env=lab.ansible_env(), timeout=SITE_SECONDS)
    return time.monotonic() - begin


def _spec_seconds(host: Host) -> tuple[float, float]:
    """Medians of ours and of NVIDIA's program, which writes a spec of its own."""
    rows = json.loads(host.run(["python3", "-c", SPEC_SECONDS]))
    ours, theirs = (statistics.median(column) for column in zip(*rows, strict=True))
    return ours, theirs


def _succeeded(run: proving.Run) -> None:
    if run.status != 0:
        raise progress.CommandFailed(f"gpu.fleet.site failed: {run.end()}")
