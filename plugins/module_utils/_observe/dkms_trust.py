# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads whether the keys of DKMS are enrolled, for the decision about loading. Private to this collection."""

from __future__ import annotations

import re

from .._plan.module_trust import ModuleTrust
from .command import Run
from .files import HostRoot
from .module_trust import DKMS_KEYS
from .texts.secure_boot import read_key_test

FRAMEWORK = "/etc/dkms/framework.conf"
OWN_KEY = re.compile(r"^\s*mok_(?:signing_key|certificate)\s*=", re.MULTILINE)


def read_dkms_trust(host: HostRoot, run: Run) -> ModuleTrust:
    """Call it where Secure Boot is on: mokutil is asked once for each key."""
    keys = [path for path in DKMS_KEYS if host.is_file(path)]
    status, _text, _errors = run(["mokutil", "--sb-state"])
    asked = status not in (126, 127)
    return ModuleTrust(
        asked=asked,
        keys={path: _is_enrolled(run, path) if asked else None for path in keys},
        own_key=any(OWN_KEY.search(host.text(path) or "") for path in _framework(host)),
    )


def _framework(host: HostRoot) -> list[str]:
    return [FRAMEWORK, *(f"{FRAMEWORK}.d/{name}" for name in host.names(f"{FRAMEWORK}.d"))]


def _is_enrolled(run: Run, path: str) -> bool | None:
    _status, text, errors = run(["mokutil", "--test-key", path])
    return read_key_test(f"{text}\n{errors}")["enrolled"]
