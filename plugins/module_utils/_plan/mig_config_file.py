# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""mig-parted's config file, version v1: parsed, checked as a whole, and resolved for GPUs. Private to this collection.

Rules as in NVIDIA/mig-parted v0.15.0 (bd7160f). Stricter where it lets mistakes pass in silence: malformed device
filters, negative indexes and entries that select no GPU are errors; device names are compared by meaning, and zero
counts are dropped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .mig_layout import DeviceName, MigGpu, parse_device_name

VERSION = "v1"
# Findings name a setting as role mig has it, then as the modules do.
SELECTED = "mig_selected_config (option selected_config)"
DOCUMENT_KEYS = ("version", "mig-configs")
ENTRY_KEYS = ("devices", "device-filter", "mig-enabled", "mig-devices")
UUID = re.compile(r"GPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
FILTER = re.compile(r"0x([0-9a-fA-F]{8})(?::0x([0-9a-fA-F]{8}))?")


class ConfigError(Exception):
    """A request that cannot be met. ``kind`` is one of mig_config's error kinds; the message names field and fix."""

    def __init__(self, kind: str, message: str, *, wanted: str = "", found: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.wanted = wanted or "a valid layout"
        self.found = found or message


@dataclass(frozen=True)
class Entry:
    """One entry of a layout. ``devices`` (indexes or UUIDs) None means all; an empty ``filters`` lets every model
    through.
    """

    devices: tuple[int | str, ...] | None
    filters: tuple[tuple[str, str | None], ...]
    enabled: bool
    counts: tuple[tuple[DeviceName, int], ...]
    where: str

    def selects(self, gpu: MigGpu) -> bool:
        """Whether the entry is about this GPU."""
        if self.devices is not None and not {gpu.index, gpu.uuid} & set(self.devices):
            return False
        return not self.filters or any(_passes(gpu, f) for f in self.filters)


@dataclass(frozen=True)
class Place:
    """A GPU instance at a fixed start with the widths of its compute instances, widest first."""

    name: DeviceName
    start: int
    widths: tuple[int, ...]


@dataclass(frozen=True)
class Target:
    """What one GPU has to become; ``counts`` says how many of each. ``explicit``: named by index, not by ``all``.

    ``places`` fixes every start, as a checkpoint does; then ``counts`` is empty.
    """

    enabled: bool
    counts: tuple[tuple[DeviceName, int], ...]
    explicit: bool
    where: str
    places: tuple[Place, ...] | None = None


def _passes(gpu: MigGpu, wanted: tuple[str, str | None]) -> bool:
    board, subsystem = wanted
    return gpu.pci_id.upper() == board and subsystem in (None, gpu.subsystem_id.upper())


def parse_config(document: Any) -> dict[str, tuple[Entry, ...]]:
    """Layout name -> entries of a whole document (what a YAML parser made of the file). Raises ConfigError."""
    if not isinstance(document, dict) or not document:
        raise _invalid("config", "is no mapping", "start it with version: v1 and mig-configs:")
    _known_keys(document, DOCUMENT_KEYS, "config")
    if document.get("version") != VERSION:
        raise _invalid("version", f"is {document.get('version')!r}", f"write version: {VERSION}")
    layouts = document.get("mig-configs")
    if not isinstance(layouts, dict) or not layouts:
        raise _invalid("mig-configs", "has no layout", "give it at least one name with a list of entries")
    return {_name(name): _entries(name, entries) for name, entries in layouts.items()}


def select_config(configs: dict[str, tuple[Entry, ...]], name: str | None) -> tuple[str, tuple[Entry, ...]]:
    """The chosen layout. Without a name there has to be exactly one. Raises ConfigError(unknown_config)."""
    known = ", ".join(configs)
    if name is None and len(configs) == 1:
        name = next(iter(configs))
    if name is None:
        message = f"{SELECTED} is not set and the config holds several ({known}); name one"
        raise ConfigError("unknown_config", message, wanted=f"one {SELECTED}", found=f"mig-configs: {known}")
    if name not in configs:
        message = f"{SELECTED} is {name!r}, which the config does not hold; it holds: {known}"
        raise ConfigError("unknown_config", message, wanted=f"{SELECTED}: {name}", found=f"mig-configs: {known}")
    return name, configs[name]


def resolve(entries: Sequence[Entry], gpus: Sequence[MigGpu]) -> dict[int, Target]:
    """GPU index -> target; the last entry that selects a GPU stands. GPUs that no entry selects are left out.

    Raises ConfigError(device_not_found) for an index or UUID that the host lacks, or where no entry selects any GPU.
    """
    targets: dict[int, Target] = {}
    for entry in entries:
        _all_there(entry, gpus)
        for gpu in gpus:
            if entry.selects(gpu):
                targets[gpu.index] = Target(entry.enabled, entry.counts, entry.devices is not None, entry.where)
    if gpus and not targets:
        found = ", ".join(f"{g.index}: 0x{g.pci_id}" for g in gpus)
        message = f"{entries[0].where}: no entry selects a GPU of this host ({found}); correct device-filter or devices"
        raise ConfigError("device_not_found", message, wanted="an entry that selects a GPU", found=found)
    return targets


def _all_there(entry: Entry, gpus: Sequence[MigGpu]) -> None:
    """Raises ConfigError where the host lacks a device of the entry. Before the driver nobody knows UUIDs."""
    present = {g.index for g in gpus} | {g.uuid for g in gpus}
    missing = [d for d in entry.devices or () if d not in present]
    if not missing:
        return
    if any(isinstance(d, str) for d in missing):
        has = ", ".join(str(g.uuid) for g in gpus) or "none"
        kind = "UUIDs" if any(g.uuid for g in gpus) else "UUIDs (the driver, which knows them, is not loaded)"
    else:
        has, kind = ", ".join(str(g.index) for g in gpus) or "none", "indexes"
    named = ", ".join(map(str, missing))
    message = f"{entry.where}.devices names GPU {named}, but the host has these {kind}: {has}"
    raise ConfigError("device_not_found", message, wanted=f"GPU {named}", found=has)


def _entries(name: str, entries: Any) -> tuple[Entry, ...]:
    if not isinstance(entries, list) or not entries:
        raise _invalid(f"mig-configs.{name}", "has no entry", "give it a list with at least one entry")
    return tuple(_entry(e, f"mig-configs.{name}[{i}]") for i, e in enumerate(entries))


def _entry(entry: Any, where: str) -> Entry:
    if not isinstance(entry, dict):
        raise _invalid(where, f"is {entry!r}, no mapping", "write devices, mig-enabled and mig-devices")
    _known_keys(entry, ENTRY_KEYS, where)
    for key in ("devices", "mig-enabled"):
        if key not in entry:
            raise _invalid(f"{where}.{key}", "is missing", "every entry needs devices and mig-enabled")
    enabled = entry["mig-enabled"]
    if not isinstance(enabled, bool):
        raise _invalid(f"{where}.mig-enabled", f"is {enabled!r}", "write true or false")
    return Entry(
        devices=_devices(entry["devices"], f"{where}.devices"),
        filters=_filters(entry.get("device-filter"), f"{where}.device-filter"),
        enabled=enabled,
        counts=_counts(entry.get("mig-devices"), enabled, f"{where}.mig-devices"),
        where=where,
    )


def _devices(value: Any, where: str) -> tuple[int | str, ...] | None:
    if value == "all":
        return None
    if isinstance(value, list) and all(map(_is_device, value)):
        return tuple(value)
    raise _invalid(where, f"is {value!r}", "write all, or a list of GPU indexes from 0 on or of UUIDs (nvidia-smi -L)")


def _is_device(value: Any) -> bool:
    if isinstance(value, str):
        return UUID.fullmatch(value) is not None
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _filters(value: Any, where: str) -> tuple[tuple[str, str | None], ...]:
    texts = [value] if isinstance(value, (str, int)) and value not in ("", 0) else value or []
    if not isinstance(texts, list):
        raise _invalid(where, f"is {value!r}", "write one filter or a list of them")
    return tuple(_filter(t, where) for t in texts)


def _filter(value: Any, where: str) -> tuple[str, str | None]:
    # An unquoted 0x20B010DE is a number to YAML.
    text = f"0x{value:08X}" if isinstance(value, int) and not isinstance(value, bool) else value
    found = FILTER.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        fix = "write 0x<device id><vendor id>, for example 0x20B010DE, or 0x20B010DE:0x134710DE with the subsystem"
        raise _invalid(where, f"holds {value!r}", fix)
    board, subsystem = found.groups()
    return board.upper(), subsystem.upper() if subsystem else None


def _counts(value: Any, enabled: bool, where: str) -> tuple[tuple[DeviceName, int], ...]:
    if not enabled:
        if value:
            raise _invalid(where, "is given although mig-enabled is false", "remove it or enable MIG")
        return ()
    if not isinstance(value, dict):
        raise _invalid(where, f"is {value!r}", "map profile names to counts; {} means MIG on without instances")
    counts: dict[DeviceName, int] = {}
    for text, count in value.items():
        name = _device_name(text, where)
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            raise _invalid(f"{where}.{text}", f"is {count!r}", "write a count from 0 on")
        counts[name] = counts.get(name, 0) + count
    if counts and not any(counts.values()):
        raise _invalid(where, "has only zero counts", "write {} for MIG on without instances")
    return tuple((name, count) for name, count in counts.items() if count)


def _device_name(text: Any, where: str) -> DeviceName:
    name = parse_device_name(text) if isinstance(text, str) else None
    if name is None:
        fix = "write it as nvidia-smi mig -lgip does, for example 1g.5gb, 1c.3g.20gb, 1g.10gb+me"
        raise _invalid(where, f"holds {text!r}, no profile name", fix)
    return name


def _known_keys(mapping: dict, known: tuple[str, ...], where: str) -> None:
    unknown = [str(k) for k in mapping if k not in known]
    if unknown:
        raise _invalid(where, f"has the unknown key {unknown[0]!r}", f"known keys are {', '.join(known)}")


def _name(name: Any) -> str:
    if not isinstance(name, str) or not name:
        raise _invalid("mig-configs", f"has the name {name!r}", "quote names that YAML reads as something else")
    return name


def _invalid(field: str, found: str, fix: str) -> ConfigError:
    return ConfigError("invalid_config", f"{field} {found}; {fix}", wanted=fix, found=f"{field} {found}")
