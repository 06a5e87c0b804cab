# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads InfiniBand adapters: ibstat, /sys/class/infiniband, ibdev2netdev. Private to this collection.

Sources: ibstat(8), kernel ABI sysfs-class-infiniband; leptonai/gpud#752 and its infiniband/class/testdata.
"""

from __future__ import annotations

import re
from typing import Any

from .plain import number

ADAPTER = re.compile(r"^CA '(?P<name>[^']+)'")
PORT = re.compile(r"^\s+Port (?P<number>\d+):")
PAIR = re.compile(r"^\s+(?P<key>[A-Za-z][\w ]*): ?(?P<value>.*?)\s*$")
PANIC = re.compile(r"ibpanic: \[\d+\] main: (?P<reason>.*?'(?P<name>[^']+)'.*)")
SYSFS = re.compile(
    r"^(?:/sys/class/infiniband/)?(?P<name>[\w.-]+)/(?:ports/(?P<port>\d+)/)?(?P<key>\w+): ?(?P<value>.*?)\s*$"
)
NETDEV = re.compile(r"^(?P<name>\S+) port (?P<port>\d+) ==> (?P<netdev>\S+) \((?P<state>\w+)\)")
# Bit IsSMdisabled of a port's capability mask: no subnet manager may run on it (InfiniBand architecture, PortInfo).
SM_DISABLED = 0x400
HEX = re.compile(r"0x[0-9a-fA-F]{1,8}")
RATE = re.compile(r"^(?P<rate>\d+(?:\.\d+)?)(?: Gb/sec)?(?: \((?P<width>[^)]*)\))?")


def read_ibstat(text: str) -> dict[str, Any]:
    """``ibstat``, both streams together: what it printed before it stopped counts.

    ``adapters``: rows of ``name``, ``type``, ``firmware`` and ``ports``: ``port``, ``state`` (Active, Initializing,
    Down ...), ``physical`` (LinkUp, Polling, Disabled ...), ``rate`` (Gb/s), ``lid``, ``link_layer``, ``guid``,
    ``sm_disabled``. Of the first port beside that: ``hca``, ``state``, ``physical``, ``rate``, ``link_layer``.
    ``missing_device``: the adapter that made ibstat stop; ``partial``: it did; ``error``: its words.
    """
    adapters = _adapters(text)
    panic = PANIC.search(text)
    ports = [(a["name"], port) for a in adapters for port in a["ports"]]
    first: dict[str, Any] = ports[0][1] if ports else {}
    fields = ("state", "physical", "rate", "link_layer")
    return {
        "adapters": adapters,
        "hca": ports[0][0] if ports else adapters[0]["name"] if adapters else None,
        **{field: first.get(field) for field in fields},
        "missing_device": panic["name"] if panic else None,
        "partial": "ibpanic:" in text,
        "error": panic["reason"] if panic else None,
    }


def _adapters(text: str) -> list[dict[str, Any]]:
    adapters: list[dict[str, Any]] = []
    pairs: dict[str, str] = {}
    for line in text.splitlines():
        name, port, pair = ADAPTER.match(line), PORT.match(line), PAIR.match(line)
        if name:
            pairs = {}
            adapters.append({"name": name["name"], "pairs": pairs, "ports": []})
        elif port and adapters:
            pairs = {"port": port["number"]}
            adapters[-1]["ports"].append(pairs)
        elif pair:
            pairs[pair["key"]] = pair["value"]
    return [_adapter(a) for a in adapters]


def _adapter(found: dict[str, Any]) -> dict[str, Any]:
    pairs = found["pairs"]
    return {
        "name": found["name"],
        "type": _known(pairs.get("CA type")),
        "firmware": _known(pairs.get("Firmware version")),
        "ports": [_port(port) for port in found["ports"]],
    }


def _port(pairs: dict[str, str]) -> dict[str, Any]:
    mask = pairs.get("Capability mask")
    return {
        "port": int(pairs["port"]),
        "state": pairs.get("State"),
        "physical": pairs.get("Physical state"),
        "rate": _rate(pairs.get("Rate"))[0],
        "lid": _known(pairs.get("Base lid")),
        "link_layer": pairs.get("Link layer"),
        "guid": _known(pairs.get("Port GUID")),
        "sm_disabled": bool(int(mask, 16) & SM_DISABLED) if mask and HEX.fullmatch(mask) else None,
    }


def _known(value: str | None) -> str | None:
    return value if value and value != "..." else None


def _rate(text: str | None) -> tuple[float | None, str | None]:
    """Gb/s, a whole number where it is one, and the width with the generation in parentheses."""
    found = RATE.match(text or "")
    if found is None:
        return None, None
    rate = float(found["rate"])
    return (int(rate) if rate.is_integer() else rate), found["width"]


def read_infiniband_class(text: str) -> dict[str, Any]:
    """``grep . /sys/class/infiniband/*/... ``: values are a number and its text.

    ``adapters``: rows of ``name``, ``firmware``, ``hca_type``, ``board_id`` and ``ports``: ``port``, ``state`` (ACTIVE)
    and ``state_number``, ``phys_state`` (LinkUp) and ``phys_state_number``, ``rate_gb``, ``width`` (4X NDR),
    ``link_layer``. ``devices``: the names in the order of their numbers. Of the first port also ``state``,
    ``phys_state``, ``rate_gb``, ``link_layer``; ``firmware`` of the first adapter.
    """
    found: dict[str, dict[int | None, dict[str, str]]] = {}
    for match in filter(None, map(SYSFS.match, text.splitlines())):
        port = int(match["port"]) if match["port"] else None
        found.setdefault(match["name"], {}).setdefault(port, {})[match["key"]] = match["value"]
    adapters = [_class_adapter(name, found[name]) for name in sorted(found, key=_natural)]
    ports = [port for a in adapters for port in a["ports"]]
    fields = ("state", "phys_state", "rate_gb", "link_layer")
    return {
        "adapters": adapters,
        "devices": [a["name"] for a in adapters],
        "firmware": adapters[0]["firmware"] if adapters else None,
        **{field: ports[0][field] if ports else None for field in fields},
    }


def _class_adapter(name: str, files: dict[int | None, dict[str, str]]) -> dict[str, Any]:
    own = files.get(None, {})
    ports = sorted((port, values) for port, values in files.items() if port is not None)
    return {
        "name": name,
        "firmware": own.get("fw_ver"),
        "hca_type": own.get("hca_type"),
        "board_id": own.get("board_id"),
        "ports": [_class_port(port, values) for port, values in ports],
    }


def _class_port(port: int, values: dict[str, str]) -> dict[str, Any]:
    rate, width = _rate(values.get("rate"))
    return {
        "port": port,
        **_numbered("state", values.get("state")),
        **_numbered("phys_state", values.get("phys_state")),
        "rate_gb": rate,
        "width": width,
        "link_layer": values.get("link_layer"),
    }


def _numbered(name: str, text: str | None) -> dict[str, Any]:
    """``4: ACTIVE``."""
    before, _colon, word = (text or "").partition(": ")
    value = number(before)
    return {name: text if value is None else word, f"{name}_number": value}


def _natural(name: str) -> list[tuple[int, str]]:
    """mlx5_2 before mlx5_10."""
    return [(int(part) if part.isdigit() else -1, part) for part in re.split(r"(\d+)", name)]


def read_ibdev2netdev(text: str) -> dict[str, Any]:
    """``ibdev2netdev``: ``ports``: rows of ``name``, ``port``, ``netdev`` and ``state`` (Up, Down), which is the IP
    side alone.
    """
    rows = [found.groupdict() for found in map(NETDEV.match, text.splitlines()) if found]
    return {"ports": [{**row, "port": int(row["port"])} for row in rows]}
