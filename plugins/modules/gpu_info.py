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
  description: The kernel's id of the boot in which this was read (C(/proc/sys/kernel/random/boot_id)).
  type: str
  returned: always
  sample: 5b0b3a0e-8f52-4b7d-9a7c-3f2f1f4f0c11
machine:
  description: Product name of the machine (DMI). Null where the firmware has none.
  type: str
  returned: always
  sample: PowerEdge XE9680
vgpu_present:
  description:
    - Whether the host is a vGPU guest, from the vendor-specific capability in PCI configuration space.
    - Null where there is no GPU, or the space cannot be read as a whole, which needs root.
  type: bool
  returned: always
  sample: false
unreadable:
  description: What could not be read, path to the system's reason. What depends on it counts as absent above.
  type: dict
  returned: always
  sample: {"/sys/bus/pci/devices/0000:41:00.0/config": Permission denied}
gpus:
  description:
    - The GPUs, those that NVML identifies first, in its order. The others come from PCI, with null RV(gpus[].uuid),
      RV(gpus[].minor) and RV(gpus[].index), and RV(gpus[].error) says why.
  type: list
  elements: dict
  returned: always
  contains:
    index:
      description: NVML's index. It follows the PCI address and may change at a boot.
      type: int
    minor:
      description: Number of the device node, C(/dev/nvidia<minor>) (NVML).
      type: int
    uuid:
      description: UUID of the GPU (NVML).
      type: str
    name:
      description: Product name, from NVML, or from the collection's catalog of PCI ids.
      type: str
    pci_address:
      description: As in sysfs, with a domain of four digits.
      type: str
    pci_id:
      description: Vendor and device, as lspci writes them.
      type: str
    pci_class:
      description: All six digits of the class (sysfs). C(0x0302..) is a 3D controller, C(0x0300..) has a display.
      type: str
    architecture:
      description: In lower case, from NVML, or from the range of the PCI id.
      type: str
    compute_capability:
      description: CUDA compute capability (NVML).
      type: str
    memory_mib:
      description: The whole memory in MiB (NVML).
      type: int
    numa_node:
      description: NUMA node (sysfs). Null on a machine without.
      type: int
    mig:
      description: MIG mode and devices.
      type: dict
      returned: with subset mig
      contains:
        capable:
          description: Whether NVML, or without it the catalog, knows MIG on this GPU. Null where neither knows the GPU.
          type: bool
        enabled:
          description: The mode in effect (NVML). Null without NVML.
          type: bool
        pending:
          description: The mode after the next reset of the GPU (NVML). Null without NVML.
          type: bool
        devices:
          description: The MIG devices (NVML).
          type: list
          elements: dict
          contains:
            index:
              description: Index of the MIG device in its GPU.
              type: int
            uuid:
              description: UUID of the MIG device.
              type: str
            profile:
              description: Name of its profile, as in V(3g.20gb) or V(1c.3g.20gb).
              type: str
            gpu_instance:
              description: Id of its GPU instance.
              type: int
            compute_instance:
              description: Id of its compute instance in the GPU instance.
              type: int
            memory_mib:
              description: Its memory in MiB.
              type: int
            attributes:
              description: Numbers of multiprocessors, slices and media engines that it has (nvmlDeviceGetAttributes).
              type: dict
              sample:
                multiprocessors: 42
                gpu_instance_slices: 3
                compute_instance_slices: 3
                copy_engines: 3
                decoders: 2
                encoders: 0
                jpeg_engines: 0
                ofa_engines: 0
    health:
      description: What the GPU says of itself (NVML). Null without NVML.
      type: dict
      returned: with subset nvml
      contains:
        ecc:
          description:
            - Mode now and after the next reset, and counts of memory errors since the driver was loaded (volatile) and
              in the board's life (aggregate).
          type: dict
          sample: {enabled: true, pending: true, corrected_volatile: 0, uncorrected_volatile: 0}
        remapped_rows:
          description:
            - Rows of memory remapped after correctable and uncorrectable errors, whether a remapping waits for a reset,
              and whether one failed.
          type: dict
          sample: {correctable: 0, uncorrectable: 0, pending: false, failed: false}
        temperature_c:
          description: Temperature of the GPU in degrees Celsius.
          type: int
        power_w:
          description: Power drawn in watts.
          type: float
        power_limit_w:
          description: Power limit in effect in watts.
          type: float
        throttle_reasons:
          description: Why clocks are below their maximum (nvmlClocksEventReasons). V(gpu_idle) is no fault.
          type: list
          elements: str
        link:
          description: Generation and width (lanes) of the PCIe link now, and what GPU and slot can do.
          type: dict
          sample: {generation: 5, generation_max: 5, width: 16, width_max: 16}
        unknown:
          description: Dotted key of this dictionary to NVML's reason, for each value that is null.
          type: dict
          sample: {remapped_rows: "nvmlDeviceGetRemappedRows: Not Supported"}
    processes:
      description: Who uses the GPU (NVML). Null where NVML does not tell, which is not the same as nobody.
      type: list
      elements: dict
      returned: with subset nvml
      contains:
        pid:
          description: Process id in the host's namespace.
          type: int
        type:
          description: V(compute) or V(graphics).
          type: str
        memory_mib:
          description: Memory of the GPU that it uses, in MiB. Null where NVML does not count it, as inside of MIG.
          type: int
        gpu_instance:
          description: Id of the GPU instance that it runs in. Null outside of MIG.
          type: int
        compute_instance:
          description: Id of the compute instance that it runs in. Null outside of MIG.
          type: int
    fabric:
      description:
        - State of the NVLink fabric as the fabric manager left it (nvmlDeviceGetGpuFabricInfoV), V(not_started),
          V(in_progress) or V(completed). Null where the GPU has no fabric.
      type: dict
      returned: with subset nvml
      sample: {state: completed, clique: 0, cluster_uuid: 00000000-0000-0000-0000-000000000000}
    error:
      description: Why NVML does not identify this GPU. Null where it does, or was not asked.
      type: str
    unknown:
      description: Key of this row to NVML's reason, for each value that is null and should not be.
      type: dict
      sample: {memory_mib: "nvmlDeviceGetMemoryInfo: Insufficient Permissions"}
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
      processes: []
      fabric: null
      error: null
      unknown: {}
