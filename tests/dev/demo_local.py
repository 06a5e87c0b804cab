# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`./dev demo --local`: the host part of the demo on simulated hosts in folders, without root."""

from __future__ import annotations

import importlib
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab import claims, proving

from . import collection, progress
from .local_hosts import LocalFleet, LocalHost
from .tally import Tally

LAYOUT = "all-balanced"
MIG = {"selected_config": LAYOUT, "at_boot": True}
RUNTIME = {"runtime": "containerd", "cdi_enabled": True}
SETTINGS = {"settings": {"nvidia-container-runtime.mode": "cdi", "nvidia-container-runtime.log-level": "info"}}
SPEC = {"mode": "nvml"}
PREDICTION = "ansible_collections.gpu.fleet.plugins.module_utils._plan.resources"

LEFT_OUT = """
Left out here, since it takes root and a machine of its own:
  packages, kernel modules, services, reboot   apt, dkms and systemd act on whole hosts: roles prereq and driver
  containers                                   podman and containerd start them from the CDI spec
  the cluster                                  device plugin, GFD, exporter, pods: roles device_plugin, gfd, dcgm
  role validation                              it asks the running services and devices of a host
`./dev demo` as root shows all of it."""
NO_NODES = """
Left out, too: the CDI spec. This machine gives its users no namespaces, and only root makes the device files for it."""


@dataclass(frozen=True)
class Claim:
    """One step: its title while it works, and what does it; it returns what was seen."""

    title: str
    prove: Callable[[LocalFleet], str]


def bare(fleet: LocalFleet) -> str:
    """gpu_info reads the simulated hosts."""
    rows = []
    for name, found in fleet.play("gpu_info", {}).items():
        names = [gpu["name"] for gpu in found["gpus"]]
        claims.hold(f"GPUs of {name}", wanted=len(_host(fleet, name).gpus()), found=len(names))
        driver = found["driver"]
        rows.append(f"{name}: {len(names)} x {names[0]}, driver {driver['loaded_version']} ({driver['flavour']})")
    return "\n".join(rows)


def plan(fleet: LocalFleet) -> str:
    """mig_config in check mode plans a layout, and changes nothing."""
    host = _mig_host(fleet)
    before = host.box.state
    found = fleet.play("mig_config", MIG, check=True, hosts=host.name)[host.name]
    claims.hold("changes of the GPUs in check mode", wanted=(before, []), found=(host.box.state, host.box.writes))
    rows = [f"{s['action']} {s['target'].removeprefix(str(host.root))}: {s['after']}" for s in found["plan"]["steps"]]
    claims.hold("a plan", wanted=True, found=bool(rows))
    return "\n".join([f"{host.name}, {len(rows)} steps, disrupts {found['plan']['disrupts']}:", *rows])


def layout(fleet: LocalFleet) -> str:
    """mig_config brings the GPUs to the layout; a second run finds nothing to do."""
    host = _mig_host(fleet)
    claims.hold("changed", wanted=True, found=fleet.play("mig_config", MIG, hosts=host.name)[host.name]["changed"])
    seen, writes = host.gpus(), host.box.writes
    _hold_layout(host)
    again = fleet.play("mig_config", MIG, hosts=host.name)[host.name]["changed"]
    claims.hold("second run: changed, NVML calls", wanted=(False, []), found=(again, host.box.writes[len(writes) :]))
    return "\n".join([f"{host.name}, nvidia-smi -L:", *seen, f"{len(writes)} NVML calls that change; run again: none"])


def boot(fleet: LocalFleet) -> str:
    """The boot-time program brings back what the hardware loses."""
    host = _mig_host(fleet)
    host.lose_power()
    lost = host.gpus()
    claims.hold("MIG devices after the loss of power", wanted=[], found=_devices(lost))
    said = host.boot_program()
    _hold_layout(host)
    return f"{host.name}: no MIG device after the loss of power; gpu-fleet-host {said}"


