# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`./dev demo`: the main job end to end, each step a claim that can fail."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

from lab import claims, proving
from lab.fleet import bring_up
from lab.host import Host
from lab.lab import Lab

from . import progress
from .tally import Tally

READY_SECONDS = 120
GOOD = {"ready", "disabled", "ignored"}
NEEDED = (
    "pre-requisites",
    "state-driver",
    "state-container-toolkit",
    "state-operator-validation",
    "state-device-plugin",
    "state-dcgm-exporter",
    "gpu-feature-discovery",
)


@dataclass(frozen=True)
class Claim:
    """One step of the demo: its title while it works, and what does it; it returns what was seen."""

    title: str
    prove: Callable[[Lab], str]


def bare(lab: Lab) -> str:
    """Nothing of NVIDIA is on the hosts."""
    for host in lab.hosts:
        listed = host.run(["dpkg-query", "--show", "--showformat", "${Package} ${db:Status-Status}\n"]).splitlines()
        found = [row for row in listed if row.endswith(" installed") and ("nvidia" in row or "libcuda" in row)]
        claims.hold(f"{host.name} has no NVIDIA package", wanted=[], found=found)
    rows = [f"{h.name}: {_gpus(h.shell('lspci -n -d 10de:'))}, Debian {h.suite}, no driver" for h in lab.hosts]
    return "\n".join(rows)


def _gpus(lspci: str) -> str:
    """`2 GPUs (10de:2330)` out of `lspci -n`."""
    ids = [line.split()[2] for line in lspci.splitlines()]
    return f"{len(ids)} GPUs ({', '.join(sorted(set(ids)))})"


def site(lab: Lab) -> str:
    """gpu.fleet.site brings everything to ready."""
    run = proving.play(lab, "gpu.fleet.site")
    _succeeded(run)
    _all_ready(run)
    return run.table()


def podman(lab: Lab) -> str:
    """podman gives a container exactly the device that was asked for by its CDI name."""
    rows = []
    for host in lab.hosts:
        device = "nvidia.com/gpu=0" if host.name not in proving.OWN else "nvidia.com/gpu=0:0"
        found = claims.podman_nodes(host, device)
        claims.hold(f"GPUs in a container on {host.name}", wanted=["/dev/nvidia0"], found=claims.gpu_nodes(found))
        rows.append(f"{host.name}: podman run --device {device} sees {' '.join(found)}")
    return "\n".join(rows)


def resources(lab: Lab) -> str:
    """The real device plugin reports what was predicted from the hosts, and what the layouts really are."""
    plane, rows = proving.plane_of(lab), []
    for name, wanted in proving.RESOURCES.items():
        found = claims.allocatable(plane, name)
        claims.hold(f"allocatable resources of {name}", wanted=wanted, found=found)
        rows.append(f"{name}: {', '.join(f'{k}: {v}' for k, v in found.items())}")
    return "\n".join(rows)


def pods(lab: Lab) -> str:
    """A pod that asks for one GPU has exactly one device in it."""
    plane, rows = proving.plane_of(lab), []
    for name, resource in proving.ASKED.items():
        found = claims.pod_nodes(plane, name, resource)
        claims.hold(f"GPUs in a pod on {name}", wanted=1, found=len(claims.gpu_nodes(found)))
        rows.append(f"{name}: a pod with {resource}: 1 sees {' '.join(found)}")
    return "\n".join(rows)


def unchanged(lab: Lab) -> str:
    """A second site changes nothing."""
    proving.reset_counts(lab.hosts)
    run = proving.play(lab, "gpu.fleet.site")
    _succeeded(run)
    claims.hold("changed tasks in the second run", wanted=0, found=run.total("changed"))
    counted = ", ".join(f"{count} on {name}" for name, count in proving.counts(lab.hosts).items())
    return f"changed=0; remote module runs: {counted} (budget 11)"


