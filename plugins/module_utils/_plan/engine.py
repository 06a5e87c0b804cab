# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the deciders of all container engines share: options, files before and after, steps.

Private to this collection.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .model import Finding, Plan, Step

RUNTIMES = ("containerd", "crio", "docker", "podman")
PRESENT, ABSENT = "present", "absent"

EDIT, WRITE, REMOVE, RESTART = "edit_file", "write_file", "remove_file", "restart"
FORGET = "forget_settings"

# runtime -> (configuration file, drop-in file; empty where the engine reads none)
PATHS = {
    "containerd": ("/etc/containerd/config.toml", "/etc/containerd/conf.d/99-nvidia.toml"),
    "crio": ("/etc/crio/crio.conf", "/etc/crio/crio.conf.d/99-nvidia.toml"),
    "docker": ("/etc/docker/daemon.json", ""),
    "podman": ("", ""),
}
# A bare name is found through the PATH of dockerd, as NVIDIA's own tool writes it; the others want a path.
DEFAULT_HANDLER_PATH = {"docker": "nvidia-container-runtime"}
HANDLER_PATH = "/usr/bin/nvidia-container-runtime"

# The programs from which a handler inherits its options, in this order after the default one.
TEMPLATES = ("runc", "crun")

Document = dict[str, Any]
Key = tuple[str, ...]


@dataclass(frozen=True)
class Handler:
    """One runtime handler: its name, and the program that it runs."""

    name: str
    path: str


@dataclass(frozen=True)
class EngineWish:
    """Options of module container_runtime. ``drop_in_path`` empty: ``config_path`` itself is edited.

    ``distribution``: the Kubernetes distribution that brings the engine; empty for the system's own.
    ``annotations``: prefixes of the pods' annotations that the handlers see.
    """

    runtime: str
    state: str
    config_path: str
    drop_in_path: str
    handlers: tuple[Handler, ...]
    set_as_default: bool = False
    cdi_enabled: bool = False
    nri_enabled: bool = False
    annotations: tuple[str, ...] = ()
    distribution: str = ""

    @property
    def patterns(self) -> tuple[str, ...]:
        """The annotations as engines name them."""
        return tuple(f"{a}*" for a in self.annotations)

    @property
    def names(self) -> tuple[str, ...]:
        """The handlers' names."""
        return tuple(h.name for h in self.handlers)


@dataclass(frozen=True)
class Owned:
    """One value that was set before by this collection: what stood there, and what was written.

    An empty key stands for the file: it was not there.
    """

    path: str
    key: Key
    before: Any
    ours: Any


@dataclass(frozen=True)
class EngineState:
    """An engine's files, parsed.

    None for a file that is absent; ``errors`` has a sentence for each that cannot be parsed.

    ``source`` is the configuration from which options are inherited: the main file, or what the engine says is in
    effect. ``dumped`` is what the engine says where it can be asked, whatever the source. ``managed``: the
    distribution still writes its settings itself. ``flags``: option of the daemon's command line -> its values.
    """

    main: Document | None
    drop_in: Document | None = None
    source: Document | None = None
    errors: tuple[str, ...] = ()
    owned: tuple[Owned, ...] = ()
    dumped: Document | None = None
    managed: bool = True
    flags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class FileChange:
    """A file before and after; None for absent."""

    path: str
    before: Document | None
    after: Document | None
    reason: str
    # An engine reads its files when it starts, so a change means a restart.
    disrupts: str = "runtime"

    @property
    def changes(self) -> bool:
        """Whether there is anything to do."""
        return self.before != self.after

    def step(self) -> Step:
        """The change as a step of a plan."""
        if self.after is None:
            return Step(REMOVE, self.path, "present", None, self.reason, self.disrupts)
        if self.before is None:
            return Step(WRITE, self.path, None, _told(differences({}, self.after)), self.reason, self.disrupts)
        rows = list(differences(self.before, self.after))
        return Step(EDIT, self.path, _told(rows, new=False), _told(rows), self.reason, self.disrupts)


