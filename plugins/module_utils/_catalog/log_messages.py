# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages about GPUs in the logs of a host, and what each one means. Private to this collection.

A new message is one row. Patterns see a message as one line: without time and host, continuation lines joined, white
space single. Named groups become fields of the event; rows stand in the order in which they explain a failure best.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

PCI = r"(?P<pci>[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?)"
VERSION = r"\d+(?:\.\d+)+"
MODULE = r"(?P<module_name>[A-Za-z0-9_-]+)"
# NVIDIA's proprietary and open banner: nv-procfs.c, nvidia.ko and nvidia-modeset.ko share it.
BANNER = (
    r"NVIDIA UNIX (?P<open>Open )?(?:(?P<arch>\S+) )?Kernel (?:Module|Mode Setting Driver(?: for UNIX platforms)?)"
    rf"(?: for (?P<open_arch>\S+))? (?P<driver>{VERSION})(?: Release Build (?:\((?P<builder>[^)]*)\)?)?)?"
)

# notice: worth telling, and harmless by itself. info: what a healthy host logs too.
ERROR, NOTICE, INFO = "error", "notice", "info"
OPEN_SOURCE = "github.com/NVIDIA/open-gpu-kernel-modules"
KERNEL = "kernel/module (git.kernel.org)"


@dataclass(frozen=True)
class LogMessage:
    """``event``: the name of what happened. ``severity``: error, notice or info. ``lines``: how many it takes at most.

    ``means``: further fields of the event that always hold. ``program``: who has to have written it, where the text
    alone does not say.
    """

    event: str
    pattern: str
    severity: str
    source: str
    as_of: str
    means: Mapping[str, Any] = field(default_factory=dict)
    program: str = ""
    lines: int = 1


