# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a MIG change asks of a node: operands paused, GPU pods gone, labels as mig-manager has them. Private to this
collection.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .._catalog.labels import (
    MIG_CONFIG,
    MIG_CORDON,
    MIG_MANAGER_APP,
    MIG_STATE,
    PAUSED_FOR_MIG,
    PAUSED_OPERANDS,
    PREFIX,
    PRESENT,
)
from .model import Step

Object = Mapping[str, Any]
LABEL_VALUE = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
SHOWN = 5
MIRROR = "kubernetes.io/config.mirror"


def pause_patch(node: Object, *, tell: bool = True) -> dict[str, Any]:
    """The patch that keeps new GPU pods and the operands away; what it sets is already so where it is empty.

    ``tell``: mig-manager's label says so, too. A deploy label with another value than ``true`` is somebody's choice. A
    foreign cordon stays foreign.
    """
    current = labels_of(node)
    labels = {key: PAUSED_FOR_MIG for key in PAUSED_OPERANDS if current.get(key) == "true"}
    if tell and current.get(MIG_STATE) != "pending":
        labels[MIG_STATE] = "pending"
    patch: dict[str, Any] = {"metadata": {"labels": labels}} if labels else {}
    if not (node.get("spec") or {}).get("unschedulable"):
        patch.setdefault("metadata", {})["annotations"] = {MIG_CORDON: "true"}
        patch["spec"] = {"unschedulable": True}
    return patch


def resume_patch(node: Object, *, config: str = "", state: str = "") -> dict[str, Any]:
    """The patch that takes all of ``pause_patch`` back and says how it ended; empty where nothing is to be done.

    ``config`` and ``state`` are values of mig-manager's labels; empty ones, and what cannot be a label, leave them.
    """
    current = labels_of(node)
    labels = {key: "true" for key in PAUSED_OPERANDS if current.get(key) == PAUSED_FOR_MIG}
    labels |= {k: v for k, v in mig_labels(config=config, state=state).items() if current.get(k) != v}
    patch: dict[str, Any] = {"metadata": {"labels": labels}} if labels else {}
    if is_cordoned_by_us(node):
        patch.setdefault("metadata", {})["annotations"] = {MIG_CORDON: None}
        patch["spec"] = {"unschedulable": None}
    return patch


def mig_labels(*, config: str = "", state: str = "") -> dict[str, str]:
    """mig-manager's two labels; an empty value, and what cannot be a label's value, leaves one out."""
    wanted = {MIG_CONFIG: config if LABEL_VALUE.fullmatch(config) else "", MIG_STATE: state}
    return {key: value for key, value in wanted.items() if value}


def is_cordoned_by_us(node: Object) -> bool:
    """Whether a MIG change has cordoned it."""
    return MIG_CORDON in (node["metadata"].get("annotations") or {})


def labels_of(node: Object) -> Mapping[str, str]:
    """The node's labels; none at all are empty."""
    return node["metadata"].get("labels") or {}


def patch_step(action: str, node: Object, patch: Mapping[str, Any], reason: str) -> Step:
    """A patch of a node for people: labels before and after, and the cordon."""
    current = labels_of(node)
    labels = (patch.get("metadata") or {}).get("labels") or {}
    before = [f"{key}={current[key]}" for key in labels if key in current]
    after = [f"{key}={value}" for key, value in labels.items()]
    if "spec" in patch:
        cordon = bool(patch["spec"]["unschedulable"])
        before, after = [*before, _schedulable(not cordon)], [*after, _schedulable(cordon)]
    disrupts = "gpu_workloads" if action == "pause" else "nothing"
    return Step(
        action, f"Node {node['metadata']['name']}", ", ".join(before) or None, ", ".join(after), reason, disrupts
    )


def _schedulable(cordoned: bool) -> str:
    return "cordoned" if cordoned else "schedulable"


