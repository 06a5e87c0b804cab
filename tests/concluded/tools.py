# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Views of what readers of GPU tools, fabric, containers and cluster found: keys that results spell otherwise.

Results are rows of GPUs, nodes and events; people write the first one's value, how many there are, or one list.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from .comparing import Case
from .host import Found, View

DEPRECATED = "Requested functionality has been deprecated"
ESCAPE = "\x1b["


def _first(rows: list[Found]) -> Found:
    return rows[0] if rows else {}


def _joined(values: Iterable[Any]) -> str:
    return ",".join("N/A" if v is None else str(v) for v in values)


def _same(values: Iterable[Any]) -> str:
    """One value where all are the same, else all of them."""
    found = list(values)
    return _joined(found[:1] if len(set(map(str, found))) == 1 else found)


def _word(value: Any, unknown: Any) -> Any:
    """A value, or the words that stand in its place, as people shorten them."""
    if value is None and unknown is not None:
        return "deprecated text" if str(unknown) == DEPRECATED else str(unknown)
    return value


def _yes(value: Any) -> Any:
    return {True: "Yes", False: "No"}.get(value, value)


def _gpu(found: Found, case: Case) -> Found:
    """The first GPU of -q and -q -x. A whole group that is N/A is named by its group."""
    row = _first(found["gpus"])
    unknown = row.get("unknown", {})
    told = {key: _word(value, unknown.get(key)) for key, value in row.items()}
    corrected, uncorrected = told.get("remapped_corr"), told.get("remapped_unc")
    sbe, dbe = told.get("retired_sbe"), told.get("retired_dbe")
    inactive = "_inactive" in case.text
    power = told.get("power_element")
    both = row.get("power_average_w") is not None and row.get("power_w") is not None
    instances = row.get("mig_devices", [])
    return {
        **told,
        "pci": found.get("pci") or told.get("pci"),
        "mig": told.get("mig_current"),
        "mig_mode": told.get("mig_current"),
        "mig_devices": len(instances) or ("text None" if re.search(r"<mig_devices>\s*None", case.text) else None),
        "key_MIG_Device_repeats": len(instances) > 1,
        "first_gi": _first(instances).get("gi"),
        "second_gi": _first(instances[1:]).get("gi"),
        "remapped_rows": unknown.get("remapped_rows"),
        "remapped": None if corrected is None else f"{corrected}/{uncorrected}{' with *_inactive' if inactive else ''}",
        "retired": "N/A" if sbe == dbe == "N/A" else None if sbe is None else f"{sbe}/{dbe}",
        "pending": _yes(told.get("remapped_pending")),
        "failure": _yes(told.get("remapped_failure")),
        "histogram_max": f"{row['histogram_max']} bank(s)" if row.get("histogram_max") is not None else None,
        "fabric": told.get("fabric_state"),
        "cluster_uuid": "zero" if row.get("multi_node") is False else told.get("cluster_uuid"),
        "power_element": f"{power} with average and instant" if both else power,
        "processes": len(row.get("processes", [])),
        "expiry": row.get("license_expiry"),
        "process_names": _joined(p["name"] for p in row.get("processes", [])),
        "display_mode": told.get("display_mode"),
    }


def _smi_list(found: Found, case: Case) -> Found:
    return {
        "names": [g["name"] for g in found["gpus"]],
        "uuids": [g["uuid"] for g in found["gpus"]],
        "gpu_instances": _joined(m["gpu_instance"] for g in found["gpus"] for m in g["mig"]),
    }


def _smi_table(found: Found, case: Case) -> Found:
    gpu, processes = _first(found["gpus"]), found["processes"]
    instances = {p["gi"] for p in processes if p["gi"] is not None}
    name = gpu.get("name")
    where = f" on GI {instances.pop()}" if len(instances) == 1 else ""
    return {
        **gpu,
        "pci": found.get("pci") or gpu.get("pci"),
        "mig": gpu.get("mig") or "N/A",
        "util": "N/A" if gpu.get("utilization_percent") is None else f"{gpu['utilization_percent']}%",
        "processes": f"{len(processes)}{where}",
        "name_cut": name if gpu.get("name_cut") else False,
        "name_not_cut": gpu.get("name_cut") is False,
        "faulty_gpus": sum(g["faulty"] for g in found["gpus"]),
        **_no_devices(found, case),
    }


