# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Looks at Podman, which reads CDI specs by itself. Private to this collection."""

from __future__ import annotations

from typing import Any

from .._plan.model import Plan
from .._plan.podman import judge_podman
from .command import Run
from .files import HostRoot

HOOKS = ("/usr/share/containers/oci/hooks.d/oci-nvidia-hook.json", "/etc/containers/oci/hooks.d/oci-nvidia-hook.json")


def read_podman(host: HostRoot, run: Run) -> dict[str, Any]:
    """The result of module container_runtime for Podman: nothing is ever changed."""
    status, out, _err = run(["podman", "--version"]) if host.root == "/" else (127, "", "")
    version = out.split()[-1] if status == 0 and out.split() else None
    plan = judge_podman(version, [path for path in HOOKS if host.exists(path)])
    return untouched("podman", plan, cdi_enabled=True)


def untouched(runtime: str | None, plan: Plan, *, cdi_enabled: bool | None) -> dict[str, Any]:
    """The module's result where there is nothing that it could change."""
    effective: dict[str, Any] = {
        "handlers": {},
        "default_runtime": None,
        "cdi_enabled": cdi_enabled,
        "cdi_spec_dirs": None,
        "nri_enabled": None,
        "source": "files",
    }
    own = {
        "files": [],
        "restart_required": False,
        "restart_allowed": False,
        "effective": effective,
        "runtime": runtime,
        "distribution": None,
        "unit": None,
    }
    return {"changed": False, **own, **plan.result()}
