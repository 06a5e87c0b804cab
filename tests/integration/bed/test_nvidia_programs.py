# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NVIDIA's own programs on the simulated NVML, without a host: what they find is what the machine has."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lab.claims import wait_for
from lab.cluster.controlplane import ControlPlane
from lab.cluster.programs import program
from simulator import incident
from simulator.build import artifact_dir
from simulator.mig_case import CI_PROFILES
from simulator.models import MODELS, MigProfile
from simulator.sandbox import Sandbox

FAMILIES = {6: "turing", 7: "ampere", 8: "ada-lovelace", 9: "hopper", 10: "blackwell"}
DRIVER = "595.71.05"
NODE = "judged"
WAIT = 120


@pytest.mark.parametrize(
    "models", [("A100-40",) * 2, ("T4",), ("L4",), ("H200",) * 8, ("B200",) * 8, ("RTXPRO6000",), ("INVENTED",) * 64]
)
def test_gpu_feature_discovery(tmp_path: Path, models: tuple[str, ...]) -> None:
    model = MODELS[models[0]]
    found = _labels(Sandbox(tmp_path, models, driver=DRIVER), "none")
    assert {name: found[name] for name in ("count", "product", "memory", "family", "compute.major")} == {
        "count": str(len(models)),
        "product": model.name.replace(" ", "-"),
        "memory": str(model.memory_mib),
        "family": FAMILIES[model.architecture],
        "compute.major": str(model.compute[0]),
    }


@pytest.mark.parametrize("key", ["A100-80", "A30", "H100-NVL", "GB200", "RTXPRO6000", "INVENTED"])
def test_gpu_feature_discovery_of_instances(tmp_path: Path, key: str) -> None:
    box = Sandbox(tmp_path, [key] * 2, driver=DRIVER)
    profile = MODELS[key].profiles[0]
    made = _instances(box, profile)
    found = _labels(box, "mixed", prefix=f"nvidia.com/mig-{profile.name}.")
    assert (found["count"], found["memory"], found["multiprocessors"], found["slices.gi"]) == (
        str(made),
        str(profile.memory_mib),
        str(profile.multiprocessors),
        str(profile.slices),
    )
    assert [int(found[f"engines.{name}"]) for name in ("copy", "decoder", "encoder", "jpeg", "ofa")] == [
        *profile.engines
    ]


def _labels(box: Sandbox, strategy: str, prefix: str = "nvidia.com/gpu.") -> dict[str, str]:
    """What gpu-feature-discovery labels a node with, by the rest of the name behind `prefix`."""
    options = ["--oneshot", "--no-timestamp", "--output-file", "", "--machine-type-file", os.devnull]
    done = box.run(str(program("gpu-feature-discovery")), "--mig-strategy", strategy, *options)
    assert done.returncode == 0, done.stderr
    pairs = [line.partition("=") for line in done.stdout.split()]
    return {name.removeprefix(prefix): value for name, _sign, value in pairs if name.startswith(prefix)}


def _instances(box: Sandbox, profile: MigProfile, gpu: int = 1) -> int:
    """Fills a GPU with instances of the profile; their number."""
    return int(
        box.nvml(
            f"d = gpu({gpu}); nvmlDeviceSetMigMode(d, 1)\n"
            f"made = [nvmlDeviceCreateGpuInstance(d, {profile.id}) for _ in range({profile.count})]\n"
            f"for gi in made: nvmlGpuInstanceCreateComputeInstance(gi, {CI_PROFILES[profile.slices]})\n"
            "result = len(made)"
        )
    )


def test_device_plugin_takes_a_gpu_away_after_an_xid(tmp_path: Path) -> None:
    """It serves whole GPUs and instances, ignores errors of applications, and reports a double-bit error."""
    box = Sandbox(tmp_path, ["H100-80"] * 3, driver=DRIVER)
    _instances(box, MODELS["H100-80"].profiles[4])  # 3g.40gb
    command = [program("nvidia-device-plugin"), "--mig-strategy=mixed", "--kubelet-socket="]
    with _alone(box, command) as said:
        for resource in ("nvidia.com/gpu", "nvidia.com/mig-3g.40gb"):
            said(rf"Starting to serve '{re.escape(resource)}'")
        said("Ignoring the following XIDs", times=2)  # it looks after both resources from here on
        incident.xid(box.place, 0, 13)
        incident.xid(box.place, 2, 48)
        said("Skipping event .*EventData:13")
        uuid = box.state.gpus[2]["uuid"]
        said(f"Xid=48 on Device={uuid}; marking device as unhealthy")
        incident.lose(box.place, 1)  # whose instances are another resource: the first waits for a kubelet to listen
        said("GPU is lost; Marking all devices as unhealthy")


