# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Observes everything that a validation needs and writes the barrier files. Private to this collection.

Module host_validation and the program gpu-fleet-host run this same code.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from .._observe.cdi_gpus import read_gpus
from .._observe.cdi_specs import yaml_loader
from .._observe.command import Run
from .._observe.driver_version import read_loaded_driver
from .._observe.engines import Unreadable, engine_places, find_runtime
from .._observe.files import HostRoot
from .._observe.kubelet import read_kubelet
from .._observe.mig import read_mig
from .._observe.modules import read_modules
from .._observe.nvml import NvmlFailure, open_nvml
from .._observe.validation import read_barriers, read_missing_links, read_missing_nodes, read_nvml_side, read_pci_gpus
from .._plan.cdi_wish import DEFAULT_PATH, make_wish
from .._plan.engine import HANDLER_PATH
from .._plan.mig_config_file import ConfigError
from .._plan.mig_wish import parse_wish
from .._plan.model import Step
from .._plan.runtime import make_engine_wish
from .._plan.validation import BARRIERS, DIRECTORY, Seen, Validation, content
from .cdi import CdiSpecs, WishError, read_wishes
from .files import make_directory, remove_file, write_atomically
from .mig_state import MigState, MigStateError
from .ownership import STATE_DIRECTORY
from .runtime import Engine

WISH_PATH = f"{STATE_DIRECTORY}/validation/wish.json"
OPTIONS = ("handlers", "driver_root", "extras", "cdi", "engine")


class HostValidation:
    """One host. ``helpers`` are the packages tomlkit and yaml; ``engine`` empty means the one that the kubelet
    speaks to.
    """

    def __init__(
        self, host: HostRoot, wish: Validation, *, run: Run, helpers: Mapping[str, Any], engine: str = ""
    ) -> None:
        self._host = host
        self._wish = wish
        self._run = run
        self._helpers = helpers
        self._engine = engine

    def observe(self) -> Seen:
        """Both sides of every component. Raises HelperMissing, OSError."""
        side, driver = read_nvml_side(), read_loaded_driver(self._host)
        parts = {**self._engine_side(), **self._cdi_side(), **self._mig_side(bool(side.error))}
        return Seen(
            pci_gpus=read_pci_gpus(self._host),
            nvml_gpus=tuple(address for address, _minor in side.gpus),
            module_version=driver.version if driver else "",
            nvml_version=side.version,
            nvml_error=side.error,
            missing_nodes=read_missing_nodes(self._host, side),
            missing_links=read_missing_links(self._host, side),
            modules=tuple(read_modules(self._host)),
            barriers=read_barriers(self._host),
            **parts,
        )

    def act(self, step: Step, seen: Seen) -> None:
        """Writes or removes one barrier file."""
        del seen
        path = self._host.where(step.target)
        if step.action == "remove_barrier":
            remove_file(path)
            return
        component = next(c for c, name in BARRIERS.items() if f"{DIRECTORY}/{name}" == step.target)
        write_atomically(path, content(component, self._wish).encode())

    def _engine_side(self) -> dict[str, Any]:
        runtime = self._engine or read_kubelet(self._host).engine or find_runtime(self._host) or ""
        if runtime in ("", "podman"):
            return {"engine": runtime, **self._program(HANDLER_PATH)}
        options = {"runtime": runtime, "state": "present", "set_as_default": False, "cdi_enabled": False}
        wish = make_engine_wish(engine_places(self._host, options), programs=self._host.is_executable)
        toml = self._helpers["tomlkit"]
        engine = Engine(self._host, wish, run=self._run, toml=toml, executable=None, config_source="file")
        state = engine.observe()
        if state.errors:
            return {"engine": runtime, "engine_error": state.errors[0], **self._program(HANDLER_PATH)}
        try:
            effective = engine.returns(state)["effective"]
        except Unreadable as error:
            return {"engine": runtime, "engine_error": str(error), **self._program(HANDLER_PATH)}
        handlers = dict(effective["handlers"])
        program = next((handlers[h] for h in self._wish.handlers if handlers.get(h)), HANDLER_PATH)
        return {
            "engine": runtime,
            "handlers": handlers,
            "cdi_enabled": effective["cdi_enabled"],
            "restart": engine.reader.started_before_files(),
            **self._program(program),
        }

    def _program(self, path: str) -> dict[str, str]:
        """The runtime is asked for its version, which also runs the low-level runtime below it."""
        if not self._host.is_executable(path) and "/" in path:
            return {"program": path, "program_error": f"{path} is not there"}
        if self._host.root != "/":
            return {"program": path, "program_error": ""}
        status, out, err = self._run([path, "--version"])
        said = " ".join((err or out).split()) or "it said nothing"
        return {"program": path, "program_error": f"exit status {status}: {said}" if status else ""}

    def _cdi_side(self) -> dict[str, Any]:
        if not self._wish.cdi:
            return {}
        load = yaml_loader(self._helpers["yaml"])
        try:
            saved = read_wishes(self._host, load)
        except WishError as refused:
            return {"cdi_path": DEFAULT_PATH, "cdi_error": str(refused)}
        wish = make_wish(saved[0] if saved else {})
        state = CdiSpecs(self._host, wish, read_gpus=read_gpus, load=load, run=self._run).observe()
        found = state.existing
        error = "no such file" if found is None else found.error
        stale = tuple((s.reason, s.wanted, s.found) for s in state.stale)
        return {"cdi_path": wish.path, "cdi_error": error, "cdi_stale": stale}

    def _mig_side(self, nvml_down: bool) -> dict[str, Any]:
        try:
            document = MigState(self._host.where(STATE_DIRECTORY)).wish()
            if document is None:
                return {}
            if nvml_down:
                return {"mig_saved": True, "mig_error": "NVML does not answer"}
            with open_nvml() as nvml:
                plan = parse_wish(document).decide(read_mig(nvml)).plan
        except (MigStateError, ConfigError, NvmlFailure) as error:
            return {"mig_saved": True, "mig_error": str(error)}
        errors = tuple(f.summary for f in plan.errors)
        return {"mig_saved": True, "mig_left": errors + tuple(f"{s.action} {s.target}" for s in plan.steps)}


def saved_options(host: HostRoot) -> dict[str, Any] | None:
    """What role validation saved for the boot, or None. Raises ValueError for a file that is no JSON."""
    text = host.text(WISH_PATH)
    return None if text is None else dict(json.loads(text))


def save_options(host: HostRoot, options: Mapping[str, Any] | None) -> None:
    """Keeps the options for the boot; None forgets them. Raises OSError."""
    path = host.where(WISH_PATH)
    if options is None:
        remove_file(path)
        return
    make_directory(os.path.dirname(os.path.dirname(path)), mode=0o700)
    write_atomically(path, (json.dumps(dict(options), indent=1, sort_keys=True) + "\n").encode(), mode=0o600)


def make_validation(options: Mapping[str, Any]) -> Validation:
    """The wish that module options or saved ones say."""
    return Validation(
        handlers=tuple(options.get("handlers") or ("nvidia",)),
        driver_root=options.get("driver_root") or "/",
        extras=tuple(options.get("extras") or ()),
        cdi=bool(options.get("cdi", True)),
    )
