# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The operator's ordered states as data. Private to this collection.

Order, names, workload modes, labels and barrier files are those of the GPU Operator 26.7
(controllers/state_manager.go, 2026-08).
A new state or operand is one row here and one row in its test.
"""

from __future__ import annotations

from dataclasses import dataclass

CONTAINER, PASSTHROUGH, VGPU = "container", "vm-passthrough", "vm-vgpu"
MODES = (CONTAINER, PASSTHROUGH, VGPU)

READY, NOT_READY, DISABLED, IGNORED, ERROR = "ready", "not_ready", "disabled", "ignored", "error"
STATES_OF_A_STATE = (READY, NOT_READY, DISABLED, IGNORED, ERROR)

# Every state label begins with this; see operator controllers/labels.go.
DEPLOY = "nvidia.com/gpu.deploy."


@dataclass(frozen=True)
class State:
    """One row of the state table.

    ``title`` heads the column; ``role`` is the role that brings it about, empty where this collection has none yet;
    ``place`` is host or cluster; ``enabled`` names the condition; ``needs`` are states that have to be ready before;
    ``label`` is the node label that lets the operand land; ``barrier`` a file in /run/nvidia/validations;
    ``proof`` says what ready means.
    """

    name: str
    title: str
    role: str
    place: str
    enabled: str
    modes: tuple[str, ...]
    needs: tuple[str, ...]
    label: str
    barrier: str
    proof: str


def _vm(name: str, title: str, enabled: str, modes: tuple[str, ...], label: str, barrier: str = "") -> State:
    """A state of the VM modes: none has a role yet, all need the host's program only."""
    return State(name, title, "", "cluster", enabled, modes, ("pre-requisites",), label, barrier, "no role yet")


ORDERED = (
    State(
        "pre-requisites", "prereq", "prereq", "host", "always", MODES, (), "", "",
        "the host's program, its units and the Python packages are in place; the RuntimeClasses exist",
    ),
    State(
        "state-operator-metrics", "metrics", "", "cluster", "always", MODES, ("pre-requisites",), "", "",
        "no role yet: each run leaves a report instead",
    ),
    State(
        "state-driver", "driver", "driver", "host", "driver_state is present", (CONTAINER,), ("pre-requisites",),
        f"{DEPLOY}driver", "driver-ready",
        "NVML answers with the loaded module's version and lists every GPU that PCI has",
    ),
    State(
        "state-container-toolkit", "toolkit", "toolkit", "host",
        "toolkit_state is present", (CONTAINER,), ("state-driver",),
        f"{DEPLOY}container-toolkit", "toolkit-ready",
        "the runtime program runs, the engine's effective config has the handler, every device of the CDI spec exists",
    ),
    State(
        "state-operator-validation", "validation", "validation", "host", "validation_state is present", (CONTAINER,),
        ("state-driver", "state-container-toolkit"), f"{DEPLOY}operator-validator", "",
        "every component of host_validation is ready and its barrier file exists",
    ),
    State(
        "state-device-plugin", "plugin", "device_plugin", "cluster", "device_plugin_state is present", (CONTAINER,),
        ("state-operator-validation",), f"{DEPLOY}device-plugin", "plugin-ready",
        "allocatable resources of the node equal what the host's GPUs predict",
    ),
    State(
        "state-mps-control-daemon", "mps", "", "cluster", "no role yet", (CONTAINER,), ("state-device-plugin",),
        f"{DEPLOY}device-plugin", "", "no role yet",
    ),
    State(
        "state-dcgm", "dcgm", "", "cluster", "no role yet: the exporter has its own engine", (CONTAINER,),
        ("state-operator-validation",), f"{DEPLOY}dcgm", "", "no role yet",
    ),
    State(
        "state-dcgm-exporter", "exporter", "dcgm", "cluster", "dcgm_state is present", (CONTAINER,),
        ("state-operator-validation",), f"{DEPLOY}dcgm-exporter", "",
        "the exporter serves a series for every GPU of the host",
    ),
    State(
        "gpu-feature-discovery", "gfd", "gfd", "cluster",
        "gfd_state is present", (CONTAINER,), ("state-operator-validation",),
        f"{DEPLOY}gpu-feature-discovery", "",
        "the labels that GFD finds equal those predicted from the host's GPUs",
    ),
    State(
        "state-mig-manager", "mig", "mig", "host",
        "mig_config or mig_config_file is set", (CONTAINER,), ("state-driver",),
        f"{DEPLOY}mig-manager", "",
        "NVML shows exactly the wanted layout, and the boot unit has it as its wish",
    ),
    State(
        "state-node-status-exporter", "node-status", "", "cluster",
        "no role yet", (CONTAINER,), ("state-operator-validation",),
        f"{DEPLOY}node-status-exporter", "", "no role yet",
    ),
    _vm(
        "state-vgpu-manager", "vgpu-manager", "sandbox workloads on", (VGPU,),
        f"{DEPLOY}vgpu-manager", "vgpu-manager-ready"
    ),
    _vm(
        "state-vgpu-device-manager", "vgpu-devices", "sandbox workloads on", (VGPU,),
        f"{DEPLOY}vgpu-device-manager", "vgpu-devices-ready"
    ),
    _vm(
        "state-sandbox-validation", "sandbox", "sandbox workloads on", (PASSTHROUGH, VGPU),
        f"{DEPLOY}sandbox-validator"
    ),
    _vm(
        "state-vfio-manager", "vfio", "sandbox workloads on", (PASSTHROUGH,),
        f"{DEPLOY}vfio-manager", "vfio-pci-ready"
    ),
    _vm(
        "state-sandbox-device-plugin", "kubevirt", "sandbox mode kubevirt", (PASSTHROUGH, VGPU),
        f"{DEPLOY}sandbox-device-plugin"
    ),
    _vm(
        "state-kata-device-plugin", "kata-plugin", "sandbox mode kata", (PASSTHROUGH,),
        f"{DEPLOY}kata-sandbox-device-plugin"
    ),
    _vm("state-kata-manager", "kata", "never (deprecated)", (), f"{DEPLOY}kata-manager"),
    _vm("state-cc-manager", "cc", "sandbox mode kata", (PASSTHROUGH, VGPU), f"{DEPLOY}cc-manager", "cc-manager-ready"),
)  # fmt: skip

BY_NAME = {state.name: state for state in ORDERED}
BY_ROLE = {state.role: state for state in ORDERED if state.role}

# Roles of a host in site's order: MIG before the toolkit, because the CDI spec shows the layout.
HOST_ROLES = ("prereq", "driver", "mig", "toolkit", "validation")
CLUSTER_ROLES = tuple(state.role for state in ORDERED if state.role and state.place == "cluster")