KERNEL_MESSAGES = (
    LogMessage(
        "xid", r"NVRM: Xid \((?:PCI:)?(?P<pci>[0-9a-fA-F:.]+)\): (?P<xid>\d+)"
        r"(?:, pid='?(?P<pid><unknown>|\d+)'?)?(?:, name=(?P<process><unknown>|[^,]*))?(?:, (?P<detail>.*))?", ERROR,
        "github.com/leptonai/gpud xid tests", "2026-08-31",
    ),
    LogMessage(
        "fallen_off_bus", rf"NVRM: The NVIDIA GPU {PCI} \(PCI ID: (?P<device>[0-9a-f:]+)\) installed in this system has"
        r" fallen off the bus", ERROR, "github.com/NVIDIA/NVSentinel#155", "2026-03-31", {"treat_as_xid": 79}, lines=3,
    ),
    LogMessage(
        "fallen_off_bus", rf"NVRM: GPU (?:at )?(?:PCI:)?{PCI}: GPU has fallen off the bus", ERROR,
        "github.com/NVIDIA/NVSentinel#155", "2026-03-31", {"treat_as_xid": 79},
    ),
    LogMessage(
        "sxid", rf"(?P<switch>nvidia-nvswitch\d+): SXid \(PCI:{PCI}\): (?P<sxid>\d+), (?P<detail>.*)", ERROR,
        "github.com/leptonai/gpud sxid tests", "2026-08-31",
    ),
    LogMessage(
        "api_mismatch", r"NVRM: API mismatch: the client(?: '(?P<client_process>[^']*)' \(pid (?P<pid>\d+)\))?"
        rf" has the version (?P<client>{VERSION})(?:, but this kernel module has the version (?P<module>{VERSION}))?",
        ERROR, "github.com/negativo17/nvidia-driver#43, github.com/Frogging-Family/nvidia-all#394", "2026-09-30",
        {"reboot_or_reload_needed": True}, lines=3,
    ),
    LogMessage(
        "gpu_not_supported_by_open",
        rf"NVRM: The NVIDIA (?:v?GPU )?{PCI} \(PCI ID: (?P<device>[0-9a-f:]+)\) installed in this system is not"
        r" supported by (?:the )?open nvidia\.ko(?: because it does not include the required GPU)?", ERROR,
        f"{OPEN_SOURCE}#322, osapi.c", "2026-03-31", {"reason": "no GSP", "remedy_flavour": "proprietary"}, lines=4,
    ),
    LogMessage(
        "gpu_not_supported_by_open", r"NVRM: Open nvidia\.ko is only ready for use on Data Center GPUs", ERROR,
        f"{OPEN_SOURCE} 515 to 545, osapi.c", "2026-03-31",
        {"reason": "OpenRmEnableUnsupportedGpus is 0", "remedy_flavour": "proprietary"},
    ),
    LogMessage(
        "gpu_requires_open",
        rf"NVRM: The NVIDIA GPU {PCI} \(PCI ID: (?P<device>[0-9a-f:]+)\) installed in this system requires use of the"
        r" NVIDIA open kernel modules", ERROR, "NVIDIA driver README, open kernel modules", "2026-03-31",
        {"remedy_flavour": "open"}, lines=4,
    ),
    LogMessage(
        "gpu_legacy", r"NVRM: The NVIDIA (?P<model>.+) GPU installed in this system is supported through the NVIDIA"
        r" (?P<legacy_branch>\d+)\.xx Legacy drivers", ERROR, "NVIDIA driver README, legacy GPUs", "2026-03-31",
        lines=3,
    ),
    LogMessage(
        "gpu_not_supported", rf"NVRM: The NVIDIA (?:v?GPU )?{PCI} \(PCI ID: (?P<device>[0-9a-f:]+)\) installed in this"
        rf" system is not supported by the NVIDIA (?P<driver>{VERSION}) driver release", ERROR,
        f"{OPEN_SOURCE} osapi.c", "2026-03-31", lines=3,
    ),
    LogMessage(
        "already_bound", rf"NVRM: GPU {PCI} is already bound to (?P<owner>\w+)", ERROR,
        "github.com/beclab/Olares#3963", "2026-08-31", {"cause": "another kernel driver owns the GPU"},
    ),
    LogMessage(
        "probe_not_called", r"NVRM: The NVIDIA probe routine was not called for (?P<count>\d+) device\(?s?\)?"
        r"(?:\. This can occur when (?:a driver such as: (?P<drivers>[\w, ]+) was loaded|another driver was loaded))?",
        ERROR, "github.com/mattshma/bigdata#133, nv.c", "2026-03-31", {"cause": "conflicting driver"}, lines=4,
    ),
    LogMessage(
        "firmware_missing", r"(?:nvidia (?P<pci>[0-9a-f:.]+): )?Direct firmware load for"
        rf" (?P<firmware>nvidia/(?P<driver>{VERSION})/\S+) failed with error (?P<errno>-?\d+)", ERROR,
        f"{OPEN_SOURCE} issues", "2026-03-31",
    ),
    LogMessage(
        "firmware_missing", r"(?:nvidia (?P<pci>[0-9a-f:.]+): )?firmware: failed to load"
        rf" (?P<firmware>nvidia/(?P<driver>{VERSION})/\S+) \((?P<errno>-?\d+)\)", ERROR,
        "Debian's kernel, firmware loader", "2026-03-31",
    ),
    LogMessage(
        "firmware_missing", r"NVRM: (?:.*: )?RmFetchGspRmImages: No firmware image found", ERROR,
        f"{OPEN_SOURCE} osinit.c", "2026-03-31",
    ),
    LogMessage(
        "region_invalid", r"NVRM: This PCI I/O region assigned to your NVIDIA device is invalid: (?:NVRM: )?"
        r"(?P<region>BAR\d) is (?P<size>\S+) @ (?P<base>0x[0-9a-f]+) \(PCI:(?P<pci>[0-9a-f:.]+)\)", ERROR,
        f"{OPEN_SOURCE} nv-pci.c", "2026-03-31", {"cause": "firmware gave the GPU no address space"}, lines=2,
    ),
    LogMessage(
        "rm_init_failed", rf"NVRM: (?:GPU {PCI}: )?RmInitAdapter failed! \((?P<code>[0-9a-fA-Fx:]+)\)", ERROR,
        f"{OPEN_SOURCE}#862", "2026-03-31",
    ),
    LogMessage(
        "rm_init_failed", rf"NVRM: (?:GPU {PCI}: )?rm_init_adapter(?:\(\d+\))? failed"
        r"(?:, device minor number (?P<minor>\d+))?", ERROR, f"{OPEN_SOURCE}#862", "2026-03-31",
    ),
    LogMessage(
        "module_rejected", r"(?:insmod|modprobe): ERROR: could not insert (?:module )?'?(?P<module_name>[^':\s]+)'?:"
        r" (?P<reason>Key was rejected by service)", ERROR, "JafarAkhondali/acer-predator-turbo-and-rgb-keyboard"
        "-linux-module#113", "2025-12-31", {"cause": "secure boot, key not enrolled", "module_loaded": False},
    ),
    LogMessage(
        "module_rejected", r"(?:insmod|modprobe): ERROR: could not insert (?:module )?'?(?P<module_name>[^':\s]+)'?:"
        r" (?P<reason>Required key not available|Operation not permitted)", ERROR, "kernel module-signing",
        "2025-12-31", {"cause": "secure boot, module not signed", "module_loaded": False},
    ),
    LogMessage(
        "module_rejected", rf"(?:{MODULE}: )?[Ll]oading of module with unavailable key is rejected", ERROR, KERNEL,
        "2025-12-31", {"cause": "secure boot, key not enrolled", "module_loaded": False},
    ),
    LogMessage(
        "module_rejected",
        rf"(?:{MODULE}: )?[Ll]oading of (?:unsigned module|module with unsupported crypto) is rejected", ERROR, KERNEL,
        "2025-12-31", {"cause": "secure boot, module not signed", "module_loaded": False},
    ),
    LogMessage(
        "module_rejected", r"Lockdown: \S+ unsigned module loading is restricted", ERROR, "kernel_lockdown(7)",
        "2025-12-31", {"cause": "secure boot, module not signed", "module_loaded": False},
    ),
    LogMessage(
        "module_not_found", r"modprobe: FATAL: Module (?P<module_name>\S+) not found in directory /lib/modules/"
        r"(?P<kernel>\S+)", ERROR, "kmod", "2025-12-31", {"module_loaded": False},
    ),
    LogMessage(
        "module_not_loaded", r"(?:insmod|modprobe): ERROR: could not insert (?:module )?'?(?P<module_name>[^':\s]+)'?:"
        r" (?P<reason>.+)", ERROR, "kmod", "2025-12-31", {"module_loaded": False},
    ),
    LogMessage(
        "unknown_symbol", rf"{MODULE}: Unknown symbol (?P<symbol>\w+) \(err (?P<errno>-?\d+)\)", ERROR,
        "github.com/geerlingguy/raspberry-pi-pcie-devices#692", "2025-10-31",
    ),
    LogMessage(
        "module_of_other_kernel", rf"{MODULE}: (?:disagrees about version of symbol|version magic) .*", ERROR, KERNEL,
        "2025-12-31", {"cause": "built for another kernel"},
    ),
    LogMessage(
        "peermem_invalid_context", r"nvidia-peermem nv_get_p2p_free_callback:(?P<code_line>\d+) ERROR detected invalid"
        r" context", ERROR, "github.com/leptonai/gpud kmsg tests", "2026-08-31",
    ),
    LogMessage(
        "nvlink_rx_detect_failed", r"NVRM: (?:GPU\d+ )?knvlinkDiscoverPostRxDetLinks_\w+: Getting peer ?(?P<peer>\d+)"
        r"(?:'s)? postRxDetLinkMask failed", ERROR, "github.com/leptonai/gpud nvlink tests", "2026-08-31",
    ),
    LogMessage(
        "nvlink_rx_detect_failed", r"NVRM: (?:GPU\d+ )?knvlinkUpdatePostRxDetectLinkMask\w*: Failed to update Rx Detect"
        r" Link mask", ERROR, "github.com/leptonai/gpud nvlink tests", "2026-08-31",
    ),
    LogMessage(
        "gsp_timeout", r"NVRM: GPU ?(?P<gpu_index>\d+) RPC (?:event )?history \(CPU (?:->|<-) GSP\):"
        r"(?: entry (?P<columns>(?:[a-z]\w* ?)+))?", ERROR, f"{OPEN_SOURCE}#1230", "2026-09-30",
        {"table_is_noise": True}, lines=2,
    ),
    LogMessage(
        "probe_failed", r"NVRM: The NVIDIA probe routine failed for (?P<probe_failed>\d+) device", ERROR,
        f"{OPEN_SOURCE} nv.c", "2026-03-31",
    ),
    LogMessage(
        "probe_failed", rf"nvidia {PCI}: probe with driver nvidia failed with error (?P<errno>-?\d+)", ERROR,
        "kernel drivers/base", "2026-03-31",
    ),
    LogMessage(
        "nothing_probed", r"NVRM: (?:None of the NVIDIA (?:graphics adapters|devices) were (?:probed|initialized)"
        r"|No NVIDIA (?:graphics adapter|GPU|device)s? (?:probed|found))", ERROR, f"{OPEN_SOURCE} nv.c", "2026-03-31",
        {"probed": 0},
    ),
    LogMessage(
        "drm_failed", r".*\[nvidia-drm\] \[GPU ID (?P<gpu_id>0x[0-9a-f]+)\] (?P<reason>Failed to .+)", ERROR,
        f"{OPEN_SOURCE} nvidia-drm", "2026-03-31",
    ),
    LogMessage(
        "module_unsigned", rf"{MODULE}: module verification failed: signature and/or required key missing -? ?tainting"
        r" kernel", NOTICE, KERNEL, "2025-12-31", {"blocking": False},
    ),
    LogMessage(
        "signature_not_trusted", r"PKCS#7 signature not signed with a trusted key", NOTICE, KERNEL, "2025-12-31",
        {"blocking": False},
    ),
    LogMessage("driver_loaded", rf"NVRM: loading {BANNER}", INFO, f"{OPEN_SOURCE} nv.c", "2026-03-31"),
    LogMessage(
        "modeset_loaded", rf"nvidia-modeset: Loading {BANNER}", INFO, f"{OPEN_SOURCE} nvidia-modeset", "2026-03-31",
    ),
    LogMessage(
        "uvm_loaded", r"nvidia-uvm: Loaded the UVM driver(?: in \d+ mode)?, major device number (?P<uvm_major>\d+)",
        INFO, f"{OPEN_SOURCE} uvm.c", "2026-03-31",
    ),
    LogMessage(
        "nvlink_core_loaded", r"nvidia-nvlink: Nvlink Core is being initialized, major device number"
        r" (?P<nvlink_major>\d+)", INFO, f"{OPEN_SOURCE} nvlink_linux.c", "2026-03-31",
    ),
    LogMessage(
        "nvlink_core_unloaded", r"nvidia-nvlink: Unregistered (?:the )?Nvlink Core, major device number"
        r" (?P<nvlink_major>\d+)", INFO, f"{OPEN_SOURCE} nvlink_linux.c", "2026-03-31",
    ),
    LogMessage("modeset_unloaded", r"nvidia-modeset: Unloading", INFO, f"{OPEN_SOURCE} nvidia-modeset", "2026-03-31"),
    LogMessage(
        "gpu_serial",
        r"NVRM: GPU (?:Board Serial Number:|[0-9a-f:.]+: GPU serial number is) (?P<board_serial>\S+?)\.?$", INFO,
        f"{OPEN_SOURCE} osinit.c", "2026-03-31",
    ),
    LogMessage(
        "gpu_uuid", r"NVRM: GPU at PCI:(?P<pci>[0-9a-fA-F:.]+): (?P<uuid>GPU-[0-9a-f-]+)", INFO,
        f"{OPEN_SOURCE} osinit.c", "2026-03-31",
    ),
)  # fmt: skip