def reboot(lab: Lab) -> str:
    """A reboot of the MIG host later, everything is ready again without Ansible."""
    plane, name = proving.plane_of(lab), next(iter(proving.OWN))
    before = _booted(lab.host(name))
    lab.host(name).reboot_and_wait()
    claims.hold(f"{name} has booted again", wanted=True, found=_booted(lab.host(name)) != before)
    claims.wait_for(
        f"{name} reports {proving.RESOURCES[name]} again",
        lambda: claims.allocatable(plane, name) == proving.RESOURCES[name],
        READY_SECONDS,
    )
    lab.host(name).run(["test", "-e", "/run/nvidia/validations/driver-ready"])
    run = proving.play(lab, "gpu.fleet.status")
    _succeeded(run)
    _all_ready(run)
    claims.hold("changes that gpu.fleet.status made", wanted=0, found=run.total("changed"))
    return f"{name}: booted {_booted(lab.host(name))}; MIG layout, CDI spec and resources are back"


def _booted(host: Host) -> str:
    """When the host's own systemd started; the uptime is the outer machine's."""
    return host.run(["systemctl", "show", "--property=UserspaceTimestamp", "--value"]).strip()


# In order; each raises when its claim does not hold, and returns what was seen.
STEPS = (
    Claim("looking at the bare hosts", bare),
    Claim("gpu.fleet.site: from bare hosts to a cluster that schedules GPU pods", site),
    Claim("podman with our CDI spec", podman),
    Claim("allocatable resources of the nodes", resources),
    Claim("pods that ask for one GPU", pods),
    Claim("gpu.fleet.site again", unchanged),
    Claim("reboot of the MIG host, without Ansible", reboot),
)

EPILOGUE = """
What was built: 2 Debian hosts (systemd, sshd, apt, dkms: real; GPUs, their kernel module and NVML: simulated), an etcd,
an API server, a scheduler and 2 kubelets (real), NVIDIA's device plugin and GFD (real), an exporter stand-in.
Where to look: {log} (everything that ran); ./dev lab up && ./dev lab shell gpu1 (the same fleet, to work in);
docs/architecture.md (how it works).
On your own hosts: write an inventory with the group gpu_hosts, then
  ansible-playbook -i inventory.yml gpu.fleet.plan     # what would be done; changes nothing
  ansible-playbook -i inventory.yml gpu.fleet.site     # do it
README.md has the five-minute version."""


def run(options: argparse.Namespace) -> int:
    """Runs the demo; exit status 1 when a claim does not hold."""
    if options.local:
        from . import demo_local

        return demo_local.run()
    tally = check(keep=options.keep)
    if not tally.failures:
        print(EPILOGUE.format(log=progress.log_path()))
    return tally.report()


def check(*, keep: bool = False) -> Tally:
    """Runs the steps in a lab of their own; the first that fails ends it. `keep` leaves the lab running."""
    lab = Lab.start(detached=keep)
    try:
        bring_up(lab, proving.SPECS, cluster=True)
        proving.write_variables(lab)
        return _prove(lab)
    finally:
        if not keep:
            lab.stop()


def _prove(lab: Lab) -> Tally:
    tally = Tally()
    for claim in STEPS:
        try:
            with progress.step(claim.title):
                seen = claim.prove(lab)
        except claims.ClaimFailed as error:
            tally.failures.append(f"demo: {claim.title}: {error}")
            return tally
        print("\n".join(f"           {line}" for line in seen.splitlines()), flush=True)
        tally.passed += 1
    return tally


def _succeeded(run: proving.Run) -> None:
    if run.status != 0:
        raise claims.ClaimFailed(f"the playbook failed: {run.end()}")


def _all_ready(run: proving.Run) -> None:
    states = run.states()
    bad = {h: {s: v for s, v in row.items() if v not in GOOD} for h, row in states.items()}
    claims.hold("states that are not ready", wanted={name: {} for name in proving.RESOURCES}, found=bad)
    for name in NEEDED:
        claims.hold(
            f"{name} on every host", wanted={"ready"}, found={row.get(name, "absent") for row in states.values()}
        )
