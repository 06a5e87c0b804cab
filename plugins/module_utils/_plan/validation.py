# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides whether a host's GPU stack works, and which barrier files it may show. Private to this collection.

A running service is no proof. Each component is two places that have to agree: module and library, PCI and NVML,
config and
what the engine says, spec and device nodes, wanted and actual MIG layout.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .._catalog.states import DISABLED, IGNORED, NOT_READY, READY
from .model import Finding, Plan, Step

DIRECTORY = "/run/nvidia/validations"

# component -> barrier file, as the operator's validator calls them
BARRIERS = {
    "driver": "driver-ready",
    "toolkit": "toolkit-ready",
    "nvidia-peermem": "nvidia-peermem-ready",
    "nvidia-fs": "nvidia-fs-ready",
    "gdrcopy": "gdrcopy-ready",
}
# component -> kernel module
EXTRAS = {"nvidia-peermem": "nvidia_peermem", "nvidia-fs": "nvidia_fs", "gdrcopy": "gdrdrv"}

# Operands start when this file is there, so it stands for everything that a container with a GPU needs.
GATE, GATED_BY = "toolkit", ("driver", "toolkit", "runtime", "cdi", "mig")


@dataclass(frozen=True)
class Validation:
    """Options: the engine's handlers that have to be in effect, the driver's root, and further components that are
    wanted.
    """

    handlers: tuple[str, ...] = ("nvidia",)
    driver_root: str = "/"
    extras: tuple[str, ...] = ()
    cdi: bool = True


@dataclass(frozen=True)
class Seen:
    """What was observed.

    ``pci_gpus``, ``nvml_gpus``: PCI addresses; the first without those that a VM has. ``nvml_error`` is NVML's text,
    empty where
    it answered. ``missing_nodes``, ``missing_links``: device nodes and /dev/char links that are not there. ``engine``
    is empty
    for none. ``program`` is what the handler runs, ``program_error`` why it does not. ``restart``: the engine runs
    with older
    files. ``cdi_stale``: (reason, wanted, found). ``mig_left``: what the saved layout still needs, empty where none is
    saved.
    """

    pci_gpus: tuple[str, ...] = ()
    nvml_gpus: tuple[str, ...] = ()
    module_version: str = ""
    nvml_version: str = ""
    nvml_error: str = ""
    missing_nodes: tuple[str, ...] = ()
    missing_links: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    engine: str = ""
    engine_error: str = ""
    handlers: Mapping[str, str] | None = None
    cdi_enabled: bool | None = None
    restart: bool = False
    program: str = ""
    program_error: str = ""
    cdi_path: str = ""
    cdi_error: str = ""
    cdi_stale: tuple[tuple[str, str, str], ...] = ()
    mig_saved: bool = False
    mig_left: tuple[str, ...] = ()
    mig_error: str = ""
    barriers: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Component:
    """One proof. ``finding`` is what stands against it, None where it is ready, disabled or ignored."""

    name: str
    state: str
    reason: str = ""
    finding: Finding | None = None


def judge(wish: Validation, seen: Seen) -> tuple[Component, ...]:
    """Every component in the order in which they build on each other."""
    if not seen.pci_gpus and not seen.nvml_gpus:
        return tuple(
            Component(n, IGNORED, "PCI has no NVIDIA GPU") for n in ("driver", "toolkit", "runtime", "cdi", "mig")
        )
    rows = [("driver", _driver(seen)), ("toolkit", _toolkit(wish, seen)), ("runtime", _runtime(wish, seen))]
    rows += [("cdi", _cdi(seen))] if wish.cdi else []
    rows += [("mig", _mig(seen))] if seen.mig_saved else []
    rows += [(name, _extra(name, seen)) for name in EXTRAS if name in wish.extras]
    found = [_component(name, finding) for name, finding in rows]
    if not seen.mig_saved:
        found.insert(len(found) - len(wish.extras), Component("mig", DISABLED, "no layout is saved"))
    return tuple(found)


