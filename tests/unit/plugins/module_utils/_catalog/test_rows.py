# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every row of every catalog says who says so and since when; its regular expressions compile; no row stands twice."""

from __future__ import annotations

import dataclasses
import importlib
import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils import _catalog

PACKAGE = _catalog.__name__
NAMES = sorted(p.stem for p in Path(_catalog.__path__[0]).glob("*.py") if p.stem != "__init__")
# Fields that are regular expressions.
PATTERNS = {"pattern", "names", "path"}
# Rows of these catalogs are searched for in words, not by regular expressions.
PLAIN = {("components", "names"), ("packages", "names")}


def rows(name: str) -> Iterator[tuple[str, Any]]:
    """The dataclass rows in module-level tuples, lists and mappings of a catalog, with the name of their table."""
    module = importlib.import_module(f"{PACKAGE}.{name}")
    for table, value in vars(module).items():
        if table.startswith("_") or table.islower():
            continue
        values = value.values() if isinstance(value, dict) else value
        for row in values if isinstance(values, (tuple, list)) or isinstance(value, dict) else ():
            if dataclasses.is_dataclass(row) and not isinstance(row, type):
                yield table, row


ALL = [(name, table, row) for name in NAMES for table, row in rows(name)]


def test_the_walk_finds_the_catalogs():
    tables = {(name, table) for name, table, _row in ALL}
    assert {
        ("gpus", "BOARDS"),
        ("gpus", "RANGES"),
        ("packages", "DRIVER_PACKAGES"),
        ("branches", "KNOWN_BAD"),
    } <= tables
    assert {
        ("package_origins", "DRIVER_KINDS"),
        ("components", "COMPONENT_PACKAGES"),
        ("fabrics", "SWITCHES"),
    } <= tables


@pytest.mark.parametrize(("name", "table"), sorted({(name, table) for name, table, _row in ALL}))
def test_rows(name, table):
    found = [row for n, t, row in ALL if (n, t) == (name, table)]
    if all(hasattr(row, "source") for row in found):
        assert len(set(map(repr, found))) == len(found), "a row stands twice"
    for row in found:
        fields = {f.name: getattr(row, f.name) for f in dataclasses.fields(row)}
        if "source" in fields and "as_of" in fields:
            assert len(fields["source"]) > 3, row
            assert date.fromisoformat(fields["as_of"]), row
        for field in PATTERNS & set(fields):
            if isinstance(fields[field], str) and (name, field) not in PLAIN:
                assert re.compile(fields[field]), row
