# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes of KWOK from a short text: what their hosts' GPUs are, and what the API server and gpu_info say of them.

groups = [KwokGroup.parse("900:h100x8"), KwokGroup.parse("100:a100x2,mig=all-balanced,wrong=2")]
nodes = make_nodes(groups, mig_strategy="mixed")
"""

from __future__ import annotations

import importlib
import re
import sys
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dev import collection, machine
from lab.cluster.programs import KUBERNETES_VERSION
from simulator.models import MODELS, MigProfile, Model
from simulator.profiles import profile

ANNOTATION = "kwok.x-k8s.io/node"
NETWORK = "10.201.0.0/16"
PER_SUBNET, MOST = 250, 60_000
KUBELET_PORT = 10250
DRIVER, CUDA = "595.71.05", "13.2"
# mig-parted's all-balanced: slices of the whole GPU -> slices of an instance, how many of it
BALANCED = {7: ((1, 2), (2, 1), (3, 1)), 4: ((1, 2), (2, 1))}
ARCHITECTURES = {5: "volta", 6: "turing", 7: "ampere", 8: "ada", 9: "hopper", 10: "blackwell"}
WANTED = "COUNT:PROFILE[,driver=VERSION][,mig=LAYOUT][,wrong=COUNT][,broken=COUNT]"
_SPEC = re.compile(r"(?P<count>\d+):(?P<profile>[\w-]+)(?P<options>(,\w+=[^,=]+)*)")


@dataclass(frozen=True)
class KwokGroup:
    """Nodes that are alike.

    `mig`: a layout as mig-parted names it (all-balanced, all-1g.10gb), empty for none. On the last `wrong` nodes one
    of each resource is missing in allocatable; on the last `broken` ones no image can be pulled.
    """

    count: int
    profile: str
    driver: str = DRIVER
    mig: str = ""
    wrong: int = 0
    broken: int = 0

    @classmethod
    def parse(cls, text: str) -> KwokGroup:
        """Reads WANTED. machine.Unfit when it is something else."""
        match = _SPEC.fullmatch(text)
        if not match:
            raise machine.Unfit(f"--kwok {text!r} is not {WANTED}, as in 1000:h100x8")
        options = dict(option.split("=", 1) for option in match["options"].split(",")[1:])
        unknown = sorted(set(options) - {"driver", "mig", "wrong", "broken"})
        if unknown:
            raise machine.Unfit(f"--kwok {text!r}: no option {', '.join(unknown)}, wanted {WANTED}")
        try:
            profile(match["profile"])
        except ValueError as error:
            raise machine.Unfit(f"--kwok {text!r}: {error}") from error
        group = cls(
            count=int(match["count"]),
            profile=match["profile"],
            driver=options.get("driver", DRIVER),
            mig=options.get("mig", ""),
            wrong=_number(text, options, "wrong"),
            broken=_number(text, options, "broken"),
        )
        for model in group.models:
            _layout(text, model, group.mig)
        return group

    @property
    def models(self) -> list[Model]:
        """The GPUs of each node, in the order of their indexes."""
        return [MODELS[key] for key in profile(self.profile).models]


@dataclass(frozen=True)
class KwokNode:
    """One node: `facts` as gpu_info gives them, `resources` and GFD's `labels` as the collection predicts them."""

    name: str
    address: str
    facts: Mapping[str, Any]
    resources: Mapping[str, int]
    labels: Mapping[str, str]
    allocatable: Mapping[str, int]
    broken: bool

    def manifest(self) -> dict[str, Any]:
        """The Node object, as its kubelet would register it."""
        amounts = {"cpu": "32", "memory": "256Gi", "pods": "110", "ephemeral-storage": "1Ti"}
        metadata = {
            "name": self.name,
            "annotations": {ANNOTATION: "fake", "node.alpha.kubernetes.io/ttl": "0"},
            "labels": {"kubernetes.io/hostname": self.name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"},
        }
        status = {
            "capacity": {**amounts, **{k: str(v) for k, v in self.resources.items()}},
            "allocatable": {**amounts, **{k: str(v) for k, v in self.allocatable.items()}},
            "addresses": [{"type": "InternalIP", "address": self.address}, {"type": "Hostname", "address": self.name}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": KUBELET_PORT}},
            "nodeInfo": _node_info(),
        }
        return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {}, "status": status}

    def host(self) -> dict[str, Any]:
        """The row of this node's host for gpu.fleet.node_labels."""
        return {"name": self.name, "names": [self.name], "addresses": [self.address], "facts": dict(self.facts)}

    def log(self) -> str:
        """What GFD writes to its log."""
        return "".join(f"{key}={value}\n" for key, value in sorted(self.labels.items()))

    def metrics(self) -> str:
        """What the DCGM exporter serves, as far as it is looked at."""
        rows = [f"DCGM_FI_DEV_GPU_TEMP{{{tags}}} 31" for gpu in self.facts["gpus"] for tags in _series(gpu)]
        return "\n".join(["# TYPE DCGM_FI_DEV_GPU_TEMP gauge", *rows, ""])


def _series(gpu: Mapping[str, Any]) -> list[str]:
    """The labels of a GPU's series: one, or one a MIG instance."""
    own = f'gpu="{gpu["index"]}",UUID="{gpu["uuid"]}"'
    return [
        f'{own},GPU_I_PROFILE="{device["profile"]}",GPU_I_ID="{device["gpu_instance"]}"'
        for device in gpu["mig"]["devices"]
    ] or [own]


def make_nodes(groups: Sequence[KwokGroup], *, mig_strategy: str) -> list[KwokNode]:
    """The nodes of all groups, named kwok-PROFILE-NUMBER. machine.Unfit for more than addresses can be had for."""
    total = sum(group.count for group in groups)
    if total > MOST:
        raise machine.Unfit(f"--kwok asks for {total} nodes, at most {MOST} have an address")
    nodes: list[KwokNode] = []
    numbers: Counter[str] = Counter()
    for group in groups:
        for index in range(group.count):
            numbers[group.profile] += 1
            name = f"kwok-{group.profile.lower()}-{numbers[group.profile]:04}"
            left = group.count - index
            nodes.append(_node(group, name, len(nodes), mig_strategy, left <= group.wrong, left <= group.broken))
    return nodes


def _node(group: KwokGroup, name: str, number: int, mig_strategy: str, wrong: bool, broken: bool) -> KwokNode:
    facts = node_facts(group, name)
    resources, _findings = _plan("resources").predict_resources(facts["gpus"], mig_strategy=mig_strategy)
    return KwokNode(
        name=name,
        address=f"10.201.{number // PER_SUBNET}.{number % PER_SUBNET + 1}",
        facts=facts,
        resources=resources,
        labels=_plan("labels").predict_labels(facts, mig_strategy=mig_strategy),
        allocatable={key: value - 1 for key, value in resources.items()} if wrong else resources,
        broken=broken,
    )


def node_facts(group: KwokGroup, name: str) -> dict[str, Any]:
    """The result of gpu_info for a node, about as long as that of a settled host with containerd."""
    gpus = [_gpu(model, index, group.mig, name) for index, model in enumerate(group.models)]
    addresses = [gpu["pci_address"] for gpu in gpus]
    matrix = [["X" if a == b else "NODE" for b in addresses] for a in addresses]
    affinity = [{"pci_address": address, "cpus": "0-31", "numa_node": 0} for address in addresses]
    return {
        "observed_at": "2026-11-30T22:12:24Z",
        "boot_id": str(uuid.uuid5(uuid.NAMESPACE_DNS, name)),
        "machine": "PowerEdge XE9680",
        "vgpu_present": False,
        "gpus": gpus,
        "pci": {"nvswitches": [], "nics": [], "missing_in_nvml": []},
        "driver": _driver(group.driver),
        "topology": {"gpus": addresses, "matrix": matrix, "affinity": affinity, "error": None},
        "runtimes": [_RUNTIME],
        "cdi": {"specs": [_spec(group, gpus)]},
        "kubelet": _KUBELET,
    }


def _gpu(model: Model, index: int, mig: str, owner: str) -> dict[str, Any]:
    devices = _devices(model, f"{owner}/{index}", mig)
    return {
        "index": index,
        "minor": index,
        "uuid": f"GPU-{uuid.uuid5(uuid.NAMESPACE_DNS, f'{owner}/{index}')}",
        "name": model.name,
        "pci_address": f"0000:{0x11 + index * 0x10:02x}:00.0",
        "pci_id": f"10de:{model.device_id:04x}",
        "pci_class": "0x030200",
        "architecture": ARCHITECTURES.get(model.architecture),
        "compute_capability": ".".join(map(str, model.compute)),
        "memory_mib": model.memory_mib,
        "numa_node": 0,
        "mig": {"capable": bool(model.mig_units), "enabled": bool(mig), "pending": bool(mig), "devices": devices},
        "health": {**_HEALTH, "power_w": float(model.power[0])},
        "processes": [],
        "fabric": None,
        "error": None,
    }


def _devices(model: Model, owner: str, mig: str) -> list[dict[str, Any]]:
    chosen = [p for profile, count in _layout(mig, model, mig) for p in [profile] * count]
    return [_device(profile, index, owner) for index, profile in enumerate(chosen)]


def _device(profile: MigProfile, index: int, owner: str) -> dict[str, Any]:
    names = ("copy_engines", "decoders", "encoders", "jpeg_engines", "ofa_engines")
    slices = {"gpu_instance_slices": profile.slices, "compute_instance_slices": profile.slices}
    engines = dict(zip(names, profile.engines, strict=True))
    return {
        "index": index,
        "uuid": f"MIG-{uuid.uuid5(uuid.NAMESPACE_DNS, f'{owner}/{index}')}",
        "profile": profile.name,
        "gpu_instance": index + 1,
        "compute_instance": 0,
        "memory_mib": profile.memory_mib,
        "attributes": {"multiprocessors": profile.multiprocessors, **slices, **engines},
    }


def _layout(text: str, model: Model, mig: str) -> list[tuple[MigProfile, int]]:
    """Profiles and how many of each a layout puts on one GPU; machine.Unfit where the model cannot have it."""
    if not mig:
        return []
    offered = {f"all-{row.name.replace('+', '.')}": [(row, row.count)] for row in model.profiles}
    mix = BALANCED.get(max((row.slices for row in model.profiles), default=0), ())
    if mix:
        first = {slices: next(row for row in model.profiles if row.slices == slices) for slices, _count in mix}
        offered["all-balanced"] = [(first[slices], count) for slices, count in mix]
    if mig not in offered:
        known = ", ".join(offered) or "no MIG layout"
        raise machine.Unfit(f"--kwok {text!r}: {model.name} has {known}, not {mig!r}")
    return offered[mig]


def _number(text: str, options: Mapping[str, str], key: str) -> int:
    value = options.get(key, "0")
    if not value.isdigit():
        raise machine.Unfit(f"--kwok {text!r}: {key}={value} is no number")
    return int(value)


def _plan(name: str) -> Any:
    """A decider of the collection in this checkout."""
    path = str(collection.in_place())
    if path not in sys.path:
        sys.path.append(path)
    return importlib.import_module(f"ansible_collections.gpu.fleet.plugins.module_utils._plan.{name}")


def _driver(version: str) -> dict[str, Any]:
    return {
        "source": "cuda_repo",
        "installed_version": version,
        "loaded_version": version,
        "library_version": version,
        "flavour": "open",
        "signer": None,
        "packages": {"nvidia-kernel-open-dkms": f"{version}-1", "nvidia-driver-cuda": f"{version}-1"},
        "held": ["nvidia-kernel-open-dkms", "nvidia-driver-cuda"],
        "kernels": [{"version": "6.1.0-37-amd64", "running": True, "headers": True, "module": version}],
        "secure_boot": False,
        "nouveau": False,
        "services": {"nvidia-persistenced.service": {"loaded": "loaded", "active": "active", "enabled": "enabled"}},
        "cuda_version": CUDA,
        "nvml": {"available": True, "error": None},
    }


def _spec(group: KwokGroup, gpus: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "path": "/var/run/cdi/nvidia.yaml",
        "kind": "nvidia.com/gpu",
        "devices": [*(str(gpu["index"]) for gpu in gpus), "all"],
        "driver_version": group.driver,
        "error": None,
        "stale_because": [],
    }


def _node_info() -> dict[str, str]:
    unknown = ("bootID", "kernelVersion", "kubeProxyVersion", "machineID", "osImage", "systemUUID")
    known = {
        "architecture": "amd64",
        "operatingSystem": "linux",
        "kubeletVersion": KUBERNETES_VERSION,
        "containerRuntimeVersion": "kwok",
    }
    return {**dict.fromkeys(unknown, ""), **known}


_HEALTH: dict[str, Any] = {
    "ecc": {"enabled": True, "pending": True, "corrected_volatile": 0, "uncorrected_volatile": 0},
    "remapped_rows": {"correctable": 0, "uncorrectable": 0, "pending": False, "failed": False},
    "temperature_c": 31,
    "throttle_reasons": ["gpu_idle"],
    "link": {"generation": 5, "generation_max": 5, "width": 16, "width_max": 16},
    "unknown": {},
}
_RUNTIME: dict[str, Any] = {
    "runtime": "containerd",
    "program": "/usr/bin/containerd",
    "version": "2.1.4",
    "config_files": ["/etc/containerd/config.toml", "/etc/containerd/conf.d/99-nvidia.toml"],
    "handlers": {"nvidia": "/usr/bin/nvidia-container-runtime", "nvidia-cdi": "/usr/bin/nvidia-container-runtime.cdi"},
    "default_runtime": "runc",
    "cdi_enabled": True,
    "source": "engine",
    "error": None,
    "socket": "/run/containerd/containerd.sock",
    "distribution": None,
}
_KUBELET: dict[str, Any] = {
    "present": True,
    "running": True,
    "version": KUBERNETES_VERSION.lstrip("v"),
    "root_directory": "/var/lib/kubelet",
    "cgroup_driver": "systemd",
    "runtime_endpoint": "unix:///run/containerd/containerd.sock",
    "engine": "containerd",
    "node_name": None,
    "device_plugin_sockets": ["nvidia-gpu.sock"],
}
