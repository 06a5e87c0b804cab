# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads dnf: errors, module streams, and NVIDIA's plugin. Private to this collection.

Sources: dnf(8), libsolv's problem texts; NVIDIA/yum-packaging-precompiled-kmod#50, #52, #56, #63.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..._catalog.package_errors import DNF_ERRORS
from .plain import short_lines
from .rpm_list import KMOD, parse_nevra

Found = dict[str, Any]

PATTERNS = tuple((row, re.compile(row.pattern, re.MULTILINE)) for row in DNF_ERRORS)
PROBLEM = re.compile(r"^ *Problem(?: (?P<number>\d+))?: (?P<text>.+)$")
DETAIL = re.compile(r"^ +- (?P<text>.+)$")
REQUIRES = re.compile(
    r"^package (?P<package>\S+)(?: from (?P<repo>\S+))? requires (?P<missing>.+?), but none of the providers can be"
    r" installed"
)
NOTHING = re.compile(r"^nothing provides (?P<missing>.+?) needed by (?P<package>\S+)(?: from (?P<repo>\S+))?")
CONFLICTS = re.compile(
    r"^package (?P<package>\S+)(?: from (?P<repo>\S+))? (?:conflicts with|obsoletes) (?P<missing>.+?)"
    r" provided by (?P<other>\S+)"
)
FILTERED = re.compile(r"^package (?P<package>\S+)(?: from (?P<repo>\S+))? is filtered out by (?P<filter>\w+) filtering")

HEADINGS = re.compile(r"^Name\s{2,}Stream\s{2,}Profiles\s{2,}Summary\s*$")
MARKED = re.compile(r"(?P<name>[^\s\[,]+)(?P<marks>(?:\s*\[[deixa]\])*)")
KERNEL_PACKAGE = re.compile(r"^kernel(?:-\w+)*-(?P<release>\d+\.\d+\.\d+-\S+)$")
STREAM = re.compile(r"^(?P<branch>latest|open|\d{3})(?:-(?P<flavour>.+))?$")


def read_dnf_errors(text: str, source: str = "") -> Found:
    """Why dnf or yum refused.

    ``error``: unresolvable, package_not_found, no_modules, key_missing ... (rows of _catalog/package_errors), None for
    a text without one; ``retry``: waiting is enough. ``problems``: rows of ``text``, ``package``, ``repo``,
    ``missing``, ``filter`` (None where the problem has none), each with its ``details`` of the same form. ``wanted``:
    the package of the first problem, without architecture; ``missing``: the requirement at the end of its chain;
    ``conflict``: what is in the way; ``filtered``: packages that a module stream or an exclude hides.
    """
    said = short_lines(text)
    problems = _problems(said)
    found = _known(said)
    if problems:
        found = {**found, "error": "unresolvable", "retry": False}
    return {"problems": problems, **_first(problems), **found}


def _known(text: str) -> Found:
    for row, pattern in PATTERNS:
        match = pattern.search(text)
        if match:
            fields = {name: value for name, value in match.groupdict().items() if value is not None}
            return {"error": row.error, "retry": row.retry, "text": match.group(0).strip(), **fields}
    return {"error": None, "retry": False}


def _problems(text: str) -> list[Found]:
    problems: list[Found] = []
    for line in text.splitlines():
        head, detail = PROBLEM.match(line), DETAIL.match(line)
        if head:
            problems.append({**_told(head["text"]), "details": []})
        elif detail and problems:
            problems[-1]["details"].append(_told(detail["text"]))
    return problems


def _told(text: str) -> Found:
    found = next((m for m in (p.match(text) for p in (REQUIRES, NOTHING, CONFLICTS, FILTERED)) if m), None)
    fields = found.groupdict() if found else {}
    return {"text": text, **{f: fields.get(f) for f in ("package", "repo", "missing", "other", "filter")}}


def _first(problems: Sequence[Found]) -> Found:
    told = [problems[0], *problems[0]["details"]] if problems else []
    missing = [t["missing"] for t in told if t["missing"] and not t["other"]]
    packages = [t["package"] for t in told if t["package"]]
    return {
        "wanted": re.sub(r"\.(noarch|x86_64|aarch64|i686)$", "", packages[0]) if packages else None,
        "missing": re.sub(r" = ", " ", missing[-1]) if missing else None,
        "conflict": next((t["other"] for t in told if t["other"]), None),
        "filtered": [t["package"] for p in problems for t in (p, *p["details"]) if t["filter"]],
    }


