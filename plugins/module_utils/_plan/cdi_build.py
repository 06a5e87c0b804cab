# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes a CDI spec of what was observed on a host. Private to this collection.

Content and order are those of nvidia-ctk cdi generate 1.20.0, so that engines and the vendor's own tools see no
difference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from . import cdi_findings as say
from .cdi_csv import make_csv
from .cdi_edits import Edits
from .cdi_host import CdiHost
from .cdi_modes import GATED_NODES, make_gated, make_imex, make_management, make_wsl
from .cdi_nvml import make_nvml, name_of
from .cdi_parts import Device, Document, Refused
from .cdi_rules import is_device_name, minimum_version
from .cdi_schema import schema_error
from .cdi_wish import STRATEGIES, CdiWish
from .model import Finding

NO_LEGACY_HOOK = Edits(env=["NVIDIA_VISIBLE_DEVICES=void"])


# Whether a GPU's memory is coherent with the CPU's: annotation value -> part of class and file name of the further
# spec.
COHERENT_FLAG = "enable-coherent-annotations"
COHERENT = "gpu.nvidia.com/coherent"
INFIXES = {"true": ".coherent", "false": ".noncoherent"}


@dataclass(frozen=True)
class Built:
    """A spec, or None, and what is to be said about it.

    ``further``: infix of the file name -> spec of a part of the GPUs.
    """

    spec: Document | None
    findings: tuple[Finding, ...] = ()
    further: Mapping[str, Document] = field(default_factory=dict)


def build_spec(wish: CdiWish, host: CdiHost) -> Built:
    """The spec that ``wish`` means on ``host``."""
    try:
        devices, common = MAKERS[host.mode](wish, host)
        common = common + NO_LEGACY_HOOK
        marks = _marks(wish, host)
        spec = _assemble(wish, wish.kind, devices, common, marks)
        _check_devices(spec, host.mode)
    except Refused as refused:
        return Built(None, (refused.finding,))
    parts = {infix: [d for d in devices if marks.get(d[0]) == mark] for mark, infix in INFIXES.items()}
    further = {i: _assemble(wish, f"{wish.kind}{i}", part, common, marks) for i, part in parts.items() if part}
    return Built(spec, _remarks(wish, host, spec), further)


def _marks(wish: CdiWish, host: CdiHost) -> dict[str, str]:
    """Name of a whole GPU's device -> whether its memory is coherent, where that is asked for and known."""
    if COHERENT_FLAG not in wish.feature_flags or host.mode != "nvml":
        return {}
    known = [g for g in host.gpus if g.coherent is not None]
    return {name_of(s, g, None): str(g.coherent).lower() for g in known for s in STRATEGIES}


def _assemble(wish: CdiWish, kind: str, devices: list[Device], common: Edits, marks: Mapping[str, str]) -> Document:
    names = [name for name, _edits in devices]
    if wish.all_device and "all" not in names and names != ["none"]:
        union = Edits()
        for _name, part in devices:
            union = union + part
        devices = [*devices, ("all", union)]
    rows = [_row(name, part.without(common), marks.get(name)) for name, part in sorted_by_name(devices)]
    spec: Document = {"cdiVersion": "", "kind": kind, "devices": rows, "containerEdits": common.document()}
    spec["cdiVersion"] = minimum_version(spec)
    return spec


def _row(name: str, part: Edits, mark: str | None) -> Document:
    annotations = {} if mark is None else {"annotations": {COHERENT: mark}}
    return {"name": name, **annotations, "containerEdits": part.document()}


def sorted_by_name(devices: list[Device]) -> list[Device]:
    """Devices in the order of their names as strings: 0, 1, 10, 2, GPU-..., all."""
    return sorted(devices, key=lambda d: d[0])


def _check_devices(spec: Document, mode: str) -> None:
    names = [d["name"] for d in spec["devices"]]
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise Refused(say.device_twice(twice[0]))
    wrong = [n for n in names if not is_device_name(n)]
    if wrong:
        raise Refused(say.device_name(wrong[0]))
    if not names or any(not d["containerEdits"] for d in spec["devices"]):
        raise Refused(say.nothing_found(mode))
    refusal = schema_error(spec)
    if refusal:
        raise Refused(say.invalid(refusal))


def _remarks(wish: CdiWish, host: CdiHost, spec: Document) -> tuple[Finding, ...]:
    everything = [spec["containerEdits"], *(d["containerEdits"] for d in spec["devices"])]
    has_hooks = any(e.get("hooks") for e in everything)
    missing = [f"/dev/nvidia{g.minor}" for g in host.gpus if f"/dev/nvidia{g.minor}" not in host.nodes]
    found = [say.node_missing(path) for path in missing] if host.mode == "nvml" else []
    found += [say.gpu_lost(sentence) for sentence in host.lost]
    listed = {n["path"] for e in everything for n in e.get("deviceNodes", [])}
    known = [host.nodes[p] for p in sorted(listed & set(host.nodes) & set(host.majors))]
    old = [n for n in known if n.major != host.majors[n.path]]
    found += [say.node_outdated(n.host_path, n.major, host.majors[n.path]) for n in old]
    return tuple(found + ([say.hook_missing(host.hook_path)] if has_hooks and not host.hook_found else []))


Maker = Callable[[CdiWish, CdiHost], tuple[list[Device], Edits]]
MAKERS: dict[str, Maker] = {
    "nvml": make_nvml,
    "management": make_management,
    "imex": make_imex,
    "wsl": make_wsl,
    "csv": make_csv,
    **dict.fromkeys(GATED_NODES, make_gated),
}
