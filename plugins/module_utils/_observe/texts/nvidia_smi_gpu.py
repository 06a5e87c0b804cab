# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What nvidia-smi -q and nvidia-smi -q -x say of one GPU: the same facts under two sets of names.

Private to this collection. A new fact is one row in FACTS.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from .tree import Branch
from .values import count, figure, sysfs_form, told

Read = Callable[[str], Any]


@dataclass(frozen=True)
class Fact:
    """``xml`` and ``text``: paths in the two forms, the one that counts first (newer releases rename and move)."""

    key: str
    xml: tuple[str, ...]
    text: tuple[str, ...]
    read: Read = told


def yes(value: str) -> bool | None:
    """Yes and No, Enabled and Disabled; None for everything else."""
    return {"yes": True, "enabled": True, "no": False, "disabled": False}.get(value.strip().lower())


def lower(value: str) -> str | None:
    """The value in lower case, as gpu_info and mig_config write modes."""
    word = told(value)
    return word.lower() if word else None


VGPU = ("vgpu_software_licensed_product", "grid_licensed_product")
VGPU_TEXT = ("vGPU Software Licensed Product", "GRID Licensed Product")
SBE = ("Retired Pages/Single Bit ECC", "Retired Pages/Single Bit ECC Errors")
DBE = ("Retired Pages/Double Bit ECC", "Retired Pages/Double Bit ECC Errors")
POWER = ("gpu_power_readings", "power_readings")
XML_LINK, LINK = "pci/pci_gpu_link_info", "PCI/GPU Link Info"
POWER_TEXT = ("GPU Power Readings", "Power Readings")


def _below(heads: tuple[str, ...], *names: str) -> tuple[str, ...]:
    return tuple(f"{head}/{name}" for name in names for head in heads)


