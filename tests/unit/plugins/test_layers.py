# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Holds the layers: which room may import what."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PLUGINS = Path(__file__).parents[3] / "plugins"
UTILS = PLUGINS / "module_utils"

PURE = {
    "__future__", "abc", "bisect", "collections", "copy", "dataclasses", "datetime", "difflib", "enum", "fnmatch",
    "functools", "hashlib", "ipaddress", "itertools", "json", "math", "operator", "posixpath", "re", "statistics",
    "string", "textwrap", "types", "typing",
}  # fmt: skip

# room -> (rooms it may import, whether the whole standard library is open to it)
RULES = {
    "_catalog": ({"_catalog"}, False),
    "_plan": ({"_plan", "_catalog"}, False),
    "_observe": ({"_observe", "_catalog", "_plan"}, True),
    "_act": ({"_act", "_observe", "_plan", "_catalog"}, True),
    "_host": ({"_host", "_act", "_observe", "_plan", "_catalog"}, True),
}
FILES = sorted(p for room in RULES for p in (UTILS / room).rglob("*.py"))


def imports(path: Path) -> list[tuple[str, int]]:
    """Every imported module of a file as (dotted name, level of a relative import)."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [(alias.name, 0) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            if node.module is None:
                found += [(alias.name, node.level) for alias in node.names]
            else:
                found.append((node.module, node.level))
    return found


def rooms_of(path: Path) -> set[str]:
    """The rooms of module_utils that a file imports through relative imports."""
    found = set()
    for name, level in imports(path):
        if level:
            base = path.relative_to(UTILS).parts[:-level] if level <= len(path.relative_to(UTILS).parts) else ()
            found.add((*base, *name.split("."))[0])
    return found


def test_there_is_something_to_hold():
    assert {p.relative_to(UTILS).parts[0] for p in FILES} >= {"_plan", "_observe", "_act"}


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(UTILS)))
def test_room_imports_only_what_it_may(path):
    room = path.relative_to(UTILS).parts[0]
    allowed, whole_library = RULES[room]
    assert rooms_of(path) <= allowed
    outside = {name.split(".")[0] for name, level in imports(path) if not level}
    assert "ansible" not in outside
    assert "ansible_collections" not in outside
    if not whole_library:
        assert outside <= PURE


def test_shared_code_is_private_by_name():
    public = [p for p in UTILS.rglob("*.py") if not p.relative_to(UTILS).parts[0].startswith("_")]
    assert public == []


def function_lengths(path: Path) -> list[tuple[str, int]]:
    nodes = (n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)))
    return [(f"{path.name}:{n.name}", (n.end_lineno or n.lineno) - n.lineno + 1) for n in nodes]


def test_no_function_is_over_45_lines():
    long = [f for p in PLUGINS.rglob("*.py") for f in function_lengths(p) if f[1] > 45]
    assert long == []