@dataclass(frozen=True)
class EnginePlan:
    """Steps and findings, with the files that the steps are about."""

    plan: Plan
    files: tuple[FileChange, ...] = ()

    def file(self, path: str) -> FileChange:
        """The change of one file that a step names."""
        return next(f for f in self.files if f.path == path)


def make_plan(files: Iterable[FileChange], findings: Iterable[Finding] = ()) -> EnginePlan:
    """A plan of those files that change; nothing of it where a finding is an error."""
    found = tuple(findings)
    changed = tuple(f for f in files if f.changes)
    if any(f.severity == "error" for f in found):
        return EnginePlan(Plan(findings=found))
    return EnginePlan(Plan(tuple(f.step() for f in changed), found), changed)


def plan_restart(runtime: str, unit: str) -> Plan:
    """The restart of an engine whose files are newer than its start, although nothing has to be written into them."""
    before, after = "started before its files were last changed", "runs with its files as they are"
    reason = f"{runtime} reads its files when it starts, so what was changed since then is not in effect"
    return Plan((Step(RESTART, unit, before, after, reason, "runtime"),))


def find_busy(runtime: str, unit: str | None, containers: Sequence[str]) -> Finding:
    """The restart that is needed, and would take the GPUs' containers with it or cut them off from the kubelet."""
    return Finding(
        id="GPU-CTR-041",
        severity="warning",
        summary=f"{runtime} has to be restarted, and is not, because containers compute on GPUs",
        wanted=f"{unit or runtime} started after its files were changed",
        found=f"{', '.join(containers)} (holding /dev/nvidia-uvm or /dev/nvidia-modeset)",
        remedy="drain the node and run this again, or set toolkit_restart: true",
        source="https://github.com/NVIDIA/nvidia-container-toolkit/issues/48",
    )


def plan_engine(
    wish: EngineWish, state: EngineState, decide: Callable[[EngineWish, EngineState], EnginePlan]
) -> EnginePlan:
    """What ``decide`` says, where every file can be read. It may raise TypeError for a table that is none."""
    errors = _refused(state, wish.config_path) + _senseless(wish)
    if errors:
        return make_plan((), errors)
    try:
        return decide(wish, state)
    except TypeError as error:
        return make_plan((), [_odd_type(wish.config_path, error)])


def differences(
    before: Mapping[str, Any], after: Mapping[str, Any], *, at: Key = (), whole: bool = False
) -> Iterator[tuple[Key, Any, Any]]:
    """(key, old value, new value) of all leaves that differ; None stands for absent.

    Tables are entered; ``whole``: a table that is new is one row.
    """
    for name in [*before, *(n for n in after if n not in before)]:
        old, new = before.get(name), after.get(name)
        if old == new and (name in before) == (name in after):
            continue
        if isinstance(new, dict) and (isinstance(old, dict) or (old is None and new and not whole)):
            yield from differences(old or {}, new, at=(*at, name), whole=whole)
        else:
            yield (*at, name), old, new


def table(document: Document, *keys: str) -> Document:
    """The table at ``keys``, made where it is absent. Raises TypeError where something else stands there."""
    for name in keys:
        document = document.setdefault(name, {})
        if not isinstance(document, dict):
            raise TypeError(f"{'.'.join(keys)} is no table: {name} is {document!r}")
    return document


def lookup(document: Mapping[str, Any] | None, *keys: str) -> Any:
    """The value at ``keys``, or None."""
    found: Any = document
    for name in keys:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def tables(document: Mapping[str, Any] | None, *keys: str) -> dict[str, Document]:
    """The tables in the table at ``keys``; whatever else is there has no say."""
    found = lookup(document, *keys)
    return {n: t for n, t in found.items() if isinstance(t, dict)} if isinstance(found, dict) else {}


def merged(low: Document, high: Document) -> Document:
    """Two configuration files laid over each other, key by key; the second wins."""
    tables = {n: merged(low[n], v) for n, v in high.items() if isinstance(v, dict) and isinstance(low.get(n), dict)}
    return {**low, **high, **tables}


def plan_forget(path: str, owned: Iterable[Owned]) -> Plan:
    """The last step of a removal: a step of its own, so that a run that died before it is ended by the next one."""
    if not any(row.path == path for row in owned):
        return Plan()
    reason = "state is absent, so nothing in the file is ours any more"
    return Plan((Step(FORGET, path, "settings of ours are remembered", None, reason),))