pci:
  description: What the PCI bus has besides GPUs (sysfs).
  type: dict
  returned: with subset pci
  contains:
    nvswitches:
      description:
        - NVSwitches up to the third C(generation), which is null for one that this release does not know; later ones
          are no PCI devices of the host.
      type: list
      elements: dict
      sample: [{pci_address: "0000:05:00.0", pci_id: "10de:22a3", generation: 3, driver: nvidia-nvswitch}]
    nics:
      description: Ethernet and InfiniBand adapters without virtual functions, their interfaces and RDMA names.
      type: list
      elements: dict
      sample:
        - {pci_address: "0000:61:00.0", pci_id: "15b3:1021", driver: mlx5_core, interfaces: [ib0], rdma: [mlx5_0]}
    missing_in_nvml:
      description: Addresses of GPUs that NVML does not list. Null where NVML did not answer or was not asked.
      type: list
      elements: str
driver:
  description: The driver, on disk and loaded. A version is null where there is none.
  type: dict
  returned: always
  contains:
    source:
      description:
        - V(none), V(distro), V(cuda_repo), V(runfile), V(container), or V(mixed) where there is more than one.
        - V(distro) stands for packages of everybody but NVIDIA. Null where a driver is there that nothing accounts for.
      type: str
    sources:
      description: Every way by which a driver came onto the host.
      type: list
      elements: dict
      contains:
        source:
          description: V(distro), V(cuda_repo), V(runfile) or V(container).
          type: str
        packager:
          description: Who made the packages, such as V(nvidia), V(ubuntu), V(debian), V(rpmfusion). Empty without any.
          type: str
        modules:
          description:
            - How the kernel modules got there, V(precompiled), V(dkms), V(kmod) or V(akmods). Null where nothing says
              so.
          type: str
        version:
          description: Version of the driver that came this way. Null where nothing says so.
          type: str
        evidence:
          description: Packages or paths that show it.
          type: list
          elements: str
    installed_version:
      description: Version of the module that modprobe would load into the running kernel (modinfo).
      type: str
    loaded_version:
      description: Version of the loaded module (C(/sys/module/nvidia/version)).
      type: str
    library_version:
      description: Version in the file name behind libnvidia-ml.so.1.
      type: str
    flavour:
      description: V(open) or V(proprietary), of the loaded module, else of the one on disk.
      type: str
    signer:
      description: Name of the key that signed the module on disk (modinfo). Null where it is not signed.
      type: str
    module_path:
      description: The file of the module on disk.
      type: str
    module_kind:
      description: What puts modules there, V(dkms), V(precompiled), V(kmod) or V(runfile).
      type: str
    branch:
      description: Branch of the loaded driver, else of the one on disk.
      type: dict
      contains:
        number:
          description: The number before the first dot.
          type: int
        state:
          description:
            - V(ltsb) (long term support), V(production), V(new_feature), or V(end_of_life) on the day of this run.
          type: str
        support_end:
          description: Year and month, or the year. Null where its publisher promised none.
          type: str
        cuda:
          description: The CUDA version that it brings.
          type: str
    packages:
      description: Installed packages of the driver, name to version (dpkg or rpm).
      type: dict
      sample: {nvidia-kernel-open-dkms: 595.71.05-1}
    unfinished:
      description:
        - Packages of the driver that dpkg did not finish, name to its state, such as V(half-configured) or V(unpacked).
      type: dict
      sample: {nvidia-kernel-open-dkms: half-configured}
    held:
      description: Packages of the driver that are on hold (dpkg), or that a line of dnf's versionlock names.
      type: list
      elements: str
    mixed_versions:
      description:
        - Version to packages, where library, kernel modules and programs have more than one. Empty where all is equal.
      type: dict
      sample: {570.211.01: [libcuda1], 580.178.04: [nvidia-kernel-open-dkms]}
    streams:
      description: Module streams of the driver that dnf has on record.
      type: list
      elements: dict
      contains:
        module:
          description: Name of the module.
          type: str
        stream:
          description: The stream. Null where none is chosen.
          type: str
        state:
          description: V(enabled) or V(disabled).
          type: str
        profiles:
          description: Installed profiles.
          type: list
          elements: str
    locks:
      description: All that keeps packages of the driver at a version.
      type: list
      elements: dict
      contains:
        kind:
          description: V(hold), V(pinning_package), V(apt_pin), V(versionlock) or V(exclude).
          type: str
        where:
          description: The file, with the section of dnf's files; C(dpkg); the pinning package.
          type: str
        packages:
          description: Names or patterns, as they are written there.
          type: str
        value:
          description: What they are kept at. Empty for as they are.
          type: str
    repositories:
      description: Repositories of NVIDIA's packages. Entries that apt does not use are left out.
      type: list
      elements: dict
      contains:
        kind:
          description: V(cuda), V(toolkit) or V(other).
          type: str
        path:
          description: The file with the entry.
          type: str
        name:
          description: dnf's id of it. Empty for apt.
          type: str
        uri:
          description: Its address.
          type: str
        enabled:
          description: Whether it is used.
          type: bool
        signing_keys:
          description: What it is trusted by.
          type: list
          elements: dict
          contains:
            where:
              description: The file or address of the key, or the entry that names none.
              type: str
            fingerprint:
              description: Of the first key in it.
              type: str
            known:
              description: Whether it is a key of NVIDIA that this release knows.
              type: bool
            retired:
              description: Whether NVIDIA signs with another key today. Null for a key that is not known.
              type: bool
            unknown:
              description: Key to the reason why its value is null.
              type: dict
              sample: {}
    loaded:
      description: The loaded driver. Null where none is loaded.
      type: dict
      contains:
        version:
          description: As C(loaded_version).
          type: str
        flavour:
          description: V(open) or V(proprietary).
          type: str
        signer:
          description: Name of the key that signed it. Null where it is not signed, or C(unknown) says why.
          type: str
        parameters:
          description:
            - Effective options of the module without C(NVreg_) (C(/proc/driver/nvidia/params)). Null for one that is
              not set.
          type: dict
          sample: {EnableStreamMemOPs: 0}
        modules:
          description: Loaded modules of the driver, name to C(references) and C(users) (modules that need it).
          type: dict
          sample: {nvidia: {references: 3, users: [nvidia_uvm, nvidia_modeset]}}
        holders:
          description: Processes that have device nodes of the driver open.
          type: list
          elements: dict
          contains:
            pid:
              description: Process id.
              type: int
            name:
              description: Name, cut to 15 characters by the kernel.
              type: str
            devices:
              description: The device nodes.
              type: list
              elements: str
            command:
              description: The first two words of its command line; further ones may be secrets.
              type: str
            unit:
              description: Its systemd unit. Empty for none.
              type: str
            container:
              description: Id of its container. Empty for none.
              type: str
            pod:
              description: Its pod, namespace and name, else the uid. Empty for none.
              type: str
        unknown:
          description: Key to the reason why its value is null.
          type: dict
          sample: {}
    module_options:
      description: Options of the driver's modules that files of modprobe.d ask for.
      type: list
      elements: dict
      contains:
        path:
          description: The file.
          type: str
        module:
          description: The module, with C(_) for C(-).
          type: str
        options:
          description: As they are written.
          type: str
    kernels:
      description: Every kernel whose modules are installed.
      type: list
      elements: dict
      contains:
        version:
          description: Release, as uname gives it.
          type: str
        flavour:
          description: Such as V(generic), V(cloud-amd64) or V(64k). Null where the release names none.
          type: str
        running:
          description: Whether it is the running one.
          type: bool
        headers:
          description: Whether its headers are there, so that DKMS can build.
          type: bool
        module:
          description: Version of the nvidia module that modprobe would load into it. Null for none.
          type: str
        module_flavour:
          description: V(open) or V(proprietary).
          type: str
        module_signer:
          description: Name of the key that signed the module. Null where it is not signed.
          type: str
        module_kind:
          description: What puts modules there, as C(module_kind) of the running kernel.
          type: str
        dkms:
          description:
            - How far DKMS got, V(added), V(built) or V(installed) (C(/var/lib/dkms)). Null where it has no driver.
          type: str
    secure_boot:
      description: Whether Secure Boot is on (EFI variable). Null where the host was not booted by EFI.
      type: bool
    module_trust:
      description: Whose kernel modules the running kernel takes.
      type: dict
      contains:
        lockdown:
          description: V(none), V(integrity) or V(confidentiality) (kernel_lockdown(7)).
          type: str
        signatures_forced:
          description: Whether the kernel refuses modules without a valid signature, Secure Boot or not.
          type: bool
        enrolled_keys:
          description: Names of the machine owner keys that are enrolled (mokutil).
          type: list
          elements: str
        pending_keys:
          description: Names of those that wait to be enrolled at the console of the next boot.
          type: list
          elements: str
        dkms_keys:
          description: Keys of this host with which DKMS signs.
          type: list
          elements: dict
          contains:
            path:
              description: The certificate.
              type: str
            enrolled:
              description: Whether it is enrolled. Null where C(enrolled_keys) is.
              type: bool
        unknown:
          description: Key to the reason why its value is null.
          type: dict
          sample: {enrolled_keys: the host was not booted by EFI}
    nouveau:
      description: Whether one of the kernel's own drivers for these GPUs is loaded, nouveau or nova_core.
      type: bool
    nouveau_in_initramfs:
      description: Whether one of them is in the initramfs of the running kernel.
      type: bool
    nouveau_blacklist:
      description: What keeps them from being loaded.
      type: dict
      contains:
        files:
          description: Files of modprobe.d.
          type: list
          elements: str
        kernel_arguments:
          description: Words of the kernel's command line.
          type: list
          elements: str
    services:
      description:
        - Units of driver, fabric and this collection (systemd), each with C(loaded), C(active) and C(enabled), and
          C(nvlsm), which has no unit. Empty where O(host_root) is not the running system.
      type: dict
      sample:
        nvidia-persistenced.service: {loaded: loaded, active: active, enabled: enabled}
    unknown:
      description: Key to the reason why its value is null.
      type: dict
      sample: {secure_boot: "the EFI variable SecureBoot is absent: no EFI, or the firmware hides it"}
    cuda_version:
      description: The highest CUDA that the driver runs (NVML). Null where NVML did not answer.
      type: str
    nvml:
      description: Whether NVML answers.
      type: dict
      contains:
        available:
          description: Whether it could be started and lists GPUs.
          type: bool
        error:
          description: The call that failed with NVML's words, also of single GPUs. Null where all went well.
          type: str
  sample:
    source: cuda_repo
    sources:
      - source: cuda_repo
        packager: nvidia
        modules: dkms
        version: 595.71.05
        evidence: [nvidia-kernel-open-dkms]
    installed_version: 595.71.05
    loaded_version: 595.71.05
    library_version: 595.71.05
    flavour: open
    signer: DKMS module signing key
    module_path: /lib/modules/6.1.0-37-amd64/updates/dkms/nvidia.ko
    module_kind: dkms
    branch: {number: 595, state: production, support_end: 2027-03, cuda: "13.2"}
    packages: {nvidia-kernel-open-dkms: 595.71.05-1}
    unfinished: {}
    held: [nvidia-kernel-open-dkms]
    mixed_versions: {}
    streams: []
    locks:
      - kind: hold
        where: dpkg
        packages: nvidia-kernel-open-dkms
        value: 595.71.05-1
    repositories:
      - kind: cuda
        path: /etc/apt/sources.list.d/gpu-fleet-cuda.sources
        name: ""
        uri: https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64
        enabled: true
        keys:
          - where: /etc/apt/keyrings/gpu-fleet-cuda.asc
            fingerprint: EB693B3035CD5710E231E123A4B469963BF863CC
            known: true
            retired: false
            unknown: {}
    loaded:
      version: 595.71.05
      flavour: open
      signer: DKMS module signing key
      parameters: {EnableStreamMemOPs: 0, ImexChannelCount: 2048}
      modules:
        nvidia: {references: 3, users: [nvidia_uvm, nvidia_modeset]}
        nvidia_modeset: {references: 0, users: []}
        nvidia_uvm: {references: 0, users: []}
      holders:
        - pid: 812
          name: nvidia-persiste
          devices: [/dev/nvidia0, /dev/nvidiactl]
          command: /usr/bin/nvidia-persistenced --user
          unit: nvidia-persistenced.service
          container: ""
          pod: ""
      unknown: {}
    module_options: []
    kernels:
      - version: 6.1.0-37-amd64
        flavour: amd64
        running: true
        headers: true
        module: 595.71.05
        module_flavour: open
        module_signer: DKMS module signing key
        module_kind: dkms
        dkms: installed
    secure_boot: null
    module_trust:
      lockdown: none
      signatures_forced: false
      enrolled_keys: null
      pending_keys: null
      dkms_keys: [{path: /var/lib/dkms/mok.pub, enrolled: null}]
      unknown: {enrolled_keys: the host was not booted by EFI, pending_keys: the host was not booted by EFI}
    nouveau: false
    nouveau_in_initramfs: false
    nouveau_blacklist: {files: [/usr/lib/modprobe.d/nvidia.conf], kernel_arguments: []}
    services:
      nvidia-persistenced.service: {loaded: loaded, active: active, enabled: enabled}
      nvlsm: {loaded: no-unit, active: inactive, enabled: ""}
    unknown: {secure_boot: "the EFI variable SecureBoot is absent: no EFI, or the firmware hides it"}
    cuda_version: "13.2"
    nvml: {available: true, error: null}
