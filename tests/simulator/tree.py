# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of a simulated machine below one folder, for tests with another host root and for runs without root."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

from simulator import driver, kernel_modules, probe
from simulator.files import write_tree
from simulator.kernel_modules import Information
from simulator.models import MODELS
from simulator.pci import pci_files
from simulator.place import Place
from simulator.profiles import profile_state
from simulator.state import State, write

KERNEL = "6.1.0-sim-amd64"
LICENSES = {"open": "Dual MIT/GPL", "proprietary": "NVIDIA"}
MODULES = {"nvidia": (), "nvidia_uvm": ("nvidia",)}
NVIDIA_MAJOR = 195
DEVICES = "Character devices:\n  1 mem\n  5 /dev/tty\n 10 misc\n136 pts\n\nBlock devices:\n  7 loop\n254 virtblk\n"


def make_tree(
    dest: Path, profile: str | State, driver_version: str, *, nodes: bool, flavour: str = "", kernel: str = KERNEL
) -> dict[str, str]:
    """Lays /sys, /proc, /dev and the state file of a machine with `profile`, or in that state, below `dest`.

    `driver_version`: of the loaded module, empty when none is loaded. `nodes`: real device files (needs root), else
    plain files. `flavour` of the driver: by default the one that drives the GPUs. Returns the environment with which
    libnvidia-ml and the programs of the simulator work on this tree.
    """
    place = Place(dest)
    state = profile_state(profile, dest.name) if isinstance(profile, str) else profile
    _lay_bare(place, state, kernel)
    if driver_version and state.gpus:
        _load(place, driver_version, LICENSES[flavour or _flavour(state)], kernel)
        _make_nodes(dest / "dev", [int(gpu["minor"]) for gpu in state.gpus], real=nodes)
    for name, source in (("modules", place.modules), ("devices", place.devices)):
        shutil.copy(source, dest / "proc" / name)
    return {
        "GPU_FLEET_SIM_STATE": str(place.state),
        "GPU_FLEET_SIM_DEV": str(dest / "dev"),
        "GPU_FLEET_SIM_PROC": str(place.driver),
    }


def _flavour(state: State) -> str:
    """Open modules, unless a GPU is too old for them."""
    old = any(MODELS[gpu["model"]].architecture < probe.TURING for gpu in state.gpus)
    return "proprietary" if old else "open"


def _lay_bare(place: Place, state: State, kernel: str) -> None:
    root = place.root
    for folder in (place.state.parent, place.run / "proc", place.driver, root / "dev", place.sys / "bus/pci/drivers"):
        folder.mkdir(parents=True, exist_ok=True)
    write_tree(place.installed, {"kernel": f"{kernel}\n"})
    write_tree(root / "proc/sys/kernel", {"osrelease": f"{kernel}\n"})
    write_tree(place.sys / "bus/pci/devices", pci_files(state))
    place.modules.write_text("")
    place.devices.write_text(DEVICES)
    write(place.state, state)


def _load(place: Place, version: str, terms: str, kernel: str) -> None:
    for name, depends in MODULES.items():
        information = Information(name, version, terms, kernel, depends, sources="")
        kernel_modules.insert(place, information, flags=0)
        driver.add_devices(place, name)
        if name == "nvidia":
            driver.start(place, information, options="")


def _make_nodes(folder: Path, minors: list[int], *, real: bool) -> None:
    devices = {"nvidiactl": (NVIDIA_MAJOR, 255), "nvidia-uvm": (511, 0), "nvidia-uvm-tools": (511, 1)}
    devices |= {f"nvidia{minor}": (NVIDIA_MAJOR, minor) for minor in minors}
    for name, (major, minor) in devices.items():
        if real:
            os.mknod(folder / name, stat.S_IFCHR | 0o666, os.makedev(major, minor))
        else:
            (folder / name).touch()
