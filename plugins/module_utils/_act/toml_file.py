# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Edits TOML and JSON texts key by key, so that comments, order and unrelated keys survive.

Private to this collection.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from .._plan.engine import differences

VERSION = re.compile(r"\A(?:(?:[ \t]*(?:#.*)?|[ \t]*[A-Za-z_-]+[ \t]*=.*)\n)*?[ \t]*version[ \t]*=.*\n")
# A letter of the private area, which no configuration has.
MARK = "\uf8ff"
SPELLED = re.compile(f'"{MARK}([^"]*)"')
INDENT = re.compile(r"^([ \t]+)\S", re.MULTILINE)


class EditError(Exception):
    """The edited text does not mean what was wanted; nothing is written then."""


def edited_toml(text: str, after: Mapping[str, Any], toml: Any) -> str:
    """``text`` changed so that it means ``after``. ``toml`` is the package tomlkit. Raises EditError."""
    rows = list(differences(toml.parse(text).unwrap(), after, whole=True))
    for key, old, new in rows:
        if len(key) == 1 and old is None and not isinstance(new, dict):
            text = _with_line(text, str(toml.dumps({key[0]: new})))
    document = toml.parse(text)
    for key, _old, new in rows:
        _set(document, key, new, toml)
    result = str(toml.dumps(document))
    if toml.parse(result).unwrap() != after:
        raise EditError("the edited TOML text would not mean what was wanted; please report this with the file")
    return result


def edited_json(text: str, after: Mapping[str, Any]) -> str:
    """The same for JSON, with the indentation of ``text``. Keys keep their order, and numbers their spelling.

    Raises EditError.
    """
    before = json.loads(text, parse_float=_Spelled) if text.strip() else {}
    found = INDENT.search(text)
    kept = _in_order(before, after)
    made = json.dumps(kept, indent=found.group(1) if found else 4, ensure_ascii=False) + "\n"
    result = SPELLED.sub(r"\1", made)
    if _read(result) != after:
        raise EditError("the edited JSON text would not mean what was wanted; please report this with the file")
    return result


def _read(text: str) -> Any:
    """The document in a text; None for a text that is none."""
    try:
        return json.loads(text)
    except ValueError:
        return None


class _Spelled(str):
    """A number with a point or an exponent as it was written: 0.10 and 1e400 would come back as 0.1 and Infinity."""

    def __new__(cls, number: str) -> _Spelled:
        """Marked, so that it can be told from a text."""
        return super().__new__(cls, f"{MARK}{number}")

    def is_same(self, other: Any) -> bool:
        """Whether ``other``, read by somebody else, is this number."""
        return isinstance(other, float) and float(self[len(MARK) :]) == other


def _with_line(text: str, line: str) -> str:
    """A new setting outside of all tables: after the version, so that no comment is parted from what it is about."""
    found = VERSION.search(text)
    place = found.end() if found else 0
    return text[:place] + line + text[place:]


def _set(document: Any, key: tuple[str, ...], value: Any, toml: Any) -> None:
    for name in key[:-1]:
        if name not in document:
            document[name] = toml.table(is_super_table=True)
        document = document[name]
    if value is None:
        del document[key[-1]]
    elif key[-1] in document:
        document[key[-1]] = value
    else:
        document[key[-1]] = _item(value, toml)


def _item(value: Any, toml: Any) -> Any:
    """Tables as tables with headers, not inline."""
    if not isinstance(value, dict):
        return value
    only_tables = bool(value) and all(isinstance(part, dict) for part in value.values())
    made = toml.table(is_super_table=only_tables)
    # A table's own keys have to come before its subtables.
    for name, part in sorted(value.items(), key=lambda row: isinstance(row[1], dict)):
        made[name] = _item(part, toml)
    return made


def _in_order(before: Any, after: Any) -> Any:
    if isinstance(before, _Spelled):
        return before if before.is_same(after) else after
    if isinstance(before, list) and isinstance(after, list):
        return [_in_order(old, new) for old, new in zip(before, after)] + after[len(before) :]
    if not isinstance(before, dict) or not isinstance(after, Mapping):
        return after
    names = [n for n in before if n in after] + [n for n in after if n not in before]
    return {n: _in_order(before.get(n), after[n]) for n in names}
