# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads lists of Debian packages: dpkg -l, and dpkg-query -W with tabs. Private to this collection.

Sources: dpkg-query(1); k8s-device-plugin#178, nvidia-docker#1170, elementary/settings-system#302.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..._catalog.package_origins import DEB_PARTS, KERNEL, LIBRARY, origin_of
from .driver_parts import branch_of_name, driver_parts

# First letter wanted, second state, third error.
LISTED = re.compile(
    r"^(?P<status>[uihrp][nciUFHWt][R ]?)\s+(?P<name>[a-z0-9]\S*)(?:\s+(?P<version>\S+))?"
    r"(?:\s+(?P<arch>[a-z0-9-]+|<none>))?(?:\s+(?P<description>.*?))?\s*$"
)
QUERIED = re.compile(
    r"^(?P<status>[uihrp][nciUFHWt][R ]?)\s*\t(?P<name>[^\t]+)\t(?P<arch>[^\t]*)\t(?P<version>[^\t\n]*)"
    r"(?P<description>)$"
)
RULER = re.compile(r"^\+\+\+-(?P<name>=+)-(?P<version>=+)-")
STATES = {
    "n": "not-installed", "c": "config-files", "i": "installed", "U": "unpacked", "F": "half-configured",
    "H": "half-installed", "W": "triggers-awaited", "t": "triggers-pending",
}  # fmt: skip
# A name whose architecture was cut.
CUT_NAME = re.compile(r":(a|ar|arm|arm6|am|amd|amd6|i|i3|i38)$")


def read_dpkg_list(text: str) -> dict[str, Any]:
    """Packages that dpkg knows.

    ``packages``: rows of ``name`` (without architecture), ``architecture``, ``version`` (None: cut or none), ``status``
    (ii, rc, hi ...), ``state`` (installed, config-files, half-configured ...), ``held``, ``transitional``, ``origin``
    (who builds such versions, None: not known). ``names_truncated``, ``versions_truncated``, ``last_line_cut``: dpkg
    -l, a pager or a copy cut the text, so that dpkg-query -W should be asked.

    About the driver: ``branch`` and ``installed_branch`` of the installed compute library or modules (None: names
    without), ``removed_config_files``: compute libraries of which only configuration is left, ``module_source``,
    ``parts``, ``complete`` (see driver_parts()), ``compute_utils`` and ``nvidia_utils``: status letters of these
    packages, None where the list lacks them, ``foreign_arch``: further architectures, ``transitional``: names,
    ``same_name_twice``: names in two architectures.
    """
    rows = _rows(text)
    installed = [r for r in rows if r["state"] == "installed"]
    names = list(dict.fromkeys(r["name"] for r in installed))
    lines = [line for line in text.splitlines() if LISTED.match(line)]
    seen = [r["name"] for r in rows]
    return {
        "packages": rows,
        "installed": names,
        "names_truncated": any(CUT_NAME.search(r["printed"]) for r in rows) or _fills(text, rows, "name", "printed"),
        "versions_truncated": _fills(text, rows, "version", "version"),
        "last_line_cut": bool(rows)
        and ("\t" not in lines[-1])
        and (rows[-1]["architecture"] is None or _by_pager(lines[-1])),
        "transitional": list(dict.fromkeys(r["name"] for r in rows if r["transitional"])),
        "same_name_twice": list(dict.fromkeys(n for n in seen if seen.count(n) > 1)),
        "removed_config_files": [r["name"] for r in rows if r["status"].startswith("rc") and "compute-" in r["name"]],
        "foreign_arch": _foreign(installed),
        **driver_parts(names, DEB_PARTS),
        **_branch(installed),
        "compute_utils": _status(rows, r"nvidia-compute-utils(-\d+.*)?"),
        "nvidia_utils": _status(rows, r"nvidia-utils(-\d+.*)?|nvidia-smi"),
    }


def _rows(text: str) -> list[dict[str, Any]]:
    found = (QUERIED.match(line) or LISTED.match(line) for line in text.splitlines())
    return [_row(match) for match in found if match]


def _row(found: re.Match[str]) -> dict[str, Any]:
    name, _colon, suffix = found["name"].partition(":")
    version = found["version"] if found["version"] not in ("", "<none>") else None
    arch = found["arch"] if found["arch"] not in ("", "<none>") else None
    description = found["description"] or ""
    return {
        "name": name.rstrip(">"),
        "printed": found["name"],
        "architecture": arch or (suffix if suffix in ("amd64", "i386", "arm64") else None),
        "version": version,
        "status": found["status"].strip(),
        "state": STATES[found["status"][1]],
        "held": found["status"][0] == "h",
        "transitional": "transitional" in description.lower(),
        "origin": origin_of(version) if version else None,
    }


def _fills(text: str, rows: Sequence[dict[str, Any]], column: str, field: str) -> bool:
    """dpkg -l cuts to the width of the column, which the ruler under its headings shows."""
    ruler = next((found for found in map(RULER.match, text.splitlines()) if found), None)
    return ruler is not None and any(r[field] and len(r[field]) >= len(ruler[column]) for r in rows)


def _by_pager(line: str) -> bool:
    return line.rstrip().endswith(">")


def _foreign(rows: Sequence[dict[str, Any]]) -> list[str]:
    archs = [r["architecture"] for r in rows if r["architecture"] not in (None, "all")]
    most = max(archs, key=archs.count) if archs else None
    return [a for a in dict.fromkeys(archs) if a != most]


def _branch(installed: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Of what is really there: a transitional package has another branch in its name than in its version."""
    own = [r["name"] for r in installed if not r["transitional"]]
    of_parts = driver_parts(own, DEB_PARTS)["parts"]
    branches = [b for part in (LIBRARY, KERNEL) for b in map(branch_of_name, of_parts[part]) if b]
    others = [b for b in map(branch_of_name, own) if b]
    branch = next(iter([*branches, *others]), None)
    return {"branch": branch, "installed_branch": branch}


def _status(rows: Sequence[dict[str, Any]], names: str) -> str | None:
    found = [r["status"] for r in rows if re.fullmatch(names, r["name"])]
    return next((s for s in found if s.endswith("i")), found[0] if found else None)
