# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every row of the catalogues of messages is found in a text, and tells what is in it.

Whole texts are in fixtures/outputs; here are the sentences that no recorded text has.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from concluded.comparing import read_cases

from ansible_collections.gpu.fleet.plugins.module_utils._catalog import (
    container_events,
    fabric_manager,
    licensing,
    nvidia_smi,
)
from ansible_collections.gpu.fleet.plugins.module_utils._observe.texts.container_log import (
    read_container_log,
    with_meaning,
)
from ansible_collections.gpu.fleet.plugins.module_utils._observe.texts.fabric_manager import read_fabric_manager_log
from ansible_collections.gpu.fleet.plugins.module_utils._observe.texts.gridd import read_gridd_log
from ansible_collections.gpu.fleet.plugins.module_utils._observe.texts.messages import messages
from ansible_collections.gpu.fleet.plugins.module_utils._observe.texts.nvidia_smi_failure import (
    read_smi_failure,
    read_smi_messages,
)

TEXTS = [case.text for case in read_cases(Path(__file__).parents[3] / "fixtures" / "outputs").values()]

# text -> kind, and what else is told
SMI = {
    "Failed to initialize NVML: Driver Not Loaded": ("driver_not_loaded", {"rc": 9, "driver_loaded": False}),
    "Failed to initialize NVML: NVML Shared Library Not Found": ("library_missing", {"rc": 12, "driver_loaded": None}),
    "Failed to initialize NVML: GPU access blocked by the operating system": ("os_blocked", {"rc": 17}),
    "Failed to initialize NVML: Internal error.": ("nvml_error", {"reason": "Internal error", "rc": None}),
    "GPU 00000000:51:00.0: GPU is lost": ("gpu_lost", {"pci": "00000000:51:00.0", "pci_address": "0000:51:00.0"}),
    "  GPU 00000000:51:00.0: Insufficient Permissions": ("no_permission", {"pci": "00000000:51:00.0", "rc": 4}),
    "  GPU 00000000:51:00.0: In use by another client": ("in_use", {"rc": 19, "fatal": False}),
    "1 device is currently being used by one or more other processes": ("in_use", {"rc": 19}),
    "WARNING: external power cables are not properly attached to GPU 0": ("power_cables", {"rc": 8}),
    "Unable to set power management limit for GPU 00000000:18:00.0: Insufficient Permissions": (
        "no_permission",
        {"reason": "Insufficient Permissions", "fatal": False},
    ),
    "Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.": ("invalid_argument", {"rc": 2}),
    "zsh: command not found: nvidia-smi": ("command_not_found", {"rc": 127}),
    "sudo: nvidia-smi: command not found": ("command_not_found", {"reason": "command not found"}),
    "env: \u2018nvidia-smi\u2019: No such file or directory": ("command_not_found", {"rc": 127}),
    "bash: nvidia-smi: \u672a\u627e\u5230\u547d\u4ee4": (
        "command_not_found",
        {"reason": "\u672a\u627e\u5230\u547d\u4ee4"},
    ),
    'OCI runtime exec failed: exec failed: exec: "nvidia-smi": executable file not found in $PATH: unknown': (
        "command_not_found",
        {"rc": 127},
    ),
    "Der Befehl \u00bbnvidia-smi\u00ab wurde nicht gefunden, kann aber installiert werden mit:": (
        "command_not_found",
        {"rc": 127},
    ),
    "Unable to determine the device handle for GPU0001:07:00.0: Unknown Error": (
        "gpu_unreachable",
        {"pci_address": "0001:07:00.0", "space_missing": True},
    ),
    "Unable to determine the device handle for GPU 0000:4b:00.0: GPU requires reset": (
        "gpu_requires_reset",
        {"rc": 16},
    ),
    "Unable to determine the device handle for GPU3: 0000:CB:00.0: GPU is lost.": (
        "gpu_lost",
        {"pci": "0000:CB:00.0", "rc": None, "fatal": False},
    ),
    "Unable to determine the device handle for GPU3: 0000:CB:00.0: GPU requires reset": ("gpu_requires_reset", {}),
    "Unable to determine the device handle for GPU3: 0000:CB:00.0: Unknown Error": ("gpu_unreachable", {"rc": None}),
}


@pytest.mark.parametrize(("text", "kind", "told"), [(t, k, d) for t, (k, d) in SMI.items()], ids=SMI)
def test_nvidia_smi(text, kind, told):
    found = read_smi_failure(f"something else\n{text}\n")
    assert found is not None
    assert (found["kind"], {key: found[key] for key in told}) == (kind, told)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "| N/A   31C    P0             35W /  250W |       0MiB /  40960MiB |      0%      Default |",
        "GPU 0: NVIDIA L40S (UUID: GPU-5a1c7d20-0000-4000-8000-000000000001)",
        "GPU 00000000:1B:00.0",
        "    Power Smoothing                                    : Insufficient Permissions",
        "nvidia-smi: NVIDIA System Management Interface",
    ],
)
def test_a_healthy_line_is_no_message(text):
    assert read_smi_messages(text) == []
    assert read_smi_failure(text) is None


