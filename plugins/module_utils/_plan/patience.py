# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides which failed requests to an API server are worth another try, and when. Private to this collection.

Every write of ours may be sent twice: merge patches without a resource version, server-side apply, and deletion.
Kubernetes, API conventions: 429 and 5xx with Retry-After say when; 409 without a field manager is a lost race.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

# Seconds before the second try, the third ...; an API server that restarts is back within them.
WAITS = (1, 2, 4, 8, 15)
LONGEST = 30
STATUSES = (409, 429, 500, 502, 503, 504)
# How kubernetes.core tells in its message what the client library raised.
TOLD_STATUS = re.compile(r"\((\d{3})\)\s*Reason: ")
LOST = re.compile(
    r"Connection (aborted|refused|reset)|RemoteDisconnected|Max retries exceeded|[Tt]imed out|IncompleteRead"
    r"|Connection broken|EOF occurred"
)
OWNED = re.compile(r'conflict with \\*"')


def is_transient(status: int) -> bool:
    """Whether the same request may succeed a little later; 0 stands for no answer at all."""
    return status in (0, *STATUSES)


def told_transient(message: str) -> bool:
    """The same for a message of kubernetes.core. A field that another manager owns stays owned."""
    if OWNED.search(message):
        return False
    told = TOLD_STATUS.search(message)
    return is_transient(int(told[1])) if told else bool(LOST.search(message))


def wait_seconds(attempt: int, headers: Mapping[str, Any] | None = None) -> float | None:
    """Seconds before the next try after ``attempt`` (from 0) has failed; None when it was the last one.

    A Retry-After in seconds counts, up to half a minute, where it is longer.
    """
    if attempt >= len(WAITS):
        return None
    asked = str((headers or {}).get("Retry-After", ""))
    return max(WAITS[attempt], min(int(asked), LONGEST)) if asked.isdigit() else float(WAITS[attempt])
