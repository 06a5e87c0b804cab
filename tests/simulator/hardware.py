# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plugs simulated GPUs into the root file system of a lab host, before it boots."""

from __future__ import annotations

import shutil
from pathlib import Path

from simulator import build, firmware, infiniband, profiles
from simulator.files import link
from simulator.place import Place
from simulator.profiles import profile_state
from simulator.state import write

HERE = Path(__file__).resolve().parent
INSTALLED = Path("usr/lib/simhw")
UNITS = Path("usr/lib/systemd/system")
# Debian 12 has runc in /usr/sbin with a link in /usr/bin.
RUNTIMES = (Path("usr/sbin/runc"), Path("usr/bin/runc"), Path("usr/bin/crun"))
NOT_ON_HOSTS = ("build.py", "c_table.py", "hardware.py", "invariants.py", "mig_case.py", "sandbox.py", "worker.py")
DIVERSIONS = Path("var/lib/dpkg/diversions")
KERNEL_MODULE = "kernel/drivers/net/dummy.ko"
MODULE_LISTS = ("modules.order", "modules.builtin", "modules.builtin.modinfo")


def plug_in(rootfs: Path, profile: str, *, kernel: str) -> None:
    """Puts the hardware of `profile` into `rootfs`, which pretends to run the release `kernel`.

    UUIDs follow from /etc/hostname of the rootfs, so write that first. Raises ValueError for an unknown profile.
    """
    profiles.profile(profile or "none")
    _install_programs(rootfs)
    (rootfs / INSTALLED / "kernel").write_text(f"{kernel}\n")
    _install_kernel(rootfs / "usr/lib/modules" / kernel)
    swap(rootfs, profile or "none")
    _install_units(rootfs)
    for runtime in RUNTIMES:
        divert(rootfs, runtime)
    (rootfs / "etc/ld.so.preload").write_text(f"/{INSTALLED}/libsimhw.so\n")


def swap(rootfs: Path, profile: str) -> None:
    """Puts the hardware of `profile` in place of what was plugged in; the host must be off. ValueError as `plug_in`."""
    place, owner = Place(rootfs), _owner(rootfs)
    state = profile_state(profile, owner)
    folder = place.state.parent
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o777)
    write(place.state, state)
    firmware.install(place, profiles.firmware_of(profile))
    infiniband.save(place, profiles.adapters(profile, owner))


def divert(rootfs: Path, program: Path) -> None:
    """Puts the wrapper in place of an OCI runtime, as dpkg-divert --rename would; nothing where it is not installed."""
    original = rootfs / program
    if original.is_symlink() or not original.exists():
        return
    real = original.with_name(f"{program.name}.real")
    if not real.exists():
        original.rename(real)
        if (rootfs / DIVERSIONS).parent.exists():  # not on a host with rpm
            with (rootfs / DIVERSIONS).open("a") as diversions:
                diversions.write(f"/{program}\n/{program}.real\n:\n")
    shutil.copy2(HERE / "host/container-runtime", original)


def _owner(rootfs: Path) -> str:
    name = rootfs / "etc/hostname"
    return name.read_text().strip() if name.exists() else rootfs.name


def _install_programs(rootfs: Path) -> None:
    target = rootfs / INSTALLED
    package = target / "python/simulator"
    package.mkdir(parents=True, exist_ok=True)
    for source in HERE.glob("*.py"):
        if source.name not in NOT_ON_HOSTS:
            shutil.copy(source, package)
    for name in ("simhw", "container-hook", "edit-bundle"):
        shutil.copy2(HERE / "host" / name, target)
    shutil.copy(build.artifact_dir() / "functions.txt", target)
    replacement = target / "libsimhw.so.new"
    shutil.copy(build.artifact_dir() / "lib/libsimhw.so", replacement)
    replacement.rename(target / "libsimhw.so")  # never written in place: running programs have it mapped


def _install_kernel(folder: Path) -> None:
    """What an installed kernel image has, with one module: dkms does not run depmod for a kernel without any."""
    module = folder / KERNEL_MODULE
    module.parent.mkdir(parents=True, exist_ok=True)
    for name in MODULE_LISTS:
        (folder / name).touch()
    build.kernel_module(module, folder.name)
    (folder / "modules.dep").write_text(f"{KERNEL_MODULE}:\n")


def _install_units(rootfs: Path) -> None:
    for unit in (HERE / "host/units").iterdir():
        shutil.copy(unit, rootfs / UNITS)
        link(rootfs / UNITS / "sysinit.target.wants" / unit.name, f"../{unit.name}")