def test_the_first_message_decides_and_all_are_told():
    text = (
        "Unable to determine the device handle for GPU0000:1B:00.0: GPU is lost.  Reboot the system\n"
        "Unable to determine the device handle for GPU0000:1C:00.0: Unknown Error\n"
    )
    found = read_smi_failure(text)
    assert found is not None
    assert found["kind"] == "gpu_lost"
    assert [m["pci"] for m in found["messages"]] == ["0000:1B:00.0", "0000:1C:00.0"]


# text -> event, and what else is told
CONTAINERS = {
    'conflicting device "nvidia.com/gpu=0" (specs "/etc/cdi/nvidia.yaml", "/var/run/cdi/nvidia.yaml")': (
        "cdi_conflict",
        {"device": "nvidia.com/gpu=0", "specs": '"/etc/cdi/nvidia.yaml", "/var/run/cdi/nvidia.yaml"'},
    ),
    "Error: stat nvidia.com/gpu=all: no such file or directory": ("cdi_unsupported", {"device": "nvidia.com/gpu=all"}),
    "docker: Error response from daemon: error gathering device information while adding custom device"
    ' "nvidia.com/gpu=all": no such file or directory.': ("cdi_unsupported", {"device": "nvidia.com/gpu=all"}),
    'level=warning msg="could not resolve CDI devices: [nvidia.com/gpu=0 nvidia.com/gpu=1]"': (
        "cdi_unresolved",
        {"device": "nvidia.com/gpu=0 nvidia.com/gpu=1", "fatal": False},
    ),
    "docker: Error response from daemon: Unknown runtime specified nvidia.": (
        "runtime_handler_missing",
        {"handler": "nvidia"},
    ),
    'msg="failed to get sandbox runtime: no runtime for \\"nvidia-cdi\\" is configured"': (
        "runtime_handler_missing",
        {"handler": "nvidia-cdi"},
    ),
    'exec: "nvidia-container-runtime": executable file not found in $PATH': (
        "runtime_program_missing",
        {"program": "nvidia-container-runtime"},
    ),
    "nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open shared object"
    " file: no such file or directory": (
        "library_not_found",
        {"library": "libnvidia-ml.so.1"},
    ),
    "nvidia-container-cli: initialization error: nvml error: driver not loaded: unknown": ("driver_not_loaded", {}),
    "nvidia-container-cli: detection error: driver rpc error: timed out": (
        "driver_not_loaded",
        {"reason": "timed out"},
    ),
    "nvidia-container-cli: device error: MIG-0: unknown device": ("unknown_device", {"device": "MIG-0"}),
    "nvidia-container-cli: container error: cgroup subsystem devices not found: unknown": ("cgroup_refused", {}),
    "bpf_prog_query(BPF_CGROUP_DEVICE) failed: operation not permitted": (
        "cgroup_refused",
        {"reason": "operation not permitted"},
    ),
    "nvidia-container-cli: mount error: file creation failed: /a/b: file exists": (
        "injection_failed",
        {"step": "mount"},
    ),
    "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=13.0, please update your driver": (
        "requirement_unsatisfied",
        {"condition": "cuda>=13.0"},
    ),
    "Warning  UnexpectedAdmissionError  3s  kubelet  Allocate failed due to can't allocate unregistered device"
    " nvidia.com/gpu, which is unexpected": ("admission_failed", {"resource": "nvidia.com/gpu"}),
    "0/9 nodes are available: 9 Insufficient gpu.nvidia.com/mig. preemption": (
        "insufficient_resource",
        {"count": "9", "resource": "gpu.nvidia.com/mig"},
    ),
    "I0506 06:52:01.1 1 main.go:1] No devices found. Waiting indefinitely.": ("plugin_no_devices", {"fatal": False}),
    "2023/01/01 00:00:00 Failed to initialize NVML: could not load NVML library.": (
        "plugin_nvml_failed",
        {"reason": "could not load NVML library."},
    ),
    "'nvidia.com/gpu' device marked unhealthy: GPU-5a1c": (
        "device_unhealthy",
        {"resource": "nvidia.com/gpu", "device": "GPU-5a1c"},
    ),
    "Could not register device plugin: rpc error: code = Unimplemented": ("registration_failed", {"fatal": True}),
}


@pytest.mark.parametrize(("text", "event", "told"), [(t, e, d) for t, (e, d) in CONTAINERS.items()], ids=CONTAINERS)
def test_containers(text, event, told):
    found = read_container_log(text)
    assert (found["event"], {key: found[key] for key in told}) == (event, told)