def plan_barriers(wish: Validation, seen: Seen, *, pending: bool = False) -> Plan:
    """Steps that make the barrier files say what was proved: written for what is ready, removed for what is not.

    ``pending``: steps before were planned only, and what is not ready is what they will bring about.
    """
    proved = (READY, NOT_READY) if pending else (READY,)
    ready = {c.name for c in judge(wish, seen) if c.state in proved}
    fine = {c.name for c in judge(wish, seen) if c.state in (*proved, DISABLED)}
    if not all(name in fine for name in GATED_BY if name != "cdi" or wish.cdi):
        ready.discard(GATE)
    wanted = {BARRIERS[name]: content(name, wish) for name in BARRIERS if name in ready}
    return _steps(wanted, seen.barriers or {})


def plan_removal(seen: Seen) -> Plan:
    """Steps that remove every barrier file."""
    return _steps({}, seen.barriers or {})


def content(component: str, wish: Validation) -> str:
    """The file's text: operands source driver-ready as shell."""
    if component != "driver":
        return ""
    host = wish.driver_root == "/"
    inside = "/host" if host else "/driver-root"
    rows = {
        "IS_HOST_DRIVER": "true" if host else "false",
        "NVIDIA_DRIVER_ROOT": wish.driver_root,
        "DRIVER_ROOT_CTR_PATH": inside,
        "NVIDIA_DEV_ROOT": wish.driver_root,
        "DEV_ROOT_CTR_PATH": inside,
    }
    return "".join(f"{name}={value}\n" for name, value in rows.items())


def _steps(wanted: Mapping[str, str], found: Mapping[str, str]) -> Plan:
    steps = []
    for name in BARRIERS.values():
        path = f"{DIRECTORY}/{name}"
        if name in wanted and found.get(name) != wanted[name]:
            before = "other content" if name in found else None
            steps.append(
                Step("write_barrier", path, before, "present", "its component was proved, so operands may start")
            )
        elif name not in wanted and name in found:
            steps.append(
                Step("remove_barrier", path, "present", None, "its component is not ready, so operands must wait")
            )
    return Plan(tuple(steps))


def _component(name: str, finding: Finding | None) -> Component:
    return Component(name, READY) if finding is None else Component(name, NOT_READY, finding.summary, finding)


def _driver(seen: Seen) -> Finding | None:
    lost = [a for a in seen.pci_gpus if a not in seen.nvml_gpus]
    if not seen.module_version:
        return _finding(
            "GPU-KRN-018",
            "the NVIDIA kernel module is not loaded",
            "a loaded module",
            "no /proc/driver/nvidia/version",
            "run role gpu.fleet.driver, or modprobe nvidia and read dmesg",
        )
    if seen.nvml_error:
        return _finding(
            "GPU-HW-101",
            f"NVML does not answer: {seen.nvml_error}",
            "NVML of the loaded driver",
            seen.nvml_error,
            "run nvidia-smi on the host; for a version mismatch reload the modules or reboot",
        )
    if seen.nvml_version != seen.module_version:
        return _finding(
            "GPU-KRN-026",
            "library and loaded module have different versions",
            f"module {seen.module_version} (/proc/driver/nvidia/version)",
            f"NVML {seen.nvml_version}",
            "reload the modules, or reboot",
        )
    if lost:
        return _finding(
            "GPU-HW-102",
            f"NVML lacks {len(lost)} of {len(seen.pci_gpus)} GPUs",
            f"{', '.join(seen.pci_gpus)} (PCI)",
            f"NVML has {', '.join(seen.nvml_gpus) or 'none'}",
            f"dmesg | grep -E 'NVRM|Xid' for {lost[0]}",
        )
    return _nodes(seen)


def _nodes(seen: Seen) -> Finding | None:
    if seen.missing_nodes:
        return _finding(
            "GPU-KRN-027",
            f"device nodes are missing: {', '.join(seen.missing_nodes)}",
            "a node for every GPU",
            "absent in /dev",
            "nvidia-modprobe -c <minor> (255: nvidiactl) or -u -c 0 (UVM); nvidia_uvm at boot: role gpu.fleet.driver",
        )
    if seen.missing_links:
        return _finding(
            "GPU-CTR-038",
            "containers would lose their GPUs at the next systemctl daemon-reload",
            f"links {', '.join(seen.missing_links)}",
            "absent in /dev/char",
            "run role gpu.fleet.driver, whose udev rule makes them",
        )
    return None


