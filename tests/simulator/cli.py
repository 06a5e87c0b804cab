# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command /usr/lib/simhw/simhw of a simulated host."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from simulator import cli_damage, damage, driver, fabric_manager, firmware, incident, kernel_modules, machine, sxid
from simulator.kernel_modules import Information, Refused
from simulator.place import here
from simulator.state import edit, read, render

DEVICE_RULES = Path("/usr/lib/udev/rules.d/60-nvidia.rules")


def main(arguments: list[str]) -> int:
    """Exit code: 0, 2 for what cannot be done, or the errno that the kernel would answer with (insmod, rmmod)."""
    options = _parser().parse_args(arguments)
    run: Callable[[argparse.Namespace], None] = options.run
    try:
        run(options)
    except Refused as refusal:
        return refusal.number
    except (ValueError, OSError) as error:
        print(f"simhw: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="simhw", description="The simulated GPU hardware of this host.")
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    _add_kernel_verbs(verbs)
    cli_damage.add_verbs(verbs)
    firmware.add_verbs(verbs, here())
    fabric_manager.add_verbs(verbs, here())
    sxid.add_verbs(verbs, here())
    verbs.add_parser("status", help="print the state").set_defaults(run=_status)
    process = verbs.add_parser("process", help="add or remove a process that uses a GPU")
    process.add_argument("action", choices=("add", "remove"))
    process.add_argument("--pid", type=int, required=True)
    for name, value in (("gpu", "0"), ("gi", "-"), ("ci", "-"), ("memory", "1024"), ("name", "python3")):
        process.add_argument(f"--{name}", default=value)
    process.add_argument("--type", choices=("compute", "graphics", "mps"), default="compute")
    process.set_defaults(run=_process)
    setting = verbs.add_parser("gpu", help="set a field of a GPU: client, passthrough, lost")
    setting.add_argument("minor", type=int)
    setting.add_argument("field", choices=("client", "passthrough", "lost"))
    setting.add_argument("value", choices=("0", "1"))
    setting.set_defaults(run=_gpu)
    return parser


def _add_kernel_verbs(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    boot = verbs.add_parser("boot", help="lay the hardware's view (simhw.service)")
    boot.set_defaults(run=lambda _: machine.boot(here()))
    coldplug = verbs.add_parser("coldplug", help="load drivers for the PCI devices (simhw-coldplug.service)")
    coldplug.set_defaults(run=lambda _: machine.coldplug(here()))
    insert = verbs.add_parser("insmod", help="load a module; its .modinfo comes on standard input")
    insert.add_argument("flags", type=int)
    insert.add_argument("options")
    insert.set_defaults(run=_insert)
    remove = verbs.add_parser("rmmod", help="remove a module")
    remove.add_argument("name")
    remove.set_defaults(run=_remove)


def _insert(options: argparse.Namespace) -> None:
    information = Information.parse(sys.stdin.buffer.read())
    firmware.verify(here(), information)
    if information.name == "nvidia":
        driver.check_start(here(), information)
    kernel_modules.insert(here(), information, options.flags)
    driver.add_devices(here(), information.name)
    if information.name == "nvidia":
        driver.start(here(), information, options.options)
    _udev(information.name)


def _udev(module: str) -> None:
    """Rules of the driver packages; no kernel event reaches udev on a simulated host."""
    nodes = {"nvidia": ["-c0", "-u"], "nvidia_modeset": ["-m"]}.get(module)
    if nodes and DEVICE_RULES.exists():
        quiet = subprocess.DEVNULL
        subprocess.Popen(["nvidia-modprobe", *nodes], stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)


def _remove(options: argparse.Namespace) -> None:
    kernel_modules.check_removable(kernel_modules.loaded(here()), options.name)
    if options.name == "nvidia":
        driver.check_stop(here())
    kernel_modules.remove(here(), options.name)
    driver.remove_devices(here(), options.name.replace("-", "_"))
    if options.name == "nvidia":
        driver.stop(here())


def _status(_options: argparse.Namespace) -> None:
    sys.stdout.write(render(read(here().state)))


def _process(options: argparse.Namespace) -> None:
    with edit(here().state) as state:
        state.processes[:] = [row for row in state.processes if row["pid"] != str(options.pid)]
        if options.action == "add":
            row = {name: str(getattr(options, name)) for name in ("gpu", "pid", "gi", "ci", "memory", "type", "name")}
            state.processes.append(row)


def _gpu(options: argparse.Namespace) -> None:
    with edit(here().state) as state:
        damage.find_gpu(state, options.minor)[options.field] = options.value
    incident.show_bus(here(), options.minor)