def read_module_streams(text: str) -> Found:
    """``dnf module list``.

    ``streams``: rows of ``module``, ``stream``, ``default``, ``enabled``, ``disabled``, ``profiles`` (``name``,
    ``default``, ``installed``) and ``summary``. ``names``: of the streams. ``default_stream``, ``enabled_stream`` and
    ``installed_profile``: None for none. ``repo``: the repository's name above the headings; ``preamble_lines``: how
    many lines stand before that. ``flavours``: kinds of kernel modules among the streams (dkms, open, open-gpu,
    precompiled). ``error``: no_modules where there are none.
    """
    lines = text.splitlines()
    at = next((n for n, line in enumerate(lines) if HEADINGS.match(line)), None)
    streams = _streams(lines[at], lines[at + 1 :]) if at is not None else []
    before = [line.strip() for line in lines[: at or 0] if line.strip()]
    repo = before.pop() if before and " " not in before[-1] else None
    profiles = [p["name"] for s in streams for p in s["profiles"] if p["installed"]]
    enabled, default = (next((s["stream"] for s in streams if s[mark]), None) for mark in ("enabled", "default"))
    return {
        "streams": streams,
        "names": [s["stream"] for s in streams],
        "default_stream": default,
        "enabled_stream": enabled,
        "enabled": enabled,
        "installed_profile": profiles[0] if profiles else None,
        "installed": profiles,
        "repo": repo,
        "preamble_lines": len(before),
        "flavours": sorted({_flavour(s["stream"]) for s in streams} - {""}),
        "error": _known(text)["error"] if not streams else None,
    }


def _columns(headings: str, line: str) -> list[str]:
    """By the places of the headings: a full column has one space behind it. A copy may have lost them."""
    starts = [found.start() for found in re.finditer(r"\S+", headings)]
    if all(line[start - 1 : start] in ("", " ") for start in starts[1:]):
        return [line[start:end].strip() for start, end in zip(starts, [*starts[1:], len(line)])]
    return re.split(r"\s{2,}", line.strip())


def _streams(headings: str, lines: Sequence[str]) -> list[Found]:
    """An empty line or a hint ends the table."""
    streams = []
    for line in lines:
        columns = _columns(headings, line) if line.strip() else []
        if len(columns) < 3 or line.startswith("Hint"):
            break
        stream = MARKED.match(columns[1])
        marks = stream["marks"] if stream else ""
        streams.append(
            {
                "module": columns[0],
                "stream": stream["name"] if stream else columns[1],
                **{name: mark in marks for name, mark in (("default", "[d]"), ("enabled", "[e]"), ("disabled", "[x]"))},
                "profiles": [_profile(p) for p in MARKED.finditer(columns[2])],
                "summary": columns[3] if len(columns) > 3 else None,
            }
        )
    return streams


def _profile(found: re.Match[str]) -> Found:
    return {"name": found["name"], "default": "[d]" in found["marks"], "installed": "[i]" in found["marks"]}


def _flavour(stream: str) -> str:
    """latest and 535: precompiled modules; open-dkms: DKMS; 535-open: open ones."""
    found = STREAM.match(stream)
    return "" if found is None else found["flavour"] or ("precompiled" if found["branch"] != "open" else "open")


def read_nvidia_plugin(text: str) -> Found:
    """``dnf nvidia-plugin``: what dnf-plugin-nvidia sees of precompiled modules.

    ``kernels``: releases of installed kernels. ``kmods``: rows of ``driver``, ``kernel`` (without distribution),
    ``epoch``. ``available_drivers``: versions. ``available_driver_max``; ``installed_kmod``: ``DRIVER for KERNEL`` of
    the first; ``kernels_without_kmod``: releases, without distribution. ``epoch``: of the drivers.
    """
    sections = _sections(text)
    kernels = [found["release"] for found in map(KERNEL_PACKAGE.match, sections.get("installed kernel", [])) if found]
    packages = [row for row in map(parse_nevra, sections.get("installed kmod", [])) if row]
    named = [(row, KMOD.match(row["name"])) for row in packages]
    kmods = [{"driver": m["driver"], "kernel": m["kernel"], "epoch": row["epoch"]} for row, m in named if m]
    drivers = [row for row in map(parse_nevra, sections.get("available driver", [])) if row]
    versions = sorted((row["version"] for row in drivers), key=lambda v: [int(n) for n in re.findall(r"\d+", v)])
    have = [kmod["kernel"] for kmod in kmods]
    bare = [re.sub(r"\.(el|fc|amzn)\d.*$", "", kernel) for kernel in kernels]
    return {
        "kernels": kernels,
        "kmods": kmods,
        "available_drivers": versions,
        "available_driver_max": versions[-1] if versions else None,
        "installed_kmod": f"{kmods[0]['driver']} for {kmods[0]['kernel']}" if kmods else None,
        "kernels_without_kmod": [kernel for kernel in bare if kernel not in have],
        "epoch": next((row["epoch"] for row in drivers), None),
    }


def _sections(text: str) -> dict[str, list[str]]:
    """``Installed kernel(s):`` and the like, each with indented packages."""
    found: dict[str, list[str]] = {}
    title = ""
    for line in text.splitlines():
        if line.strip().endswith(":"):
            title = line.strip().rstrip(":").replace("(s)", "").lower()
        elif line.strip() and title:
            found.setdefault(title, []).append(line.strip())
    return found