def _no_devices(found: Found, case: Case) -> Found:
    return {"nvidia_smi": found["kind"].replace("_", " "), "order_reversed": found.get("newest_first")}


def _topology(found: Found, case: Case) -> Found:
    rows = found["rows"]
    view: Found = {
        "numa": _joined(r["numa"] for r in rows),
        "gpu_numa_id": _same(r["gpu_numa_id"] for r in rows),
        "cpu_affinity": _same(r["cpu_affinity"] for r in rows),
        "header_has_ansi_escape": ESCAPE in case.text,
        "weak_pairs": ["-".join(pair) for pair in found["weak_pairs"]],
        "nic_names": [f"{name}:{device}" for name, device in found["nic_names"].items()],
        "split_on_whitespace": "required" if "\t" not in case.text else None,
    }
    for row in rows:
        gpu = row["name"].lower()
        view[f"closest_nic_of_{gpu}"] = row["nearest_nics"][0] if len(row["nearest_nics"]) == 1 else row["nearest_nics"]
        view[f"cpu_affinity_{gpu}"] = row["cpu_affinity"]
        view[f"numa_{gpu}"] = row["numa"]
    return view


def _nvlink(found: Found, case: Case) -> Found:
    speed = re.search(r"Link \d+: (\S+ GB/s)", case.text)
    leading = re.search(r"^([ \t]+)Link", case.text, re.MULTILINE)
    spelling = re.search("in[aA]ctive", case.text)
    return {
        "speed": speed.group(1) if speed and found["speed_gb_s"] == float(speed.group(1).split()[0]) else None,
        "leading": {"\t ": "tab and space"}.get(leading.group(1), f"{len(leading.group(1))} spaces")
        if leading
        else None,
        "spelling": spelling.group(0) if spelling else None,
    }


def _mig(found: Found, case: Case) -> Found:
    profiles = found["profiles"]
    first = _first(profiles)
    named = re.match(r"\d+g\.(\d+)gb", str(first.get("profile")))
    return {
        **{f"gpu{gpu}": places for gpu, places in found["layouts"].items()},
        "profile": first.get("profile"),
        "id": first.get("id"),
        "profiles": [f"{p['profile']}({p['id']})" for p in profiles],
        "free_total": [f"{p['free']}/{p['total']}" for p in profiles],
        "memory_gib": ",".join(f"{p['memory_gib']:.2f}" for p in profiles),
        "name_is_not_the_memory": bool(named and float(named.group(1)) != first.get("memory_gib")),
        "p2p": first.get("p2p"),
        **{f"starts_{p['id']}": _joined(p["starts"]) for p in found["placements"]},
        **{f"size_{p['id']}": p["size"] for p in found["placements"]},
        "ci_places": [f"{i['profile']}@{i['start']}" for i in found["compute_instances"]],
        "ci_free_total": [f"{p['free']}/{p['total']}" for p in found["compute_profiles"]],
        "done_words": [f"{d['verb']} {d['what']} {d['id']}" for d in found["done"]],
    }


def _csv(found: Found, case: Case) -> Found:
    return {**_first(found["rows"]), "renamed": [f"{asked}:{told}" for asked, told in found["renamed"].items()]}


def _fabric(found: Found, case: Case) -> Found:
    def said(rows: list[Found]) -> str | None:
        return _joined(f"{r['code']} on {r['pci']} port {r['port']}" for r in rows) or None

    lines = [line for line in case.text.splitlines() if line.startswith("[")]
    return {
        "fatal": said(found["fatal"]),
        "non_fatal": said(found["non_fatal"]),
        "thread_id_optional": len({"[tid " in line for line in lines}) == 2,
    }


def _fabric_status(found: Found, case: Case) -> Found:
    return {"process_name_cut": found["process_name"] if found["process_name_cut"] else False}