PERSISTENCED = "nvidia-persistenced"
PERSISTENCED_SOURCE = "github.com/NVIDIA/nvidia-persistenced"
DAEMON_MESSAGES = (
    LogMessage(
        "persistenced_failed", r"Failed to query NVIDIA devices\. Please ensure that the NVIDIA device files"
        r" \(/dev/nvidia\*\) exist, and that user (?P<uid>\d+) has read and write permissions", ERROR,
        PERSISTENCED_SOURCE, "2026-03-31",
        # The unit that NVIDIA ships has Restart=always.
        {"cause": "device files missing or driver not loaded", "restarts": True}, PERSISTENCED,
    ),
    LogMessage(
        "persistenced_failed", r"nvidia-persistenced failed to initialize\. Check syslog", ERROR, PERSISTENCED_SOURCE,
        "2026-03-31",
    ),
    LogMessage(
        "persistenced_enabled", rf"device {PCI} - persistence mode enabled", INFO, PERSISTENCED_SOURCE, "2026-03-31",
        {"persistence_mode": True}, PERSISTENCED,
    ),
    LogMessage(
        "persistenced_disabled", rf"device {PCI} - persistence mode disabled", INFO, PERSISTENCED_SOURCE, "2026-03-31",
        {"persistence_mode": False}, PERSISTENCED,
    ),
    LogMessage(
        "persistenced_started", r"Started \((?P<pid>\d+)\)", INFO, PERSISTENCED_SOURCE, "2026-03-31",
        program=PERSISTENCED,
    ),
    LogMessage(
        "persistenced_stopped", r"Shutdown \((?P<pid>\d+)\)", INFO, PERSISTENCED_SOURCE, "2026-03-31",
        program=PERSISTENCED,
    ),
)  # fmt: skip
