# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command /usr/lib/simhw/simhw of a simulated host."""

from __future__ import annotations

import argparse
import errno
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from simulator import driver, kernel_modules, machine
from simulator.kernel_modules import Information, Refused
from simulator.place import Place
from simulator.state import default_path, edit, read, render

HERE = Place(Path("/"))
DEVICE_RULES = Path("/usr/lib/udev/rules.d/60-nvidia.rules")


def main(arguments: list[str]) -> int:
    """Exit code: 0, or the errno that the kernel would answer with (insmod, rmmod)."""
    options = _parser().parse_args(arguments)
    run: Callable[[argparse.Namespace], None] = options.run
    try:
        run(options)
    except Refused as refusal:
        return refusal.number
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="simhw", description="The simulated GPU hardware of this host.")
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    _add_kernel_verbs(verbs)
    verbs.add_parser("status", help="print the state").set_defaults(run=_status)
    fault = verbs.add_parser("fault", help="let an NVML function fail, or end all faults")
    fault.add_argument("function", help="name without version suffix, such as nvmlInit; `clear` ends all faults")
    fault.add_argument("code", nargs="?", type=int, help="NVML return code")
    fault.add_argument("--skip", type=int, default=0, help="calls that still succeed")
    fault.add_argument("--count", type=int, default=-1, help="calls that fail (-1: all)")
    fault.add_argument("--gpu", type=int, default=-1, help="device minor (-1: all)")
    fault.set_defaults(run=_fault)
    process = verbs.add_parser("process", help="add or remove a process that uses a GPU")
    process.add_argument("action", choices=("add", "remove"))
    process.add_argument("--pid", type=int, required=True)
    for name, value in (("gpu", "0"), ("gi", "-"), ("ci", "-"), ("memory", "1024"), ("name", "python3")):
        process.add_argument(f"--{name}", default=value)
    process.set_defaults(run=_process)
    setting = verbs.add_parser("gpu", help="set a field of a GPU: client, passthrough, lost")
    setting.add_argument("minor")
    setting.add_argument("field", choices=("client", "passthrough", "lost"))
    setting.add_argument("value", choices=("0", "1"))
    setting.set_defaults(run=_gpu)
    return parser


def _add_kernel_verbs(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    boot = verbs.add_parser("boot", help="lay the hardware's view (simhw.service)")
    boot.set_defaults(run=lambda _: machine.boot(HERE))
    coldplug = verbs.add_parser("coldplug", help="load drivers for the PCI devices (simhw-coldplug.service)")
    coldplug.set_defaults(run=lambda _: machine.coldplug(HERE))
    insert = verbs.add_parser("insmod", help="load a module; its .modinfo comes on standard input")
    insert.add_argument("flags", type=int)
    insert.add_argument("options")
    insert.set_defaults(run=_insert)
    remove = verbs.add_parser("rmmod", help="remove a module")
    remove.add_argument("name")
    remove.set_defaults(run=_remove)


def _insert(options: argparse.Namespace) -> None:
    information = Information.parse(sys.stdin.buffer.read())
    if information.name == "nvidia":
        driver.check_start(HERE)
    kernel_modules.insert(HERE, information, options.flags)
    driver.add_devices(HERE, information.name)
    if information.name == "nvidia":
        driver.start(HERE, information, options.options)
    _udev(information.name)


def _udev(module: str) -> None:
    """Rules of the driver packages; no kernel event reaches udev on a simulated host."""
    nodes = {"nvidia": ["-c0", "-u"], "nvidia_modeset": ["-m"]}.get(module)
    if nodes and DEVICE_RULES.exists():
        quiet = subprocess.DEVNULL
        subprocess.Popen(["nvidia-modprobe", *nodes], stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)


def _remove(options: argparse.Namespace) -> None:
    kernel_modules.check_removable(kernel_modules.loaded(HERE), options.name)
    if options.name == "nvidia":
        driver.check_stop(HERE)
    kernel_modules.remove(HERE, options.name)
    driver.remove_devices(HERE, options.name.replace("-", "_"))
    if options.name == "nvidia":
        driver.stop(HERE)


def _status(_options: argparse.Namespace) -> None:
    sys.stdout.write(render(read(default_path())))


def _fault(options: argparse.Namespace) -> None:
    with edit(default_path()) as state:
        if options.function == "clear":
            state.faults.clear()
            return
        if options.code is None:
            raise Refused(errno.EINVAL)
        counts = {name: str(getattr(options, name)) for name in ("skip", "count", "gpu")}
        state.faults.append((options.function, options.code, counts))


def _process(options: argparse.Namespace) -> None:
    with edit(default_path()) as state:
        state.processes[:] = [row for row in state.processes if row["pid"] != str(options.pid)]
        if options.action == "add":
            row = {name: str(getattr(options, name)) for name in ("gpu", "pid", "gi", "ci", "memory", "name")}
            state.processes.append(row)


def _gpu(options: argparse.Namespace) -> None:
    with edit(default_path()) as state:
        for gpu in state.gpus:
            if gpu["minor"] == options.minor:
                gpu[options.field] = options.value