def _toolkit(wish: Validation, seen: Seen) -> Finding | None:
    # Without handlers GPUs come through CDI alone, and nothing runs NVIDIA's program.
    if not wish.handlers or not seen.program_error:
        return None
    return _finding(
        "GPU-CTR-102",
        f"NVIDIA's container runtime does not run: {seen.program_error}",
        f"{seen.program} --version",
        seen.program_error,
        "run role gpu.fleet.toolkit",
    )


def _runtime(wish: Validation, seen: Seen) -> Finding | None:
    if not seen.engine:
        return _finding(
            "GPU-CTR-103",
            "the host has no container engine",
            "containerd, CRI-O, Docker or Podman",
            "none was found",
            "install an engine, then run role gpu.fleet.toolkit",
        )
    if seen.engine_error:
        return _finding(
            "GPU-CTR-104",
            f"{seen.engine} does not show its configuration: {seen.engine_error}",
            "a configuration that it accepts",
            seen.engine_error,
            f"repair it: {seen.engine} config dump",
        )
    missing = [h for h in wish.handlers if h not in (seen.handlers or {})] if seen.engine != "podman" else []
    if missing:
        return _finding(
            "GPU-CTR-042",
            f"{seen.engine} has no handler {', '.join(missing)} in effect",
            f"handlers {', '.join(wish.handlers)}",
            f"{', '.join(sorted(seen.handlers or {})) or 'none'} ({seen.engine}'s own dump)",
            "run role gpu.fleet.toolkit",
        )
    if wish.cdi and seen.cdi_enabled is False:
        return _finding(
            "GPU-K8S-058",
            f"CDI is off in {seen.engine}",
            "CDI on",
            f"off ({seen.engine}'s own dump)",
            "set toolkit_runtime_cdi_enabled: true",
        )
    if seen.restart:
        return _finding(
            "GPU-CTR-041",
            f"{seen.engine} runs with a configuration from before the last change",
            "an engine started after its files were written",
            "files newer than the engine's process",
            f"systemctl restart {seen.engine}",
        )
    return None


def _cdi(seen: Seen) -> Finding | None:
    if seen.cdi_error:
        return _finding(
            "GPU-CTR-048",
            f"the CDI spec cannot be used: {seen.cdi_error}",
            f"a CDI spec at {seen.cdi_path}",
            seen.cdi_error,
            "systemctl start gpu-fleet-cdi.service, or run role gpu.fleet.toolkit",
        )
    if seen.cdi_stale:
        reason, wanted, found = seen.cdi_stale[0]
        return _finding(
            "GPU-CTR-048",
            f"the CDI spec {seen.cdi_path} does not fit the host ({reason})",
            wanted,
            found,
            "systemctl start gpu-fleet-cdi.service",
        )
    return None


def _mig(seen: Seen) -> Finding | None:
    if seen.mig_error:
        return _finding(
            "GPU-MIG-052",
            f"the saved MIG layout cannot be checked: {seen.mig_error}",
            "the saved layout",
            seen.mig_error,
            "run role gpu.fleet.mig",
        )
    if seen.mig_left:
        return _finding(
            "GPU-MIG-052",
            "the MIG layout is not the saved one",
            "the layout in /var/lib/gpu-fleet/mig/wish.yaml",
            f"still to do: {'; '.join(seen.mig_left[:3])}",
            "systemctl start gpu-fleet-mig.service",
        )
    return None


def _extra(name: str, seen: Seen) -> Finding | None:
    module = EXTRAS[name]
    if module in seen.modules:
        return None
    return _finding(
        "GPU-KRN-028",
        f"{name} is wanted, but module {module} is not loaded",
        f"module {module}",
        "not in /proc/modules",
        f"modprobe {module}, and read dmesg where it refuses",
    )


def _finding(identifier: str, summary: str, wanted: str, found: str, remedy: str) -> Finding:
    source = "NVIDIA GPU Operator 26.7 validator; docs/findings"
    return Finding(identifier, "error", summary, wanted, found, remedy, source)
