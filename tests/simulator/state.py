# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulator's state file from Python: the same records, lock and atomic rename as the C library uses."""

from __future__ import annotations

import fcntl
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from simulator.models import MODELS

DEFAULT_PATH = Path("/var/lib/simhw/state")
GPUS_IN_DOMAIN = 8
Record = dict[str, str]


def default_path() -> Path:
    """The state file of this machine, or the one that GPU_FLEET_SIM_STATE names."""
    return Path(os.environ.get("GPU_FLEET_SIM_STATE") or DEFAULT_PATH)


@dataclass
class State:
    """All records. `driver` is (version, flavour) or None while the module is not loaded."""

    driver: tuple[str, str] | None = None
    nodes: list[Record] = field(default_factory=list)  # numa
    switches: list[Record] = field(default_factory=list)  # switch: NVSwitches that the host sees
    gpus: list[Record] = field(default_factory=list)
    health: list[Record] = field(default_factory=list)  # values of health.py that are set
    hidden: list[Record] = field(default_factory=list)  # profiles that the driver does not offer
    ecc: list[Record] = field(default_factory=list)
    pages: list[Record] = field(default_factory=list)  # page: retired ones
    links: list[Record] = field(default_factory=list)  # link: NVLinks that are down or have errors
    fabrics: list[Record] = field(default_factory=list)  # fabric
    instances: list[Record] = field(default_factory=list)  # gi
    compute: list[Record] = field(default_factory=list)  # ci
    processes: list[Record] = field(default_factory=list)
    faults: list[tuple[str, int, Record]] = field(default_factory=list)  # function, code, skip/count/gpu/delay

    def tables(self) -> dict[str, list[Record]]:
        """The word at the start of a line -> its records, in the order of the file."""
        return {
            "numa": self.nodes,
            "switch": self.switches,
            "gpu": self.gpus,
            "health": self.health,
            "hidden": self.hidden,
            "ecc": self.ecc,
            "page": self.pages,
            "link": self.links,
            "fabric": self.fabrics,
            "gi": self.instances,
            "ci": self.compute,
            "process": self.processes,
        }


def parse(text: str) -> State:
    """Text of a state file -> State. Raises ValueError with the number of a line that has no known record."""
    state = State()
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if words and not words[0].startswith("#"):
            _add(state, words, number)
    return state


def render(state: State) -> str:
    """State -> text of the state file."""
    lines = [f"driver {state.driver[0]} {state.driver[1]}"] if state.driver else []
    lines += [f"{word} {_pairs(record)}" for word, records in state.tables().items() for record in records]
    lines += [f"fault {function} {code} {_pairs(options)}" for function, code, options in state.faults]
    return "".join(f"{line.rstrip()}\n" for line in lines)


@contextmanager
def edit(path: Path) -> Iterator[State]:
    """The state, locked inside the block and written back at its end unless the block raises."""
    with _lock(path):
        state = parse(path.read_text() if path.exists() else "")
        yield state
        _replace(path, state)


def write(path: Path, state: State) -> None:
    """Puts `state` in place of what the file holds."""
    with _lock(path):
        _replace(path, state)


def read(path: Path) -> State:
    """A consistent copy of the state."""
    with _lock(path):
        return parse(path.read_text())


def new_gpu(model: str, minor: int, owner: str) -> Record:
    """A GPU record; UUID and serial number follow from the owner (host name) and the minor, so they stay the same."""
    if model not in MODELS:
        raise ValueError(f"model {model!r} is not in the table of models.py: {', '.join(sorted(MODELS))}")
    identity = uuid.uuid5(uuid.NAMESPACE_DNS, f"{owner}/{minor}")
    return {
        "minor": str(minor),
        "model": model,
        "uuid": f"GPU-{identity}",
        "serial": str(1_320_000_000_000 + identity.int % 1_000_000_000),
        "bus": bus_address(minor),
        "place": "0.0.0.0",
        "nvlink": "none",
        **dict.fromkeys(("mig", "pending", "persistence", "client", "passthrough", "lost"), "0"),
    }


def bus_address(minor: int) -> str:
    """PCI address of the GPU with that minor: eight in each domain, as on machines with several root complexes."""
    domain, slot = divmod(minor, GPUS_IN_DOMAIN)
    return f"{domain:04x}:{0x41 + slot * 0x10:02x}:00.0"


def _replace(path: Path, state: State) -> None:
    replacement = path.with_name(f"{path.name}.new")
    replacement.write_text(render(state))
    replacement.chmod(0o666)
    replacement.replace(path)


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    lock = path.with_name(f"{path.name}.lock")
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _add(state: State, words: list[str], number: int) -> None:
    word, *rest = words
    tables = state.tables()
    if word == "driver" and len(rest) == 2:
        state.driver = (rest[0], rest[1])
    elif word == "fault" and len(rest) >= 2:
        state.faults.append((rest[0], int(rest[1]), _record(rest[2:], number)))
    elif word in tables:
        tables[word].append(_record(rest, number))
    else:
        raise ValueError(f"line {number} of the state file starts with {word!r}, which is no record")


def _record(tokens: list[str], number: int) -> Record:
    pairs = [token.partition("=") for token in tokens]
    if not all(sign for _key, sign, _value in pairs):
        raise ValueError(f"line {number} of the state file has a word without '=': write key=value")
    return {key: value for key, _sign, value in pairs}


def _pairs(record: Record) -> str:
    return " ".join(f"{key}={value}" for key, value in record.items())
