# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parses TOML, YAML and JSON of engines' files, and says in one sentence what is wrong with a text that is none.

Private to this collection.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..helpers import find_helper

NO_HELPER = "the Python package {} is missing"
LINE = re.compile(r"\bline ([0-9]{1,9})\b")
# Go's templates, in which k3s and RKE2 write containerd's configuration.
TEMPLATE_ACTION = re.compile(r"\{\{[^{}\n]{0,1000}\}\}")


@dataclass(frozen=True)
class Parsed:
    """``document`` is None where the text is not valid; then ``error`` says why, and ``error_line`` where (from 1)."""

    document: Any
    error: str | None = None
    error_line: int | None = None

    @property
    def fault(self) -> str:
        """What is wrong, with the line; empty for a valid text."""
        where = f"line {self.error_line}: " if self.error_line and "line" not in (self.error or "") else ""
        return f"{where}{self.error}" if self.error else ""

    @property
    def table(self) -> Mapping[str, Any]:
        """The document if it is a table of settings, else an empty one."""
        return self.document if isinstance(self.document, Mapping) else {}


def parse_toml(text: str, toml: Any = None) -> Parsed:
    """By tomlkit, as the modules that write such files. ``toml`` is that package where the caller has it."""
    toml = toml or find_helper("tomlkit")
    if toml is None:
        return Parsed(None, NO_HELPER.format("tomlkit"))
    try:
        return Parsed(toml.parse(text).unwrap())
    except toml.exceptions.KeyAlreadyPresent as error:
        # The only one that does not tell its line.
        return Parsed(None, " ".join(str(error).split()), _line_of_repetition(text, toml))
    # A document that repeats a table in odd places makes tomlkit itself stumble, with errors of Python's own.
    except (toml.exceptions.TOMLKitError, ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        return _failed(text, error)


def _line_of_repetition(text: str, toml: Any) -> int:
    """The first line with which the beginning of the text repeats a key."""
    lines = text.splitlines(keepends=True)
    good, bad = 0, len(lines)
    while bad - good > 1:
        middle = (good + bad) // 2
        try:
            toml.parse("".join(lines[:middle]))
            good = middle
        except toml.exceptions.KeyAlreadyPresent:
            bad = middle
        # A beginning may end within a string or a list.
        except (toml.exceptions.TOMLKitError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
            good = middle
    return bad


def parse_yaml(text: str) -> Parsed:
    """By PyYAML."""
    yaml = find_helper("yaml")
    if yaml is None:
        return Parsed(None, NO_HELPER.format("PyYAML"))
    try:
        return Parsed(yaml.safe_load(text))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        return Parsed(None, " ".join(str(error).split()), mark.line + 1 if mark else None)
    except (ValueError, TypeError, RecursionError, AttributeError, LookupError) as error:
        return _failed(text, error)


def parse_json(text: str) -> Parsed:
    """By the standard library."""
    try:
        return Parsed(json.loads(text))
    except (ValueError, RecursionError) as error:
        return _failed(text, error)


def _failed(text: str, error: Exception) -> Parsed:
    said = LINE.search(str(error))
    line = getattr(error, "line", None) or getattr(error, "lineno", None) or (int(said.group(1)) if said else None)
    lines = text.splitlines()
    if isinstance(line, int) and 0 < line <= len(lines) and _unterminated(lines[line - 1]):
        return Parsed(None, "unterminated string", line)
    return Parsed(None, " ".join(str(error).split()) or type(error).__name__, line if isinstance(line, int) else None)


def _unterminated(line: str) -> bool:
    """Whether the line opens a string that it does not close; what is in other strings and comments does not count."""
    quote = ""
    previous = ""
    for letter in line:
        if quote and letter == quote and previous != "\\":
            quote = ""
        elif not quote and letter in "\"'":
            quote = letter
        elif not quote and letter == "#":
            break
        previous = "" if previous == "\\" else letter
    return bool(quote)


def without_template(text: str) -> str:
    """The text without Go's template actions, line for line."""
    return TEMPLATE_ACTION.sub("", text)


def table_of(value: Any) -> Mapping[str, Any]:
    """The value if it is a table, else an empty one: a hand can write anything anywhere."""
    return value if isinstance(value, Mapping) else {}


def rows_of(value: Any) -> list[Mapping[str, Any]]:
    """The tables in a list; empty for a value that is none."""
    return [row for row in value if isinstance(row, Mapping)] if isinstance(value, list) else []


def texts_of(value: Any) -> list[str]:
    """The texts in a list; empty for a value that is none."""
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
