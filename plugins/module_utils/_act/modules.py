# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Loads and unloads the driver's modules, makes nodes and links. Private to this collection."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from .._observe.command import Run
from .._plan.model import Step
from .._plan.modules import LOADED, ModuleHost, plan_modules
from .files import make_link


class ModuleError(Exception):
    """A program refused; the message has its own words and the way out."""


CONTROL_MINOR = "255"

# modprobe's text -> what to do about it
REMEDIES = (
    ("Key was rejected by service", "Secure Boot refuses the module's key: enroll it with mokutil --import and reboot"),
    ("No such device", "the driver drives no GPU of this host: journalctl -k --grep NVRM says why"),
    ("could not remove", "something uses it: lsmod and fuser -v /dev/nvidia* name it"),
    ("is in use", "something uses it: lsmod and fuser -v /dev/nvidia* name it"),
    ("not found", "depmod did not list it: dkms status; depmod"),
)


def apply_step(run: Run, step: Step) -> None:
    """Carries out one step of plan_modules(). Raises ModuleError."""
    if step.action == "load":
        call(run, ["modprobe", step.target])
    elif step.action == "unload":
        call(run, ["modprobe", "-r", step.target])
    elif step.action == "create_node":
        if os.path.lexists(step.target):
            os.unlink(step.target)
        call(run, node_command(step.target))
    elif step.action == "link":
        replace_link(step.target, str(step.after))
    elif step.action in ("stop", "start"):
        call(run, ["systemctl", step.action, step.target])
    else:
        raise ValueError(f"no way to carry out {step.action!r}")


def settle(
    run: Run, observe: Callable[[], ModuleHost], *, wanted: Sequence[str], links: bool = True
) -> tuple[str, ...]:
    """Makes the nodes that lack, then the links; one line for each. Raises ModuleError."""
    done = []
    for action in ("create_node", "link"):
        for step in plan_modules(observe(), state=LOADED, wanted=wanted, links=links).steps:
            if step.action == action:
                apply_step(run, step)
                done.append(f"{step.action} {step.target}")
    return tuple(done)


def node_command(path: str) -> list[str]:
    """How nvidia-modprobe(1) makes the node: it knows the major that the driver got.

    ``-c`` makes the file of that number alone, and beside ``-u`` it makes those of UVM and none of a GPU.
    """
    name = os.path.basename(path)
    if name in ("nvidia-uvm", "nvidia-uvm-tools"):
        return ["nvidia-modprobe", "-u", "-c", "0"]
    if name == "nvidia-modeset":
        return ["nvidia-modprobe", "-m"]
    return ["nvidia-modprobe", "-c", CONTROL_MINOR if name == "nvidiactl" else name[len("nvidia") :]]


def replace_link(path: str, text: str) -> None:
    """Makes ``path`` a symbolic link with ``text``, whatever link was there; a reader never finds none."""
    temporary = f"{path}.gpu-fleet"
    if os.path.lexists(temporary):
        os.unlink(temporary)
    make_link(temporary, text)
    os.rename(temporary, path)


def call(run: Run, args: Sequence[str]) -> None:
    """Runs a program that has to succeed. Raises ModuleError with its words and a remedy."""
    status, text, errors = run(args)
    if status == 0:
        return
    said = (errors or text).strip() or f"exit status {status}"
    remedy = next((r for words, r in REMEDIES if words in said), "")
    raise ModuleError(f"{' '.join(args)} failed: {said}" + (f". {remedy}" if remedy else ""))