topology:
  description: How GPUs and RDMA adapters are connected.
  type: dict
  returned: with subset topology
  contains:
    devices:
      description: GPUs, then RDMA adapters, each with address, C(kind) (V(gpu), V(nic)) and an adapter's name.
      type: list
      elements: dict
      sample: [{pci_address: "0000:41:00.0", kind: gpu, name: null}]
    matrix:
      description:
        - Kind of link between the devices, a row and a column each in their order, in the words of
          C(nvidia-smi topo -m). C(NV18) are 18 NVLinks, C(X) is the device itself.
        - GPUs from NVML, adapters from the PCI tree in sysfs. Null where that does not tell.
      type: list
      elements: list
      sample: [[X, NV18], [NV18, X]]
    affinity:
      description: CPUs and NUMA node that are near to each device (sysfs).
      type: list
      elements: dict
      sample: [{pci_address: "0000:41:00.0", cpus: 0-31, numa_node: 0}]
    fabric:
      description:
        - The NVLink fabric; of each key of RV(gpus[].fabric) what all GPUs share, null where they differ. Null where no
          GPU has one.
      type: dict
      sample: {state: completed, clique: 0, cluster_uuid: 00000000-0000-0000-0000-000000000000}
    error:
      description: Why NVML tells nothing of the links. Null where it does.
      type: str
