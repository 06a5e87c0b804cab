# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads ``dkms status`` of dkms 2.x to 3.4. Private to this collection.

Sources: dkms 3.4.3 (show_status, do_status_weak), negativo17/nvidia-driver#56, strongtz/i915-sriov-dkms#274.
"""

from __future__ import annotations

import re
from typing import Any

from ..._catalog.module_origins import DKMS_NAMES

ROW = re.compile(
    r"^(?P<module>[\w.+-]+)(?P<separator>/|, )(?P<version>[^,:\s]+)"
    r"(?:, (?P<kernel>[^,\s]+)(?:, (?P<arch>[^,:\s]+))?)?"
    r": (?P<state>[a-z-]+)(?: from (?P<weak_from>[^\s(]+))?(?P<notes>(?: \([^)]*\)?)*)"
)
RELEASE = re.compile(r"^\d+\.\d+\S*$")
MISSING_SOURCE = re.compile(r"/dkms/(?P<module>[^/\s]+)/(?P<version>[^/\s]+)/source/dkms\.conf")
BROKEN = re.compile(r"^Error! (?P<module>[^/\s:]+)/(?P<version>[^\s:]+): (?P<reason>.+)")

# flag -> the notes that mean it, in words of 2.x and 3.0, and of the releases since the end of 2024
NOTES = {
    "original_exists": ("original_module exists", "Original modules exist"),
    "missing": ("Missing some built modules", "Built modules are missing"),
    "differs": ("Diff between built and installed", "Differences between built and installed"),
}


def read_dkms_status(text: str) -> dict[str, Any]:
    """What DKMS has built, for which kernels.

    ``modules``: rows of ``module``, ``version``, ``kernel`` and ``arch`` (None: added only), ``state`` (added, built,
    installed, installed-weak, broken), ``weak_from``, ``notes``, ``original_exists``, ``missing``, ``differs`` and
    ``origin`` (who names it so; None for other vendors' modules). ``format``: 2.x or 3.x. ``errors``: rows of
    ``error``, ``module``, ``version``. ``running_kernel``: where ``uname -r`` was printed before, else None.

    About the driver, or the first module where there is none: ``module``, ``version``, ``state``, ``kernel``, ``arch``,
    ``note`` and ``differs`` of its first row, ``kernels`` of all its rows, ``built_for_running`` (None: not known).
    ``other_modules``: the names of the others. ``error``, ``broken_version``: of the first error.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    rows = [row for row in map(_row, lines) if row is not None]
    running = lines[0] if lines and RELEASE.match(lines[0]) else None
    errors = _errors(lines)
    return {
        "format": _format(lines),
        "running_kernel": running,
        "modules": rows,
        "errors": errors,
        "error": errors[0]["error"] if errors else None,
        "broken_version": errors[0]["version"] if errors else None,
        **_driver(rows, running),
    }


def _row(line: str) -> dict[str, Any] | None:
    found = ROW.match(line)
    if found is None:
        return None
    notes = re.findall(r"\(([^)]*)", found.group("notes"))
    flags = {flag: any(words in n for n in notes for words in texts) for flag, texts in NOTES.items()}
    fields = ("module", "version", "kernel", "arch", "state", "weak_from")
    origin = next((n.origin for n in DKMS_NAMES if re.fullmatch(n.name, found.group("module"))), None)
    return {**{f: found.group(f) for f in fields}, "notes": notes, **flags, "origin": origin}


def _format(lines: list[str]) -> str | None:
    """Weak modules are listed in the old form by 3.x too, so one slash is enough."""
    separators = {found.group("separator") for found in map(ROW.match, lines) if found}
    return None if not separators else "3.x" if "/" in separators else "2.x"


def _errors(lines: list[str]) -> list[dict[str, Any]]:
    found = []
    for number, line in enumerate(lines):
        broken = BROKEN.match(line)
        if broken:
            found.append({"error": broken["reason"], "module": broken["module"], "version": broken["version"]})
        elif line.startswith("Error!"):
            where = MISSING_SOURCE.search(" ".join(lines[number : number + 2]))
            missing = where is not None or "dkms.conf" in line
            reason = "dkms.conf missing" if missing else line[len("Error!") :].strip()
            module, version = (where["module"], where["version"]) if where else (None, None)
            found.append({"error": reason, "module": module, "version": version})
    return found


def _driver(rows: list[dict[str, Any]], running: str | None) -> dict[str, Any]:
    names = list(dict.fromkeys(r["module"] for r in rows))
    ours = next((n for n in names if re.match(r"nvidia(?!-fs|-peermem)", n)), names[0] if names else None)
    own = [r for r in rows if r["module"] == ours]
    first: dict[str, Any] = own[0] if own else {}
    kernels = [r["kernel"] for r in own if r["kernel"]]
    built = [r["kernel"] for r in own if r["state"].startswith("installed") and not r["missing"]]
    fields = ("module", "version", "state", "kernel", "arch", "origin")
    return {
        **{f: first.get(f) for f in fields},
        "note": first["notes"][0] if first.get("notes") else None,
        "differs": any(r["differs"] for r in own),
        "kernels": kernels,
        "built_for_running": None if running is None else running in built,
        "other_modules": [n for n in names if n != ours],
    }
