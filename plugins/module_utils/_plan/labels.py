# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Predicts a node's labels, and plans the smallest change of them. Private to this collection.

Label rules are those of GPU Feature Discovery v0.20.0 (internal/lm) and of the operator 26.7 (controllers/labels.go).
As with NFD, a value that the API server would refuse is left out: one bad value loses the whole patch of a node.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from .._catalog import labels as catalog
from .._catalog.states import CONTAINER, MODES
from .resources import countable

VALID_VALUE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
NONE = "none"


def is_valid(value: str) -> bool:
    """Whether Kubernetes accepts the label value: empty, or up to 63 characters between a letter or digit."""
    return value == "" or bool(VALID_VALUE.fullmatch(value))


def sanitise(text: str) -> str:
    """GFD's clean-up: other characters vanish, blanks become one dash."""
    return "-".join(re.sub(r"[^A-Za-z0-9\-_. ]", "", text).split())


def predict_labels(facts: Mapping[str, Any], *, mig_strategy: str) -> dict[str, str]:
    """GFD's labels for a host without time-slicing or MPS; ``facts`` is the result of gpu_info.

    Without a GPU that NVML lists there are none. Left out are labels of unknown source (null in ``facts``), invalid
    values, and GFD's timestamp, which is the start of its process.
    """
    gpus = countable(facts["gpus"])
    if not gpus:
        return {}
    found = {
        **_machine(facts),
        **_driver_version(facts["driver"]),
        **_cuda_version(facts["driver"].get("cuda_version")),
        "mig.capable": _text(any(g["mig"]["capable"] for g in gpus)),
        "mps.capable": "false",
        **_gpu_labels(gpus, mig_strategy),
        "gpu.mode": _mode(gpus),
        **_clique(gpus),
        **_vgpu(facts),
    }
    return {catalog.PREFIX + k: v for k, v in found.items() if is_valid(v)}


def _machine(facts: Mapping[str, Any]) -> dict[str, str]:
    return {"gpu.machine": sanitise(facts.get("machine") or "unknown")}


def _driver_version(driver: Mapping[str, Any]) -> dict[str, str]:
    version = driver.get("loaded_version")
    if not version:
        return {}
    major, minor, revision = (*version.split("."), "", "")[:3]
    return {
        "cuda.driver-version.full": version,
        "cuda.driver-version.major": major,
        "cuda.driver-version.minor": minor,
        "cuda.driver-version.revision": revision,
        "cuda.driver.major": major,
        "cuda.driver.minor": minor,
        "cuda.driver.rev": revision,
    }


