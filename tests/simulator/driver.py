# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The nvidia driver of a simulated host: what appears when its modules are loaded and goes when they are removed."""

from __future__ import annotations

import errno
import fcntl
import shutil
from collections.abc import Callable
from pathlib import Path

from simulator import damage, kernel_log, probe
from simulator.driver_tree import driver_files, driver_folders, switch_files
from simulator.files import link, write_in_place, write_tree
from simulator.health import LOST_WITH_RESET
from simulator.kernel_modules import Information, Refused
from simulator.models import MODELS
from simulator.place import Place
from simulator.state import State, edit, read

# Character devices by module. GPUs have 195 always; 238 and 511 are what a kernel happened to give.
DEVICES = {
    "nvidia": ("195 nvidia", "195 nvidiactl", "237 nvidia-nvlink", "238 nvidia-caps", "239 nvidia-caps-imex-channels"),
    "nvidia_modeset": ("195 nvidia-modeset",),
    "nvidia_uvm": ("511 nvidia-uvm",),
}
CLIENTS = (".clients", ".holders")  # locks that open NVML sessions and the persistence daemon hold


def check_start(place: Place, information: Information) -> None:
    """Raises Refused(ENODEV) on a machine without a GPU that the module drives; the kernel log says why."""
    state, flavour = read(place.state), _flavour(information)
    kernel_log.write(place, probe.banner(information.version, flavour))
    refused = probe.refused(state, information.version, flavour)
    for text in (*refused.values(), probe.failed(len(refused), len(state.gpus))):
        kernel_log.write(place, text, level=kernel_log.ERROR)
    if len(refused) == len(state.gpus):
        raise Refused(errno.ENODEV)


def _flavour(information: Information) -> str:
    return "open" if "MIT" in information.license else "proprietary"


def start(place: Place, information: Information, options: str) -> None:
    """The nvidia module has been loaded."""
    with edit(place.state) as state:
        state.driver = (information.version, _flavour(information))
    show(place, state, options)


def show(place: Place, state: State, options: str) -> None:
    """Lays /proc/driver and the driver links of the GPUs."""
    write_tree(place.driver, driver_files(state, options))
    write_tree(place.driver, switch_files(state))
    for folder in driver_folders(state):
        (place.driver / folder).mkdir(parents=True, exist_ok=True)
    bus = place.sys / "bus/pci"
    (bus / "drivers/nvidia").mkdir(parents=True, exist_ok=True)
    refused = probe.refused(state, *state.driver) if state.driver else {}
    for gpu in (gpu for gpu in state.gpus if gpu["bus"] not in refused):
        link(bus / "devices" / gpu["bus"] / "driver", "../../drivers/nvidia")
        link(bus / "drivers/nvidia" / gpu["bus"], f"../../devices/{gpu['bus']}")


def check_stop(place: Place) -> None:
    """Raises Refused(EAGAIN) while a process holds a GPU."""
    if read(place.state).processes or any(_is_held(place.state.with_name(f"state{suffix}")) for suffix in CLIENTS):
        raise Refused(errno.EAGAIN)


def stop(place: Place) -> None:
    """The nvidia module is being removed: instances and volatile settings are lost. Device files stay."""
    with edit(place.state) as state:
        forget(state)
    for name in ("nvidia", "nvidia-caps", "nvidia-nvswitch"):
        shutil.rmtree(place.driver / name, ignore_errors=name == "nvidia-nvswitch" and not state.switches)
    bus = place.sys / "bus/pci"
    for gpu in state.gpus:
        (bus / "devices" / gpu["bus"] / "driver").unlink(missing_ok=True)
    shutil.rmtree(bus / "drivers/nvidia")


def forget(state: State) -> None:
    """What a GPU loses with its driver. Ampere keeps its MIG mode in the InfoROM; pending modes become active."""
    state.driver = None
    state.instances.clear()
    state.compute.clear()
    state.processes.clear()
    for gpu in state.gpus:
        kept = gpu["pending"] if MODELS[gpu["model"]].mig_needs_reset else "0"
        gpu.update({"mig": kept, "pending": kept, "persistence": "0", "client": "0"})
    _forget_health(state)
    damage.reset_fabrics(state)


def _forget_health(state: State) -> None:
    """As gpu_forget in nvml/setting.c for all GPUs."""
    for row in state.health:
        for key in LOST_WITH_RESET:
            row.pop(key, None)
        if "ecc_pending" in row:
            row["ecc"] = row["ecc_pending"]
    for row in (*state.ecc, *state.links):
        row.update({key: "0" for key in ("volatile", *damage.LINK_COUNTERS) if key in row})
    state.health[:] = [row for row in state.health if len(row) > 1]
    state.ecc[:] = [row for row in state.ecc if int(row["aggregate"])]
    state.links[:] = [row for row in state.links if int(row.get("down", "0"))]


def add_devices(place: Place, module: str) -> None:
    """Enters the module's character devices into /proc/devices."""
    _rewrite_devices(place, lambda lines: [*DEVICES.get(module, ()), *lines])


def remove_devices(place: Place, module: str) -> None:
    """Takes them out again."""
    gone = DEVICES.get(module, ())
    _rewrite_devices(place, lambda lines: [line for line in lines if line.strip() not in gone])


def _rewrite_devices(place: Place, change: Callable[[list[str]], list[str]]) -> None:
    head, _sign, blocks = place.devices.read_text().partition("\n\n")
    title, *lines = head.splitlines()
    rows = sorted(change(lines), key=lambda line: int(line.split()[0]))
    text = "\n".join([title, *(f"{row.split()[0]:>3} {row.split()[1]}" for row in rows)])
    write_in_place(place.devices, f"{text}\n\n{blocks}")


def _is_held(lock: Path) -> bool:
    if not lock.exists():
        return False
    with lock.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
