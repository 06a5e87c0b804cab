# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the loaded driver for reports: version, flavour, signer, parameters, users. Private to this collection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from .driver_version import read_loaded_driver
from .files import HostRoot
from .modprobe_files import read_modprobe
from .modules import read_holders, read_modules
from .texts.driver_params import read_driver_params

PARAMS = "/proc/driver/nvidia/params"
SOURCE_VERSION = "/sys/module/nvidia/srcversion"
MODULES = ("nvidia", "gdrdrv")
REPLACED = "the module on disk is another one than the loaded one, and the kernel does not tell who signed that"


def read_loaded(host: HostRoot, on_disk: Mapping[str, Any]) -> dict[str, Any] | None:
    """gpu_info's ``driver.loaded``, None where no driver is loaded. ``on_disk``: see read_module_file().

    The kernel keeps no signer of a loaded module: it is the file's one as long as both have the same source version.
    """
    loaded = read_loaded_driver(host)
    if loaded is None:
        return None
    # Modules of one version differ in their source version by flavour and by patches.
    source = host.line(SOURCE_VERSION)
    same = on_disk["version"] == loaded.version and (source is None or on_disk["srcversion"] in (None, source))
    modules = {name: row for name, row in read_modules(host).items() if name.startswith(MODULES)}
    return {
        "version": loaded.version,
        "flavour": loaded.flavour,
        "signer": on_disk["signer"] if same else None,
        "parameters": read_driver_params(host.text(PARAMS) or "")["parameters"],
        "modules": {
            name: {"references": row.references, "users": list(row.users)} for name, row in sorted(modules.items())
        },
        "holders": [{**asdict(holder), "devices": list(holder.devices)} for holder in read_holders(host)],
        "unknown": {} if same else {"signer": REPLACED},
    }


def read_module_options(host: HostRoot) -> list[dict[str, str]]:
    """What files of modprobe.d ask for: rows of ``path``, ``module``, ``options``."""
    return [
        {"path": line.path, "module": line.module, "options": line.rest}
        for line in read_modprobe(host)
        if line.command == "options" and line.module.startswith(MODULES)
    ]
