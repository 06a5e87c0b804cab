#!/usr/bin/python
# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads everything about a host's GPU stack."""

from __future__ import annotations

DOCUMENTATION = r"""
module: gpu_info
short_description: Read everything about a host's GPU stack
version_added: 0.1.0
description:
  - Reads GPUs, driver, MIG devices, topology, container engines, CDI specs and kubelet of a host in one run.
  - For reports, predictions and people. The changing modules of this collection look for themselves and never use
    these facts.
  - A host without GPU, without driver or with an NVML that fails is no error. RV(driver) says so, and GPUs come from
    the PCI bus then.
options:
  gather_subset:
    description:
      - What to read. V(all), any of V(pci), V(driver), V(nvml), V(mig), V(topology), V(runtimes), V(cdi), V(kubelet),
        or the same with C(!) in front to leave it out.
      - Only exclusions mean all the others.
    type: list
    elements: str
    default: [all]
extends_documentation_fragment:
  - gpu.fleet._attributes
  - gpu.fleet._attributes.info
  - gpu.fleet._host_root
requirements:
  - nvidia-ml-py, tomlkit and PyYAML on the host or on the controller, which sends its own copies where the host has
    none
author:
  - gpu.fleet contributors (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Read everything
  gpu.fleet.gpu_info:

- name: Read only GPUs and MIG devices
  gpu.fleet.gpu_info:
    gather_subset: [pci, nvml, mig]
  register: gpus

- name: Show the GPUs
  ansible.builtin.debug:
    msg: "{{ gpus.gpus | map(attribute='name') }}"
"""

