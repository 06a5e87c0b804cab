#!/usr/bin/python
# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Installs, keeps and removes the NVIDIA driver of a host."""

from __future__ import annotations

DOCUMENTATION = r"""
module: driver
short_description: Install, keep or remove the NVIDIA driver of a host
version_added: 0.1.0
description:
  - Decides flavour, version, packages, repository, pin, holds, kernel modules and services from what is on the host,
    and brings them about. The steps themselves are done by C(ansible.builtin.copy), C(ansible.builtin.apt) with
    C(ansible.builtin.dpkg_selections) or C(ansible.builtin.dnf), C(ansible.builtin.systemd_service) and
    M(gpu.fleet.driver_modules). Then it looks again to prove them.
  - Where nothing is left to do, the driver itself is proved. NVML opens and lists every GPU that PCI has, library and
    module have the wanted version and flavour, the fabric is configured, IMEX is ready, the licence is there,
    persistence mode is on, and every kernel that can be booted has a module. What is not so is a finding.
  - Debian 12 and 13, Ubuntu 22.04, 24.04 and 26.04, Enterprise Linux 9 and 10 (Rocky, AlmaLinux, RHEL) and
    Amazon Linux 2023, on x86_64 and arm64 servers.
  - A host without NVIDIA GPU is left alone.
  - Never installs a kernel, never reboots, never ends a process.
    What only a reboot can bring is said in RV(reboot_required).
options:
  state:
    description:
      - V(present) installs and keeps the driver. V(absent) removes what this module brought, by its own record.
      - Packages that came along with it, such as dkms or a compiler, stay. A finding names them with the command that
        removes them.
    type: str
    choices: [present, absent]
    default: present
  source:
    description:
      - Where the driver comes from. V(cuda_repo) is NVIDIA's CUDA network repository, V(distro) the archive of the
        distribution. V(preinstalled) is a driver that somebody else keeps. It is loaded and proved, nothing is
        installed.
      - V(auto) means V(cuda_repo), and is refused where the host has a driver from elsewhere. Who names a source
        has packages of another one replaced.
    type: str
    default: auto
  precompiled:
    description:
      - Whether the kernel modules are compiled packages (V(true)) or built on the host by DKMS (V(false)).
        V(auto) prefers what the distribution compiled and signed, if there is such a package for the running kernel,
        and DKMS for NVIDIA's packages.
    type: str
    default: auto
  branch:
    description:
      - Driver branch, for example V(580). Empty means the branch of O(version), or else the production branch, 595,
        or the newest that the distribution has where O(source=distro).
    type: str
    default: ''
  version:
    description:
      - Exact driver version, for example V(595.71.05). Empty means the newest of the branch when it is installed.
        Later runs keep it.
    type: str
    default: ''
  flavour:
    description:
      - Kernel modules. V(auto) takes the open ones where every GPU of the host can have them, and the proprietary ones
        for GPUs older than Turing.
    type: str
    choices: [auto, open, proprietary]
    default: auto
  package_set:
    description:
      - V(compute) is what CUDA programs and containers need, V(full) has everything for screens too.
    type: str
    choices: [compute, full]
    default: compute
  hold:
    description:
      - Whether to keep the version. With apt the packages are held, and a preferences file pins their exact version.
        With dnf our repository file excludes every other version.
    type: bool
    default: true
  persistenced:
    description:
      - Whether C(nvidia-persistenced.service) is enabled and runs.
    type: bool
    default: true
  kernel_headers:
    description:
      - Whether to install the headers of the running kernel where C(/lib/modules/<release>/build) is missing.
    type: bool
    default: true
  load:
    description:
      - Whether to load the modules now and at boot.
    type: bool
    default: true
  modules:
    description:
      - Kernel modules to load, in any order.
    type: list
    elements: str
    default: [nvidia, nvidia_uvm, nvidia_modeset]
  components:
    description:
      - What comes with the driver, each V(auto), V(true) or V(false). V(auto) follows the hardware. Where no hardware
        tells, it keeps what is installed.
      - C(fabric_manager), with the subnet manager on NVLink 5, for hosts with NVLink switches. C(imex) for GPUs of an
        NVL rack, which have no fabric manager of their own. C(gds) is GPUDirect Storage, for the open kernel modules.
        C(gdrcopy) needs a repository of your own that has its packages. C(peermem) needs an RDMA adapter and NVIDIA's
        RDMA stack. C(gridd) is vGPU guest licensing, and needs the guest driver.
      - Fabric manager and IMEX have the driver's version and are held with it. What cannot work is refused.
      - V(false) installs nothing, and stops and disables the service. Packages that are there stay.
    type: dict
    default: {}
  module_parameters:
    description:
      - Parameters by kernel module, as in the example below.
        They are written to C(/etc/modprobe.d/gpu-fleet-driver.conf), and loaded modules with other values are reloaded.
      - From branch 580 on C(NVreg_CoherentGPUMemoryMode=driver) is set as NVIDIA's driver container does. Null takes
        a default away.
    type: dict
    default: {}
  blacklist_nouveau:
    description:
      - Whether the kernel's own drivers, C(nouveau) and C(nova_core), are kept away where an installed kernel has them.
        That is a file in C(/etc/modprobe.d), and a new initramfs for every kernel whose initramfs is older.
    type: bool
    default: true
  fabric_manager_config:
    description:
      - Keys of C(/usr/share/nvidia/nvswitch/fabricmanager.cfg) with their values, as in the example below.
        Other keys stay. A key that is named no longer gets its former value back.
    type: dict
    default: {}
  imex_nodes:
    description:
      - Addresses of all hosts of the NVLink domain. Without them IMEX is installed and not started, because NVIDIA's
        DRA driver may run it.
    type: list
    elements: str
    default: []
  gridd_config:
    description:
      - Keys of C(/etc/nvidia/gridd.conf) with their values, as in the example below.
    type: dict
    default: {}
  gridd_token:
    description:
      - Text of the client configuration token of the licence server. It is written for root alone.
    type: str
    default: ''
  service_timeout:
    description:
      - Seconds to wait until services do their work. That is a fabric that is configured, an IMEX daemon that is ready,
        a licence, and persistence mode.
    type: int
    default: 180
  repository_url:
    description:
      - Address of the CUDA repositories, above the directory of the distribution. Empty means NVIDIA's.
    type: str
    default: ''
  repository_key_url:
    description:
      - Address of the repository's key. Empty means the key file that NVIDIA has in the repository.
    type: str
    default: ''
  repository_key_fingerprint:
    description:
      - The whole fingerprint of that key. Empty means NVIDIA's. A key with another fingerprint is refused.
    type: str
    default: ''
extends_documentation_fragment:
  - gpu.fleet._attributes
  - gpu.fleet._host_root
  - gpu.fleet._plan
requirements:
  - nvidia-ml-py on the host or on the controller, which sends its own copy where the host has none
seealso:
  - module: gpu.fleet.driver_modules
author:
  - gpu.fleet contributors (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Install the production branch and keep its version
  gpu.fleet.driver:

- name: Install the last branch that drives Volta, from a mirror
  gpu.fleet.driver:
    branch: '580'
    repository_url: https://mirror.example.org/cuda/repos

- name: Install driver and fabric manager of an HGX host, in one version, with GPUDirect Storage
  gpu.fleet.driver:
    components:
      gds: true
    fabric_manager_config:
      FABRIC_MODE: 0
    module_parameters:
      nvidia:
        NVreg_EnableStreamMemOPs: 1

- name: Licence a vGPU guest
  gpu.fleet.driver:
    source: preinstalled
    gridd_token: "{{ lookup('ansible.builtin.file', 'client_configuration_token.tok') }}"
    gridd_config:
      FeatureType: 4

- name: Remove what was installed
  gpu.fleet.driver:
    state: absent
"""

