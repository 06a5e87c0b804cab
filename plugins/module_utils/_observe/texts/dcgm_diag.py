# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads ``dcgmi diag``: the box of 2.x to 4.x and the JSON (-j) of 3.x and 4.x. Private to this collection.

``Successfully ran diagnostic for group.`` says that it ran, not that anything passed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from .boxes import LONGEST
from .dcgm_errors import read_dcgm_errors
from .documents import rows_of

Test = dict[str, Any]

CATEGORY = re.compile(r"^[|+]-{3,}\s+(\w[\w ]{0,40}?)\s+-{3,}[|+]")
RESULT = re.compile(r"(pass|fail|skip|warn|not run)\b", re.IGNORECASE)
REMARK = re.compile(r"(Warning|Error|Info)(?::|$)")
GPU_LIST = re.compile(r"- GPUs?: ([0-9, ]{1,200})")
ENTITY = re.compile(r"([A-Za-z]+) ?([0-9]{1,4}): (.*)$")
SUCCESS_LINE = "Successfully ran diagnostic for group"
# The name changed with 4.0.
ROOTS = ("DCGM Diagnostic", "DCGM GPU Diagnostic")
METADATA = "Metadata"
ORDER = ("fail", "warn", "skip", "not run", "pass")
VERSION_NAMES = ("DCGM Version", "version")
DRIVER_NAME = "Driver Version Detected"


def read_dcgm_diag(text: str) -> dict[str, Any]:
    """Tests by category.

    ``tests``: rows of ``category``, ``name``, ``result`` (pass, fail, skip, warn, not run; None for anything else),
    ``entities`` (GPU numbers that the result names), ``warnings``. ``categories``: category -> worst result of its
    tests, None for one without tests (a text that was cut, or a level that has none). ``result``: the worst of all,
    None without tests; ``success_line``: the sentence that proves nothing. ``dcgm_version``, ``driver``: where
    metadata tell them. ``valid``: a JSON text is whole. ``errors``: as in read_dcgm_errors, a run that was refused.
    """
    document, error = _json(text)
    tests, categories, metadata = _from_json(document) if document else _from_boxes(text)
    worst = {c: _worst([t for t in tests if t["category"] == c]) for c in categories}
    refused = document.get("runtime_error") if document else None
    return {
        "tests": tests,
        "categories": worst,
        "result": _worst(tests),
        "success_line": SUCCESS_LINE in text,
        "dcgm_version": next((metadata[n] for n in VERSION_NAMES if n in metadata), None),
        "driver": metadata.get(DRIVER_NAME),
        "valid": error is None,
        "errors": read_dcgm_errors(f"Error: {refused}" if isinstance(refused, str) else text),
    }


def _worst(tests: list[Test]) -> str | None:
    return min((t["result"] for t in tests if t["result"]), key=ORDER.index, default=None)


def _result(text: Any) -> str | None:
    found = RESULT.match(text.strip()) if isinstance(text, str) else None
    return found.group(1).lower() if found else None


def _from_boxes(text: str) -> tuple[list[Test], list[str], dict[str, str]]:
    tests: list[Test] = []
    categories: list[str] = []
    metadata: dict[str, str] = {}
    for line in (raw.strip() for raw in text.splitlines() if len(raw) <= LONGEST):
        head = CATEGORY.match(line)
        cells = [c.strip() for c in line.strip("|").split("|")] if line.startswith("|") else []
        if head and head.group(1) != METADATA:
            categories.append(head.group(1))
        elif len(cells) == 2 and not categories:
            metadata[cells[0]] = cells[1]
        elif len(cells) == 2:
            _add(tests, categories[-1], *cells)
    return tests, categories, metadata


def _add(tests: list[Test], category: str, name: str, value: str) -> None:
    """A row is a test, or says more of the test before: an entity's result, a warning, the rest of a long one."""
    entity = ENTITY.match(value)
    remark = REMARK.match(name)
    if remark:
        if tests and remark.group(1) != "Info":
            tests[-1]["warnings"].append(value)
    elif name:
        numbers = GPU_LIST.search(value)
        entities = [int(w) for w in re.findall("[0-9]{1,4}", numbers.group(1))] if numbers else []
        tests.append(_test(category, name, _result(value), entities))
    elif tests and entity and _result(entity.group(3)):
        if _result(entity.group(3)) == tests[-1]["result"]:
            tests[-1]["entities"].append(int(entity.group(2)))
    elif tests and tests[-1]["warnings"]:
        tests[-1]["warnings"][-1] = f"{tests[-1]['warnings'][-1]} {value}".strip()


def _test(category: str, name: str, result: str | None, entities: list[int]) -> Test:
    return {"category": category, "name": name, "result": result, "entities": entities, "warnings": []}


def _json(text: str) -> tuple[Mapping[str, Any], str | None]:
    """The document in a text; empty and no error for a text that is none."""
    start = text.find("{")
    if start < 0 or "|" in text[:start]:
        return {}, None
    try:
        document = json.loads(text[start:])
    except (ValueError, RecursionError) as problem:
        return {}, str(problem)
    if not isinstance(document, Mapping):
        return {}, "it is no object"
    root: Mapping[str, Any] = next((document[name] for name in ROOTS if isinstance(document.get(name), Mapping)), {})
    metadata = document.get("metadata")
    return {**root, "metadata": metadata if isinstance(metadata, Mapping) else root}, None


def _from_json(document: Mapping[str, Any]) -> tuple[list[Test], list[str], dict[str, str]]:
    tests: list[Test] = []
    categories: list[str] = []
    for category in rows_of(document.get("test_categories")):
        name = str(category.get("category"))
        categories.append(name)
        tests += [_json_test(name, test) for test in rows_of(category.get("tests"))]
    metadata = {k: v for k, v in document["metadata"].items() if isinstance(v, str)}
    return tests, categories, metadata


def _json_test(category: str, test: Mapping[str, Any]) -> Test:
    results = rows_of(test.get("results"))
    summary = test.get("test_summary")
    rows = [(r, _result(r.get("status"))) for r in results]
    said = _result(summary.get("status")) if isinstance(summary, Mapping) else None
    worst = said or min((s for _r, s in rows if s), key=ORDER.index, default=None)
    ids = [r.get("entity_id", r.get("gpu_id", r.get("gpu_ids"))) for r, s in rows if s == worst]
    numbers = [int(w) for i in ids for w in re.findall("[0-9]{1,4}", str(i))]
    row = _test(category, str(test.get("name")), worst, numbers)
    for warning in (w for r in results for w in _warnings(r)):
        row["warnings"].append(warning)
    return row


def _warnings(result: Mapping[str, Any]) -> list[str]:
    """``warnings`` is a text in 3.0, a list of texts or of objects later."""
    found = result.get("warnings")
    rows = found if isinstance(found, list) else [found]
    return [str(r.get("warning")) if isinstance(r, Mapping) else r for r in rows if isinstance(r, (str, Mapping))]