RETURN = r"""
observed_at:
  description: When this was read, UTC.
  type: str
  returned: always
  sample: "2026-11-30T22:12:24Z"
boot_id:
  description: The kernel's id of the boot in which this was read.
  type: str
  returned: always
  sample: 5b0b3a0e-8f52-4b7d-9a7c-3f2f1f4f0c11
machine:
  description: Product name of the machine.
  type: str
  returned: always
  sample: PowerEdge XE9680
vgpu_present:
  description: Whether the host is a vGPU guest. Null where that cannot be read.
  type: bool
  returned: always
  sample: false
gpus:
  description:
    - The GPUs. Without NVML they come from PCI, with null RV(gpus[].uuid), RV(gpus[].minor) and RV(gpus[].index).
    - A value of RV(gpus[].health) that the GPU does not give is null, and C(health.unknown) has NVML's reason.
  type: list
  elements: dict
  returned: always
  contains:
    index:
      description: NVML's index.
      type: int
    minor:
      description: Number of the device node.
      type: int
    uuid:
      description: UUID of the GPU.
      type: str
    name:
      description: Product name.
      type: str
    pci_address:
      description: As in sysfs.
      type: str
    pci_id:
      description: Vendor and device.
      type: str
    mig:
      description: Mode and MIG devices.
      type: dict
    health:
      description: Memory errors, remapped rows, temperature, power, throttle reasons, PCIe link.
      type: dict
    processes:
      description: Who uses the GPU.
      type: list
      elements: dict
  sample:
    - index: 0
      minor: 0
      uuid: GPU-5d4dd2a0-7d3c-4b6c-8f0e-2a1b3c4d5e6f
      name: NVIDIA H100 80GB HBM3
      pci_address: "0000:41:00.0"
      pci_id: "10de:2330"
      pci_class: "0x030200"
      architecture: hopper
      compute_capability: "9.0"
      memory_mib: 81559
      numa_node: 0
      mig:
        capable: true
        enabled: true
        pending: true
        devices:
          - index: 0
            uuid: MIG-6f1b7d9e-0c64-5c8e-9d65-2d6c1b0a9f8e
            profile: 3g.40gb
            gpu_instance: 2
            compute_instance: 0
            memory_mib: 40448
      health:
        ecc: {enabled: true, pending: true, corrected_volatile: 0, uncorrected_volatile: 0}
        remapped_rows: {correctable: 0, uncorrectable: 0, pending: false, failed: false}
        temperature_c: 31
        power_w: 70.2
        throttle_reasons: [gpu_idle]
        link: {generation: 5, generation_max: 5, width: 16, width_max: 16}
        unknown: {}
      processes: []
      fabric: null
      error: null
pci:
  description: NVSwitches, network adapters, and GPUs that PCI has and NVML lacks.
  type: dict
  returned: with subset pci
  sample: {nvswitches: [], nics: [], missing_in_nvml: []}
driver:
  description:
    - Where the driver came from, its versions on disk, loaded and as library, kernels, services, and whether NVML
      answers.
  type: dict
  returned: always
  sample:
    source: cuda_repo
    installed_version: 595.71.05
    loaded_version: 595.71.05
    library_version: 595.71.05
    flavour: open
    signer: null
    packages: {nvidia-kernel-open-dkms: 595.71.05-1}
    held: [nvidia-kernel-open-dkms]
    kernels:
      - {version: 6.1.0-37-amd64, running: true, headers: true, module: 595.71.05}
    secure_boot: false
    nouveau: false
    services:
      nvidia-persistenced.service: {loaded: loaded, active: active, enabled: enabled}
    cuda_version: "13.2"
    nvml: {available: true, error: null}
topology:
  description:
    - Link kinds between GPUs as C(nvidia-smi topo -m) names them, and the affinity of each. Null where NVML does not
      answer.
  type: dict
  returned: with subset topology
  sample:
    gpus: ["0000:41:00.0", "0000:51:00.0"]
    matrix: [[X, NODE], [NODE, X]]
    affinity:
      - {pci_address: "0000:41:00.0", cpus: 0-31, numa_node: 0}
      - {pci_address: "0000:51:00.0", cpus: 0-31, numa_node: 0}
    error: null
runtimes:
  description: The container engines of the host, and what is in effect in each.
  type: list
  elements: dict
  returned: with subset runtimes
  sample:
    - runtime: containerd
      program: /usr/bin/containerd
      version: 2.1.4
      config_files: [/etc/containerd/config.toml]
      handlers: {nvidia: /usr/bin/nvidia-container-runtime}
      default_runtime: runc
      cdi_enabled: true
      source: engine
      error: null
      socket: /run/containerd/containerd.sock
      distribution: null
cdi:
  description: The CDI specs of the host, each with why it does not fit the host any more.
  type: dict
  returned: with subset cdi
  sample:
    specs:
      - path: /var/run/cdi/nvidia.yaml
        kind: nvidia.com/gpu
        devices: ["0", all]
        driver_version: 595.71.05
        error: null
        stale_because: []
kubelet:
  description: The kubelet, its version, root directory, cgroup driver, and the sockets of registered device plugins.
  type: dict
  returned: with subset kubelet
  sample:
    present: true
    running: true
    version: 1.35.0
    root_directory: /var/lib/kubelet
    cgroup_driver: systemd
    runtime_endpoint: unix:///run/containerd/containerd.sock
    engine: containerd
    node_name: null
    device_plugin_sockets: [nvidia-gpu.sock]
ansible_facts:
  description: All of the above, as the fact C(gpu_fleet).
  type: dict
  returned: always
  sample: {gpu_fleet: {gpus: []}}
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._ansible import runner
from ..module_utils._observe.files import HostRoot
from ..module_utils._observe.gpu_stack import SUBSETS, missing_helpers, read_facts

ARGUMENTS: dict[str, Any] = {
    "gather_subset": {"type": "list", "elements": "str", "default": ["all"]},
    "host_root": {"type": "path", "default": "/"},
}


def chosen(words: list[str]) -> list[str]:
    """The subsets that ``gather_subset`` means; raises ValueError for a word that is none."""
    names = [w.lstrip("!") for w in words]
    unknown = [n for n in names if n not in (*SUBSETS, "all")]
    if unknown:
        known = ", ".join(("all", *SUBSETS))
        raise ValueError(f"gather_subset has {unknown[0]!r}, wanted any of {known}, or one with ! in front")
    excluded = {w[1:] for w in words if w.startswith("!")}
    included = {w for w in words if not w.startswith("!")} or {"all"}
    wanted = set(SUBSETS) if "all" in included else included
    return [s for s in SUBSETS if s in wanted and s not in excluded and "all" not in excluded]


def main() -> None:
    """Entry point of the module."""
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    try:
        subsets = chosen(module.params["gather_subset"])
    except ValueError as error:
        module.fail_json(msg=str(error))
    missing = missing_helpers(subsets)
    if missing:
        module.fail_json(msg=f"this host's Python lacks {', '.join(missing)}", missing_helpers=missing)
    facts = read_facts(HostRoot(module.params["host_root"]), runner(module), subsets)
    module.exit_json(changed=False, ansible_facts={"gpu_fleet": facts}, **facts)


if __name__ == "__main__":
    main()
