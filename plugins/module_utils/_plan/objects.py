# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides which objects of an operand have to be applied or deleted. Private to this collection.

An object is as wanted when our last definition is the present one (a hash in an annotation) and every field of it
still has
its value. What the API server or other managers add does not count.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._catalog.kinds import BY_NAME, HASH_ANNOTATION, KINDS, MANAGED_BY, MANAGER, STATE_LABEL
from .._catalog.states import ORDERED
from .model import Finding, Plan, Step

Object = Mapping[str, Any]
SHARED_STATE = ORDERED[0].name
SHOWN_DIFFERENCES = 3


@dataclass(frozen=True)
class ObjectsPlan:
    """The plan for people, and the definitions to apply and to delete, in their order."""

    plan: Plan
    apply: tuple[dict[str, Any], ...] = ()
    delete: tuple[dict[str, Any], ...] = ()


def plan_objects(wanted: Sequence[Object], found: Iterable[Object], *, state: str) -> ObjectsPlan:
    """Brings the objects of ``state`` to exactly ``wanted``; an empty ``wanted`` removes the operand.

    ``found`` are all objects that carry our label, and all of the shared kinds. With the last operand the namespace
    and the
    RuntimeClasses that are ours go too.
    """
    present = {key(o): o for o in found}
    definitions = [mark(o, state=state) for o in wanted]
    names = {key(d) for d in definitions}
    changes = [c for d in definitions for c in [_change(d, present.get(key(d)))] if c is not None]
    gone = [
        o for o in _in_order(present.values()) if _prunable(o, state, present.values(), wanted) and key(o) not in names
    ]
    steps = [step for step, _definition in changes] + [_deletion(o) for o in reversed(gone)]
    findings = tuple(f for d in definitions for f in _foreign_class(d, present.get(key(d))))
    return ObjectsPlan(
        plan=Plan(tuple(steps), findings),
        apply=tuple(definition for _step, definition in changes),
        delete=tuple(_reference(o) for o in reversed(gone)),
    )


def key(definition: Object) -> tuple[str, str, str]:
    """Kind, namespace (empty for cluster scope) and name."""
    meta = definition["metadata"]
    return str(definition["kind"]), str(meta.get("namespace") or ""), str(meta["name"])


def title(definition: Object) -> str:
    """DaemonSet gpu-fleet/nvidia-device-plugin-daemonset."""
    kind, namespace, name = key(definition)
    return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"


def digest(value: Any) -> str:
    """16 hex digits that change with the content; the same for the same content in any key order."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def mark(definition: Object, *, state: str) -> dict[str, Any]:
    """The definition with our labels and the hash of itself."""
    marked = copy.deepcopy(dict(definition))
    meta = marked["metadata"]
    meta["labels"] = {**(meta.get("labels") or {}), MANAGED_BY: MANAGER, STATE_LABEL: state}
    meta["annotations"] = {**(meta.get("annotations") or {}), HASH_ANNOTATION: digest(marked)}
    return marked


def _unmark(definition: Object) -> dict[str, Any]:
    """What we may set on an object that is not ours: without our labels, so that removal leaves it alone."""
    plain = copy.deepcopy(dict(definition))
    for label in (MANAGED_BY, STATE_LABEL):
        plain["metadata"]["labels"].pop(label)
    plain["metadata"]["annotations"].pop(HASH_ANNOTATION)
    return plain


def _change(definition: dict[str, Any], found: Object | None) -> tuple[Step, dict[str, Any]] | None:
    if found is None:
        return Step(
            "create", title(definition), None, "as the role describes it", "the cluster does not have it"
        ), definition
    wish = definition if is_ours(found) or not BY_NAME[definition["kind"]].shared else _unmark(definition)
    if wish is not definition and definition["kind"] == "RuntimeClass":
        return None
    drift = list(differences(wish, found))
    if not drift:
        return None
    shown = [d for d in drift if not d[0].endswith(HASH_ANNOTATION)][:SHOWN_DIFFERENCES] or drift[:1]
    before = "; ".join(f"{path}: {old}" for path, old, _new in shown)
    after = "; ".join(f"{path}: {new}" for path, _old, new in shown)
    reason = f"{len(drift)} field(s) differ from the role's definition"
    return Step("apply", title(definition), before, after, reason), wish


def differences(wanted: Any, found: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """(path, found, wanted) for every wanted value that is not there. Empty wanted values equal absent ones."""
    if isinstance(wanted, Mapping):
        yield from _mapping_differences(wanted, found if isinstance(found, Mapping) else {}, path)
    elif isinstance(wanted, (list, tuple)):
        yield from _list_differences(wanted, found if isinstance(found, (list, tuple)) else [], path)
    elif wanted != found and (wanted or found):
        yield path, found, wanted


def _mapping_differences(wanted: Object, found: Object, path: str) -> Iterator[tuple[str, Any, Any]]:
    for name, value in wanted.items():
        yield from differences(value, found.get(name), f"{path}.{name}" if path else str(name))


def _list_differences(wanted: Sequence[Any], found: Sequence[Any], path: str) -> Iterator[tuple[str, Any, Any]]:
    if wanted and all(isinstance(item, Mapping) and "name" in item for item in wanted):
        by_name = {item.get("name"): item for item in found}
        for item in wanted:
            yield from differences(item, by_name.get(item["name"]), f"{path}[{item['name']}]")
    elif len(wanted) != len(found):
        yield path, list(found), list(wanted)
    else:
        for number, (left, right) in enumerate(zip(wanted, found)):
            yield from differences(left, right, f"{path}[{number}]")


def is_ours(found: Object) -> bool:
    """Whether the object carries our manager's label."""
    return (found["metadata"].get("labels") or {}).get(MANAGED_BY) == MANAGER


def _state_of(found: Object) -> str:
    return str((found["metadata"].get("labels") or {}).get(STATE_LABEL, ""))


def _prunable(candidate: Object, state: str, found: Iterable[Object], wanted: Sequence[Object]) -> bool:
    if not is_ours(candidate) or candidate["metadata"].get("deletionTimestamp"):
        return False
    if _state_of(candidate) == state:
        return True
    last = not wanted and {_state_of(o) for o in found if is_ours(o)} <= {state, SHARED_STATE}
    return last and _state_of(candidate) == SHARED_STATE


def _in_order(objects: Iterable[Object]) -> list[Object]:
    order = [kind.name for kind in KINDS]
    return sorted(objects, key=lambda o: (order.index(o["kind"]), key(o)))


def _deletion(found: Object) -> Step:
    return Step("delete", title(found), "present", None, "its state is disabled or no longer has it")


def _reference(found: Object) -> dict[str, Any]:
    kind, namespace, name = key(found)
    meta = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": BY_NAME[kind].api_version, "kind": kind, "metadata": meta}


def _foreign_class(definition: Object, found: Object | None) -> tuple[Finding, ...]:
    """A RuntimeClass of somebody else is used as it is; its handler cannot be changed (immutable)."""
    if definition["kind"] != "RuntimeClass" or found is None or found.get("handler") == definition["handler"]:
        return ()
    name = definition["metadata"]["name"]
    finding = Finding(
        id="GPU-K8S-103",
        severity="error",
        summary=f"RuntimeClass {name} leads to another handler",
        wanted=f"handler {definition['handler']} (role prereq)",
        found=f"handler {found.get('handler')} (RuntimeClass {name} of the cluster)",
        remedy=f"kubectl delete runtimeclass {name}, then run again",
        source="Kubernetes node.k8s.io/v1 RuntimeClass: handler is immutable",
    )
    return (finding,)
