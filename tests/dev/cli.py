# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verbs of `./dev`: reads the command line, prepares the machine, runs one."""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from . import bootstrap, children, collection, machine, progress

INTERRUPTED, FAILED, BROKEN_PIPE = 130, 1, 141
KEPT_LOGS = 30
EPILOG = """\
Everything expensive is kept below ${XDG_CACHE_HOME:-~/.cache}/gpu-fleet by the hash of what it is made from; each
start writes a log below .cache/logs of this checkout. What a verb starts it stops again, also on Ctrl-C.
"""


@dataclass(frozen=True)
class Verb:
    """One verb: the module below dev/ whose `run(options)` does it, and what it needs of the machine."""

    name: str
    module: str
    summary: str
    details: str
    needs: str  # nothing, python or lab


VERBS = (
    Verb(
        "demo",
        "demo",
        "bare hosts to a running GPU pod, on a simulated fleet",
        "Boots two Debian hosts with simulated GPUs and a real Kubernetes, brings them from bare to ready by "
        "gpu.fleet.site, runs a pod on a GPU, runs site again, reboots a host. With --local it needs no root: the host "
        "part alone, on simulated hosts that are folders.",
        "lab",
    ),
    Verb(
        "test",
        "suite",
        "everything that the continuous integration runs",
        "lint, unit, sanity, integration, molecule and the demo, each with its time; goes on after a failure; the last "
        "line counts what passed and failed. --full adds the tests of the test bed, of package repositories and many "
        "nodes, `demo --local`, `bench` and `scale`.",
        "lab",
    ),
    Verb(
        "lint",
        "lint",
        "ruff, mypy, ansible-lint, antsibull-docs, antsibull-changelog",
        "Runs every linter with the settings of the checkout, and reports all findings.",
        "python",
    ),
    Verb(
        "sanity",
        "sanity",
        "ansible-test sanity on the oldest and the newest ansible-core",
        "Runs on a copy outside of the checkout, without ignore files.",
        "python",
    ),
    Verb(
        "unit",
        "unit",
        "unit tests on the oldest and the newest ansible-core",
        "pytest over tests/unit. Arguments after -- go to pytest.",
        "python",
    ),
    Verb(
        "integration",
        "integration",
        "integration tests and molecule scenarios in a fresh lab",
        "pytest over tests/integration inside a lab, then every molecule scenario. Arguments after -- go to pytest.",
        "lab",
    ),
    Verb(
        "lab",
        "lab_verb",
        "a lab to work in: up, status, shell, break, heal, ...",
        "`up` starts a lab that stays until `down`, with hosts as NAME=SUITE:PROFILE; no profile means no GPU.\n"
        "`profiles` says what there is to choose from, `break` what can be broken.\n"
        "Where several labs run, those of this checkout come first.",
        "lab",
    ),
    Verb(
        "bench",
        "bench",
        "measures the budgets of remote work on an unchanged host",
        "Brings two lab hosts to ready, counts the remote module runs of a run that changes nothing (more than the "
        "budget fails), and compares times: its host part with eleven pings, a CDI spec of 8 GPUs with nvidia-ctk.",
        "lab",
    ),
    Verb(
        "scale",
        "scale",
        "the cluster's part of site over a thousand nodes",
        "Brings two lab hosts to ready and adds KWOK nodes, which only the API server knows. Counts the requests of "
        "the cluster's part of gpu.fleet.site, and its memory: first pass, nothing to do, and with an API server that "
        "fails now and then. What is over budget fails.",
        "lab",
    ),
    Verb(
        "clean",
        "clean",
        "removes what the checkout and dead labs left",
        "Removes .cache of this checkout and labs whose owner is gone; --all removes the whole cache, too.",
        "nothing",
    ),
)


def main(arguments: list[str]) -> int:
    """Runs `./dev ARGUMENTS`; returns the exit status."""
    options = parser().parse_args(arguments)
    verb = next(v for v in VERBS if v.name == options.verb)
    progress.elapsed()
    _start_log(verb.name)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    try:
        bootstrap.prepare(_needs(verb, options), verb.name)
        status = int(importlib.import_module(f"dev.{verb.module}").run(options))
        sys.stdout.flush()
        return status
    except (progress.CommandFailed, machine.Unfit, TimeoutError) as error:
        progress.say(f"{verb.name} failed: {error}")
        return FAILED
    except BrokenPipeError:  # who reads has seen enough: `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except KeyboardInterrupt:
        progress.say(f"{verb.name} was interrupted; what it had started is stopped")
        return INTERRUPTED


