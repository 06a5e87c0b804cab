# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verbs of simhw that break GPUs, and `heal`."""

from __future__ import annotations

import argparse
import difflib
import re
import time

from simulator import damage, incident
from simulator.health import VALUES
from simulator.place import here
from simulator.state import edit
from simulator.xids import XIDS

# Forms of a function that one fault stands for.
_VARIANT = re.compile(r"(_v\d+|WithPlacement|WithFlags|ByIdV|V)$")


def add_verbs(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """All verbs of this file."""
    for add in (
        _add_fault,
        _add_xid,
        _add_lost,
        _add_health,
        _add_ecc,
        _add_retire,
        _add_throttle,
        _add_link,
        _add_fabric,
    ):
        add(verbs)
    heal = verbs.add_parser("heal", help="a GPU, or all GPUs and NVML, are as new; settings and MIG layout stay")
    heal.add_argument("minor", nargs="?", type=int)
    heal.set_defaults(run=lambda options: incident.heal(here(), options.minor))


def known_functions() -> list[str]:
    """NVML functions that can fail on this host; empty where the list is not installed."""
    path = here().installed / "functions.txt"
    return path.read_text().split() if path.exists() else []


def function_name(name: str, known: list[str]) -> str:
    """The name by which faults know a function: one stands for all its versions. ValueError names near ones."""
    short = name
    while known and short not in known and _VARIANT.search(short):
        short = _VARIANT.sub("", short)
    if known and short not in known:
        near = ", ".join(difflib.get_close_matches(short, known)) or "see /usr/lib/simhw/functions.txt"
        raise ValueError(f"the simulated NVML has no function {name!r} that can fail: {near}")
    return short


def _add_fault(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    fault = verbs.add_parser("fault", help="let an NVML function fail or be slow, or end all faults")
    fault.add_argument("function", help="such as nvmlInit, for all its versions; `clear` ends all faults")
    fault.add_argument("code", nargs="?", type=int, help="NVML return code (0: only slow)")
    fault.add_argument("--skip", type=int, default=0, help="calls that still succeed")
    fault.add_argument("--count", type=int, default=-1, help="calls that fail (-1: all)")
    fault.add_argument("--gpu", type=int, default=-1, help="device minor (-1: all)")
    fault.add_argument("--delay", type=int, default=0, help="milliseconds until the call returns")
    fault.set_defaults(run=_fault)


def _fault(options: argparse.Namespace) -> None:
    with edit(here().state) as state:
        if options.function == "clear":
            state.faults.clear()
            return
        if options.code is None:
            raise ValueError("a fault needs an NVML return code: simhw fault FUNCTION CODE")
        if options.gpu >= 0:
            damage.find_gpu(state, options.gpu)
        numbers = {name: str(getattr(options, name)) for name in ("skip", "count", "gpu", "delay")}
        state.faults.append((function_name(options.function, known_functions()), options.code, numbers))


def _add_xid(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    known = "; ".join(f"{row.number} {row.meaning}" for row in XIDS.values())
    xid = verbs.add_parser("xid", help="an Xid error: kernel log, NVML event, and what follows", epilog=known)
    xid.add_argument("minor", type=int)
    xid.add_argument("number", type=int)
    xid.add_argument("--text", default="", help="in place of the usual text")
    xid.add_argument("--pid", type=int)
    xid.add_argument("--process", default="", help="its name")
    xid.add_argument("--link", type=int, default=0, help="NVLink of 74, 145, 149")
    xid.add_argument("--recovery", type=int, help="NVML_GPU_RECOVERY_ACTION_*")
    xid.set_defaults(run=_xid)


def _xid(options: argparse.Namespace) -> None:
    words = {name: getattr(options, name) for name in ("text", "pid", "process", "link", "recovery")}
    incident.xid(here(), options.minor, options.number, **words)


def _add_lost(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    lost = verbs.add_parser("lost", help="a GPU falls off the bus")
    lost.add_argument("minor", type=int)
    lost.add_argument("--log", choices=("xid", "plain", "none"), default="xid", help="what the kernel log says")
    lost.set_defaults(run=lambda options: incident.lose(here(), options.minor, log=options.log))


def _add_health(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    lines = "\n".join(f"  {value.key:24}{value.meaning}" for value in VALUES)
    health = verbs.add_parser(
        "health",
        help="set values of a GPU: temperature=91 pcie_width=8; `temperature=` goes back to the usual one",
        epilog=f"values:\n{lines}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    health.add_argument("minor", type=int)
    health.add_argument("values", nargs="+", metavar="KEY=VALUE")
    health.set_defaults(run=_health)


def _health(options: argparse.Namespace) -> None:
    pairs = [text.partition("=") for text in options.values]
    wrong = [key for key, sign, value in pairs if not sign or (value and not value.isdecimal())]
    if wrong:
        raise ValueError(f"{', '.join(wrong)}: write KEY=NUMBER, or KEY= for the usual value")
    with edit(here().state) as state:
        damage.set_health(state, options.minor, {key: int(value) if value else None for key, _sign, value in pairs})
    incident.show_bus(here(), options.minor)


def _add_ecc(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    ecc = verbs.add_parser("ecc", help="count memory errors")
    ecc.add_argument("minor", type=int)
    ecc.add_argument("kind", choices=("corrected", "uncorrected"))
    ecc.add_argument("count", nargs="?", type=int, default=1)
    ecc.add_argument("--location", choices=tuple(damage.LOCATIONS), default="dram")
    ecc.add_argument("--before", action="store_true", help="they happened before the driver was loaded")
    ecc.set_defaults(run=_ecc)


def _ecc(options: argparse.Namespace) -> None:
    with edit(here().state) as state:
        damage.add_ecc(
            state,
            options.minor,
            location=damage.LOCATIONS[options.location],
            uncorrected=options.kind == "uncorrected",
            count=options.count,
            volatile=not options.before,
        )


def _add_retire(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    retire = verbs.add_parser("retire", help="retire a page, on boards before Ampere")
    retire.add_argument("minor", type=int)
    retire.add_argument("address", type=lambda text: int(text, 0))
    retire.add_argument("--cause", choices=tuple(damage.PAGE_CAUSES), default="double_bit")
    retire.set_defaults(run=_retire)


def _retire(options: argparse.Namespace) -> None:
    cause = damage.PAGE_CAUSES[options.cause]
    with edit(here().state) as state:
        damage.retire_page(state, options.minor, cause=cause, address=options.address, time=int(time.time()))


def _add_throttle(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    throttle = verbs.add_parser("throttle", help="hold the clocks of a GPU down; without a reason: no more")
    throttle.add_argument("minor", type=int)
    throttle.add_argument("reasons", nargs="*", type=_reason, metavar="REASON", help=", ".join(damage.REASONS))
    throttle.set_defaults(run=_throttle)


def _reason(name: str) -> str:
    """As `choices`, which Python before 3.12 refuses for an empty list."""
    if name not in damage.REASONS:
        raise argparse.ArgumentTypeError(f"{name!r} is no reason, wanted any of {', '.join(damage.REASONS)}")
    return name


def _throttle(options: argparse.Namespace) -> None:
    mask = sum(damage.REASONS[name] for name in set(options.reasons))
    with edit(here().state) as state:
        damage.set_health(state, options.minor, {"event_reasons": mask or None})


def _add_link(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    link = verbs.add_parser("link", help="an NVLink goes down, comes back, or counts errors")
    link.add_argument("minor", type=int)
    link.add_argument("link", type=int)
    link.add_argument("state", nargs="?", choices=("down", "up"))
    for counter in damage.LINK_COUNTERS:
        link.add_argument(f"--{counter}", type=int, default=0, help=f"{counter} errors more")
    link.set_defaults(run=_link)


def _link(options: argparse.Namespace) -> None:
    errors = {counter: getattr(options, counter) for counter in damage.LINK_COUNTERS}
    down = None if options.state is None else options.state == "down"
    with edit(here().state) as state:
        damage.set_link(state, options.minor, options.link, down=down, **errors)


def _add_fabric(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    fabric = verbs.add_parser("fabric", help="what a GPU says of the NVLink fabric")
    fabric.add_argument("minor", help="device minor, or `all`")
    fabric.add_argument("state", choices=tuple(damage.FABRIC_STATES))
    fabric.add_argument("--status", type=int, default=0, help="NVML return code")
    fabric.add_argument("--clique", type=int, default=0)
    fabric.add_argument("--cluster", help="UUID; zero on a single node")
    fabric.add_argument("--mask", type=lambda text: int(text, 0), help="NVML_GPU_FABRIC_HEALTH_MASK_*")
    fabric.add_argument("--health", choices=tuple(damage.FABRIC_SUMMARIES))
    fabric.set_defaults(run=_fabric)


def _fabric(options: argparse.Namespace) -> None:
    values = {"state": str(damage.FABRIC_STATES[options.state])}
    values |= {"status": str(options.status), "clique": str(options.clique)}
    if options.cluster:
        values["cluster"] = options.cluster
    if options.mask is not None:
        values["health"] = str(options.mask)
    if options.health:
        values["summary"] = str(damage.FABRIC_SUMMARIES[options.health])
    with edit(here().state) as state:
        minors = [gpu["minor"] for gpu in state.gpus] if options.minor == "all" else [options.minor]
        for minor in minors:
            damage.set_fabric(state, int(minor), values)
