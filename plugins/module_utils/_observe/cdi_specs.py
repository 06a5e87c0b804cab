# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the CDI specs that are on a host, and the host's side of what they name. Private to this collection."""

from __future__ import annotations

import json
import posixpath
import stat
from collections.abc import Callable, Mapping
from typing import Any

from .._plan.cdi import ExistingSpec
from .._plan.cdi_foreign import ForeignSpec
from .._plan.cdi_host import Gpu
from .._plan.cdi_schema import schema_error
from .._plan.cdi_shape import shape_error
from .._plan.cdi_stale import SpecFacts, all_edits
from .devices import read_kernel_majors
from .files import HostRoot

# The later directory wins for a device that both have (CDI specification 1.1.0).
DIRECTORIES = ("/etc/cdi", "/var/run/cdi")
SUFFIXES = (".yaml", ".json")

LOADED_VERSION = "/sys/module/nvidia/version"

# Reads YAML, raises ValueError with what is wrong.
Load = Callable[[str], Any]


def yaml_loader(yaml: Any) -> Load:
    """A Load made of the package PyYAML."""

    def load(text: str) -> Any:
        try:
            return yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise ValueError(" ".join(str(error).split())) from error

    return load


def read_spec(host: HostRoot, path: str, load: Load) -> ExistingSpec | None:
    """The file at ``path``, None where there is none."""
    found, text = host.stat(path), host.text(path)
    if found is None or text is None:
        return None
    mode = stat.S_IMODE(found.st_mode)
    try:
        document = json.loads(text) if path.endswith(".json") else load(text)
    except ValueError as error:
        return ExistingSpec(None, mode, str(error))
    wrong = shape_error(document)
    return ExistingSpec(None, mode, wrong) if wrong else ExistingSpec(document, mode, schema_error(document))


def spec_paths(host: HostRoot, directories: tuple[str, ...] = DIRECTORIES) -> list[str]:
    """Paths of all files that engines read as specs."""
    return [f"{d}/{name}" for d in directories for name in host.names(d) if name.endswith(SUFFIXES)]


def read_foreign(host: HostRoot, path: str, kind: str, load: Load) -> tuple[ForeignSpec, ...]:
    """Specs of ``kind`` at other paths than ``path``, in the engines' directories and beside it."""
    directories = (*DIRECTORIES, posixpath.dirname(path))
    found = {host.resolve(p): p for p in reversed(spec_paths(host, tuple(dict.fromkeys(directories))))}
    found.pop(host.resolve(path), None)
    # Reading YAML takes its time, and most specs beside ours are of another kind.
    named = [p for p in sorted(found.values()) if kind in (host.text(p) or "")]
    specs = ((p, read_spec(host, p, load)) for p in named)
    return tuple(
        ForeignSpec(p, tuple(str(d["name"]) for d in s.document["devices"]), rank_of(host, p))
        for p, s in specs
        if s and s.document and s.document.get("kind") == kind
    )


def rank_of(host: HostRoot, path: str) -> int:
    """The place of the path's directory in the engines' order; a later one wins."""
    places = [host.resolve(d) for d in DIRECTORIES]
    directory = host.resolve(posixpath.dirname(path))
    return places.index(directory) if directory in places else len(places)


def read_spec_facts(
    host: HostRoot,
    spec: Mapping[str, Any],
    *,
    driver_version: str | None = None,
    gpus: tuple[Gpu, ...] | None = None,
    readers: Mapping[str, str] | None = None,
) -> SpecFacts:
    """The host's side of ``spec``.

    ``driver_version`` None: the one of the loaded module. ``gpus``: NVML's, if it was asked. ``readers``: engine ->
    newest CDI version that it reads.
    """
    edits = list(all_edits(spec))
    nodes = {n.get("hostPath") or n["path"] for e in edits for n in e.get("deviceNodes") or []}
    files = {m["hostPath"] for e in edits for m in e.get("mounts") or []}
    hooks = {h["path"] for e in edits for h in e.get("hooks") or []}
    found = {path: host.device(path) for path in nodes}
    return SpecFacts(
        driver_version=driver_version or host.line(LOADED_VERSION),
        nodes={path: (n.major, n.minor) if n else None for path, n in sorted(found.items())},
        missing_files=tuple(sorted(f for f in files if not host.exists(f))),
        missing_hooks=tuple(sorted(h for h in hooks if not host.is_executable(h))),
        gpus=gpus,
        majors=read_kernel_majors(host, nodes),
        readers=readers or {},
    )
