# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Predicts the extended resources that NVIDIA's device plugin will advertise. Private to this collection.

The rules are those of k8s-device-plugin v0.20.0 (internal/rm/device_map.go). A configuration that the plugin refuses at
start is an error finding here. Names follow its own: a ``+`` of a MIG profile becomes a dot.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from .._catalog.labels import DISPLAY_PRODUCTS
from .model import Finding

Gpus = Sequence[Mapping[str, Any]]
STRATEGIES = ("none", "single", "mixed")
GPU = "nvidia.com/gpu"
SOURCE = "k8s-device-plugin v0.20.0 internal/rm/device_map.go"


def countable(gpus: Gpus) -> list[Mapping[str, Any]]:
    """The GPUs that the plugin enumerates: those that NVML lists, without display-only ones."""
    return [g for g in gpus if g.get("uuid") and g.get("name") not in DISPLAY_PRODUCTS]


def resource_name(profile: str) -> str:
    """``1g.10gb+me`` to ``nvidia.com/mig-1g.10gb.me``."""
    return f"nvidia.com/mig-{profile.replace('+', '.')}"


def is_gpu_resource(name: str) -> bool:
    """Whether a resource of a node is one of the plugin's."""
    return name == GPU or name.startswith((f"{GPU}.", "nvidia.com/mig-"))


def predict_resources(
    gpus: Gpus, *, mig_strategy: str, host: str = "the host"
) -> tuple[dict[str, int], tuple[Finding, ...]]:
    """Resource name -> count, and findings where the plugin would refuse to start or advertise what nobody can use.

    ``gpus`` are rows of gpu_info. With an error finding the resources are empty, as the plugin registers nothing then.
    """
    seen = countable(gpus)
    cut = [g for g in seen if g["mig"]["enabled"]]
    whole = [g for g in seen if not g["mig"]["enabled"]]
    if mig_strategy == "none":
        return _count(GPU, len(seen)), _ignored_mig(cut, host)
    devices = [d for g in cut for d in g["mig"]["devices"]]
    if mig_strategy == "single":
        refused = _single_refused(cut, whole, devices, host)
        return ({}, refused) if refused else (_count(GPU, len(devices) if cut else len(whole)), ())
    refused = _mixed_refused(devices, host)
    if refused:
        return {}, refused
    found = Counter(resource_name(d["profile"]) for d in devices)
    return {**_count(GPU, len(whole)), **dict(sorted(found.items()))}, ()


def _count(name: str, number: int) -> dict[str, int]:
    return {name: number} if number else {}


def _single_refused(cut: Gpus, whole: Gpus, devices: Gpus, host: str) -> tuple[Finding, ...]:
    empty = [g for g in cut if not g["mig"]["devices"]]
    profiles = sorted({d["profile"] for d in devices})
    if empty:
        found = f"GPU {_names(empty)} is in MIG mode without an instance"
    elif cut and whole:
        found = f"MIG mode is on for GPU {_names(cut)} and off for GPU {_names(whole)}"
    elif len(profiles) > 1:
        found = f"MIG profiles {', '.join(profiles)}"
    else:
        return ()
    return (_refused(found, "one MIG profile on every GPU of the host, or MIG off on all", host),)


def _mixed_refused(devices: Gpus, host: str) -> tuple[Finding, ...]:
    parts = sorted({d["profile"] for d in devices if "c." in d["profile"]})
    if not parts:
        return ()
    found = f"compute instance profiles {', '.join(parts)}"
    return (_refused(found, "compute instances as large as their GPU instance", host),)


def _refused(found: str, wanted: str, host: str) -> Finding:
    return Finding(
        id="GPU-K8S-101",
        severity="error",
        summary=f"NVIDIA's device plugin will not start on {host}",
        wanted=f"{wanted} (device plugin, gpu_fleet_mig_strategy)",
        found=f"{found} (NVML)",
        remedy="set mig_config to a layout that fits, or gpu_fleet_mig_strategy: mixed",
        source=SOURCE,
    )


def _ignored_mig(cut: Gpus, host: str) -> tuple[Finding, ...]:
    if not cut:
        return ()
    finding = Finding(
        id="GPU-K8S-102",
        severity="warning",
        summary=f"GPUs in MIG mode are advertised as whole GPUs on {host}",
        wanted="gpu_fleet_mig_strategy: single or mixed where MIG is on",
        found=f"gpu_fleet_mig_strategy: none, MIG mode is on for GPU {_names(cut)} (NVML)",
        remedy="set gpu_fleet_mig_strategy: single (one profile) or mixed",
        source=SOURCE,
    )
    return (finding,)


def _names(gpus: Gpus) -> str:
    return ", ".join(str(g.get("index")) for g in gpus)
