# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads ``docker info``, as text or JSON. Private to this collection."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .documents import parse_json, rows_of, table_of, texts_of

DEVICE = re.compile(r"^\s*(\w{1,20}): (\S+/\S+=\S+)$")
NVIDIA = "nvidia"
DIRECTORIES, DISCOVERED = "CDI spec directories", "Discovered Devices"


def read_docker_info(text: str) -> dict[str, Any]:
    """The engine's part.

    ``server``: version; ``storage``: driver; ``cgroup``: driver and version (``systemd v2``); ``runtimes``: names;
    ``default_runtime``; ``nvidia_runtime``; ``cdi_spec_dirs``; ``discovered_devices``: names of CDI devices (28.3 and
    later); ``warnings``. None where the text does not tell: an old engine, or a text that was cut. ``errors``:
    sentences in place of an answer (the engine does not run, or may not be asked).
    """
    if text.lstrip().startswith(("{", "[")):
        parsed = parse_json(text.strip())
        return _from_json(_whole(parsed.document), parsed.error)
    return _from_text(text)


def _whole(document: Any) -> Mapping[str, Any]:
    """The document, also where --format asked for one of its lists only."""
    if isinstance(document, list):
        return {"DiscoveredDevices": document} if rows_of(document) else {"CDISpecDirs": document}
    return table_of(document)


def _result(**told: Any) -> dict[str, Any]:
    runtimes = told["runtimes"]
    return {**told, "nvidia_runtime": None if runtimes is None else any(NVIDIA in name for name in runtimes)}


def _from_json(document: Mapping[str, Any], error: str | None) -> dict[str, Any]:
    runtimes, devices = document.get("Runtimes"), document.get("DiscoveredDevices")
    return _result(
        server=_text(document.get("ServerVersion")),
        storage=_text(document.get("Driver")),
        cgroup=_cgroup(document.get("CgroupDriver"), document.get("CgroupVersion")),
        runtimes=list(runtimes) if isinstance(runtimes, Mapping) else None,
        default_runtime=_text(document.get("DefaultRuntime")),
        cdi_spec_dirs=_listed(document, "CDISpecDirs"),
        # The pull request that added it printed Name, releases print ID.
        discovered_devices=[str(d.get("ID") or d.get("Name")) for d in rows_of(devices) if d.get("Source") == "cdi"]
        if isinstance(devices, list)
        else None,
        warnings=texts_of(document.get("Warnings")),
        errors=[error] if error else texts_of(document.get("ServerErrors")),
    )


def _listed(document: Mapping[str, Any], key: str) -> list[str] | None:
    return texts_of(document[key]) if isinstance(document.get(key), list) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _cgroup(driver: Any, version: Any) -> str | None:
    if not driver:
        return None
    return f"{driver} v{version}" if version else str(driver)


def _from_text(text: str) -> dict[str, Any]:
    server = text[max(text.find("Server:"), 0) :]
    lines = [line.rstrip() for line in server.splitlines()]
    values = dict(line.strip().split(": ", 1) for line in lines if ": " in line)
    runtimes = values.get("Runtimes")
    devices = [m.group(2) for m in map(DEVICE.match, lines) if m and m.group(1) == "cdi"]
    return _result(
        server=values.get("Server Version"),
        storage=values.get("Storage Driver"),
        cgroup=_cgroup(values.get("Cgroup Driver"), values.get("Cgroup Version")),
        runtimes=runtimes.split() if runtimes is not None else None,
        default_runtime=values.get("Default Runtime"),
        cdi_spec_dirs=_below(lines, DIRECTORIES),
        discovered_devices=devices if f" {DISCOVERED}:" in server else None,
        warnings=[line for line in text.splitlines() if line.startswith("WARNING: ")],
        errors=[
            line.strip()
            for line in text.splitlines()
            if line.startswith(("ERROR: ", "permission denied", "Cannot connect to the Docker daemon"))
        ],
    )


def _below(lines: list[str], head: str) -> list[str] | None:
    """The deeper lines after ``head:``; None where it is not there."""
    at = next((n for n, line in enumerate(lines) if line.strip() == f"{head}:"), None)
    if at is None:
        return None
    indent = len(lines[at]) - len(lines[at].lstrip())
    found: list[str] = []
    for line in lines[at + 1 :]:
        if len(line) - len(line.lstrip()) <= indent:
            break
        found.append(line.strip())
    return found
