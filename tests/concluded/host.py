# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Views of what readers of kernel, packages and firmware found: keys of INDEX.tsv that results spell otherwise."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ansible_collections.gpu.fleet.plugins.module_utils._observe.texts.kernel_log import MESSAGES

from .comparing import Case

Found = dict[str, Any]
View = Callable[[Found, Case], Found]

# A log tells only the fields of the events in it.
EVENT_FIELDS = {name for message in MESSAGES for name in re.compile(message.pattern).groupindex}


def _dkms(found: Found, case: Case) -> Found:
    rows = found["modules"]
    ours = [r for r in rows if r["module"] == found["module"] and r["kernel"]]
    clean = {True: "differs", False: "clean"}
    return {
        "modules": "none readable" if found["errors"] and not rows else [r["module"] for r in rows],
        # People write the kernel without the architecture that Fedora's releases end with.
        "kernels": [r["kernel"].removesuffix(f".{r['arch']}") for r in ours],
        "dkms_name": found["module"],
        "built_for": found["kernel"],
        **{r["module"]: f"{r['version']} {r['state']}" for r in rows},
        **{
            key: f"{r['state']} {clean[r['differs']]}"
            for key in case.conclude
            for r in ours
            if key.startswith("state_") and r["kernel"].startswith(key[len("state_") :])
        },
    }


def _kernel_log(found: Found, case: Case) -> Found:
    events = found["events"]
    xids = [e for e in events if e["event"] == "xid"]
    sxids = [e for e in events if e["event"] == "sxid"]
    symbols = [e for e in events if e["event"] == "unknown_symbol"]
    fatal = [f"{e['xid']} {e['unit']}" for e in xids if e.get("fatal")] or [e["sxid"] for e in sxids if e["fatal"]]
    with_pid = [("first", "second", "third")[n] for n, e in enumerate(xids[:3]) if e["pid"]]
    return {
        **dict.fromkeys(EVENT_FIELDS - set(found)),
        "units": [e["unit"] for e in xids if e.get("unit")],
        "fatal": fatal[0] if fatal else None,
        "link_minus_one": any(e.get("link") == -1 for e in xids),
        "pid_present_only_in": ",".join(with_pid),
        "pid_first": xids[0]["pid"] if xids else None,
        "second_has_no_PCI_prefix": len(xids) > 1 and "PCI:" not in xids[1]["text"],
        # People count the line with the data of an SXid too.
        "sxids": [e["sxid"] for e in sxids for _line in ("itself", *e["data"])],
        "third_line_is_data_of_second": bool(len(sxids) == 2 and sxids[1]["data"]),
        "nvidia_drm_failed": f"Unknown symbol {symbols[0]['symbol']}" if symbols else None,
        "signature_line_is_not_the_cause": found.get("blocking") is False,
        "newline_escape": "#012" if "#012" in case.text else None,
        "order_reversed": found["newest_first"],
    }


VIEWS: dict[str, View] = {
    "dkms_status": _dkms,
    "kernel_log": _kernel_log,
}

# kind -> key -> why no reader can conclude it from the text.
BEYOND_THE_TEXT: dict[str, dict[str, str]] = {
    "kernel_log": {
        "apostrophe_s_optional": "a remark on the wording",
        "training_ok_line_is_not_an_error": "a remark on lines that are not in the text",
        "pci_of_switch_may_be_zero": "a remark on the wording",
    },
    "modinfo": {
        "loaded_anyway": "lsmod tells it",
        "expected_version": "the version of the installed libraries",
        "mismatch": "a comparison with the installed libraries",
    },
}

# file -> key -> why what is written about it is not what it says.
NOT_IN_THE_TEXT: dict[str, dict[str, str]] = {
    "dmesg-xid-nvlink5-details.txt": {"units": "the second line has the unit RLW_SRC_TRACK, not RLW_RXPIPE"},
}