FACTS = (
    Fact("product_name", ("product_name",), ("Product Name",)),
    Fact("brand", ("product_brand",), ("Product Brand",)),
    Fact("architecture", ("product_architecture",), ("Product Architecture",)),
    Fact("serial", ("serial",), ("Serial Number",)),
    Fact("uuid", ("uuid",), ("GPU UUID",)),
    Fact("minor", ("minor_number",), ("Minor Number",), count),
    Fact("vbios", ("vbios_version",), ("VBIOS Version",)),
    Fact("gsp_firmware", ("gsp_firmware_version",), ("GSP Firmware Version",)),
    Fact("display_mode", ("display_mode",), ("Display Mode",), lower),
    Fact("persistence_mode", ("persistence_mode",), ("Persistence Mode",), lower),
    Fact("addressing_mode", ("addressing_mode",), ("Addressing Mode",)),
    Fact("mig_current", ("mig_mode/current_mig",), ("MIG Mode/Current",), lower),
    Fact("mig_pending", ("mig_mode/pending_mig",), ("MIG Mode/Pending",), lower),
    Fact(
        "virtualization",
        ("gpu_virtualization_mode/virtualization_mode",),
        ("GPU Virtualization Mode/Virtualization Mode",),
    ),
    Fact("recovery", ("gpu_recovery_action",), ("GPU Recovery Action",)),
    Fact("ecc_current", ("ecc_mode/current_ecc",), ("ECC Mode/Current",), lower),
    Fact("ecc_pending", ("ecc_mode/pending_ecc",), ("ECC Mode/Pending",), lower),
    Fact("remapped_corr", ("remapped_rows/remapped_row_corr",), ("Remapped Rows/Correctable Error",), count),
    Fact("remapped_unc", ("remapped_rows/remapped_row_unc",), ("Remapped Rows/Uncorrectable Error",), count),
    Fact("remapped_pending", ("remapped_rows/remapped_row_pending",), ("Remapped Rows/Pending",), yes),
    Fact(
        "remapped_failure", ("remapped_rows/remapped_row_failure",), ("Remapped Rows/Remapping Failure Occurred",), yes
    ),
    Fact(
        "histogram_max",
        ("remapped_rows/row_remapper_histogram/row_remapper_histogram_max",),
        ("Remapped Rows/Bank Remap Availability Histogram/Max",),
        count,
    ),
    Fact("retired_sbe", ("retired_pages/multiple_single_bit_retirement/retired_count",), SBE, count),
    Fact("retired_dbe", ("retired_pages/double_bit_retirement/retired_count",), DBE, count),
    Fact(
        "retired_pending",
        ("retired_pages/pending_retirement", "retired_pages/pending_blacklist"),
        ("Retired Pages/Pending Page Blacklist", "Retired Pages/Pending"),
        yes,
    ),
    Fact("fabric_state", ("fabric/state",), ("Fabric/State",)),
    Fact("fabric_status", ("fabric/status",), ("Fabric/Status",)),
    Fact("clique", ("fabric/cliqueId",), ("Fabric/CliqueId",), count),
    Fact("cluster_uuid", ("fabric/clusterUuid",), ("Fabric/ClusterUUID",)),
    Fact("health_summary", ("fabric/health/summary",), ("Fabric/Health/Summary",)),
    Fact("chassis_serial", ("platformInfo/chassis_serial_number",), ("Platform Info/Chassis Serial Number",)),
    Fact("slot", ("platformInfo/slot_number",), ("Platform Info/Slot Number",), count),
    Fact("tray", ("platformInfo/tray_index",), ("Platform Info/Tray Index",), count),
    Fact("host_id", ("platformInfo/host_id",), ("Platform Info/Host ID",), count),
    Fact("peer_type", ("platformInfo/peer_type",), ("Platform Info/Peer Type",)),
    Fact("module_id", ("platformInfo/module_id",), ("Platform Info/Module Id",), count),
    Fact("pcie_generation", (f"{XML_LINK}/pcie_gen/current_link_gen",), (f"{LINK}/PCIe Generation/Current",), count),
    Fact("pcie_generation_max", (f"{XML_LINK}/pcie_gen/max_link_gen",), (f"{LINK}/PCIe Generation/Max",), count),
    Fact("pcie_width", (f"{XML_LINK}/link_widths/current_link_width",), (f"{LINK}/Link Width/Current",), count),
    Fact("pcie_width_max", (f"{XML_LINK}/link_widths/max_link_width",), (f"{LINK}/Link Width/Max",), count),
    Fact("performance_state", ("performance_state",), ("Performance State",)),
    Fact("compute_mode", ("compute_mode",), ("Compute Mode",)),
    Fact("utilization_percent", ("utilization/gpu_util",), ("Utilization/GPU", "Utilization/Gpu"), count),
    Fact(
        "ecc_uncorrected_volatile",
        ("ecc_errors/volatile/dram_uncorrectable", "ecc_errors/volatile/double_bit/total"),
        ("ECC Errors/Volatile/DRAM Uncorrectable", "ECC Errors/Volatile/Double Bit/Total"),
        count,
    ),
    Fact(
        "ecc_uncorrected_aggregate",
        ("ecc_errors/aggregate/dram_uncorrectable", "ecc_errors/aggregate/double_bit/total"),
        ("ECC Errors/Aggregate/DRAM Uncorrectable", "ECC Errors/Aggregate/Double Bit/Total"),
        count,
    ),
    Fact("memory_total_mib", ("fb_memory_usage/total",), ("FB Memory Usage/Total",), count),
    Fact("memory_used_mib", ("fb_memory_usage/used",), ("FB Memory Usage/Used",), count),
    Fact("temperature_c", ("temperature/gpu_temp",), ("Temperature/GPU Current Temp",), count),
    Fact(
        "power_w",
        _below(POWER, "instant_power_draw", "power_draw"),
        _below(POWER_TEXT, "Instantaneous Power Draw", "Power Draw"),
        figure,
    ),
    Fact("power_average_w", _below(POWER, "average_power_draw"), _below(POWER_TEXT, "Average Power Draw"), figure),
    Fact(
        "power_limit_w",
        _below(POWER, "current_power_limit", "gpu_ceiling_power_limit/current_power_limit", "power_limit"),
        _below(POWER_TEXT, "Current Power Limit", "GPU Ceiling Power Limit/Current Power Limit", "Power Limit"),
        figure,
    ),
    Fact("egm", ("capabilities/egm",), ("Capabilities/EGM",), lower),
    Fact("product", _below(VGPU, "licensed_product_name"), _below(VGPU_TEXT, "Product Name")),
    Fact("license_status", _below(VGPU, "license_status"), _below(VGPU_TEXT, "License Status")),
)

# Elements that a value N/A stands for as a whole, in both forms.
WHOLE = {
    "remapped_rows": ("remapped_rows", "Remapped Rows"),
    "retired": ("retired_pages", "Retired Pages"),
    "fabric": ("fabric", "Fabric"),
}
POWER_ELEMENTS = (*POWER, *POWER_TEXT)
EVENT_GROUPS = (
    "clocks_event_reasons",
    "clocks_throttle_reasons",
    "Clocks Event Reasons",
    "Clocks Throttle Reasons",
)
EVENT_PREFIX = re.compile(r"clocks_(?:event|throttle)_reason_")
# Words of -q that gpu_info, like NVML and the XML, has otherwise.
EVENT_NAMES = {
    "idle": "gpu_idle",
    "applications_clocks_setting": "applications_clocks",
    "hw_power_brake_slowdown": "hw_power_brake",
    "display_clock_setting": "display_clocks",
    "display_clocks_setting": "display_clocks",
}
ZERO_UUID = "00000000-0000-0000-0000-000000000000"


