# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads container engines and CDI specs for reports. Private to this collection."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from .._catalog.engines import DISTRIBUTIONS
from .._plan.cdi_host import Gpu
from .._plan.cdi_rules import newest_readable
from .._plan.cdi_stale import spec_driver_version, stale_because
from .._plan.engine import EngineWish
from .._plan.runtime import effective_of, make_engine_wish
from .cdi_specs import read_spec, read_spec_facts, spec_paths, yaml_loader
from .command import Run
from .engines import PROGRAM_DIRECTORIES, PROGRAMS, SOCKETS, EngineReader, engine_places
from .files import HostRoot


def read_runtimes(host: HostRoot, run: Run, toml: Any) -> list[dict[str, Any]]:
    """One row for each engine whose program or configuration is there."""
    found = (_engine(host, run, toml, name) for name in ("containerd", "crio", "docker"))
    return [row for row in found if row is not None]


def has_toml_engine(host: HostRoot) -> bool:
    """Whether there is an engine whose settings are TOML."""
    found = (_place(host, name) for name in ("containerd", "crio"))
    return any(program or files for _wish, program, files in found)


def _place(host: HostRoot, name: str) -> tuple[EngineWish, str | None, list[str]]:
    """Where an engine's settings would be, its program, and those of its files that are there."""
    options = {"runtime": name, "state": "present", "set_as_default": False, "cdi_enabled": False}
    wish = make_engine_wish(engine_places(host, options), programs=host.is_executable)
    own = DISTRIBUTIONS[wish.distribution].program if wish.distribution else ""
    paths = [own] if own else [f"{d}/{PROGRAMS[name]}" for d in PROGRAM_DIRECTORIES]
    program = next((p for p in paths if host.is_executable(p)), None)
    return wish, program, [p for p in (wish.config_path, wish.drop_in_path) if p and host.is_file(p)]


def _engine(host: HostRoot, run: Run, toml: Any, name: str) -> dict[str, Any] | None:
    wish, program, files = _place(host, name)
    if program is None and not files:
        return None
    reader = EngineReader(host, wish, run=run, toml=toml, executable=program if host.root == "/" else None)
    state = reader.read(config_source="file", owned=())
    effective = effective_of(wish, state)
    return {
        "runtime": name,
        "program": program,
        "version": _version(run, program) if program and host.root == "/" else None,
        "config_files": files,
        "handlers": effective.get("handlers"),
        "default_runtime": effective.get("default_runtime"),
        "cdi_enabled": effective.get("cdi_enabled"),
        "source": effective.get("source"),
        "error": "; ".join(state.errors) or None,
        "socket": next((s for s in _sockets(wish) if host.exists(s)), None),
        "distribution": wish.distribution or _installed(host),
    }


def _installed(host: HostRoot) -> str | None:
    """A distribution that is there, whatever engine it was told to use."""
    return next((row.name for row in DISTRIBUTIONS.values() if host.is_dir(row.home)), None)


def _sockets(wish: EngineWish) -> tuple[str, ...]:
    row = DISTRIBUTIONS.get(wish.distribution)
    return (row.socket,) if row else next(sockets for engine, sockets in SOCKETS if engine == wish.runtime)


def _version(run: Run, program: str) -> str | None:
    """The first word with digits and dots that the engine prints about itself."""
    status, out, _err = run([program, "--version"])
    words = (w.lstrip("v").rstrip(",") for w in out.split())
    return next((w for w in words if w[:1].isdigit() and "." in w), None) if status == 0 else None


def read_cdi_facts(host: HostRoot, run: Run, yaml: Any, gpus: tuple[Gpu, ...] | None) -> dict[str, Any]:
    """All specs that engines would read, each with why it does not fit the host any more."""
    load, readers = yaml_loader(yaml), read_cdi_readers(host, run)
    return {"specs": [_spec(host, path, load, gpus, readers) for path in spec_paths(host)]}


def read_cdi_readers(host: HostRoot, run: Run) -> dict[str, str]:
    """Engine -> newest CDI version that it reads, for those of which this is known."""
    if host.root != "/":
        return {}
    programs = {name: _place(host, name)[1] for name in ("containerd", "docker")}
    found = {n: newest_readable(n, _version(run, p)) for n, p in programs.items() if p}
    return {name: newest for name, newest in found.items() if newest}


def _spec(
    host: HostRoot, path: str, load: Any, gpus: tuple[Gpu, ...] | None, readers: dict[str, str]
) -> dict[str, Any]:
    found = read_spec(host, path, load)
    document = found.document if found else None
    if document is None:
        return {"path": path, "error": found.error if found else "it is gone", "stale_because": []}
    facts = read_spec_facts(host, document, gpus=gpus, readers=readers)
    return {
        "path": path,
        "kind": document.get("kind"),
        "devices": [d.get("name") for d in document["devices"]],
        "driver_version": spec_driver_version(document),
        "error": (found.error if found else "") or None,
        "stale_because": [asdict(s) for s in stale_because(document, facts)],
    }