def _imex(found: Found, case: Case) -> Found:
    return {
        "legend_has_version_and_map_mismatch": {"!V!", "!M!"} <= set(found["legend"]),
        "states": _same(n["state"] for n in found["nodes"]),
        "local": _joined(n["index"] for n in found["nodes"] if n["local"]),
        "broken": [f"{c['from']}-{c['to']} {c['state']}" for c in found["connections"]],
        "hosts": [n["host"] for n in found["nodes"]],
        "host_names": [n["host_name"] for n in found["nodes"]],
    }


def _cdi_list(found: Found, case: Case) -> Found:
    return {"names": " and ".join(found["names"])}


def _containerd(found: Found, case: Case) -> Found:
    return {"imports": found["imports"], "runtimes": list(found["handlers"]), "enable_cdi": found["cdi"]}


def _runtimes(found: Found, case: Case) -> Found:
    return {key: list(found[key]) for key in ("handlers", "runtimes") if key in found}


def _container_log(found: Found, case: Case) -> Found:
    return {"error": found.get("event")}


def _docker_info(found: Found, case: Case) -> Found:
    return {"cut_before": "CDI spec directories" if found["cdi_spec_dirs"] is None else None}


def _folder(found: Found, case: Case) -> Found:
    sockets = _joined(found["plugin_socks"])
    return {"plugin_sock": f"{sockets} (old name)" if found["old_name"] else sockets or None}


def _checkpoint(found: Found, case: Case) -> Found:
    return {
        "registered": list(found["registered"]),
        "registered_gpus": found["registered"].get("nvidia.com/gpu"),
        "allocated_gpus": found["allocated"].get("nvidia.com/gpu"),
    }


def _discovery(found: Found, case: Case) -> Found:
    counted = found["found"]
    return {
        "gpus": counted.get("GPUs", counted.get("GPU")),
        "pci": [g["pci"] for g in found["gpus"]],
        "switches": counted.get("NvSwitches"),
        "errors": _errors(found),
    }


def _errors(found: Found) -> list[str]:
    return list(dict.fromkeys(e["kind"] for e in found["errors"]))


def _health(found: Found, case: Case) -> Found:
    return {"gpu": _first(found["incidents"]).get("gpu")}


def _diag(found: Found, case: Case) -> Found:
    """People write a category in one word: all pass, the worst result, or that it is not shown."""
    words = {None: "not shown", "pass": "all pass"}
    tests = found["tests"]
    return {
        **dict.fromkeys(("deployment", "hardware", "integration", "stress")),
        **{name.lower(): words.get(worst, worst) for name, worst in found["categories"].items()},
        "tests": len(tests),
        "warnings": sum(len(t["warnings"]) for t in tests),
        "failed": [f"{t['name']} on {_joined(t['entities'])}" for t in tests if t["result"] == "fail"],
        "warned": [f"{t['name']} on {_joined(t['entities'])}" for t in tests if t["result"] == "warn"],
        "errors": _errors(found),
        "success_line_is_not_result": found["success_line"],
    }


VIEWS: dict[str, View] = {
    "nvidia_smi_query": _gpu,
    "nvidia_smi_xml": _gpu,
    "nvidia_smi_list": _smi_list,
    "nvidia_smi": _smi_table,
    "no_devices": _no_devices,
    "nvidia_smi_topology": _topology,
    "nvidia_smi_nvlink": _nvlink,
    "nvidia_smi_mig": _mig,
    "fabric_manager_log": _fabric,
    "fabric_manager_status": _fabric_status,
    "imex": _imex,
    "cdi_list": _cdi_list,
    "containerd_config": _containerd,
    "docker_info": _docker_info,
    "container_log": _container_log,
    "container_command": _container_log,
    "device_plugin_folder": _folder,
    "dcgm_discovery": _discovery,
    "dcgm_diag": _diag,
    "dcgm_health": _health,
    "nvidia_smi_csv": _csv,
    "crio_config": _runtimes,
    "docker_daemon": _runtimes,
    "device_plugin_checkpoint": _checkpoint,
}

# kind -> key -> why no reader can conclude it from the text.
BEYOND_THE_TEXT: dict[str, dict[str, str]] = {
    "cdi_list": {"spec_version": "the specs tell it, the list does not"},
}

# file -> key -> why what is written about it is not what it says.
NOT_IN_THE_TEXT: dict[str, dict[str, str]] = {}