def test_a_reason_is_followed_by_what_its_message_means():
    text = "E1201 10:00:00.000000 1 factory.go:112] Incompatible strategy detected auto"
    assert with_meaning("the container crashes", text).startswith("the container crashes (the plugin sees neither NVML")
    assert with_meaning("the container crashes", "out of memory") == "the container crashes"


# text -> event, and what else is told
LICENSES = {
    "nvidia-gridd: Failed to acquire/renew license from license server (lic1) (Info: NVIDIA RTX vWS - Error: The"
    " operation timed out)": ("license_refused", {"license": "not acquired"}),
    "nvidia-gridd: Invalid client configuration token": ("token_missing", {"cause": "client configuration token"}),
    "nvidia-gridd: GRID license expired": ("license_expired", {"cause": "expired"}),
    "nvidia-gridd: License released": ("license_released", {"license": "not acquired", "fault": False}),
    "nvidia-gridd: Valid GRID license not found. GPU features and performance will be restricted.": ("unlicensed", {}),
    "nvidia-gridd: Failed to update local trusted store - Permission denied": (
        "trusted_store_failed",
        {"reason": "Permission denied"},
    ),
}


@pytest.mark.parametrize(("text", "event", "told"), [(t, e, d) for t, (e, d) in LICENSES.items()], ids=LICENSES)
def test_licenses(text, event, told):
    (found,) = read_gridd_log(text)["events"]
    assert (found["event"], {key: found[key] for key in told}) == (event, told)


@pytest.mark.parametrize(
    ("lines", "license", "cause"),
    [
        (["Failed to acquire license from a", "License acquired successfully. (Info: a, b)"], "acquired", None),
        (["License acquired successfully. (Info: a, b)", "License released"], "not acquired", None),
        (["Failed to register client (2)"], None, "client not registered"),
        (["something else"], None, None),
    ],
)
def test_the_last_word_about_a_license_counts(lines, license, cause):
    found = read_gridd_log("".join(f"nvidia-gridd: {line}\n" for line in lines))
    assert (found["license"], found["cause"]) == (license, cause)


# text -> event, and what else is told
FABRIC = {
    "fabric manager NVIDIA GPU driver interface version 580.95.05 dont match with driver version 580.82.09.": (
        "fm_version_mismatch",
        {"fm": "580.95.05", "driver": "580.82.09"},
    ),
    "detected number of NVSwitches don\u2019t match with any supported system topology": ("fm_topology_mismatch", {}),
    "failed to find the GPU handle 42 in the multicast team request setup 7.": (
        "fm_multicast_handle_missing",
        {"handle": "42"},
    ),
    "detected NVSwitch fatal error 20034 on NVSwitch pci bus id 00000000:86:00.0": (
        "fm_nvswitch_fatal",
        {"code": "20034", "port": None},
    ),
    "found NVSwitch LPF: device=mlx5_9 guid=0xab": ("fm_lpf_found", {"device": "mlx5_9"}),
    "using NVSwitch management port GUID: 0xab": ("fm_guid_chosen", {"guid": "0xab"}),
    '"/usr/bin/nv-fabricmanager -c /x.cfg" failed! Exit code: 1': ("fm_start_failed", {"code": "1"}),
}


@pytest.mark.parametrize(("text", "event", "told"), [(t, e, d) for t, (e, d) in FABRIC.items()], ids=FABRIC)
def test_fabric_manager(text, event, told):
    (found,) = read_fabric_manager_log(f"[Jul 23 2024 07:53:55] [ERROR] [tid 841] {text}\n")["events"]
    assert (found["event"], {key: found[key] for key in told}) == (event, told)


CATALOGUES = {
    "nvidia_smi": (nvidia_smi.MESSAGES, SMI),
    "container_events": (container_events.EVENTS, CONTAINERS),
    "fabric_manager": (fabric_manager.EVENTS, FABRIC),
    "licensing": (licensing.MESSAGES, LICENSES),
}


@pytest.mark.parametrize(("rows", "sentences"), CATALOGUES.values(), ids=CATALOGUES)
def test_every_row_has_a_text(rows, sentences):
    texts = (*TEXTS, *sentences)
    lines = [line for text in texts for line in (*text.splitlines(), *(m.text for m in messages(text)))]
    lines += [line.replace('\\"', '"') for line in lines]
    silent = [r.pattern for r in rows if not any(re.search(r.pattern, line, re.IGNORECASE) for line in lines)]
    assert silent == []


@pytest.mark.parametrize(("rows", "sentences"), CATALOGUES.values(), ids=CATALOGUES)
def test_every_row_has_source_and_date(rows, sentences):
    assert [r.pattern for r in rows if not r.source or not re.fullmatch(r"\d{4}-\d\d-\d\d", r.as_of)] == []