@contextmanager
def _alone(box: Sandbox, command: list[Any]) -> Iterator[Callable[..., None]]:
    """Runs a program that speaks to the kubelet and reads /proc, with both of its own; gives a wait for its words."""
    sockets = "mkdir -p /var/lib/kubelet/device-plugins"
    mounts = f"mount -t tmpfs tmpfs /var/lib; {sockets}; mount --bind {box.place.driver} /proc/driver"
    script = f"set -e; {mounts}; exec {shlex.join(map(str, command))}"
    unshared = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script]
    log = box.folder / "program.log"

    def said(pattern: str, times: int = 1) -> None:
        """Waits until it has said so so many times."""
        wait_for(f"it says {pattern!r}", lambda: len(re.findall(pattern, log.read_text())) >= times, WAIT)

    with log.open("w") as file:
        running = subprocess.Popen(unshared, env={**os.environ, **box.environment}, stdout=file, stderr=file)
        try:
            yield said
        except Exception as error:
            raise AssertionError(f"{error}; it said {log.read_text()[-2000:]}") from error
        finally:
            running.terminate()
            running.wait(30)


@pytest.fixture
def slices(tmp_path: Path, plane: ControlPlane) -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """The devices that the node offers by ResourceSlices."""
    node = tmp_path / "node.json"
    node.write_text(json.dumps({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}}))
    plane.kubectl("apply", "--filename", str(node))

    def devices() -> list[dict[str, Any]]:
        text = plane.kubectl("get", "resourceslices", "--output", "json")
        rows = [item["spec"] for item in json.loads(text)["items"] if item["spec"].get("nodeName") == NODE]
        return [device for row in rows for device in row.get("devices", [])]

    yield devices
    plane.kubectl("delete", "node", NODE)


def test_dra_driver_publishes_the_gpus(
    tmp_path: Path, plane: ControlPlane, slices: Callable[[], list[dict[str, Any]]]
) -> None:
    box = Sandbox(tmp_path, ["H100-80", "A100-40"], driver=DRIVER)
    root = _driver_root(box)
    made = _instances(box, MODELS["A100-40"].profiles[3])  # 2g.10gb
    with _alone(box, [program("gpu-kubelet-plugin"), *_dra_options(box, plane, root)]):
        wait_for("the slices are there", lambda: len(slices()) == 1 + made, WAIT)
        found = slices()
    kinds = sorted((row["attributes"]["type"]["string"], row["attributes"]["productName"]["string"]) for row in found)
    assert kinds == sorted([("gpu", MODELS["H100-80"].name), *[("mig", MODELS["A100-40"].name)] * made])
    memory = {row["attributes"]["type"]["string"]: row["capacity"]["memory"]["value"] for row in found}
    assert memory == {"gpu": f"{MODELS['H100-80'].memory_mib}Mi", "mig": "9856Mi"}


def _dra_options(box: Sandbox, plane: ControlPlane, root: Path) -> list[str]:
    folders = {name: box.folder / name for name in ("cdi", "registry", "plugins")}
    for folder in folders.values():
        folder.mkdir()
    return [
        f"--kubeconfig={plane.kubeconfig}",
        f"--node-name={NODE}",
        "--image-name=none",
        f"--cdi-root={folders['cdi']}",
        f"--kubelet-registrar-directory-path={folders['registry']}",
        f"--kubelet-plugins-directory-path={folders['plugins']}",
        f"--nvidia-driver-root={root}",
        f"--container-driver-root={root}",
        f"--nvidia-cdi-hook-path={program('nvidia-cdi-hook')}",
    ]


def _driver_root(box: Sandbox) -> Path:
    """The simulated driver's files as its packages lay them."""
    libraries, programs = box.folder / "usr/lib/x86_64-linux-gnu", box.folder / "usr/bin"
    libraries.mkdir(parents=True)
    programs.mkdir(parents=True)
    for library in (artifact_dir() / "lib").iterdir():
        shutil.copy(library, libraries)
    shutil.copy(artifact_dir() / "bin/nvidia-smi", programs)
    return box.folder
