# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Says what an error of a package manager means and what to do. Private to this collection.

Errors are what readers make of apt's and dnf's texts: a mapping with the key ``error``.
"""

from __future__ import annotations

import string
from collections.abc import Mapping
from typing import Any

from .._catalog.package_advice import PACKAGE_ADVICE, PackageAdvice
from .model import Finding


def advice_of(failure: Mapping[str, Any]) -> PackageAdvice | None:
    """The row that fits the error and whose fields are all known, or None."""
    causes = ("", str(failure.get("cause") or ""), "filtered" if failure.get("filtered") else "")
    return next(
        (
            row
            for row in PACKAGE_ADVICE
            if row.error == failure.get("error") and row.cause in causes and _known(row, failure)
        ),
        None,
    )


def _known(row: PackageAdvice, failure: Mapping[str, Any]) -> bool:
    parsed = string.Formatter().parse(f"{row.summary} {row.remedy}")
    return all(failure.get(name) is not None for _text, name, _form, _conversion in parsed if name)


def explain(failure: Mapping[str, Any]) -> str:
    """Meaning and remedy as one sentence, empty where nothing is known about the error."""
    row = advice_of(failure)
    return f"{row.summary.format(**failure)}. Remedy: {row.remedy.format(**failure)}" if row else ""


def find_failure(failure: Mapping[str, Any], *, wanted: str, found: str) -> Finding | None:
    """The finding about an error, or None where nothing is known about it. ``found``: the program's own words."""
    row = advice_of(failure)
    if row is None:
        return None
    summary, remedy = row.summary.format(**failure), row.remedy.format(**failure)
    return Finding(row.finding, "error", summary, wanted, found, remedy, row.source)
