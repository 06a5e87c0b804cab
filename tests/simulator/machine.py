# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Boot of a simulated host: mounts the hardware's view over /sys and /proc, and loads the driver as udev would."""

from __future__ import annotations

import subprocess
from pathlib import Path

from simulator import damage, firmware, infiniband, kernel_log
from simulator.driver import forget
from simulator.files import link, write_tree
from simulator.models import MODELS
from simulator.pci import modalias, pci_files
from simulator.place import Place
from simulator.state import State, edit, read

PROC_DEVICES = Path("/proc/devices")


def boot(place: Place) -> None:
    """Runs first of all, before any module is loaded. Drops what hardware loses when its power goes."""
    with edit(place.state) as state:
        forget(state)
        for gpu in state.gpus:
            damage.lose(state, int(gpu["minor"]), lost=False)  # a GPU that was lost has had its power cut
    (place.run / "proc").mkdir(parents=True, exist_ok=True)
    kernel_log.start(place)
    firmware.boot(place)
    firmware.announce(place)
    place.modules.write_text("")
    place.devices.write_text(_without_nvidia(PROC_DEVICES.read_text()))
    _mount_views(place, state)
    (place.run / "osrelease").write_text(f"{place.release}\n")  # from here on the preloaded shim answers


def coldplug(place: Place) -> None:
    """What udev does with the modalias of each PCI device; modprobe -b keeps to the blacklists."""
    for model in sorted({gpu["model"] for gpu in read(place.state).gpus}):
        alias = modalias(MODELS[model])
        if subprocess.run(["modprobe", "-q", "-R", alias], stdout=subprocess.DEVNULL, check=False).returncode == 0:
            subprocess.run(["modprobe", "-b", alias], check=True)


def _without_nvidia(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if "nvidia" not in line)


def _mount_views(place: Place, state: State) -> None:
    _make_folders(place)
    _mount_tmpfs(place.sys / "module")
    _mount_bus(place.sys / "bus")
    write_tree(place.sys / "bus/pci/devices", pci_files(state))
    (place.sys / "bus/pci/drivers").mkdir()
    for row in [*state.gpus, *state.switches]:
        link(place.sys / "bus/pci/devices" / row["bus"] / "subsystem", "../..")
    if infiniband.load(place):
        infiniband.lay(place, _replaced(place.sys / "class", place.run / "class"))
    _mount_tmpfs(place.driver)
    _mount_firmware(place)
    _run("mount", "--bind", place.devices, "/proc/devices")
    release = place.run / "proc/osrelease"
    release.write_text(f"{place.release}\n")
    _run("mount", "--bind", release, "/proc/sys/kernel/osrelease")


def _make_folders(place: Place) -> None:
    """nspawn's /sys is a read-only tmpfs that lacks some."""
    wanted = [place.sys / "module"]
    wanted += [place.sys / "firmware"] if place.efi_variables.exists() else []
    missing = [folder for folder in wanted if not folder.exists()]
    if missing:
        _run("mount", "-o", "remount,rw", place.sys)
        for folder in missing:
            folder.mkdir()
        _run("mount", "-o", "remount,ro", place.sys)


def _mount_firmware(place: Place) -> None:
    """What the kernel shows of UEFI firmware; nothing of it on a machine with a BIOS."""
    if not place.efi_variables.exists():
        return
    _mount_tmpfs(place.sys / "firmware")
    variables = place.sys / "firmware/efi/efivars"
    variables.mkdir(parents=True)
    (variables.parent / "fw_platform_size").write_text("64\n")
    _run("mount", "--bind", place.efi_variables, variables)
    enforced = "Y" if firmware.is_enforced(place) else "N"
    write_tree(place.sys / "module/module/parameters", {"sig_enforce": f"{enforced}\n"})


def _mount_bus(bus: Path) -> None:
    """A tmpfs on /sys/bus/pci; where the machine has no PCI bus, one on /sys/bus with the other buses bound back."""
    if (bus / "pci").is_dir():
        _mount_tmpfs(bus / "pci")
        return
    (_replaced(bus, Path("/run/simhw/bus")) / "pci").mkdir()


def _replaced(folder: Path, aside: Path) -> Path:
    """Puts a tmpfs over a folder of /sys, with what was in it bound back; `aside` keeps it meanwhile."""
    aside.mkdir()
    _run("mount", "--bind", folder, aside)
    _run("mount", "--make-private", aside)  # else what is mounted over the folder would be there, too
    _mount_tmpfs(folder)
    for inner in aside.iterdir():
        (folder / inner.name).mkdir()
        _run("mount", "--bind", inner, folder / inner.name)
    return folder


def _mount_tmpfs(folder: Path) -> None:
    _run("mount", "-t", "tmpfs", "-o", "mode=755", "simhw", folder)


def _run(*command: str | Path) -> None:
    subprocess.run([str(word) for word in command], check=True)
