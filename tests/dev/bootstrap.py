# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes a bare machine fit for a verb, then goes on in the virtual environment with the newest ansible-core."""

from __future__ import annotations

import os
import sys

from . import collection, golang, machine, progress, venvs
from .machine import CHECKOUT


def prepare(needs: str, verb: str) -> None:
    """Installs what is missing. `needs`: nothing, root, local, python or lab.

    Does not return where the virtual environment has to be entered first: `./dev` is started again in it.
    Raises machine.Unfit or progress.CommandFailed.
    """
    if needs in {"root", "lab"}:
        machine.require_root(verb)
    if needs == "lab":
        machine.require_debian(verb)
        machine.install_packages(machine.missing_packages(machine.FOR_LAB, machine.LAB_FILES))
    if needs == "python":
        machine.install_packages(machine.missing_packages(machine.FOR_CHECKS, machine.HEADERS))
    if needs == "local":
        machine.install_packages(machine.missing_packages(machine.FOR_LOCAL, machine.HEADERS))
    if needs in {"local", "python", "lab"}:
        _enter_environment()
        collection.in_place()
    if needs == "lab":
        golang.provide()


def _enter_environment() -> None:
    environment = venvs.environment(venvs.newest_leg())
    os.environ["PATH"] = f"{environment}/bin:{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
    os.environ.update(LC_ALL="C.UTF-8", PYTHONNOUSERSITE="1")
    if sys.prefix != str(environment):
        sys.stdout.flush()
        progress.elapsed()
        python, program = str(environment / "bin/python"), str(CHECKOUT / "tests/dev/main.py")
        os.execv(python, [python, program, *sys.argv[1:]])
