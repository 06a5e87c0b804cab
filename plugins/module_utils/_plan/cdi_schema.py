# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether engines would accept a CDI spec: keys, types, names, paths and version. Private to this collection.

Readers are strict: one unknown key anywhere, and the whole file is ignored.
Source: schema.json and defs.json of the CDI specification 1.1.0; the rules that its library checks beyond them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .cdi_rules import is_below, is_device_name, is_known_version, is_vendor_or_class, minimum_version

HOOKS = ("prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop")
NODE_TYPES = ("b", "c", "u", "p")
NO_PERMISSIONS = "none"

Check = Callable[[Any], str]


def schema_error(document: Any) -> str:
    """The first thing for which an engine would refuse the document, in words; empty for a valid spec."""
    return next(_spec(document), "")


def _text(value: Any) -> str:
    return "" if isinstance(value, str) else "is no text"


def _filled(value: Any) -> str:
    return _text(value) or ("" if value else "is empty")


def _path(value: Any) -> str:
    return _filled(value) or ("" if value.startswith("/") else "is no absolute path")


def _number(value: Any) -> str:
    return "" if isinstance(value, int) and not isinstance(value, bool) else "is no whole number"


def _group(value: Any) -> str:
    return _number(value) or ("" if 0 <= value < 2**32 else "is no group id")


def _flag(value: Any) -> str:
    return "" if isinstance(value, bool) else "is neither true nor false"


def _setting(value: Any) -> str:
    return _text(value) or ("" if value.find("=") > 0 else "is not of the form NAME=value")


def _permissions(value: Any) -> str:
    fits = isinstance(value, str) and (value == NO_PERMISSIONS or not set(value) - set("rwm"))
    return "" if fits else "are not of the letters r, w and m"


def _one_of(*words: str) -> Check:
    return lambda value: "" if value in words else f"is none of {', '.join(words)}"


def _list_of(check: Check) -> Check:
    def checked(value: Any) -> str:
        if not isinstance(value, list):
            return "is no list"
        return next((f"has an entry that {said}" for said in map(check, value) if said), "")

    return checked


NODE: Mapping[str, Check] = {
    "path": _path,
    "hostPath": _path,
    "type": _one_of("", *NODE_TYPES),
    "major": _number,
    "minor": _number,
    "fileMode": _number,
    "permissions": _permissions,
    "uid": _number,
    "gid": _number,
}
MOUNT: Mapping[str, Check] = {"hostPath": _filled, "containerPath": _path, "options": _list_of(_text), "type": _text}
HOOK: Mapping[str, Check] = {
    "hookName": _one_of(*HOOKS),
    "path": _path,
    "args": _list_of(_text),
    "env": _list_of(_setting),
    "timeout": _number,
}
NET_DEVICE: Mapping[str, Check] = {"hostInterfaceName": _filled, "name": _filled}
RDT: Mapping[str, Check] = {
    "closID": _text,
    "l3CacheSchema": _text,
    "memBwSchema": _text,
    "schemata": _list_of(_text),
    "enableMonitoring": _flag,
}
# list in containerEdits -> (the keys of a row, those that it has to have)
ROWS = {
    "deviceNodes": (NODE, ("path",)),
    "mounts": (MOUNT, ("hostPath", "containerPath")),
    "hooks": (HOOK, ("hookName", "path")),
    "netDevices": (NET_DEVICE, ("hostInterfaceName", "name")),
}
EDITS = (*ROWS, "env", "intelRdt", "additionalGids")


def _spec(document: Any) -> Iterator[str]:
    if not isinstance(document, Mapping):
        yield "it is no table"
        return
    yield from _unknown(document, ("cdiVersion", "kind", "annotations", "devices", "containerEdits"), "it")
    yield from _kind(document.get("kind"))
    yield from _annotations(document.get("annotations"), "annotations")
    yield from _edits(document.get("containerEdits"), "containerEdits")
    yield from _devices(document.get("devices"))
    yield from _version(document)


def _unknown(table: Mapping[str, Any], known: Any, where: str) -> Iterator[str]:
    strangers = [str(key) for key in table if key not in known]
    if strangers:
        yield f"{where} has the unknown key {strangers[0]}"


def _kind(kind: Any) -> Iterator[str]:
    vendor, slash, class_name = str(kind).partition("/")
    if not isinstance(kind, str) or not slash or not is_vendor_or_class(vendor) or not is_vendor_or_class(class_name):
        yield f"kind {kind!r} is not of the form vendor/class"


def _version(document: Mapping[str, Any]) -> Iterator[str]:
    """Asked last: what the content needs is known only of a content that is valid."""
    version = document.get("cdiVersion")
    if not isinstance(version, str) or not is_known_version(version):
        yield f"cdiVersion {version!r} is unknown"
    elif is_below(version, minimum_version(document)):
        yield f"cdiVersion is {version}, but the content needs {minimum_version(document)}"


def _annotations(table: Any, where: str) -> Iterator[str]:
    if table is None:
        return
    if not isinstance(table, Mapping):
        yield f"{where} is no table"
    elif not all(isinstance(k, str) and isinstance(v, str) for k, v in table.items()):
        yield f"{where} has an entry that is no text"


def _devices(devices: Any) -> Iterator[str]:
    if not isinstance(devices, list) or not devices:
        yield "it has no devices"
        return
    names: set[str] = set()
    for number, device in enumerate(devices):
        where = f"devices[{number}]"
        if not isinstance(device, Mapping):
            yield f"{where} is no table"
            continue
        yield from _unknown(device, ("name", "annotations", "containerEdits"), where)
        yield from _name(device.get("name"), names, where)
        yield from _annotations(device.get("annotations"), f"{where}.annotations")
        if not device.get("containerEdits"):
            yield f"{where} has no containerEdits"
        yield from _edits(device.get("containerEdits"), f"{where}.containerEdits")


def _name(name: Any, seen: set[str], where: str) -> Iterator[str]:
    if not isinstance(name, str) or not is_device_name(name):
        yield f"{where} has the name {name!r}, which is none for a device"
    elif name in seen:
        yield f"{where} has the name {name}, as another device"
    seen.add(str(name))


def _edits(edits: Any, where: str) -> Iterator[str]:
    if edits is None:
        return
    if not isinstance(edits, Mapping):
        yield f"{where} is no table"
        return
    yield from _unknown(edits, EDITS, where)
    yield from _said(_list_of(_setting), edits.get("env"), f"{where}.env")
    yield from _said(_list_of(_group), edits.get("additionalGids"), f"{where}.additionalGids")
    if edits.get("intelRdt") is not None:
        yield from _row(edits["intelRdt"], RDT, (), f"{where}.intelRdt")
    for name, (keys, needed) in ROWS.items():
        rows = edits.get(name)
        if rows is not None and not isinstance(rows, list):
            yield f"{where}.{name} is no list"
            continue
        for number, row in enumerate(rows or []):
            yield from _row(row, keys, needed, f"{where}.{name}[{number}]")


def _row(row: Any, keys: Mapping[str, Check], needed: tuple[str, ...], where: str) -> Iterator[str]:
    if not isinstance(row, Mapping):
        yield f"{where} is no table"
        return
    yield from _unknown(row, keys, where)
    yield from (f"{where} lacks {key}" for key in needed if key not in row)
    for key, check in keys.items():
        if key in row:
            yield from _said(check, row[key], f"{where}.{key}")


def _said(check: Check, value: Any, where: str) -> Iterator[str]:
    said = "" if value is None else check(value)
    if said:
        yield f"{where} {said}"
