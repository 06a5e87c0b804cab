# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""MIG states as documents: rows for results, mig-parted's export form, checkpoints. Private to this collection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .mig_config_file import VERSION, ConfigError, Place, Target
from .mig_layout import DeviceName, GpuInstance, MigGpu, device_counts, parse_device_name

EXPORT_NAME = "current"


def gpu_row(gpu: MigGpu) -> dict[str, Any]:
    """One GPU in a result. ``devices`` counts MIG devices by name; ``source`` says who described the profiles."""
    return {
        "index": gpu.index,
        "uuid": gpu.uuid,
        "pci_address": gpu.pci_address,
        "pci_id": f"0x{gpu.pci_id}",
        "name": gpu.name,
        "capable": gpu.capable,
        "enabled": gpu.enabled,
        "pending": gpu.pending,
        "devices": device_counts(gpu.instances),
        "instances": [_instance_row(i) for i in gpu.instances],
        "source": gpu.source,
        "error": gpu.error,
    }


def _instance_row(instance: GpuInstance) -> dict[str, Any]:
    return {
        "profile": instance.profile,
        "start": instance.start,
        "gpu_instance": instance.id,
        "compute": [_compute_name(instance, w) for w in instance.widths],
        "uuids": [c.uuid for c in instance.compute],
        "processes": list(instance.users),
    }


def _compute_name(instance: GpuInstance, width: int) -> str:
    return str(DeviceName(width, instance.profile, instance.slices))


def predicted_row(gpu: MigGpu, target: Target | None, *, mode_only: bool) -> dict[str, Any] | None:
    """What a GPU becomes: mode and devices; None where the request is not about it or it has no MIG."""
    if target is None or not gpu.capable:
        return None
    if not target.enabled:
        return {"enabled": False, "devices": {}}
    if mode_only:
        return {"enabled": True, "devices": device_counts(gpu.instances) if gpu.enabled else {}}
    if target.places is None:
        return {"enabled": True, "devices": {str(n): c for n, c in target.counts}}
    names = [str(DeviceName(w, p.name.profile, p.name.slices)) for p in target.places for w in p.widths]
    return {"enabled": True, "devices": {n: names.count(n) for n in names}}


def result_rows(
    gpus: Sequence[MigGpu], targets: Mapping[int, Target], *, mode_only: bool = False
) -> list[dict[str, Any]]:
    """Rows of all GPUs, each with ``predicted``."""
    return [{**gpu_row(g), "predicted": predicted_row(g, targets.get(g.index), mode_only=mode_only)} for g in gpus]


def source_of(gpus: Sequence[MigGpu]) -> str | None:
    """``catalog`` where it stood in for NVML on any GPU, else ``nvml``; None where no GPU has profiles."""
    sources = {g.source for g in gpus}
    return next((s for s in ("catalog", "nvml") if s in sources), None)


def export_config(gpus: Sequence[MigGpu]) -> dict[str, Any]:
    """The state as a v1 document, layout ``current``; equal GPUs share an entry, filters only for mixed boards."""
    mixed = len({g.pci_id for g in gpus}) > 1
    groups: dict[tuple, list[MigGpu]] = {}
    for gpu in gpus:
        counts = tuple(device_counts(gpu.instances).items())
        groups.setdefault((gpu.pci_id if mixed else "", gpu.enabled, counts), []).append(gpu)
    entries = []
    for (board, enabled, counts), members in groups.items():
        everyone = [g for g in gpus if not mixed or g.pci_id == board]
        entry: dict[str, Any] = {"device-filter": f"0x{board}"} if mixed else {}
        entry["devices"] = "all" if len(members) == len(everyone) else [g.index for g in members]
        entry["mig-enabled"] = enabled
        entry["mig-devices"] = dict(counts)
        entries.append(entry)
    return {"version": VERSION, "mig-configs": {EXPORT_NAME: entries}}


def checkpoint(gpus: Sequence[MigGpu]) -> dict[str, Any]:
    """Mode and every instance with its start, by UUID: enough to put it all back."""
    return {"version": VERSION, "gpus": [checkpoint_row(g) for g in gpus if g.uuid and g.capable]}


def checkpoint_row(gpu: MigGpu) -> dict[str, Any]:
    """One GPU of a checkpoint."""
    return {
        "uuid": gpu.uuid,
        "mig_enabled": gpu.enabled,
        "instances": [
            {"profile": i.profile, "start": i.start, "compute": [_compute_name(i, w) for w in i.widths]}
            for i in gpu.instances
        ],
    }


def checkpoint_targets(document: Any, gpus: Sequence[MigGpu]) -> dict[int, Target]:
    """GPU index -> target with fixed starts. Raises ConfigError for a malformed checkpoint or a GPU that is gone."""
    if not isinstance(document, Mapping) or not isinstance(document.get("gpus"), list):
        raise _malformed("checkpoint", "is no checkpoint of mig_info")
    by_uuid = {g.uuid: g for g in gpus}
    targets = {}
    for number, row in enumerate(document["gpus"]):
        where = f"checkpoint.gpus[{number}]"
        if not isinstance(row, Mapping) or not isinstance(row.get("mig_enabled"), bool):
            raise _malformed(where, "has no mig_enabled")
        gpu = by_uuid.get(row.get("uuid"))
        if gpu is None:
            has = ", ".join(str(u) for u in by_uuid)
            message = f"{where} is about {row.get('uuid')}, which this host lacks; it has {has}"
            raise ConfigError("device_not_found", message, wanted=str(row.get("uuid")), found=has)
        places = tuple(_place(i, where) for i in row.get("instances") or ())
        targets[gpu.index] = Target(row["mig_enabled"], (), True, where, places)
    return targets


def _place(row: Any, where: str) -> Place:
    name = parse_device_name(str(row.get("profile"))) if isinstance(row, Mapping) else None
    if name is None or not isinstance(row.get("start"), int):
        raise _malformed(where, f"has the instance {row!r} without profile or start")
    names = [parse_device_name(str(c)) for c in row.get("compute") or ()]
    widths = [n.width for n in names if n is not None and n.profile == name.profile]
    if len(widths) != len(names):
        raise _malformed(where, f"has compute instances of another profile in {row['profile']}")
    return Place(name, row["start"], tuple(sorted(widths, reverse=True)))


def _malformed(field: str, found: str) -> ConfigError:
    fix = "hand over the value checkpoint as gpu.fleet.mig_info returned it"
    return ConfigError("invalid_config", f"{field} {found}; {fix}", wanted=fix, found=f"{field} {found}")
