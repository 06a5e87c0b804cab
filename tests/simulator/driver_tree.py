# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a loaded nvidia module shows below /proc/driver, as path -> text. Texts as recorded from real hosts."""

from __future__ import annotations

from simulator.models import MODELS
from simulator.state import Record, State

PARAMETERS = {
    "ResmanDebugLevel": "4294967295",
    "RmLogonRC": "1",
    "ModifyDeviceFiles": "1",
    "DeviceFileUID": "0",
    "DeviceFileGID": "0",
    "DeviceFileMode": "438",
    "InitializeSystemMemoryAllocations": "1",
    "UsePageAttributeTable": "4294967295",
    "EnableMSI": "1",
    "EnablePCIeGen3": "0",
    "MemoryPoolSize": "0",
    "KMallocHeapMaxSize": "0",
    "VMallocHeapMaxSize": "0",
    "IgnoreMMIOCheck": "0",
    "EnableStreamMemOPs": "0",
    "EnableUserNUMAManagement": "1",
    "NvLinkDisable": "0",
    "RmProfilingAdminOnly": "1",
    "PreserveVideoMemoryAllocations": "0",
    "EnableS0ixPowerManagement": "0",
    "S0ixPowerManagementVideoMemoryThreshold": "256",
    "DynamicPowerManagement": "3",
    "DynamicPowerManagementVideoMemoryThreshold": "200",
    "RegisterPCIDriver": "1",
    "EnablePCIERelaxedOrderingMode": "0",
    "EnableResizableBar": "0",
    "EnableGpuFirmware": "18",
    "EnableGpuFirmwareLogs": "2",
    "EnableDbgBreakpoint": "0",
    "OpenRmEnableUnsupportedGpus": "1",
    "DmaRemapPeerMmio": "1",
    "ImexChannelCount": "2048",
    "CreateImexChannel0": "0",
    "GrdmaPciTopoCheckOverride": "0",
    "RegistryDwords": '""',
    "RegistryDwordsPerDevice": '""',
    "RmMsg": '""',
    "GpuBlacklist": '""',
    "TemporaryFilePath": '""',
    "ExcludedGpus": '""',
}
# Module options whose name in params differs.
RENAMED = {"RestrictProfilingToAdminUsers": "RmProfilingAdminOnly"}
GPU_SLOTS, GI_SLOTS, CI_SLOTS = 32, 15, 8


def driver_files(state: State, options: str) -> dict[str, str]:
    """Path below /proc/driver -> text. `options` is the module's option string, such as `NVreg_DeviceFileMode=432`."""
    if state.driver is None:
        raise ValueError("the state has no loaded driver: load one before asking for its files")
    version, flavour = state.driver
    files = {
        "nvidia/version": _banner(version, flavour),
        "nvidia/params": _parameters(options),
        "nvidia/registry": 'Binary: ""\n',
        "nvidia/capabilities/mig/config": _capability(1, 0o400),
        "nvidia/capabilities/mig/monitor": _capability(2, 0o444),
        "nvidia-caps/mig-minors": _mig_minors(),
    }
    for number, gpu in enumerate(state.gpus):
        files.update(_gpu_files(gpu, version, irq=100 + number))
    return files


def switch_files(state: State) -> dict[str, str]:
    """Path below /proc/driver -> text, for the NVSwitches; none without them (procfs_nvswitch.c of the open driver)."""
    if not state.switches:
        return {}
    files = {"nvidia-nvswitch/permissions": "DeviceFileMode: 438\nDeviceFileUID: 0\nDeviceFileGID: 0\n"}
    for number, row in enumerate(state.switches):
        text = f"BIOS Version: 96.10.6D.00.01\nUUID: {row['uuid']}\nDevice Minor: {number}\n"
        files[f"nvidia-nvswitch/devices/{row['bus']}/information"] = text
    return files


def driver_folders(state: State) -> list[str]:
    """Folders below /proc/driver that may be empty: instances appear in them."""
    capable = [gpu for gpu in state.gpus if MODELS[gpu["model"]].mig_units]
    return [f"nvidia/capabilities/gpu{gpu['minor']}/mig" for gpu in capable]


def _banner(version: str, flavour: str) -> str:
    module = {
        "open": f"NVIDIA UNIX Open Kernel Module for x86_64  {version}  Release Build  (dvs-builder@U22-I3-AE18-09-6)",
        "proprietary": f"NVIDIA UNIX x86_64 Kernel Module  {version}",
    }[flavour]
    compiler = "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14+deb12u1)"
    return f"NVRM version: {module}  Tue Jul  8 03:24:41 UTC 2025\n{compiler}\n"


def _parameters(options: str) -> str:
    values = dict(PARAMETERS)
    for option in options.split():
        name, _sign, value = option.removeprefix("NVreg_").partition("=")
        name = RENAMED.get(name, name)
        if option.startswith("NVreg_") and name in values:
            values[name] = f'"{value}"' if values[name].startswith('"') else str(int(value, 0))
    return "".join(f"{name}: {value}\n" for name, value in values.items())


def _capability(minor: int, mode: int) -> str:
    return f"DeviceFileMinor: {minor}\nDeviceFileMode: {mode}\nDeviceFileModify: 1\n"


def _mig_minors() -> str:
    lines, minor = ["config 1", "monitor 2"], 3
    for gpu in range(GPU_SLOTS):
        for instance in range(GI_SLOTS):
            lines.append(f"gpu{gpu}/gi{instance}/access {minor}")
            lines += [f"gpu{gpu}/gi{instance}/ci{ci}/access {minor + 1 + ci}" for ci in range(CI_SLOTS)]
            minor += 1 + CI_SLOTS
    return "".join(f"{line}\n" for line in lines)


def _gpu_files(gpu: Record, version: str, irq: int) -> dict[str, str]:
    model = MODELS[gpu["model"]]
    width = 52 if model.architecture >= 9 else 47
    rows = (
        ("Model: \t\t", model.name),
        ("IRQ:   \t\t", irq),
        ("GPU UUID: \t", gpu["uuid"]),
        ("Video BIOS: \t", model.vbios),
        ("Bus Type: \t", "PCIe"),
        ("DMA Size: \t", f"{width} bits"),
        ("DMA Mask: \t", f"0x{(1 << width) - 1:x}"),
        ("Bus Location: \t", gpu["bus"]),
        ("Device Minor: \t", gpu["minor"]),
        ("GPU Firmware: \t", version),
        ("GPU Excluded:\t", "No"),
    )
    folder = f"nvidia/gpus/{gpu['bus']}"
    return {
        f"{folder}/information": "".join(f"{key} {value}\n" for key, value in rows),
        f"{folder}/power": "Runtime D3 status:          Disabled by default\nVideo Memory:               Active\n",
        f"{folder}/registry": 'Binary: ""\n',
    }
