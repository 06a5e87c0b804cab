# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the fabric manager and its start script write to their logs. Private to this collection.

A new message is one row in EVENTS.
"""

from __future__ import annotations

from dataclasses import dataclass

AS_OF = "2026-11-30"
OPERATOR = "github.com/NVIDIA/gpu-operator/issues/544"
CUBE = "github.com/data-infra/cube-studio/issues/29"
GPUD = "github.com/leptonai/gpud, components/accelerator/nvidia/fabric-manager"
BOTTLEROCKET = "github.com/bottlerocket-os/bottlerocket-kernel-kit/pull/142"
EXTENSIONS = "github.com/siderolabs/extensions/issues/893"
GUIDE = "docs.nvidia.com, Fabric Manager for NVIDIA NVSwitch Systems user guide"

VERSION = r"[0-9]{1,4}(?:\.[0-9]{1,4}){1,2}"
SWITCH = (
    r"(?: on fid (?P<fid>[0-9]{1,4}))? on NVSwitch pci bus id (?P<pci>[0-9a-fA-F:.]{7,20})"
    r"(?: physical id (?P<physical_id>[0-9]{1,4}))?(?: port (?P<port>[0-9]{1,4}))?"
)


@dataclass(frozen=True)
class FabricEvent:
    """``pattern`` is searched in a message, letter case ignored; its named groups are told.

    ``fault``: something has to be done. ``meaning`` is for people.
    """

    event: str
    pattern: str
    fault: bool
    meaning: str
    source: str
    as_of: str


# The first row that is found counts.
EVENTS = (
    FabricEvent(
        "fm_version_mismatch",
        rf"interface version (?P<fm>{VERSION}) don\W{{0,6}}t match with driver version (?P<driver>{VERSION})",
        True,
        "fabric manager and driver must have the same version",
        OPERATOR,
        AS_OF,
    ),
    FabricEvent(
        "fm_nothing_to_do",
        r"NV_WARN_NOTHING_TO_DO",
        False,
        "no NVSwitch: the service is not needed, unless NVLink 5 is there and its subnet manager is not",
        CUBE,
        AS_OF,
    ),
    FabricEvent(
        "fm_nvswitch_fatal",
        rf"detected NVSwitch fatal error (?P<code>[0-9]{{3,6}}){SWITCH}",
        True,
        "the switch has to be reset, or the host rebooted",
        GPUD,
        AS_OF,
    ),
    FabricEvent(
        "fm_nvswitch_non_fatal",
        rf"detected NVSwitch non-?fatal error (?P<code>[0-9]{{3,6}}){SWITCH}",
        False,
        "the switch went on by itself",
        GPUD,
        AS_OF,
    ),
    FabricEvent(
        "fm_topology_mismatch",
        r"number of NVSwitches don\W{0,6}t match with any supported system topology",
        True,
        "a switch is missing on the bus, or the system is not one that this fabric manager knows",
        GPUD,
        AS_OF,
    ),
    FabricEvent(
        "fm_multicast_handle_missing",
        r"failed to find the GPU handle (?P<handle>[0-9]{1,25}) in the multicast team request",
        True,
        "a GPU was reset or lost behind the fabric manager's back",
        GPUD,
        AS_OF,
    ),
    FabricEvent(
        "fm_lpf_found",
        r"found NVSwitch LPF: device=(?P<device>\S{1,40}) guid=(?P<guid>0x[0-9a-fA-F]{1,16})",
        False,
        "a port of an NVLink 5 switch that may run the subnet manager",
        EXTENSIONS,
        AS_OF,
    ),
    FabricEvent(
        "fm_guid_chosen",
        r"using NVSwitch management port GUID: (?P<guid>0x[0-9a-fA-F]{1,16})",
        False,
        "the port on which the subnet manager is started",
        EXTENSIONS,
        AS_OF,
    ),
    FabricEvent(
        "fm_system", r"Detected (?P<system>Pre-NVL5|NVL5\+?) system", False, "what the start script found", CUBE, AS_OF
    ),
    FabricEvent(
        "fm_start_failed",
        r"\"(?P<command>[^\"]{1,200})\" failed! Exit code: (?P<code>[0-9]{1,3})",
        True,
        "the start script gave up",
        CUBE,
        AS_OF,
    ),
    FabricEvent(
        "fm_usage",
        r"^\s*Usage: .{0,100}(?:nvidia-fabricmanager-start|--fm-config-file)",
        True,
        "the start script takes options since 570 (-m start --fm-config-file ...); the call is of an older release",
        BOTTLEROCKET,
        AS_OF,
    ),
    FabricEvent(
        "fm_configured",
        r"Successfully configured all the available (?:GPUs and )?NVSwitches",
        False,
        "traffic can be routed",
        GUIDE,
        AS_OF,
    ),
    FabricEvent(
        "fm_unit_failed",
        r"nvidia-fabricmanager\.service: (?:Failed with result|Control process exited|Main process exited)",
        True,
        "systemd saw the service end",
        CUBE,
        AS_OF,
    ),
)