runtimes:
  description: The container engines whose program or configuration is there.
  type: list
  elements: dict
  returned: with subset runtimes
  contains:
    runtime:
      description: V(containerd), V(crio) or V(docker).
      type: str
    program:
      description: Path of the engine. Null where there is only a configuration.
      type: str
    version:
      description: As the engine prints it.
      type: str
    config_files:
      description: The files of it that are there.
      type: list
      elements: str
    handlers:
      description: Runtime handlers in effect, name to program.
      type: dict
      sample: {nvidia: /usr/bin/nvidia-container-runtime}
    default_runtime:
      description: Name of the default handler. Null where the engine's own default holds.
      type: str
    cdi_enabled:
      description: Whether CDI is on. Null where the engine's default for its version holds.
      type: bool
    source:
      description: V(engine) where the engine was asked, V(files) where its files were laid over each other.
      type: str
    error:
      description: What is wrong with its files. Null for nothing.
      type: str
    socket:
      description: Path of its socket. Null where there is none.
      type: str
    distribution:
      description: V(k3s), V(rke2), V(k0s) or V(microk8s) where one of them is on the host.
      type: str
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
  description: The CDI specs of the host.
  type: dict
  returned: with subset cdi
  contains:
    specs:
      description: Every file that engines would read as a spec.
      type: list
      elements: dict
      contains:
        path:
          description: The file.
          type: str
        kind:
          description: Vendor and class.
          type: str
        devices:
          description: Names of its devices.
          type: list
          elements: str
        driver_version:
          description: Version of the driver for which it was made. Null where it does not tell.
          type: str
        error:
          description: Why it cannot be read as a spec. Null where it can.
          type: str
        stale_because:
          description:
            - Why it does not fit the host any more, each C(reason) with what is C(wanted) and C(found). Reasons are
              V(driver_version), V(device_major), V(device_missing), V(mig_layout), V(hook_missing), V(library_missing)
              and V(spec_version).
          type: list
          elements: dict
          sample:
            - {reason: driver_version, wanted: 595.71.05 (the loaded driver), found: 580.95.05 (in the spec)}
  sample:
    specs:
      - path: /var/run/cdi/nvidia.yaml
        kind: nvidia.com/gpu
        devices: ["0", all]
        driver_version: 595.71.05
        error: null
        stale_because: []
