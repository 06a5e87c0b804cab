# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conclusions about recorded texts as INDEX.tsv words them, compared with what readers found."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NOTHING = ("absent", "unknown", "none", "n/a", "empty", "unset")


@dataclass(frozen=True)
class Case:
    """One row of INDEX.tsv and its text. ``conclude``: key -> what a reader has to conclude, as text."""

    file: Path
    source: str
    products: str
    conclude: Mapping[str, str]

    @property
    def text(self) -> str:
        """As a file of a host is read: bytes that are no UTF-8 stay as surrogates.

        ``.escaped.txt`` has Python's escapes for what sanity tests forbid in files: carriage returns, curly quotes.
        """
        if self.file.name.endswith(".escaped.txt"):
            return self.file.read_bytes().decode("unicode_escape")
        return self.file.read_bytes().decode("utf-8", "surrogateescape")


def read_cases(folder: Path) -> dict[str, Case]:
    """File name -> case, for every row of the folder's INDEX.tsv; without that file there is none."""
    index = folder / "INDEX.tsv"
    if not index.exists():
        return {}
    with index.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return {
        row["file"]: Case(
            folder / row["file"], row["command or path"], row["product versions"], _conclusions(row["conclude"])
        )
        for row in rows
    }


def _conclusions(text: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in text.split("; "))
    return {key.strip(): value.strip() for key, _equals, value in pairs}


def agrees(expected: str, found: Any) -> bool:
    """Whether a value that a reader found is what a person wrote down about the text.

    A remark in parentheses may follow, a list is written with commas, of a mapping its keys, and a number may stand for
    how many there are.
    """
    found = list(found) if isinstance(found, Mapping) else found
    bare = re.sub(r"\s*\([^()]*\)$", "", expected)
    texts = {expected, bare}
    if found is None:
        return bare.split(" ")[0].lower() in NOTHING
    if isinstance(found, bool):
        return bare in (("true", "present") if found else ("false", "absent"))
    if isinstance(found, (int, float)):
        return any(_number(t) == found for t in texts)
    if isinstance(found, (list, tuple)):
        return _agrees_list(texts, found)
    return found in texts or (found == "" and bare in NOTHING) or (bare == "present" and bool(found))


def _agrees_list(texts: set[str], found: list[Any] | tuple[Any, ...]) -> bool:
    if not found:
        return any(t in (*NOTHING, "0") for t in texts)
    written = {",".join(map(str, found)), ", ".join(map(str, found))}
    return bool(written & texts) or str(len(found)) in texts


def _number(text: str) -> float | None:
    try:
        return float(text.split(" ")[0])
    except ValueError:
        return None
