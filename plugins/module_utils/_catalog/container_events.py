# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What container engines, NVIDIA's runtime, kubelet and the device plugin say when a GPU does not arrive.

Private to this collection. A new message is one row in EVENTS.
"""

from __future__ import annotations

from dataclasses import dataclass

AS_OF = "2026-11-30"
PLUGIN = "github.com/NVIDIA/k8s-device-plugin/issues/1203"
CONTAINERD = "github.com/containerd/containerd/issues/6389"
DOCKER = "github.com/NVIDIA/nvidia-docker/issues/1243"
MOBY = "github.com/moby/moby, daemon/devices.go and daemon/runtime_unix.go"
TOOLKIT = "github.com/NVIDIA/libnvidia-container, src/error.c and nvc.c; NVIDIA Container Toolkit troubleshooting"
KUBERNETES = "github.com/kubernetes/kubernetes, pkg/kubelet/cm/devicemanager, pkg/scheduler"
DEVICE_PLUGIN = "github.com/NVIDIA/k8s-device-plugin, cmd/nvidia-device-plugin and internal/rm"

NAME = r"[\w.-]{0,79}\w"
DEVICE = r"[\w.-]{1,80}/[\w.-]{1,63}=[\w.:-]{1,200}"


@dataclass(frozen=True)
class ContainerEvent:
    """``pattern`` is searched in a message; its named groups are told. ``fatal``: the container, or the plugin, does
    not start. ``meaning`` is for people.
    """

    event: str
    pattern: str
    fatal: bool
    meaning: str
    source: str
    as_of: str


# Every row that is found in a line counts, in this order.
EVENTS = (
    ContainerEvent(
        "cdi_unresolvable",
        rf"unresolvable CDI devices (?P<device>{DEVICE}(?:, ?{DEVICE}){{0,63}})",
        True,
        "no spec in the engine's CDI directories has the device",
        PLUGIN,
        AS_OF,
    ),
    ContainerEvent(
        "cdi_unresolved",
        rf"could not resolve CDI devices: \[(?P<device>{DEVICE}(?:[, ]{{1,2}}{DEVICE}){{0,63}})\]",
        False,
        "no spec in the engine's CDI directories has the device",
        PLUGIN,
        AS_OF,
    ),
    ContainerEvent(
        "cdi_conflict",
        rf"conflicting device \\?[\"']?(?P<device>{DEVICE})\\?[\"']?(?: \(specs (?P<specs>[^)]{{1,400}})\))?",
        False,
        "several specs define the device; none of them is used",
        "Container Device Interface, pkg/cdi/cache.go",
        AS_OF,
    ),
    ContainerEvent(
        "cdi_unsupported",
        rf"(?:\bstat |adding custom device \\?\")(?P<device>{DEVICE})\\?\"?: no such file or directory",
        True,
        "the engine takes the name for a path: it has no CDI (Podman before 4.1, Docker before 25), or it is off",
        MOBY,
        AS_OF,
    ),
    ContainerEvent(
        "runtime_handler_missing",
        rf"no runtime for \\?\"(?P<handler>{NAME})\\?\" is configured",
        True,
        "containerd has no such handler, or was not started again since",
        CONTAINERD,
        AS_OF,
    ),
    ContainerEvent(
        "runtime_handler_missing",
        rf"failed to find runtime handler (?P<handler>{NAME}) from runtime list",
        True,
        "CRI-O has no such handler, or was not started again since",
        "github.com/cri-o/cri-o, internal/oci",
        AS_OF,
    ),
    ContainerEvent(
        "runtime_handler_missing",
        rf"(?:unknown or invalid runtime name:|[Uu]nknown runtime specified) (?P<handler>{NAME})",
        True,
        "Docker has no such runtime, or was not started again since",
        MOBY,
        AS_OF,
    ),
    ContainerEvent(
        "runtime_class_missing",
        rf"RuntimeClass\S* \\?\"(?P<handler>{NAME})\\?\" not found",
        True,
        "the cluster has no such RuntimeClass",
        KUBERNETES,
        AS_OF,
    ),
    ContainerEvent(
        "cdi_disabled",
        r"could not select device driver \\?\"(?P<driver>cdi)\\?\" with capabilities: \[",
        True,
        "Docker's feature cdi is off (on by default from 28.2)",
        DOCKER,
        AS_OF,
    ),
    ContainerEvent(
        "toolkit_missing",
        r"could not select device driver \\?\"(?P<driver>|nvidia)\\?\" with capabilities: "
        r"\[\[(?P<capabilities>[\w ,]+)\]\]",
        True,
        "Docker found no nvidia-container-runtime-hook on its PATH when it was started",
        DOCKER,
        AS_OF,
    ),
    ContainerEvent(
        "runtime_program_missing",
        r"(?P<program>[\w./-]{0,200}nvidia-(?:container-runtime[\w.-]{0,20}|cdi-hook|ctk))\\?\"?:? "
        r"(?:executable file not found|no such file or directory)",
        True,
        "the handler's program is not installed, or not where the configuration says",
        TOOLKIT,
        AS_OF,
    ),
    ContainerEvent(
        "library_not_found",
        r"load library failed: (?P<library>[\w.-]{1,80}\.so[.\d]*): cannot open shared object",
        True,
        "the host has no driver library that the loader finds",
        TOOLKIT,
        AS_OF,
    ),
    ContainerEvent(
        "driver_library_mismatch",
        r"nvml error: driver/library version mismatch",
        True,
        "kernel modules and library are of two versions: reload the modules or reboot",
        TOOLKIT,
        AS_OF,
    ),
    ContainerEvent(
        "driver_not_loaded",
        r"(?:nvml error: driver not loaded|driver rpc error: (?P<reason>timed out|failed to process request))",
        True,
        "the kernel modules are not loaded, or do not answer",
        TOOLKIT,
        AS_OF,
    ),
    ContainerEvent(
        "unknown_device",
        r"device error: (?P<device>[\w:.-]{1,80}): unknown device",
        True,
        "the GPU or MIG device that was asked for is not there (any more)",
        TOOLKIT,
        AS_OF,
    ),
    ContainerEvent(
        "cgroup_refused",
        r"(?:bpf_prog_query\(BPF_CGROUP_DEVICE\) failed|failed to get device cgroup mount path"
        r"|cgroup subsystem devices not found)(?::? (?P<reason>[^:\n]{1,80}))?",
        True,
        "the toolkit may not change device cgroups: nested or rootless engine, set no-cgroups or use CDI",
        TOOLKIT,
        AS_OF,
    ),
    ContainerEvent(
        "injection_failed",
        r"nvidia-container-cli: (?P<step>mount|ldcache|container|input|permission) error: (?P<reason>.{1,200})",
        True,
        "the toolkit could not put the driver's files into the container",
        TOOLKIT,
        AS_OF,
    ),
    ContainerEvent(
        "requirement_unsatisfied",
        r"requirement error: unsatisfied condition: (?P<condition>[^,\"]{1,120})",
        True,
        "the image asks for another driver or CUDA than the host has",
        TOOLKIT,
        AS_OF,
    ),
    ContainerEvent(
        "insufficient_resource",
        r"(?P<count>[0-9]{1,6}) Insufficient (?P<resource>(?:nvidia\.com|[\w.-]{1,80}\.nvidia\.com)/[\w.-]{0,62}\w)",
        False,
        "no node has as many free: the plugin is not registered, or they are in use",
        KUBERNETES,
        AS_OF,
    ),
    ContainerEvent(
        "admission_failed",
        r"Allocate failed due to (?P<reason>.{0,120}?(?P<resource>[\w.-]{0,80}nvidia\.com/[\w.-]{0,62}\w)[^\n]{0,80})",
        True,
        "the kubelet could not get the device from the plugin: it is not registered (any more), or has no healthy one",
        KUBERNETES,
        AS_OF,
    ),
    ContainerEvent(
        "plugin_platform_unknown",
        r"Incompatible (?:platform|strategy) detected",
        True,
        "the plugin sees neither NVML nor Tegra: its container has no driver, mostly because the handler is not used",
        DEVICE_PLUGIN,
        AS_OF,
    ),
    ContainerEvent(
        "plugin_no_devices",
        r"No devices found\. Waiting indefinitely",
        False,
        "the plugin runs and offers nothing",
        DEVICE_PLUGIN,
        AS_OF,
    ),
    ContainerEvent(
        "plugin_nvml_failed",
        r"[Ff]ailed to initialize NVML: (?P<reason>[\w ./-]{1,120})",
        True,
        "the plugin's container has no working driver library",
        DEVICE_PLUGIN,
        AS_OF,
    ),
    ContainerEvent(
        "device_unhealthy",
        r"(?:XidCriticalError: Xid=(?P<xid>[0-9]{1,5}) on Device="
        r"|'(?P<resource>[\w./-]{1,120})' device marked unhealthy: )(?P<device>[\w-]{1,80})",
        False,
        "the plugin took the device away from the kubelet",
        DEVICE_PLUGIN,
        AS_OF,
    ),
    ContainerEvent(
        "registration_failed",
        r"[Cc]ould not register (?:device )?plugin|failed to register (?:device )?plugin",
        True,
        "the kubelet did not take the plugin",
        DEVICE_PLUGIN,
        AS_OF,
    ),
)
