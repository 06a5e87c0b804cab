# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which failures of an API server are worth another try, and when."""

from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._plan.patience import (
    LONGEST,
    WAITS,
    is_transient,
    told_transient,
    wait_seconds,
)


@pytest.mark.parametrize("status", [0, 409, 429, 500, 502, 503, 504])
def test_what_may_pass(status):
    assert is_transient(status)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 410, 415, 422, 501])
def test_what_stays(status):
    assert not is_transient(status)


# As kubernetes.core 6.6 puts what the client library 37 raises into its message.
MESSAGES = {
    "throttled": ("Failed to apply object: (429)\nReason: Too Many Requests\nHTTP response headers: ...", True),
    "internal error": ("Failed to apply object: (500)\nReason: Internal Server Error\n", True),
    "lost race": ("Failed to apply object: (409)\nReason: Conflict\n... the object has been modified", True),
    "gone": ("Failed to apply object: ('Connection aborted.', RemoteDisconnected('Remote end closed'))", True),
    "nobody listens": ("HTTPSConnectionPool(host='h', port=6443): Max retries exceeded with url: /api", True),
    "owned by another": (
        'Failed to apply object: (409)\nReason: Conflict\n{"message":"Apply failed with 1 conflict: conflict with '
        '\\"somebody\\" using apps/v1: .spec"}',
        False,
    ),
    "forbidden": ("Failed to apply object: (403)\nReason: Forbidden\n", False),
    "invalid": ("Failed to apply object: (422)\nReason: Unprocessable Entity\n", False),
    "no such kind": ("Failed to find exact match for apps/v1.Thing by [kind, name]", False),
    "nothing": ("", False),
}


@pytest.mark.parametrize(("message", "wanted"), MESSAGES.values(), ids=MESSAGES)
def test_messages_of_kubernetes_core(message, wanted):
    assert told_transient(message) is wanted


@pytest.mark.parametrize(
    ("attempt", "headers", "seconds"),
    [
        (0, None, 1),
        (1, {}, 2),
        (0, {"Retry-After": "7"}, 7),
        (3, {"Retry-After": "1"}, 8),
        (0, {"Retry-After": "3600"}, LONGEST),
        (0, {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}, 1),
        (len(WAITS), {"Retry-After": "1"}, None),
    ],
)
def test_waits(attempt, headers, seconds):
    assert wait_seconds(attempt, headers) == seconds
