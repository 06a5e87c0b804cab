# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When a CDI spec does not fit its host any more."""

from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._plan.cdi_host import Gpu, MigDevice
from ansible_collections.gpu.fleet.plugins.module_utils._plan.cdi_stale import SpecFacts, stale_because

LIBRARY = "/usr/lib/libcuda.so.570.1"
HOOK = {
    "hookName": "createContainer",
    "path": "/usr/bin/nvidia-cdi-hook",
    "args": ["h", "enable-cuda-compat", "--host-driver-version=570.1"],
}
MIG = MigDevice(0, "MIG-a", 1, 0, "1g.10gb")


def node(minor, major=195):
    return {"path": f"/dev/nvidia{minor}", "major": major, **({"minor": minor} if minor else {})}


FIRST = node(0)


def spec(version="0.5.0", names=("0", "GPU-a"), nodes=(FIRST,), hooks=(HOOK,)):
    devices = [{"name": n, "containerEdits": {"deviceNodes": list(nodes)}} for n in names]
    mounts = [{"hostPath": LIBRARY, "containerPath": LIBRARY}]
    common = {"mounts": mounts, "hooks": list(hooks)}
    return {"cdiVersion": version, "kind": "nvidia.com/gpu", "devices": devices, "containerEdits": common}


def gpu(index=0, uuid="GPU-a", migs=None):
    return Gpu(index, index, uuid, "L40S", f"0000:4{index}:00.0", migs is not None, tuple(migs or ()))


def facts(**changes):
    return SpecFacts(**{"driver_version": "570.1", "nodes": {"/dev/nvidia0": (195, 0)}, "gpus": (gpu(),), **changes})


CASES = {
    "fits": (spec(), facts(), []),
    "NVML was not asked": (spec(names=("0", "1")), facts(gpus=None), []),
    "the driver was upgraded": (spec(), facts(driver_version="580.2"), ["driver_version"]),
    "no driver is loaded": (spec(), facts(driver_version=None), []),
    "the major moved": (spec(nodes=(node(0, 510),)), facts(), ["device_major"]),
    "a node is gone": (spec(), facts(nodes={"/dev/nvidia0": None}), ["device_missing"]),
    "a GPU is new": (spec(), facts(gpus=(gpu(), gpu(1, "GPU-b"))), ["device_missing"]),
    "a GPU is another one": (spec(), facts(gpus=(gpu(0, "GPU-z"),)), ["device_missing"]),
    "MIG was switched on": (spec(), facts(gpus=(gpu(migs=[MIG]),)), ["mig_layout"]),
    "MIG is as it was": (spec(names=("0:0", "MIG-a")), facts(gpus=(gpu(migs=[MIG]),)), []),
    "MIG is as it was, by index": (spec(names=("mig0:0",), version="0.3.0"), facts(gpus=(gpu(migs=[MIG]),)), []),
    "a MIG device is gone": (
        spec(names=("0:0", "MIG-a", "0:1", "MIG-b")),
        facts(gpus=(gpu(migs=[MIG]),)),
        ["mig_layout"],
    ),
    "only all": (spec(names=("all",), version="0.3.0"), facts(gpus=(gpu(5, "GPU-z"),)), []),
    "the hook is gone": (spec(), facts(missing_hooks=("/usr/bin/nvidia-cdi-hook",)), ["hook_missing"]),
    "a library is gone": (spec(), facts(missing_files=(LIBRARY,)), ["library_missing"]),
    "version too low": (spec(version="0.3.0"), facts(), ["spec_version"]),
    "the kernel gave up the major": (spec(), facts(majors={"/dev/nvidia0": 196}), ["device_major"]),
    "the kernel has the major": (spec(), facts(majors={"/dev/nvidia0": 195}), []),
    "newer than the engine reads": (spec(version="0.8.0"), facts(readers={"containerd": "0.6.0"}), ["spec_version"]),
    "as new as the engine reads": (spec(version="0.6.0"), facts(readers={"containerd": "0.6.0"}), []),
    "version unknown": (spec(version="9.9.9"), facts(), ["spec_version"]),
    "everything": (
        spec(version="0.3.0", nodes=(node(0, 1), node(1))),
        facts(driver_version="1.2", nodes={"/dev/nvidia0": (195, 0), "/dev/nvidia1": None}, missing_files=("/a",)),
        ["driver_version", "device_major", "device_missing", "library_missing", "spec_version"],
    ),
}


@pytest.mark.parametrize(("document", "found", "reasons"), CASES.values(), ids=CASES)
def test_reasons(document, found, reasons):
    assert [s.reason for s in stale_because(document, found)] == reasons


def test_version_is_read_from_libraries_too():
    stale = stale_because(spec(hooks=()), facts(driver_version="580.2"))
    assert [(s.reason, s.found) for s in stale] == [("driver_version", "570.1 (in the spec)")]