def is_running(pod: Object) -> bool:
    """Whether it still has, or may soon have, a process."""
    return (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed")


def operand_pods(pods: Iterable[Object]) -> list[Object]:
    """Pods that land by one of the labels that are paused: they leave by themselves."""
    return [p for p in pods if set(PAUSED_OPERANDS) & set((p.get("spec") or {}).get("nodeSelector") or ())]


def gpu_pods(pods: Iterable[Object]) -> list[Object]:
    """Running pods that have a resource of the device plugin (nvidia.com/gpu, nvidia.com/mig-...)."""
    return [p for p in pods if is_running(p) and any(_resources(p))]


def _resources(pod: Object) -> Iterable[str]:
    spec = pod.get("spec") or {}
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        wanted = container.get("resources") or {}
        yield from (n for kind in ("limits", "requests") for n in wanted.get(kind) or () if n.startswith(PREFIX))


def pods_of_mig_manager(pods: Iterable[Object]) -> list[Object]:
    """The operator's own mig-manager, which would change the same GPUs."""
    return [p for p in pods if is_running(p) and labels_of(p).get("app") == MIG_MANAGER_APP]


def why_not(pods: Sequence[Object], *, drain: bool) -> str:
    """Why the GPUs of a node with these pods may not change, or an empty text."""
    managers = pods_of_mig_manager(pods)
    if managers:
        return f"the operator's mig-manager runs there ({named(managers)}); switch it off (migManager.enabled: false)"
    users = gpu_pods(pods)
    if users and not drain:
        return f"pods use GPUs there ({named(users)}); end them, or set mig_drain: true to have them evicted"
    lost = [p for p in users if not _comes_back(p)]
    if lost:
        return f"pods without a controller use GPUs there and would not come back ({named(lost)}); end them"
    pinned = [p for p in users if any(o["kind"] == "DaemonSet" for o in _owners(p))]
    if pinned:
        return f"pods of a DaemonSet use GPUs there and would come back at once ({named(pinned)}); take its label away"
    return ""


def _owners(pod: Object) -> Sequence[Mapping[str, Any]]:
    return pod["metadata"].get("ownerReferences") or ()


def _comes_back(pod: Object) -> bool:
    """Whether a controller makes it anew elsewhere."""
    return any(o.get("controller") for o in _owners(pod)) and MIRROR not in (pod["metadata"].get("annotations") or {})


def named(pods: Sequence[Object]) -> str:
    """namespace/name of the first few."""
    names = [f"{p['metadata']['namespace']}/{p['metadata']['name']}" for p in pods]
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


def unavailable(node: Object) -> bool:
    """Whether it takes no pods: cordoned or not Ready."""
    conditions = (node.get("status") or {}).get("conditions") or ()
    ready = next((c["status"] for c in conditions if c["type"] == "Ready"), "True")
    return bool((node.get("spec") or {}).get("unschedulable")) or ready != "True"


def over_the_floor(nodes: Iterable[Object], chosen: Sequence[str], most: str, *, total: int = 0) -> dict[str, str]:
    """Node -> why it has to wait, for those of ``chosen`` (in their order) that would leave too few GPU nodes.

    Nodes outside ``chosen`` that are unavailable already count; ``most`` as in ``waves``. There are at least ``total``
    GPU nodes, also where not all have their label yet.
    """
    gpu_nodes = [n for n in nodes if labels_of(n).get(PRESENT) == "true" or n["metadata"]["name"] in chosen]
    total = max(total, len(gpu_nodes))
    limit = share(most, total)
    away = [n["metadata"]["name"] for n in gpu_nodes if unavailable(n) and n["metadata"]["name"] not in chosen]
    room = max(0, limit - len(away))
    told = f" ({', '.join(away[:SHOWN])})" if away else ""
    reason = f"{len(away)} of {total} GPU nodes are unavailable already{told}, mig_max_unavailable is {most}"
    return dict.fromkeys(chosen[room:], f"{reason}; run again when they are back")


def share(most: str, total: int) -> int:
    """``3`` or ``25%`` of ``total``, rounded down, but at least one. Raises ValueError for anything else."""
    text = str(most).strip()
    number = text.removesuffix("%")
    if not number.isdecimal() or int(number) < 1 or (text.endswith("%") and int(number) > 100):
        raise ValueError(f"{most!r} is neither a number from 1 on nor a share as 25%")
    return max(1, int(number) * total // 100) if text.endswith("%") else int(number)


def waves(hosts: Sequence[str], most: str, total: int) -> list[list[str]]:
    """The hosts in groups of at most ``most`` (a number, or a share of ``total``), in their order.

    Raises ValueError for another ``most``.
    """
    size = share(most, total)
    return [list(hosts[i : i + size]) for i in range(0, len(hosts), size)]
