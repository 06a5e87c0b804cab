# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What dcgmi says in place of an answer. Private to this collection."""

from __future__ import annotations

import re
from typing import Any

# A new message is one row: kind -> text, letter case ignored. Source: DCGM 4.4, dcgmlib/src/dcgm_errors.c, dcgmi.
MESSAGES = (
    ("host_engine_unreachable", r"unable to (?:establish a connection|connect to host engine)|connection is not valid"),
    ("mig_mode", r"(?:MIG|multi-instance).{0,80}(?:enabled|not supported)|not supported .{0,40}MIG"),
    ("version_mismatch", r"version mismatch|incompatible .{0,40}version"),
    ("no_gpus", r"no (?:supported )?GPUs? (?:were )?(?:found|available)|unable to find any GPUs?"),
    ("in_use", r"diag(?:nostic)? .{0,40}already running|resource is in use"),
    ("no_permission", r"(?:must be|run as) root|permission denied|no permission"),
)
PATTERNS = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in MESSAGES)
SENTENCE = re.compile(r"(?:Error: |Unable to |Cannot |Failed to )[^|\n]{1,300}")


def read_dcgm_errors(text: str) -> list[dict[str, Any]]:
    """Rows of ``kind`` (other for a sentence that is not known) and ``text``; boxes are left out."""
    rows = []
    for line in text.splitlines():
        found = None if line.lstrip().startswith(("|", "+")) else SENTENCE.search(line[:2000])
        if found:
            kind = next((k for k, pattern in PATTERNS if pattern.search(line[:2000])), "other")
            rows.append({"kind": kind, "text": found.group(0).strip()})
    return rows
