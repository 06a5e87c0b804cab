# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of module container_runtime, and the decider of each engine. Private to this collection."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from .._catalog.engines import DISTRIBUTIONS, NONE
from . import containerd, crio, docker
from .containerd_distribution import decide_distribution
from .engine import (
    DEFAULT_HANDLER_PATH,
    HANDLER_PATH,
    PATHS,
    PRESENT,
    Document,
    EnginePlan,
    EngineState,
    EngineWish,
    Handler,
    merged,
    plan_engine,
)
from .model import Finding


def _plan_containerd(wish: EngineWish, state: EngineState) -> EnginePlan:
    row = DISTRIBUTIONS.get(wish.distribution)
    if row is None or not wish.drop_in_path:
        return containerd.plan_containerd(wish, state)
    return plan_engine(wish, state, partial(decide_distribution, row=row))


PLANNERS: dict[str, Callable[[EngineWish, EngineState], EnginePlan]] = {
    "containerd": _plan_containerd,
    "crio": crio.plan_crio,
    "docker": docker.plan_docker,
}
EFFECTIVE: dict[str, Callable[[Document | None], dict[str, Any]]] = {
    "containerd": containerd.effective,
    "crio": crio.effective,
    "docker": docker.effective,
}

# Where toolkit 1.18.0 put its drop-in by mistake.
LEFTOVERS = {"containerd": "/etc/containerd/config.d/99-nvidia.toml", "crio": "/etc/crio/conf.d/99-nvidia.toml"}

# Handlers of the toolkit whose programs are in a package of their own, so they are offered only where the programs are.
FURTHER_HANDLERS = (("nvidia-cdi", ".cdi"), ("nvidia-legacy", ".legacy"))


def make_engine_wish(options: Mapping[str, Any], *, programs: Callable[[str], bool]) -> EngineWish:
    """The wish that module options say. ``programs`` tells whether a program is on the host."""
    runtime = options["runtime"]
    config_path, drop_in_path = PATHS[runtime]
    given = options.get("drop_in_path")
    distribution = options.get("distribution") or ""
    return EngineWish(
        runtime=runtime,
        state=options["state"],
        config_path=options.get("config_path") or config_path,
        drop_in_path=drop_in_path if given is None or runtime == "docker" else given,
        handlers=_handlers(options, runtime, programs),
        set_as_default=options["set_as_default"],
        cdi_enabled=options["cdi_enabled"],
        nri_enabled=bool(options.get("nri_enabled")),
        annotations=tuple(options.get("annotations") or ()),
        distribution="" if distribution == NONE else distribution,
    )


def effective_of(wish: EngineWish, state: EngineState) -> dict[str, Any]:
    """What is in effect: as the engine says, else as its files laid over each other say."""
    # A dump spells everything out: a switch that it lacks does not exist, and a containerd of version 3 on has CDI
    # then.
    document = state.dumped if state.dumped is not None else merged(state.main or {}, state.drop_in or {})
    found = EFFECTIVE[wish.runtime](document)
    if state.dumped is not None and found["cdi_enabled"] is None:
        found["cdi_enabled"] = containerd.config_version(state.dumped) >= 3
    return {**found, "source": "files" if state.dumped is None else "engine"}


def missing_handlers(wish: EngineWish, dumped: Document) -> list[str]:
    """Names of wanted handlers that the engine does not list after all."""
    there = EFFECTIVE[wish.runtime](dumped)["handlers"]
    return [h.name for h in wish.handlers if there.get(h.name) != h.path] if wish.state == PRESENT else []


def missing_programs(wish: EngineWish, programs: Callable[[str], bool]) -> tuple[Finding, ...]:
    """A warning for each handler whose program is not on the host."""
    missing = [h for h in wish.handlers if h.path.startswith("/") and not programs(h.path)]
    return tuple(_missing(h) for h in missing) if wish.state == PRESENT else ()


def find_leftovers(wish: EngineWish, exists: Callable[[str], bool]) -> tuple[Finding, ...]:
    """Drop-ins in folders that no engine reads: toolkit 1.18.0 wrote them there."""
    paths = [LEFTOVERS[wish.runtime]] if wish.runtime in LEFTOVERS and not wish.distribution else []
    return tuple(
        Finding(
            id="GPU-CTR-042",
            severity="warning",
            summary=f"{path} is in a folder that {wish.runtime} does not read, so what it says is not in effect",
            wanted=f"drop-ins in {posixpath.dirname(wish.drop_in_path or PATHS[wish.runtime][1])}",
            found=f"{path} (toolkit 1.18.0 wrote it there)",
            remedy=f"rm {path}",
            source="https://github.com/NVIDIA/nvidia-container-toolkit/issues/1404",
        )
        for path in paths
        if path != wish.drop_in_path and exists(path)
    )


def _handlers(options: Mapping[str, Any], runtime: str, programs: Callable[[str], bool]) -> tuple[Handler, ...]:
    default = DEFAULT_HANDLER_PATH.get(runtime, HANDLER_PATH)
    if options.get("handlers") is not None:
        return tuple(Handler(h["name"], h.get("path") or default) for h in options["handlers"])
    name, path = options.get("runtime_name") or "nvidia", options.get("runtime_path") or default
    if options.get("runtime_name") or options.get("runtime_path"):
        return (Handler(name, path),)
    further = [Handler(n, f"{HANDLER_PATH}{end}") for n, end in FURTHER_HANDLERS if programs(f"{HANDLER_PATH}{end}")]
    return (Handler(name, path), *further)


def _missing(handler: Handler) -> Finding:
    return Finding(
        id="GPU-CTR-105",
        severity="warning",
        summary=f"the handler {handler.name} runs a program that is not on this host",
        wanted=f"executable {handler.path}",
        found="no such program",
        remedy="install nvidia-container-toolkit (role gpu.fleet.toolkit), or set runtime_path",
        source="https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html",
    )
