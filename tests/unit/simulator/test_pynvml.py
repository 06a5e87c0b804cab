# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every function of nvidia-ml-py that the simulated NVML claims to have, called once through nvidia-ml-py."""

from __future__ import annotations

import re
from pathlib import Path

import pynvml

from simulator.build import artifact_dir
from simulator.layout import machine_state
from simulator.sandbox import Sandbox

# Two H100 behind switches; the second in MIG mode with a 3g instance, in which process 77 runs.
MACHINE = machine_state(["H100-80"] * 2, "host", nvlink="switch")
SETUP = """
a, b = gpu(0), gpu(1)
nvmlDeviceSetMigMode(b, 1)
gi = make(9, 4, b)
nvmlGpuInstanceCreateComputeInstance(gi, 0)
m = nvmlDeviceGetMigDeviceHandleByIndex(b, 0)

def sized(function, kind, *arguments):
    count = c_uint()
    try:
        function(*arguments, None, byref(count))
    except NVMLError:
        pass
    rows = (kind * count.value)()
    function(*arguments, rows, byref(count))
    return list(rows)

def listed(function, kind, *arguments):
    count, rows = c_uint(), (kind * 16)()
    function(*arguments, rows, byref(count))
    return list(rows)[: count.value]

placements = lambda d, p: sized(nvmlDeviceGetGpuInstancePossiblePlacements, c_nvmlGpuInstancePlacement_t, d, p)
ask = nvmlGpuInstanceGetComputeInstancePossiblePlacements
ci_placements = lambda i, p: sized(ask, c_nvmlComputeInstancePlacement_t, i, p)
instances = lambda d, p: listed(nvmlDeviceGetGpuInstances, c_nvmlGpuInstance_t, d, p)
ci_list = lambda i, p: listed(nvmlGpuInstanceGetComputeInstances, c_nvmlComputeInstance_t, i, p)
gi_place = lambda start, size: byref(c_nvmlGpuInstancePlacement_t(start, size))
ci_place = lambda start, size: byref(c_nvmlComputeInstancePlacement_t(start, size))
ci_start = lambda i: nvmlComputeInstanceGetInfo_v2(i).placement.start
"""
# Call -> answer, in this order; NVML's refusals as {"code": n}.
CALLS = {
    "nvmlInitWithFlags(0)": None,
    "nvmlShutdown()": None,
    "nvmlErrorString(15)": "GPU is lost",
    "nvmlSystemGetDriverVersion()": "620.10",
    "nvmlSystemGetNVMLVersion()": "13.620.10",
    "nvmlSystemGetCudaDriverVersion()": 13050,
    "nvmlSystemGetCudaDriverVersion_v2()": 13050,
    "nvmlSystemGetDriverBranch().branch": "r620_00",
    "nvmlSystemGetProcessName(77)": "python3",
    "nvmlSystemGetHicVersion()": [],
    "nvmlUnitGetCount()": 0,
    "nvmlGetExcludedDeviceCount()": 0,
    "nvmlDeviceGetCount()": 2,
    "nvmlDeviceGetIndex(nvmlDeviceGetHandleByIndex(1))": 1,
    "nvmlDeviceGetIndex(nvmlDeviceGetHandleBySerial(nvmlDeviceGetSerial(b)))": 1,
    "nvmlDeviceGetIndex(nvmlDeviceGetHandleByUUID(nvmlDeviceGetUUID(b)))": 1,
    "nvmlDeviceGetIndex(nvmlDeviceGetHandleByUUIDV(nvmlDeviceGetUUID(b), NVML_UUID_TYPE_ASCII))": 1,
    'nvmlDeviceGetIndex(nvmlDeviceGetHandleByPciBusId("00000000:51:00.0"))': 1,
    "nvmlDeviceGetName(a)": "NVIDIA H100 80GB HBM3",
    "nvmlDeviceGetBoardId(a)": 16640,
    "nvmlDeviceGetMultiGpuBoard(a)": 0,
    "nvmlDeviceGetBrand(a)": 14,
    "nvmlDeviceGetC2cModeInfoV1(a)": {"code": 3},
    "nvmlDeviceGetBoardPartNumber(a)": "692-2G520-0200-000",
    "nvmlDeviceGetModuleId(a)": 1,
    "nvmlDeviceGetMemoryAffinity(a, 1, 0)": [1],
    "nvmlDeviceGetCpuAffinity(a, 2)": [4294967295, 4294967295],
    "nvmlDeviceGetCpuAffinityWithinScope(a, 2, 1)": [4294967295, 4294967295],
    "nvmlDeviceGetNumaNodeId(a)": {"code": 3},
    "nvmlDeviceGetAddressingMode(a)": 0,
    "nvmlDeviceGetMinorNumber(a)": 0,
    "nvmlDeviceGetInforomVersion(a, 1)": "6.16",
    "nvmlDeviceGetInforomImageVersion(a)": "G520.0200.00.04",
    "nvmlDeviceGetInforomConfigurationChecksum(a)": 904986624,
    "nvmlDeviceValidateInforom(a)": None,
    "nvmlDeviceGetDisplayMode(a)": {"code": 26},
    "nvmlDeviceGetDisplayActive(a)": 0,
    "nvmlDeviceGetPersistenceMode(a)": 0,
    "filled(nvmlDeviceGetPciInfoExt, nvmlPciInfoExt_v1_t(nvmlPciInfoExt_v1), a).busId": "00000000:41:00.0",
    "nvmlDeviceGetPciInfo_v3(a).busId": "00000000:41:00.0",
    "nvmlDeviceGetClockInfo(a, 1)": 345,
    "nvmlDeviceGetMaxClockInfo(a, 2)": 2619,
    "nvmlDeviceGetApplicationsClock(a, 0)": 1980,
    "nvmlDeviceGetMaxCustomerBoostClock(a, 0)": 1980,
    "nvmlDeviceGetClock(a, 0, 0)": 345,
    "nvmlDeviceGetDefaultApplicationsClock(a, 2)": 2619,
    "nvmlDeviceGetSupportedMemoryClocks(a)": [2619],
    "nvmlDeviceGetSupportedGraphicsClocks(a, 2619)[:3]": [1980, 1965, 1950],
    "nvmlDeviceGetFanSpeed(a)": {"code": 3},
    "nvmlDeviceGetFanSpeed_v2(a, 0)": {"code": 3},
    "nvmlDeviceGetNumFans(a)": 0,
    "nvmlDeviceGetTemperature(a, 0)": 34,
    "nvmlDeviceGetTemperatureV1(a, 0)": 34,
    "nvmlDeviceGetTemperatureThreshold(a, 1)": 92,
    "nvmlDeviceGetMarginTemperature(a)": 53,
    "nvmlDeviceGetThermalSettings(a, 0)[0].currentTemp": 34,
    "nvmlDeviceGetPowerState(a)": 0,
    "nvmlDeviceGetPerformanceState(a)": 0,
    "nvmlDeviceGetPowerManagementMode(a)": 1,
    "nvmlDeviceGetPowerManagementLimit(a)": 700000,
    "nvmlDeviceGetPowerManagementLimitConstraints(a)": [200000, 700000],
    "nvmlDeviceGetPowerManagementDefaultLimit(a)": 700000,
    "nvmlDeviceGetEnforcedPowerLimit(a)": 700000,
    "nvmlDeviceGetPowerUsage(a)": 71000,
    "nvmlDeviceGetPowerSource(a)": 0,
    "nvmlDeviceGetTotalEnergyConsumption(a) > 0": True,
    "nvmlDeviceGetMemoryInfo(a)": {"total": 85520809984, "free": 84983939072, "used": 536870912},
    "nvmlDeviceGetMemoryInfo(a, nvmlMemory_v2).reserved": 536870912,
    "nvmlDeviceGetBAR1MemoryInfo(a)": {"bar1Total": 137438953472, "bar1Free": 137437904896, "bar1Used": 1048576},
    "nvmlDeviceGetComputeMode(a)": 0,
    "nvmlDeviceGetCudaComputeCapability(a)": [9, 0],
    "nvmlDeviceGetEccMode(a)": [1, 1],
    "nvmlDeviceGetDefaultEccMode(a)": [1],
    "nvmlDeviceGetTotalEccErrors(a, 0, 0)": 0,
    "nvmlDeviceGetDetailedEccErrors(a, 0, 0)": {"l1Cache": 0, "l2Cache": 0, "deviceMemory": 0, "registerFile": 0},
    "nvmlDeviceGetMemoryErrorCounter(a, 0, 0, 2)": 0,
    "filled(nvmlDeviceGetSramEccErrorStatus, c_nvmlEccSramErrorStatus_v1_t(), a).aggregateCor": 0,
    "nvmlDeviceGetUtilizationRates(a)": {"gpu": 0, "memory": 0},
    "nvmlDeviceGetEncoderUtilization(a)": [0, 167000],
    "nvmlDeviceGetDecoderUtilization(a)": [0, 167000],
    "nvmlDeviceGetJpgUtilization(a)": [0, 167000],
    "nvmlDeviceGetOfaUtilization(a)": [0, 167000],
    "nvmlDeviceGetPcieReplayCounter(a)": 0,
    "nvmlDeviceGetPcieThroughput(a, 0)": 0,
    "nvmlDeviceGetPcieSpeed(a)": 32000,
    "nvmlDeviceGetPcieLinkMaxSpeed(a)": 5,
    "nvmlDeviceGetCurrPcieLinkGeneration(a)": 5,
    "nvmlDeviceGetMaxPcieLinkGeneration(a)": 5,
    "nvmlDeviceGetGpuMaxPcieLinkGeneration(a)": 5,
    "nvmlDeviceGetCurrPcieLinkWidth(a)": 16,
    "nvmlDeviceGetMaxPcieLinkWidth(a)": 16,
    "nvmlDeviceGetVbiosVersion(a)": "96.00.99.00.01",
    "nvmlDeviceGetComputeRunningProcesses_v2(a)": [],
    "[p.pid for p in nvmlDeviceGetComputeRunningProcesses_v3(b)]": [77],
    "nvmlDeviceGetGraphicsRunningProcesses_v2(a)": [],
    "nvmlDeviceGetGraphicsRunningProcesses_v3(b)": [],
    "nvmlDeviceGetMPSComputeRunningProcesses_v2(a)": [],
    "nvmlDeviceGetMPSComputeRunningProcesses_v3(b)": [],
    "[p.pid for p in nvmlDeviceGetRunningProcessDetailList(b, nvmlProcessDetailList_v1, 0)]": [77],
    "nvmlDeviceGetSupportedEventTypes(a)": 415,
    "nvmlEventSetFree(nvmlEventSetCreate())": None,
    "nvmlDeviceRegisterEvents(a, 8, nvmlEventSetCreate())": None,
    "nvmlEventSetWait_v2(nvmlEventSetCreate(), 0)": {"code": 10},
    "nvmlDeviceOnSameBoard(a, b)": False,
    "nvmlDeviceGetSupportedClocksEventReasons(a)": 511,
    "nvmlDeviceGetSupportedClocksThrottleReasons(a)": 511,
    "nvmlDeviceGetCurrentClocksEventReasons(a)": 1,
    "nvmlDeviceGetCurrentClocksThrottleReasons(a)": 1,
    "nvmlDeviceGetViolationStatus(a, 1).violationTime": 0,
    "nvmlDeviceGetRetiredPages(a, 0)": {"code": 3},
    "nvmlDeviceGetRetiredPages_v2(a, 0)": {"code": 3},
    "nvmlDeviceGetRetiredPagesPendingStatus(a)": {"code": 3},
    "nvmlDeviceGetRemappedRows(a)": [0, 0, 0, 0],
    "filled(nvmlDeviceGetRemappedRows_v2, c_nvmlRemappedRowsInfo_v2_t(), a).uncActiveRemaps": 0,
    "nvmlDeviceGetRowRemapperHistogram(a)": {"max": 2560, "high": 0, "partial": 0, "low": 0, "none": 0},
    "nvmlDeviceGetRepairStatus(a)": {"code": 3},
    "[nvmlDeviceGetIndex(d) for d in nvmlSystemGetTopologyGpuSet(0)]": [0, 1],
    "[nvmlDeviceGetIndex(d) for d in nvmlDeviceGetTopologyNearestGpus(a, 30)]": [1],
    "nvmlDeviceGetTopologyCommonAncestor(a, b)": 30,
    "nvmlDeviceGetP2PStatus(a, b, 0)": 5,
    "nvmlDeviceGetNvLinkState(a, 17)": 1,
    "nvmlDeviceGetNvLinkVersion(a, 0)": 6,
    "nvmlDeviceGetNvLinkCapability(a, 0, 0)": 1,
    "nvmlDeviceGetNvLinkErrorCounter(a, 0, 0)": 0,
    "nvmlDeviceResetNvLinkErrorCounters(a, 0)": None,
    "nvmlDeviceGetNvLinkRemotePciInfo(a, 1).busId": "00000000:C5:00.0",
    "nvmlDeviceGetNvLinkRemoteDeviceType(a, 0)": 2,
    "filled(nvmlDeviceGetGpuFabricInfo, c_nvmlGpuFabricInfo_t(), a).state": 1,
    "filled(nvmlDeviceGetGpuFabricInfoV, c_nvmlGpuFabricInfo_v3_t(), a).state": 1,
    "filled(nvmlDeviceGetPlatformInfo, c_nvmlPlatformInfo_v2_t(), a)": {"code": 3},
    "[f.value.uiVal for f in nvmlDeviceGetFieldValues(a, [91])]": [18],
    "nvmlDeviceGetVirtualizationMode(a)": 0,
    "nvmlDeviceGetGspFirmwareVersion(a)": "620.10",
    "nvmlDeviceGetGspFirmwareMode(a)": [1, 1],
    "nvmlDeviceGetArchitecture(a)": 9,
    "nvmlDeviceGetBusType(a)": 2,
    "nvmlDeviceGetIrqNum(a)": 100,
    "nvmlDeviceGetNumGpuCores(a)": 16896,
    "nvmlDeviceGetMemoryBusWidth(a)": 5120,
    "nvmlDeviceGetAdaptiveClockInfoStatus(a)": 0,
    "nvmlDeviceSetPersistenceMode(a, 1)": None,
    "nvmlDeviceSetComputeMode(a, 0)": None,
    "nvmlDeviceSetEccMode(a, 1)": None,
    "nvmlDeviceClearEccErrorCounts(a, 0)": None,
    "nvmlDeviceSetGpuLockedClocks(a, 345, 1980)": None,
    "nvmlDeviceResetGpuLockedClocks(a)": None,
    "nvmlDeviceSetMemoryLockedClocks(a, 0, 2619)": None,
    "nvmlDeviceResetMemoryLockedClocks(a)": None,
    "nvmlDeviceSetPowerManagementLimit(a, 500000)": None,
    "nvmlDeviceSetPowerManagementLimit_v2(a, 0, 700000)": 0,
    "nvmlDeviceSetMigMode(b, 1)": 0,
    "nvmlDeviceGetMigMode(b)": [1, 1],
    "nvmlDeviceGetMaxMigDeviceCount(b)": 7,
    "nvmlDeviceGetGpuInstanceProfileInfo(b, 2, version=1).memorySizeMB": 40448,
    "nvmlDeviceGetGpuInstanceProfileInfo(b, 2).name": "MIG 3g.40gb",
    "nvmlDeviceGetGpuInstanceProfileInfoById(b, 9).name": "MIG 3g.40gb",
    "nvmlDeviceGetGpuInstanceRemainingCapacity(b, 9)": 1,
    "[[p.start, p.size] for p in placements(b, 9)]": [[0, 4], [4, 4]],
    "nvmlGpuInstanceGetInfo(nvmlDeviceCreateGpuInstance(b, 14)).placement.start": 0,
    "nvmlGpuInstanceGetInfo(nvmlDeviceCreateGpuInstanceWithPlacement(b, 14, gi_place(2, 2))).id": 4,
    "[nvmlGpuInstanceGetInfo(i).id for i in instances(b, 9)]": [2],
    "nvmlGpuInstanceGetInfo(gi).profileId": 9,
    "nvmlGpuInstanceGetComputeInstanceProfileInfo(gi, 0, 0).name": "MIG 1c.3g.40gb",
    "nvmlGpuInstanceGetComputeInstanceRemainingCapacity(gi, 0)": 2,
    "[[p.start, p.size] for p in ci_placements(gi, 0)]": [[0, 1], [1, 1], [2, 1]],
    "nvmlComputeInstanceGetInfo_v2(nvmlGpuInstanceCreateComputeInstance(gi, 0)).id": 1,
    "ci_start(nvmlGpuInstanceCreateComputeInstanceWithPlacement(gi, 0, ci_place(2, 1)))": 2,
    "[nvmlComputeInstanceGetInfo_v2(i).id for i in ci_list(gi, 0)]": [0, 1, 2],
    "nvmlComputeInstanceDestroy(nvmlGpuInstanceGetComputeInstanceById(gi, 1))": 0,
    "nvmlGpuInstanceDestroy(nvmlDeviceGetGpuInstanceById(b, 4))": 0,
    "nvmlDeviceIsMigDeviceHandle(m)": 1,
    "nvmlDeviceGetGpuInstanceId(m)": 2,
    "nvmlDeviceGetComputeInstanceId(m)": 0,
    "nvmlDeviceGetIndex(nvmlDeviceGetDeviceHandleFromMigDeviceHandle(m))": 1,
    "nvmlDeviceGetAttributes_v2(m).multiprocessorCount": 16,
}


def test_answers(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, MACHINE, driver="620.10")
    with box.session() as session:
        session.ask(SETUP)
        box.process(gpu=1, pid=77, gi=2, ci=0)
        found = {call: session.value(call) for call in CALLS}
    assert found == CALLS


def test_every_claimed_function_is_called() -> None:
    claimed = set((artifact_dir() / "simulated.txt").read_text().split())
    wrappers = {
        found[1]: set(re.findall(r'_nvmlGetFunctionPointer\("(\w+)"', text))
        for text in re.split(r"\n(?=def )", Path(pynvml.__file__).read_text())
        if (found := re.match(r"def (nvml\w+)\(", text))
    }
    called = set(re.findall(r"nvml[A-Z]\w+", " ".join([*CALLS, SETUP])))
    assert len(claimed) > 150
    assert {name for name, symbols in wrappers.items() if symbols & claimed} - called == set()
