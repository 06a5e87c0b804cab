# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What nvidia-smi says when something is wrong, and its exit status. Private to this collection.

A new message is one row in MESSAGES.
"""

from __future__ import annotations

from dataclasses import dataclass

AS_OF = "2026-11-30"
MANUAL = "nvidia-smi manual page, RETURN VALUE"
NVML = "nvml.h, nvmlReturn_t and nvmlErrorString; exit statuses follow its numbers"
RECORDED = "public issue threads; no exit status on record"
CONTAINERS = "docs.nvidia.com, GPU Operator: containers losing access to GPUs"
BIGDATA = "github.com/mattshma/bigdata/issues/133"
TINYGRAD = "github.com/tinygrad/open-gpu-kernel-modules/pull/47"
OWOD = "github.com/JosephKJ/OWOD/issues/81"
SYNOLOGY = "github.com/pdbear/syno_nvidia_gpu_driver/issues/22"
OPEN_MODULES = "github.com/NVIDIA/open-gpu-kernel-modules/issues/862"
SHELLS = "bash, dash and zsh, for a program that is not on PATH"
HINTS = "command-not-found of Ubuntu"

PCI = r"(?P<pci>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])"
HANDLE = r"Unable to determine the device handle for gpu(?P<gap> ?)" + PCI + ": "
# One of a list, for example below "The following GPUs could not be reset:"
LISTED = r"(?:Unable to determine the device handle for gpu|^\s*GPU)(?P<gap> ?)" + PCI + ": "
# Since 580 the index comes first, and the other GPUs are shown.
INDEXED = r"Unable to determine the device handle for gpu[0-9]{1,4}: " + PCI + ": "
# Quotation marks follow the locale.
QUOTE = r"['\"\u2018\u2019\u00ab\u00bb]"
SHELL = rf"^(?:\S*sh|sudo|env): (?:[^:]{{1,40}}: ){{0,2}}{QUOTE}?(?:/\S{{1,100}}/)?nvidia-smi{QUOTE}? ?: "
HINTED = rf"^.{{1,30}}{QUOTE}nvidia-smi{QUOTE}.{{0,80}}(?:not found|:\s*$)"


@dataclass(frozen=True)
class Message:
    """``pattern`` is searched in a line, letter case ignored; its groups ``pci`` and ``reason`` are told.

    ``return_code`` is the exit status that goes with it, None where none is on record. ``driver_loaded``: what follows
    for the kernel modules, None for nothing. ``fatal``: nvidia-smi prints nothing about other GPUs then.
    """

    kind: str
    pattern: str
    return_code: int | None
    driver_loaded: bool | None
    fatal: bool
    source: str
    as_of: str


# The first row that is found in a line counts. Apostrophes come in several shapes after copying through web pages.
MESSAGES = (
    Message("driver_not_loaded", r"couldn\W{1,6}t communicate with the NVIDIA driver", 9, False, True, BIGDATA, AS_OF),
    Message("driver_not_loaded", r"initialize NVML: Driver Not Loaded", 9, False, True, NVML, AS_OF),
    Message("driver_library_mismatch", r"Driver/library version mismatch", 18, True, True, TINYGRAD, AS_OF),
    Message("library_missing", r"couldn\W{1,6}t find libnvidia-ml\.so", 12, None, True, MANUAL, AS_OF),
    Message("library_missing", r"initialize NVML: NVML Shared Library Not Found", 12, None, True, NVML, AS_OF),
    Message("no_permission", r"initialize NVML: (?P<reason>Insufficient Permissions)", 4, True, True, NVML, AS_OF),
    Message("nvml_unknown_error", r"initialize NVML: (?P<reason>Unknown Error)", 255, None, True, CONTAINERS, AS_OF),
    Message("os_blocked", r"initialize NVML: (?P<reason>GPU access blocked by .+)", 17, None, True, NVML, AS_OF),
    Message("nvml_error", r"initialize NVML: (?P<reason>.+)", None, None, True, NVML, AS_OF),
    Message("gpu_lost", LISTED + r"(?P<reason>GPU is lost)", 15, True, True, OWOD, AS_OF),
    Message("gpu_requires_reset", LISTED + r"(?P<reason>GPU requires reset)", 16, True, True, NVML, AS_OF),
    Message("gpu_unreachable", HANDLE + r"(?P<reason>.+)", None, True, True, SYNOLOGY, AS_OF),
    Message("gpu_lost", INDEXED + r"(?P<reason>GPU is lost)", None, True, False, RECORDED, AS_OF),
    Message("gpu_requires_reset", INDEXED + r"(?P<reason>GPU requires reset)", None, True, False, RECORDED, AS_OF),
    Message("gpu_unreachable", INDEXED + r"(?P<reason>.+)", None, True, False, RECORDED, AS_OF),
    Message("no_devices", r"^\s*No devices were found", 6, True, True, OPEN_MODULES, AS_OF),
    Message("inforom_corrupted", r"infoROM is corrupted at gpu " + PCI, 14, True, False, MANUAL, AS_OF),
    Message("power_cables", r"power cables.{0,20}(?:not|aren).{0,20}attached", 8, True, False, MANUAL, AS_OF),
    Message("no_mig_devices", r"No MIG-supported devices found", None, True, False, RECORDED, AS_OF),
    Message("no_instances", r"No (?:GPU|compute) instances? found: (?P<reason>.+)", None, True, False, RECORDED, AS_OF),
    Message("in_use", r"in use by another|being used by one or more", 19, True, False, NVML, AS_OF),
    Message("insufficient_resources", r"(?P<reason>Insufficient Resources)", 23, True, False, NVML, AS_OF),
    Message("no_permission", r"^Unable to .{1,80}: (?P<reason>Insufficient Permissions)", 4, True, False, NVML, AS_OF),
    Message("no_permission", LISTED + r"(?P<reason>Insufficient Permissions)", 4, True, False, NVML, AS_OF),
    Message("invalid_argument", r'Field "(?P<reason>[^"]+)" is not a valid field', 2, None, False, MANUAL, AS_OF),
    Message("invalid_argument", r"^(?P<reason>Invalid combination of input arg\w+)", 2, None, False, MANUAL, AS_OF),
    # Shells speak the user's language: what they say is told, not matched.
    Message(
        "no_permission", SHELL + r"(?P<reason>(?:Permission denied|cannot exec).*)", 126, None, True, SHELLS, AS_OF
    ),
    Message("command_not_found", SHELL + r"(?P<reason>.+)", 127, None, True, SHELLS, AS_OF),
    Message("command_not_found", r"command not found: nvidia-smi", 127, None, True, SHELLS, AS_OF),
    Message("command_not_found", r'exec: "nvidia-smi": .* not found', 127, None, True, SHELLS, AS_OF),
    Message("command_not_found", HINTED, 127, None, True, HINTS, AS_OF),
)
