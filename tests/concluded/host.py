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


def _in_order_of(case: Case, key: str, names: list[str]) -> list[str]:
    """The names as the case has them: their order there is a person's, not the text's."""
    order = case.conclude.get(key, "").split(",")
    return sorted(names, key=lambda n: order.index(n) if n in order else len(order))


def _apt_error(found: Found, case: Case) -> Found:
    return {"repo": (found.get("url") or "").partition("/compute/")[2] or None}


def _dpkg_list(found: Found, case: Case) -> Found:
    twice = found["same_name_twice"]
    archs = [p["architecture"] for p in found["packages"] if twice and p["name"] == twice[0]]
    return {
        "same_name_twice": f"{twice[0]} ({' and '.join(archs)})" if twice else None,
        "transitional": found["transitional"][0] if found["transitional"] else None,
        "unusable_for_parsing": "use dpkg-query -W" if found["names_truncated"] else None,
    }


def _module_streams(found: Found, case: Case) -> Found:
    return {f"has_{name}": True for name in found["names"]}


def _driver_banner(found: Found, case: Case) -> Found:
    return {"gcc_not_driver": found["gcc"], "two_part": (found["driver"] or "").count(".") == 1}


def _driver_params(found: Found, case: Case) -> Found:
    return {**found["parameters"], "unset_uint": 4294967295 if found["unset"] else None}


def _minors(found: Found, case: Case) -> Found:
    return {**found["minors"], "says_nothing_about_existing_instances": found["static_table"]}


def _proc_devices(found: Found, case: Case) -> Found:
    return dict(found["majors"])


def _modules(found: Found, case: Case) -> Found:
    return {
        "loaded": _in_order_of(case, "loaded", found["loaded"]),
        "gdrdrv": "loaded" if "gdrdrv" in found["loaded"] else None,
        "nvidia_drm": found["modules"].get("nvidia_drm"),
        "not_nvidia_modules": found["others"],
        "used_by_has_trailing_comma": ", Live" in case.text,
    }


def _pci_list(found: Found, case: Case) -> Found:
    gpus, switches = found["gpus"], found["nvswitches"]
    first = gpus[0] if gpus else {}
    switch = switches[0] if switches else {}
    of_others = [f for f in found["functions"] if f["class"] == "0300" and f not in gpus]
    return {
        "gpu": f"{first['id']} at {first['address']}" if first.get("id") else first.get("address"),
        **{key: first.get(key) for key in ("rev", "progif", "svendor", "driver")},
        "driver_bound": first.get("driver"),
        "nvswitch_id": switch.get("id"),
        "nvswitch_class": switch.get("class"),
        "nvswitch_name_unknown": (switch.get("name") or "").endswith("Device"),
        "infiniband_vf": [f for f in found["infiniband"] if "Virtual Function" in f["name"]],
        "domains_not_zero": any(f["address"].count(":") == 2 and f["address"][:4] != "0000" for f in gpus),
        "virtio_vga_is_not_nvidia": bool(of_others),
    }


def _infiniband_class(found: Found, case: Case) -> Found:
    return {"values_are_number_and_text": all(p["state_number"] for a in found["adapters"] for p in a["ports"])}


def _sb_state(found: Found, case: Case) -> Found:
    return {"must_not_mean": "enabled" if found["secure_boot"] != "enabled" else None}


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
    "apt_error": _apt_error,
    "dkms_status": _dkms,
    "dpkg_list": _dpkg_list,
    "driver_banner": _driver_banner,
    "driver_params": _driver_params,
    "infiniband_class": _infiniband_class,
    "kernel_log": _kernel_log,
    "minors": _minors,
    "module_streams": _module_streams,
    "modules": _modules,
    "pci_list": _pci_list,
    "proc_devices": _proc_devices,
    "sb_state": _sb_state,
}

# kind -> key -> why no reader can conclude it from the text.
BEYOND_THE_TEXT: dict[str, dict[str, str]] = {
    "kernel_log": {
        "apostrophe_s_optional": "a remark on the wording",
        "training_ok_line_is_not_an_error": "a remark on lines that are not in the text",
        "pci_of_switch_may_be_zero": "a remark on the wording",
    },
    "modules": {"gdrdrv_packaged": "modinfo tells it"},
    "modinfo": {
        "loaded_anyway": "lsmod tells it",
        "expected_version": "the version of the installed libraries",
        "mismatch": "a comparison with the installed libraries",
    },
}

# file -> key -> why what is written about it is not what it says.
NOT_IN_THE_TEXT: dict[str, dict[str, str]] = {
    "dmesg-xid-nvlink5-details.txt": {"units": "the second line has the unit RLW_SRC_TRACK, not RLW_RXPIPE"},
    "proc-devices-frontend-old.txt": {"duplicate_names": "the text has infiniband_mad once"},
}