RETURN = r"""
plan:
  description: What was, or in check mode would be, done.
  type: dict
  returned: always
  contains:
    steps:
      description: Ordered changes with C(action), C(target), C(before), C(after), C(reason), C(disrupts).
      type: list
      elements: dict
      sample:
        - action: install
          target: nvidia-kernel-open-dkms
          before:
          after: 595.71.05-1
          reason: it is not installed
          disrupts: nothing
    disrupts:
      description: The worst of the steps.
      type: str
      sample: nothing
    calls:
      description: The modules with their arguments that carry the steps out.
      type: list
      elements: dict
    packages:
      description: Names of packages by what happens to them.
      type: dict
      sample:
        install: [nvidia-driver-cuda, nvidia-kernel-open-dkms, nvidia-persistenced]
        remove: []
        hold: [nvidia-driver-cuda, nvidia-kernel-open-dkms, nvidia-persistenced]
        unhold: []
findings:
  description: Disagreements found, each with both sides and a remedy.
  type: list
  elements: dict
  returned: always
version:
  description: Version of the driver that is, or will be, installed.
  type: str
  returned: always
  sample: 595.71.05
flavour:
  description: Its kernel modules, V(open) or V(proprietary).
  type: str
  returned: always
  sample: open
reboot_required:
  description: Whether only a reboot can bring the loaded driver to what is installed.
  type: bool
  returned: always
ignored:
  description: Why the host has nothing to do here. Empty where it has.
  type: str
  returned: always
  sample: no NVIDIA GPU on the PCI bus (/sys/bus/pci/devices)
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._act.ownership import Ownership, OwnershipError, RootRefused, record_below
from ..module_utils._ansible import fetch, runner
from ..module_utils._observe.ask import ask_manager
from ..module_utils._observe.disk import DiskError
from ..module_utils._observe.driver_host import read_driver_host, with_holders
from ..module_utils._observe.driver_proof import read_driver_proof, settled_proof
from ..module_utils._observe.files import HostRoot
from ..module_utils._observe.nvml import HelperMissing
from ..module_utils._observe.repository_key import KeyRefused
from ..module_utils._observe.rpm import NoRpm
from ..module_utils._plan.driver import DriverDecision, decide_driver, what_to_prove
from ..module_utils._plan.driver_proof import is_pending, judge_proof
from ..module_utils._plan.driver_set import ROLE
from ..module_utils._plan.driver_wish import DriverWish, WrongOption, driver_wish
from ..module_utils._plan.modules import SERVER
from ..module_utils._plan.removal_order import RECORDS, find_not_removed
from ..module_utils._planned import end_planned, planned_result

# Compiled modules first; where nobody offers them, what DKMS builds.
MOST_QUESTIONS = 2

OPTIONS: dict[str, Any] = {
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "source": {"type": "str", "default": "auto"},
    "precompiled": {"type": "str", "default": "auto"},
    "branch": {"type": "str", "default": ""},
    "version": {"type": "str", "default": ""},
    "flavour": {"type": "str", "choices": ["auto", "open", "proprietary"], "default": "auto"},
    "package_set": {"type": "str", "choices": ["compute", "full"], "default": "compute"},
    "hold": {"type": "bool", "default": True},
    "persistenced": {"type": "bool", "default": True},
    "kernel_headers": {"type": "bool", "default": True},
    "load": {"type": "bool", "default": True},
    "modules": {"type": "list", "elements": "str", "default": list(SERVER)},
    "components": {"type": "dict", "default": {}},
    "module_parameters": {"type": "dict", "default": {}},
    "blacklist_nouveau": {"type": "bool", "default": True},
    "fabric_manager_config": {"type": "dict", "default": {}},
    "imex_nodes": {"type": "list", "elements": "str", "default": []},
    "gridd_config": {"type": "dict", "default": {}},
    "gridd_token": {"type": "str", "default": "", "no_log": True},
    "service_timeout": {"type": "int", "default": 180},
    "repository_url": {"type": "str", "default": ""},
    "repository_key_url": {"type": "str", "default": "", "no_log": False},
    "repository_key_fingerprint": {"type": "str", "default": "", "no_log": False},
    "host_root": {"type": "path", "default": "/"},
}


def decide(wish: DriverWish, module: AnsibleModule, record: Ownership) -> DriverDecision:
    """Observes and decides; asks the package manager in between where packages lack, proves where nothing does."""
    host, run = HostRoot(module.params["host_root"]), runner(module)
    before = {name: row.get("before") for name, row in record.objects.items()}
    found = read_driver_host(host, run, wish, owned=tuple(record.objects), before=before)
    decision = decide_driver(wish, found)
    for _question in range(MOST_QUESTIONS):
        if decision.ask is None:
            break
        answer = ask_manager(host, run, decision.ask, fetch=fetch)
        decision = decide_driver(wish, with_holders(host, run, found), answer=answer)
    if wish.state == "absent" and decision.work.steps:
        records = {name.removesuffix(".json") for name in host.names(RECORDS)}
        decision = decision.with_findings(find_not_removed(ROLE, records, planned=module.check_mode))
    wanted = what_to_prove(wish, found, decision)
    if wanted is None:
        return decision
    proof = settled_proof(
        lambda: read_driver_proof(host, run, wanted),
        lambda seen: is_pending(seen, wanted),
        timeout=wish.parts.service_timeout,
    )
    return decision.with_findings(judge_proof(proof, wanted))


def result_of(decision: DriverDecision) -> dict[str, Any]:
    """The module's result."""
    return {
        **planned_result(decision.work),
        "version": decision.version,
        "flavour": decision.flavour,
        "reboot_required": decision.reboot_required,
        "ignored": decision.ignored,
    }


def main() -> None:
    """Decides, records what will be ours, and answers with the calls that bring it about."""
    module = AnsibleModule(argument_spec=OPTIONS, supports_check_mode=True)
    try:
        wish = driver_wish(module.params)
        record = record_below(module.params["host_root"], ROLE, check_mode=module.check_mode)
        decision = decide(wish, module, record)
    except HelperMissing as error:
        module.fail_json(msg=str(error), missing_helpers=["pynvml"])
    except (WrongOption, KeyRefused, NoRpm, OwnershipError, RootRefused, DiskError) as error:
        module.fail_json(msg=str(error))
    end_planned(module, decision.work, result_of(decision), record)


if __name__ == "__main__":
    main()