def gpu_row(gpu: Branch, *, address: str | None, xml: bool) -> dict[str, Any]:
    """The facts of one GPU; every key of FACTS is there, None where the GPU has no value.

    ``pci`` as printed, ``pci_address`` in sysfs form; ``unknown``: key -> the words that stand in place of a value
    (``N/A``, a sentence); a key that is neither has no place in this release's output. ``mig_devices``: rows of
    ``index``, ``gi``, ``ci``, ``multiprocessors``, ``memory_total_mib``, ``memory_used_mib``. ``processes``: rows of
    ``gi``, ``ci``, ``pid``, ``type``, ``name``, ``memory_mib``. ``license``: licensed, unlicensed or None;
    ``restricted``: whether an unlicensed GPU is slowed down already (None: not said); ``license_expiry`` as printed.
    ``power_element``: name of the group of power readings. ``multi_node``: whether the fabric's cluster UUID is set
    (None: no fabric). ``health``: parts of the fabric's health.
    ``event_reasons``: why clocks are lower than they could be (``idle``, ``sw_power_cap`` ...), None where not told.
    """
    values: dict[str, Any] = {}
    unknown: dict[str, str] = {}
    for fact in FACTS:
        said = gpu.value(*(fact.xml if xml else fact.text))
        values[fact.key] = None if said is None else fact.read(said)
        if said is not None and values[fact.key] is None:
            unknown[fact.key] = said
    for key, names in WHOLE.items():
        whole = gpu.value(names[0] if xml else names[1])
        if whole:
            unknown[key] = whole
    return {
        "pci": address,
        "pci_address": sysfs_form(address),
        **values,
        **_license(values["license_status"]),
        "power_element": next((n for n in POWER_ELEMENTS if gpu.at(n) is not None), None),
        "multi_node": None if values["cluster_uuid"] is None else values["cluster_uuid"] != ZERO_UUID,
        "health": _health(gpu),
        "event_reasons": _event_reasons(gpu),
        "mig_devices": _mig_devices(gpu),
        "processes": _processes(gpu),
        "unknown": unknown,
    }


def _license(status: str | None) -> dict[str, Any]:
    """``Licensed (Expiry: 2024-2-1 2:36:3 GMT)``, ``Unlicensed``, ``Unlicensed (Restricted)``, ``(Unrestricted)``."""
    word, _bracket, remark = (status or "").partition("(")
    remark = remark.rstrip(") ")
    _key, colon, expiry = remark.partition("Expiry:")
    return {
        "license": word.strip().lower() or None,
        "restricted": {"restricted": True, "unrestricted": False}.get(remark.lower()),
        "license_expiry": expiry.strip() if colon else None,
    }


def _health(gpu: Branch) -> dict[str, str | None]:
    found = gpu.at("fabric/health")
    parts = () if found is None else found.children
    return {part.name.lower().replace(" ", "_"): told(part.text) for part in parts}


def _event_reasons(gpu: Branch) -> list[str] | None:
    """The reasons that are active; called throttle reasons before 535."""
    groups = (gpu.at(name) for name in EVENT_GROUPS)
    found = next((group for group in groups if group is not None), None)
    if found is None or not found.children:
        return None
    return [_reason(branch.name) for branch in _below_all(found) if (branch.text or "").strip().lower() == "active"]


def _below_all(branch: Branch) -> Iterator[Branch]:
    for child in branch.children:
        yield child
        yield from child.children


def _reason(name: str) -> str:
    """``SW Power Cap`` and ``clocks_event_reason_sw_power_cap`` are one."""
    word = EVENT_PREFIX.sub("", name.lower().replace(" ", "_"))
    return EVENT_NAMES.get(word, word)


def _mig_devices(gpu: Branch) -> list[dict[str, Any]]:
    rows = [*gpu.every("mig_devices/mig_device"), *gpu.every("MIG Device")]
    return [
        {
            "index": count(row.value("index")),
            "gi": count(row.value("gpu_instance_id", "GPU Instance ID")),
            "ci": count(row.value("compute_instance_id", "Compute Instance ID")),
            "multiprocessors": count(
                row.value(
                    "device_attributes/shared/multiprocessor_count", "Device Attributes/Shared/Multiprocessor count"
                )
            ),
            "memory_total_mib": count(
                row.value("fb_memory_usage/total", "Shared FB Memory Usage/Total", "FB Memory Usage/Total")
            ),
            "memory_used_mib": count(
                row.value("fb_memory_usage/used", "Shared FB Memory Usage/Used", "FB Memory Usage/Used")
            ),
        }
        for row in rows
    ]


def _processes(gpu: Branch) -> list[dict[str, Any]]:
    rows = [*gpu.every("processes/process_info"), *_text_processes(gpu)]
    return [
        {
            "gi": count(row.value("gpu_instance_id", "GPU instance ID")),
            "ci": count(row.value("compute_instance_id", "Compute instance ID")),
            "pid": count(row.value("pid", "Process ID")),
            "type": told(row.value("type", "Process ID/Type", "Type")),
            "name": told(row.value("process_name", "Process ID/Name", "Name")),
            "memory_mib": count(row.value("used_memory", "Process ID/Used GPU Memory", "Used GPU Memory")),
        }
        for row in rows
    ]


def _text_processes(gpu: Branch) -> list[Branch]:
    """The -q form lists ids one below the other, and the rest below each process id."""
    found: list[Branch] = []
    pending: list[Branch] = []
    for child in (c for group in gpu.every("Processes") for c in group.children):
        pending.append(child)
        if child.name.lower() == "process id":
            found.append(Branch("process", None, pending))
            pending = []
    return found