def engine(fleet: LocalFleet) -> str:
    """toolkit_config and container_runtime write the toolkit's and containerd's files."""
    rows = []
    for module, arguments in (("toolkit_config", SETTINGS), ("container_runtime", RUNTIME)):
        first, second = fleet.play(module, arguments), fleet.play(module, arguments)
        claims.hold(f"{module}: changed", wanted={True}, found={found["changed"] for found in first.values()})
        claims.hold(f"{module} again: changed", wanted={False}, found={found["changed"] for found in second.values()})
        targets = sorted({step["target"] for found in first.values() for step in found["plan"]["steps"]})
        rows.append(f"{module}: {', '.join(targets)} on {', '.join(first)}; run again: nothing")
    return "\n".join(rows)


def spec(fleet: LocalFleet) -> str:
    """cdi_spec describes each GPU and MIG device."""
    first, second = fleet.play("cdi_spec", SPEC, nodes=True), fleet.play("cdi_spec", SPEC, nodes=True)
    claims.hold("changed on the second run", wanted={False}, found={found["changed"] for found in second.values()})
    rows = []
    for name, found in first.items():
        devices = [device["name"] for device in found["specs"][0]["spec"]["devices"]]
        listed = _host(fleet, name).gpus()
        wanted = _devices(listed) or listed
        short = [device for device in devices if "-" not in device]
        claims.hold(f"devices of {name} by index", wanted=len(wanted) + 1, found=len(short))
        rows.append(f"{name}: {found['specs'][0]['path']} has {', '.join(short)}; and each by its UUID")
    return "\n".join(rows)


def prediction(fleet: LocalFleet) -> str:
    """What the device plugin will advertise follows from gpu_info."""
    sys.path.insert(0, str(collection.in_place()))
    predict: Callable[..., Any] = importlib.import_module(PREDICTION).predict_resources
    rows = []
    for name, found in fleet.play("gpu_info", {}).items():
        resources, findings = predict(found["gpus"], mig_strategy="mixed", host=name)
        claims.hold(f"resources of {name}", wanted=(proving.RESOURCES[name], ()), found=(resources, findings))
        rows.append(f"{name}: {', '.join(f'{k}: {v}' for k, v in resources.items())}")
    return "\n".join(rows)


STEPS = (
    Claim("gpu_info on the simulated hosts", bare),
    Claim(f"mig_config {LAYOUT} in check mode", plan),
    Claim(f"mig_config {LAYOUT}", layout),
    Claim("loss of power, then gpu-fleet-host mig as at a boot", boot),
    Claim("toolkit_config and container_runtime", engine),
    Claim("prediction of the cluster's resources", prediction),
)
WITH_NODES = Claim("cdi_spec", spec)


def run() -> int:
    """Runs the demo; exit status 1 when a claim does not hold."""
    return check().report()


def check() -> Tally:
    """Runs the steps, then says what they leave out; the first that fails ends it."""
    with tempfile.TemporaryDirectory(prefix="gpu-fleet-local-") as folder:
        with progress.step("making two simulated hosts"):
            fleet = LocalFleet(Path(folder), {s.name: s.profile for s in proving.SPECS})
        possible = fleet.nodes_are_possible()
        tally = _prove(fleet, (*STEPS, WITH_NODES) if possible else STEPS)
    print(LEFT_OUT if possible else LEFT_OUT + NO_NODES)
    return tally


def _prove(fleet: LocalFleet, steps: tuple[Claim, ...]) -> Tally:
    tally = Tally()
    for claim in steps:
        try:
            with progress.step(claim.title):
                seen = claim.prove(fleet)
        except claims.ClaimFailed as error:
            tally.failures.append(f"demo --local: {claim.title}: {error}")
            return tally
        print("\n".join(f"           {line}" for line in seen.splitlines()), flush=True)
        tally.passed += 1
    return tally


def _host(fleet: LocalFleet, name: str) -> LocalHost:
    return next(host for host in fleet.hosts if host.name == name)


def _mig_host(fleet: LocalFleet) -> LocalHost:
    """The one that the demo gives a MIG layout."""
    return _host(fleet, next(iter(proving.OWN)))


def _devices(listed: list[str]) -> list[str]:
    return [line for line in listed if line.startswith("MIG")]


def _hold_layout(host: LocalHost) -> None:
    claims.hold(
        f"MIG devices of {host.name}",
        wanted=sum(proving.RESOURCES[host.name].values()),
        found=len(_devices(host.gpus())),
    )
