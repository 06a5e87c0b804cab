# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads what proves a driver: NVML, fabric, licence, the kernels of the next boot. Private to this collection."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from .._catalog.components import GRIDD
from .._plan.driver_proof import DriverProof, Wanted
from .command import Run
from .driver_version import read_module_on_disk
from .files import HostRoot
from .gpus import read_fabric
from .nvml import Nvml, NvmlFailure, open_nvml, sysfs_address, text_of
from .nvml_reader import NvmlReader
from .texts.gridd import read_gridd_log
from .texts.imex import read_imex
from .texts.kernel_log import read_kernel_log
from .validation import read_pci_gpus

PAUSE_SECONDS = 2.0


def read_driver_proof(host: HostRoot, run: Run, wanted: Wanted) -> DriverProof:
    """One look. Raises HelperMissing where pynvml is nowhere."""
    pci, nvml = read_pci_gpus(host), _nvml_side()
    lost = [a for a in pci if a not in nvml.get("nvml_gpus", ())] if not nvml.get("nvml_error") else []
    licence, cause = read_licence(run) if GRIDD in wanted.components else (None, None)
    return DriverProof(
        pci_gpus=pci,
        kernel_log=read_last_messages(run, lost) if lost else {},
        imex=read_imex_state(run) if wanted.imex else None,
        licence=licence,
        licence_cause=cause,
        kernels=read_kernels(host, run),
        **nvml,
    )


def settled_proof(
    read: Callable[[], DriverProof],
    pending: Callable[[DriverProof], bool],
    *,
    timeout: float,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> DriverProof:
    """Looks again until nothing is pending, for ``timeout`` seconds at most; the last look."""
    end = clock() + timeout
    proof = read()
    while pending(proof) and clock() < end:
        sleep(PAUSE_SECONDS)
        proof = read()
    return proof


def _nvml_side() -> dict[str, Any]:
    try:
        with open_nvml() as nvml:
            version = text_of(nvml.call("nvmlSystemGetDriverVersion")) or ""
            handles = [g for g in nvml.gpus() if not isinstance(g, NvmlFailure)]
            rows = [(sysfs_address(nvml.call("nvmlDeviceGetPciInfo", g).busId), g) for g in handles]
            return {
                "nvml_version": version,
                "nvml_gpus": tuple(address for address, _handle in rows),
                "fabric": {address: _fabric_state(nvml, g) for address, g in rows},
                "persistence": {a: m for a, m in ((a, _persistence(nvml, g)) for a, g in rows) if m is not None},
            }
    except NvmlFailure as failure:
        return {"nvml_error": str(failure)}


def _fabric_state(nvml: Nvml, handle: Any) -> str | None:
    found = read_fabric(NvmlReader(nvml, handle))
    return found["state"] if found else None


def _persistence(nvml: Nvml, handle: Any) -> bool | None:
    """None for a GPU without such a mode."""
    mode = nvml.ask("nvmlDeviceGetPersistenceMode", handle)
    return None if mode is None else bool(mode)


def read_last_messages(run: Run, addresses: Sequence[str]) -> dict[str, str]:
    """Address -> the last message of the kernel or the driver about that GPU in this boot."""
    _status, text, _errors = run(["journalctl", "--dmesg", "--boot", "--no-pager", "--output=short"])
    if not text.strip():
        _status, text, _errors = run(["dmesg"])
    events = read_kernel_log(text)["events"]
    found = {}
    for address in addresses:
        about = [e["text"] for e in events if e.get("pci") and _same_bus(e["pci"], address)]
        lines = [line.strip() for line in text.splitlines() if address in line]
        if about or lines:
            found[address] = (about or lines)[-1]
    return found


def _same_bus(printed: str, address: str) -> bool:
    """An Xid names a GPU without its function, and some messages with a longer domain."""
    return printed.lower().partition(".")[0].endswith(address.partition(".")[0][-len("0000:41:00") :])


def read_imex_state(run: Run) -> str | None:
    """The daemon's word, None where it does not answer."""
    _status, text, _errors = run(["nvidia-imex-ctl", "-q"])
    return read_imex(text)["daemon"]


def read_licence(run: Run) -> tuple[str | None, str | None]:
    """What the journal of this boot says of the licence, and why there is none."""
    _status, text, _errors = run(
        ["journalctl", "--unit=nvidia-gridd", "--boot", "--no-pager", "--output=short", "--quiet"]
    )
    found = read_gridd_log(text)
    return found["license"], found["cause"]


def read_kernels(host: HostRoot, run: Run) -> dict[str, str | None]:
    """Every kernel that can be booted -> version of the nvidia module that it would load, None for none."""
    releases = [r for r in host.names("/lib/modules") if host.exists(f"/lib/modules/{r}/modules.dep")]
    bootable = [r for r in releases if host.exists(f"/boot/vmlinuz-{r}") or host.exists(f"/lib/modules/{r}/vmlinuz")]
    modules = {r: read_module_on_disk(host, run, release=r) for r in bootable}
    return {r: m.version if m else None for r, m in modules.items()}