def parser() -> argparse.ArgumentParser:
    """The command line of `./dev`."""
    top = argparse.ArgumentParser(
        prog="./dev",
        description="Work on gpu.fleet: demo, checks, lab.",
        epilog=EPILOG,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    verbs = top.add_subparsers(dest="verb", required=True, metavar="VERB")
    for verb in VERBS:
        one = verbs.add_parser(verb.name, help=verb.summary, description=f"{verb.summary}.\n{verb.details}")
        _OPTIONS.get(verb.name, _no_options)(one)
    return top


def _no_options(_verb: argparse.ArgumentParser) -> None:
    """For verbs that have none."""


def _demo_options(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--local", action="store_true", help="without root: the host part on simulated hosts in folders")
    verb.add_argument("--keep", action="store_true", help="leave the lab running, for `./dev lab shell`")


def _test_options(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--full", action="store_true", help="what takes long as well")


def _pytest_options(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("pytest", nargs="*", metavar="ARG", help="for pytest, after --")


def _lab_options(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--lab", metavar="ID", help="which lab, where there are several")
    actions = verb.add_subparsers(dest="action", required=True, metavar="ACTION")
    up = actions.add_parser("up", help="start a lab that stays")
    up.add_argument(
        "--hosts", nargs="+", metavar="NAME=SUITE:PROFILE", help="default: gpu1=bookworm:h100x2 gpu2=trixie:a100x2"
    )
    up.add_argument("--no-cluster", action="store_true", help="hosts without Kubernetes")
    up.add_argument(
        "--kwok",
        nargs="+",
        default=[],
        metavar="COUNT:PROFILE",
        help="nodes that only the API server knows, as 1000:h100x8 or 10:a100x2,mig=all-balanced,wrong=1",
    )
    actions.add_parser("profiles", help="what --hosts takes: suites, GPU profiles, models")
    for name, summary in LAB_ACTIONS.items():
        action = actions.add_parser(name, help=summary, description=f"{summary}.")
        action.add_argument("--lab", metavar="ID", default=argparse.SUPPRESS, help="which lab")
        _LAB_ARGUMENTS.get(name, _no_options)(action)


def _shell_arguments(action: argparse.ArgumentParser) -> None:
    action.add_argument("host", nargs="?", metavar="HOST", help="on this host, instead of beside the hosts")


def _break_arguments(action: argparse.ArgumentParser) -> None:
    action.add_argument("fault", nargs="?", metavar="FAULT", help="without it: all faults, a line each")
    action.add_argument("host", nargs="?", metavar="HOST")
    action.add_argument("arguments", nargs="*", metavar="ARGUMENT", help="of the fault")


def _heal_arguments(action: argparse.ArgumentParser) -> None:
    action.add_argument("host", nargs="?", metavar="HOST", help="only this one")


def _snapshot_arguments(action: argparse.ArgumentParser) -> None:
    action.add_argument("host", metavar="HOST")
    action.add_argument("name", metavar="NAME", help="what to call it")


def _restore_arguments(action: argparse.ArgumentParser) -> None:
    action.add_argument("host", metavar="HOST")
    action.add_argument("name", nargs="?", default="fresh", metavar="NAME", help="default: before its first boot")


LAB_ACTIONS = {
    "status": "labs, their hosts and what is broken there",
    "shell": "a shell in a lab, or on one of its hosts",
    "break": "give a host a fault, or list all faults",
    "heal": "end the faults of a host, or of all",
    "snapshot": "keep what is on a host's disk",
    "restore": "bring a host back to a snapshot",
    "down": "stop a lab",
}
_LAB_ARGUMENTS = {
    "shell": _shell_arguments,
    "break": _break_arguments,
    "heal": _heal_arguments,
    "snapshot": _snapshot_arguments,
    "restore": _restore_arguments,
}


def _clean_options(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--all", action="store_true", help="the whole cache, too")


def _scale_options(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--kwok", nargs="+", metavar="COUNT:PROFILE", help="default: 900:h100x8 60:a100x2,mig=all-balanced 40:t4x1"
    )
    verb.add_argument(
        "--fault",
        nargs="+",
        metavar="KIND:OPTIONS",
        help="what the API server does wrong, as throttle:verb=patch,count=3",
    )


_OPTIONS = {
    "scale": _scale_options,
    "demo": _demo_options,
    "test": _test_options,
    "unit": _pytest_options,
    "integration": _pytest_options,
    "lab": _lab_options,
    "clean": _clean_options,
}


def _needs(verb: Verb, options: argparse.Namespace) -> str:
    """What this command line needs; less than its verb where root or the tools are not used."""
    if verb.name == "demo" and options.local:
        return "local"
    if verb.name == "lab" and (options.action == "profiles" or vars(options).get("fault", "") is None):
        return "nothing"
    if verb.name == "lab" and options.action not in {"up", "shell"}:
        return "root"
    return verb.needs


def _start_log(verb: str) -> None:
    if progress.LOG_VARIABLE in os.environ:  # started again in the virtual environment
        return
    folder = collection.LOCAL_CACHE / "logs"
    for old in sorted(folder.glob("*"), key=_age)[:-KEPT_LOGS]:
        with suppress(FileNotFoundError):  # another `./dev` of this checkout removes it, too
            machine.remove(old)
    progress.set_log(folder / f"{time.strftime('%Y%m%d-%H%M%S')}-{verb}-{os.getpid()}" / "dev.log")


def _age(path: Path) -> float:
    """When it was changed last; what somebody else removes meanwhile counts as the oldest."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    children.interrupt()
    raise KeyboardInterrupt