def is_created(path: str, owned: Iterable[Owned]) -> bool:
    """Whether the file itself was made by this collection: its row has an empty key."""
    return any(row.path == path and not row.key for row in owned)


def with_patterns(found: Any, wanted: Iterable[str]) -> list[Any]:
    """A list of annotations with those that are wanted, each once. Raises TypeError where it is no list."""
    if not isinstance(found, list):
        raise TypeError(f"annotations are no list: {found!r}")
    return [*found, *(w for w in wanted if w not in found)]


def undo(document: Document, owned: Iterable[Owned]) -> Document:
    """The document without what this collection had put into it; values that somebody changed since then stay."""
    after = copy.deepcopy(document)
    for row in [r for r in owned if r.key]:
        parent = lookup(after, *row.key[:-1]) if row.key[:-1] else after
        if not isinstance(parent, dict) or row.key[-1] not in parent:
            continue
        back = _back(parent[row.key[-1]], row)
        if back is None:
            del parent[row.key[-1]]
        else:
            parent[row.key[-1]] = back
    return prune(after, document)


def _back(found: Any, row: Owned) -> Any:
    """What a value that is now ``found`` goes back to; None for absent."""
    if found == row.ours:
        return row.before
    if isinstance(found, list) and isinstance(row.ours, list):
        before = row.before or []
        return [x for x in found if x in before or x not in row.ours] + [x for x in before if x not in row.ours]
    return found


def prune(after: Document, before: Mapping[str, Any]) -> Document:
    """``after`` without tables that became empty; those that were empty before stay."""
    kept = {}
    for name, value in after.items():
        old = before.get(name)
        if isinstance(value, dict) and isinstance(old, dict):
            value = prune(value, old)
            if not value and old:
                continue
        kept[name] = value
    return kept


def _refused(state: EngineState, path: str) -> list[Finding]:
    """An error for every file that cannot be parsed: what cannot be read cannot be edited."""
    return [
        Finding(
            id="GPU-CTR-101",
            severity="error",
            summary=f"the engine's configuration cannot be read: {error}",
            wanted=f"a file that the engine would accept ({path})",
            found=error,
            remedy=f"repair the file by hand, or restore it from a backup, then run this again ({path})",
            source="https://github.com/NVIDIA/nvidia-container-toolkit/issues/982",
        )
        for error in state.errors
    ]


def _senseless(wish: EngineWish) -> list[Finding]:
    """Options that no file of this engine can say."""
    docker = wish.runtime == "docker"
    rows = (
        ("set_as_default", wish.set_as_default and not wish.handlers, "a handler, which would be the default"),
        ("nri_enabled", wish.nri_enabled and docker, "containerd or CRI-O: Docker has no Node Resource Interface"),
        ("annotations", bool(wish.annotations) and docker, "containerd or CRI-O: Docker has no pods"),
    )
    return [
        Finding(
            id="GPU-CTR-114",
            severity="error",
            summary=f"option {option} of container_runtime has no meaning here",
            wanted=f"{option}: with {wanted}",
            found=f"runtime: {wish.runtime}, handlers: {', '.join(wish.names) or 'none'}",
            remedy=f"take {option} out",
            source="dockerd(8), containerd docs/cri/config.md",
        )
        for option, wrong, wanted in rows
        if wrong and wish.state == PRESENT
    ]


def _odd_type(path: str, error: TypeError) -> Finding:
    """A key of the file has a type that no version of the engine accepts."""
    return Finding(
        id="GPU-CTR-102",
        severity="error",
        summary=f"{path} has a value of a wrong type: {error}",
        wanted="a table",
        found=str(error),
        remedy=f"repair {path} by hand, then run this again",
        source="https://github.com/NVIDIA/nvidia-container-toolkit/issues/982",
    )


def _told(rows: Iterable[tuple[Key, Any, Any]], *, new: bool = True) -> str:
    told = []
    for key, old, value in rows:
        shown = value if new else old
        told.append(f"{'.'.join(key)}: {'absent' if shown is None else shown}")
    return "; ".join(told)