kubelet:
  description: The kubelet; its flags win over its configuration file.
  type: dict
  returned: with subset kubelet
  contains:
    present:
      description: Whether it runs, or its program or configuration is there.
      type: bool
    running:
      description: Whether it runs.
      type: bool
    version:
      description: As the program prints it. Null where there is no program to ask, or another root is read.
      type: str
    root_directory:
      description: Its flag C(root-dir), or the default.
      type: str
    cgroup_driver:
      description: V(systemd) or V(cgroupfs).
      type: str
    runtime_endpoint:
      description: Socket of its engine. Null where that is not set.
      type: str
    engine:
      description: V(containerd), V(crio) or V(docker), from the endpoint. Null where that names none of them.
      type: str
    node_name:
      description: Its flag C(hostname-override). Null where it takes the host name.
      type: str
    device_plugin_sockets:
      description: Sockets of device plugins. One without devices is a plugin that lost its registration.
      type: list
      elements: str
    registered_devices:
      description: Resource -> number of devices, as the kubelet itself has noted them. Null where it noted nothing.
      type: dict
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
    registered_devices: {nvidia.com/gpu: 8}
ansible_facts:
  description: All of the above, as the fact C(gpu_fleet).
  type: dict
  returned: always
  sample: {gpu_fleet: {gpus: []}}
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._ansible import runner
from ..module_utils._observe.gpu_stack import SUBSETS, missing_helpers, read_facts
from ..module_utils._observe.lenient import LenientRoot

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
    host = LenientRoot(module.params["host_root"])
    missing = missing_helpers(host, subsets)
    if missing:
        module.fail_json(msg=f"this host's Python lacks {', '.join(missing)}", missing_helpers=missing)
    facts = read_facts(host, runner(module), subsets)
    module.exit_json(changed=False, ansible_facts={"gpu_fleet": facts}, **facts)


if __name__ == "__main__":
    main()