def _cuda_version(version: int | str | None) -> dict[str, str]:
    """NVML's number (12080) or the text ``12.8``: the highest CUDA that the driver can run, not the toolkit."""
    if not version:
        return {}
    major, minor = (str(version).split(".") + ["0"])[:2]
    if "." not in str(version):
        major, minor = str(int(version) // 1000), str(int(version) % 1000 // 10)
    return {
        "cuda.runtime-version.full": f"{major}.{minor}",
        "cuda.runtime-version.major": major,
        "cuda.runtime-version.minor": minor,
        "cuda.runtime.major": major,
        "cuda.runtime.minor": minor,
    }


def _gpu_labels(gpus: Sequence[Mapping[str, Any]], mig_strategy: str) -> dict[str, str]:
    """The strategy decides which labels describe the node; see the layout table of GFD's documentation."""
    cut = [g for g in gpus if g["mig"]["enabled"]]
    strategy = {} if mig_strategy == NONE else {"mig.strategy": mig_strategy}
    whole = _whole_gpus(gpus)
    if mig_strategy == "single" and cut:
        return {**whole, **strategy, **_single(gpus, cut)}
    if mig_strategy == "mixed":
        return {**whole, **strategy, **_mixed(cut)}
    return {**whole, **strategy}


def _whole_gpus(gpus: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """One product on a node is the rule. Of several, GFD shows a random one; here it is the most frequent."""
    names = Counter(g["name"] for g in gpus)
    name = max(names, key=lambda n: names[n])
    same = [g for g in gpus if g["name"] == name]
    model = next((g for g in same if not g["mig"]["enabled"]), same[0])
    return {
        "gpu.count": str(len(same)),
        "gpu.product": sanitise(name),
        "gpu.replicas": "0" if model["mig"]["enabled"] else "1",
        "gpu.sharing-strategy": NONE,
        **({"gpu.memory": str(model["memory_mib"])} if model.get("memory_mib") else {}),
        **_compute(model.get("compute_capability")),
    }


def _compute(capability: str | None) -> dict[str, str]:
    if not capability:
        return {}
    major, minor = (int(p) for p in str(capability).split("."))
    return {"gpu.compute.major": str(major), "gpu.compute.minor": str(minor), "gpu.family": family(major, minor)}


def family(major: int, minor: int) -> str:
    """GFD's name of an architecture, ``undefined`` where it has none."""
    fitting = [name for (m, low), name in catalog.FAMILIES if m == major and low <= minor]
    return fitting[-1] if fitting else "undefined"


def _single(gpus: Sequence[Mapping[str, Any]], cut: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    devices = [d for g in cut for d in g["mig"]["devices"]]
    profiles = {d["profile"] for d in devices}
    model = cut[0]["name"]
    if len(cut) < len(gpus) or len(profiles) != 1 or not all(g["mig"]["devices"] for g in cut):
        return {
            "gpu.count": "0",
            "gpu.replicas": "0",
            "gpu.memory": "0",
            "gpu.sharing-strategy": "",
            "gpu.product": f"{sanitise(model)}-MIG-INVALID",
        }
    return _mig_labels("gpu", devices, model)


def _mixed(cut: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    found: dict[str, str] = {}
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for gpu in cut:
        for device in gpu["mig"]["devices"]:
            groups.setdefault(device["profile"], []).append({**device, "model": gpu["name"]})
    for profile, devices in groups.items():
        found.update(_mig_labels(f"mig-{profile.replace('+', '.')}", devices, devices[0]["model"]))
    return found


def _mig_labels(prefix: str, devices: Sequence[Mapping[str, Any]], model: str) -> dict[str, str]:
    first = devices[0]
    attributes = first.get("attributes") or {}
    return {
        f"{prefix}.count": str(len(devices)),
        f"{prefix}.replicas": "1",
        f"{prefix}.sharing-strategy": NONE,
        f"{prefix}.product": "-".join(sanitise(p) for p in (model, "MIG", first["profile"].replace("+", "."))),
        f"{prefix}.memory": str(first["memory_mib"]),
        **{f"{prefix}.{v}": str(attributes[k]) for k, v in catalog.MIG_ATTRIBUTES if attributes.get(k) is not None},
    }


def _mode(gpus: Sequence[Mapping[str, Any]]) -> str:
    classes = {g.get("pci_class") for g in gpus}
    only = classes.pop() if len(classes) == 1 else None
    return catalog.MODES_BY_CLASS.get(int(str(only), 16), "unknown") if only else "unknown"


def _clique(gpus: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Only where all GPUs are in one NVLink fabric: ``<cluster uuid>.<clique id>``."""
    fabrics = [g["fabric"] for g in gpus if (g.get("fabric") or {}).get("cluster_uuid")]
    ids = {f"{str(f['cluster_uuid']).lower()}.{f['clique']}" for f in fabrics if f.get("state") == "completed"}
    return {"gpu.clique": ids.pop()} if len(ids) == 1 else {}


def _vgpu(facts: Mapping[str, Any]) -> dict[str, str]:
    present = facts.get("vgpu_present")
    return {} if present is None else {"vgpu.present": _text(present)}


def _text(value: Any) -> str:
    return "true" if value else "false"


def deploy_labels(
    current: Mapping[str, str],
    *,
    present: bool,
    ready: bool,
    mig_capable: bool,
    sandbox: bool = False,
    mig_done: bool = False,
) -> dict[str, str | None]:
    """The operator's labels of a node: key -> value, None for one that has to go.

    A value that a person or a tool set (``false``, ``paused-for-...``) stays. A host that is not ``ready`` gets no
    deploy label, so no operand lands on it. ``sandbox`` off makes every node a container node. ``mig_done``: the host
    is at its MIG layout, so what a change that was killed has paused goes on.
    """
    wish = current.get(catalog.WORKLOAD, CONTAINER) if sandbox else CONTAINER
    mode = wish if wish in MODES else CONTAINER
    allowed = present and ready and current.get(catalog.OPERANDS) != "false"
    found: dict[str, str | None] = {}
    if present or catalog.PRESENT in current:
        found[catalog.PRESENT] = _text(present)
    for row in catalog.DEPLOY_LABELS:
        if allowed and mode in row.modes and (mig_capable or not row.mig_only):
            paused = mig_done and current.get(row.key) == catalog.PAUSED_FOR_MIG
            found[row.key] = "true" if paused else current.get(row.key) or "true"
        elif row.key in current and (current[row.key] in ("true", "") or not present):
            found[row.key] = None
    return found


def gfd_labels(current: Mapping[str, str], predicted: Mapping[str, str]) -> dict[str, str | None]:
    """The predicted labels, and None for those of an earlier layout or driver that GFD would no longer set."""
    stale = {k: None for k in current if is_gfd_key(k) and k not in predicted and k != catalog.TIMESTAMP}
    return {**stale, **predicted}


def no_labels(current: Mapping[str, str]) -> dict[str, str | None]:
    """None for every label of GFD that a node has."""
    return {k: None for k in current if is_gfd_key(k) or k == catalog.TIMESTAMP}


SHAPE = r"multiprocessors|slices\.(gi|ci)|engines\.\w+"
GFD_KEYS = re.compile(
    r"nvidia\.com/("
    rf"gpu\.(machine|count|product|replicas|sharing-strategy|memory|family|mode|clique|compute\.\w+|{SHAPE})"
    rf"|mig-[^/]+\.(count|product|replicas|sharing-strategy|memory|{SHAPE})"
    r"|mig\.(capable|strategy)|mps\.capable|cuda\.(driver|runtime)(-version)?\.\w+|vgpu\.present)"
)


def is_gfd_key(key: str) -> bool:
    """Whether GFD may set the label."""
    return bool(GFD_KEYS.fullmatch(key))


def changed_labels(
    current: Mapping[str, str], wanted: Mapping[str, str | None], *, annotations: Mapping[str, str]
) -> dict[str, str | None]:
    """What a patch has to hold. Labels that Node Feature Discovery owns are left to it: it would take a change back."""
    owned = {_full_key(k) for k in annotations.get(catalog.NFD_LABELS_ANNOTATION, "").split(",") if k}
    differs = {k: v for k, v in sorted(wanted.items()) if current.get(k) != v}
    return {k: v for k, v in differs.items() if k not in owned}


def _full_key(key: str) -> str:
    """NFD shortens its own namespace in the annotation."""
    return key if "/" in key else f"feature.node.kubernetes.io/{key}"


def is_mig_capable(current: Mapping[str, str], predicted: Mapping[str, str]) -> bool:
    """The operator's test: never in a vGPU guest, else GFD's label."""
    merged = {**current, **predicted}
    return not merged.get(catalog.HOST_DRIVER_VERSION) and merged.get(f"{catalog.PREFIX}mig.capable") == "true"
