# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides how Docker learns of NVIDIA's runtime handlers. Private to this collection.

Source: dockerd(8), daemon.json; NVIDIA Container Toolkit 1.20.0, nvidia-ctk runtime configure.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from .engine import (
    ABSENT,
    Document,
    EnginePlan,
    EngineState,
    EngineWish,
    FileChange,
    is_created,
    lookup,
    make_plan,
    plan_engine,
    prune,
    table,
    tables,
    undo,
)
from .model import Finding

# dockerd's options whose key in the file is not their name or its plural (dockerd(8), 29.0).
FLAGS = {
    "H": "hosts",
    "D": "debug",
    "G": "group",
    "b": "bridge",
    "g": "data-root",
    "l": "log-level",
    "p": "pidfile",
    "s": "storage-driver",
    "add-runtime": "runtimes",
    "cdi-spec-dir": "cdi-spec-dirs",
    "feature": "features",
    "insecure-registry": "insecure-registries",
    "insecure-registries": "insecure-registries",
}

ADDED = "docker run --gpus and --runtime=nvidia need the runtime"


def plan_docker(wish: EngineWish, state: EngineState) -> EnginePlan:
    """Steps to the wanted runtimes, or to none of ours."""
    return plan_engine(wish, state, _decide)


def _decide(wish: EngineWish, state: EngineState) -> EnginePlan:
    after = _removed(wish, state) if wish.state == ABSENT else _configured(wish, state)
    reason = "state is absent" if wish.state == ABSENT else ADDED
    return make_plan(
        [FileChange(wish.config_path, state.main, after, reason)],
        () if wish.state == ABSENT else find_flags(wish.config_path, after or {}, state.flags),
    )


def find_flags(path: str, document: Document, flags: Mapping[str, tuple[str, ...]]) -> list[Finding]:
    """An error for each directive that both the file and dockerd's command line give: dockerd does not start so."""
    names = {flag: key for flag in flags for key in _keys(flag) if key in document}
    return [
        Finding(
            id="GPU-CTR-040",
            severity="error",
            summary=f"dockerd gets {key} from its command line too, and refuses to start with both",
            wanted=f"{key} in one place: {path}",
            found=f"{'-' if len(flag) == 1 else '--'}{flag} {', '.join(flags[flag])} (ExecStart of docker.service)",
            remedy=f"take the option out of the unit (systemctl edit docker.service) and put it into {path}",
            source="https://github.com/NVIDIA/nvidia-docker/issues/761",
        )
        for flag, key in names.items()
    ]


def _keys(flag: str) -> tuple[str, ...]:
    """The file's key of an option: of some that may be repeated it is the plural, others have an own name."""
    return (FLAGS[flag],) if flag in FLAGS else (flag, f"{flag}s")


def effective(document: Document | None) -> dict[str, Any]:
    """What a configuration amounts to for GPUs.

    ``cdi_enabled`` None: not said, the version's default holds (on from 28.2).
    """
    return {
        "handlers": {n: str(e.get("path", "")) for n, e in tables(document, "runtimes").items()},
        "default_runtime": lookup(document, "default-runtime"),
        "cdi_enabled": lookup(document, "features", "cdi"),
        "cdi_spec_dirs": lookup(document, "cdi-spec-dirs"),
        "nri_enabled": None,
    }


def _configured(wish: EngineWish, state: EngineState) -> Document:
    after = copy.deepcopy(state.main or {})
    runtimes = table(after, "runtimes") if wish.handlers else {}
    for handler in wish.handlers:
        entry = table(runtimes, handler.name)
        entry["path"] = handler.path
        if "runtimeArgs" not in entry:
            # Docker ignores it; NVIDIA's tool writes it, so that its own run after ours changes nothing.
            entry.setdefault("args", [])
    if wish.set_as_default:
        after["default-runtime"] = wish.handlers[0].name
    elif after.get("default-runtime") in wish.names:
        _restore_default(after, state)
    if wish.cdi_enabled:
        table(after, "features")["cdi"] = True
    return after


def _restore_default(after: Document, state: EngineState) -> None:
    """Back to what was the default before; without it Docker takes runc."""
    before = next((o.before for o in state.owned if o.key == ("default-runtime",)), None)
    if before:
        after["default-runtime"] = before
    else:
        del after["default-runtime"]


def _removed(wish: EngineWish, state: EngineState) -> Document | None:
    if state.main is None:
        return None
    after = undo(state.main, [o for o in state.owned if o.path == wish.config_path])
    for name in wish.names:
        (after.get("runtimes") or {}).pop(name, None)
    if after.get("default-runtime") in wish.names:
        _restore_default(after, state)
    after = prune(after, state.main)
    return None if not after and is_created(wish.config_path, state.owned) else after
