# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CDI specs of recorded hosts, compared with what nvidia-ctk cdi generate 1.20.0 printed there.

The cases come from GPU_FLEET_CASES where it is set, else from the project's own fixtures of the same form.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from trees.host import build
from trees.nvml import view

from ansible_collections.gpu.fleet.plugins.module_utils._observe.cdi import read_cdi_host
from ansible_collections.gpu.fleet.plugins.module_utils._plan.cdi_build import build_spec
from ansible_collections.gpu.fleet.plugins.module_utils._plan.cdi_schema import schema_error
from ansible_collections.gpu.fleet.plugins.module_utils._plan.cdi_text import spec_text
from ansible_collections.gpu.fleet.plugins.module_utils._plan.cdi_wish import check_wish, make_wish

OWN = Path(__file__).parents[1] / "fixtures"
FOLDER = Path(os.environ.get("GPU_FLEET_CASES", OWN)) / "cdi"

# flag of nvidia-ctk cdi generate -> option of module cdi_spec
LISTS = {
    "device-name-strategy": "device_name_strategies",
    "device-id": "device_ids",
    "disable-hook": "disabled_hooks",
    "disable-hooks": "disabled_hooks",
    "enable-hook": "enabled_hooks",
    "feature-flag": "feature_flags",
    "library-search-path": "library_search_paths",
    "config-search-path": "config_search_paths",
    "csv.file": "csv_files",
    "csv.ignore-pattern": "csv_ignore_patterns",
}
TEXTS = {
    "mode": "mode",
    "vendor": "vendor",
    "class": "class",
    "format": "format",
    "output": "path",
    "driver-root": "driver_root",
    "dev-root": "dev_root",
    "nvidia-cdi-hook-path": "hook_path",
    "nvidia-ctk-path": "hook_path",
    "ldconfig-path": "ldconfig_path",
    "csv.compat-container-root": "csv_compat_container_root",
}


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def read_cases() -> dict[str, dict[str, Any]]:
    """Cases that a module corresponds to."""
    found = {path.parent.name: load(path) for path in sorted(FOLDER.glob("*/case.yaml"))}
    return {n: c for n, c in found.items() if c["command"]["args"][:2] == ["cdi", "generate"]}


ALL = read_cases()
CASES = {name: case for name, case in ALL.items() if "peer_defect" not in case}
# Cases whose answer is not one to follow, and what is right where that is an error.
DEFECTS = {name: case for name, case in ALL.items() if "peer_defect" in case}
RIGHT = {"mig-missing-cap-node": ["GPU-CDI-106"], "mig-node-missing": ["GPU-CDI-106"]}


def options_of(case: Mapping[str, Any]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for argument in case["command"]["args"][2:]:
        name, _equals, value = argument[2:].partition("=")
        if name == "no-all-device":
            options["all_device"] = False
        elif name in LISTS:
            options.setdefault(LISTS[name], []).append(value)
        else:
            options[TEXTS[name]] = value
    environment = case["host"].get("env", {})
    options["env_path"], options["xdg_data_dirs"] = environment.get("PATH"), environment.get("XDG_DATA_DIRS")
    options["kernel_release"], options["machine"] = case["host"]["kernel_release"], case["host"]["arch"]
    options["wsl_driver_store_paths"] = case.get("dxcore_driver_store_paths")
    return options


def made(case: Mapping[str, Any], root: Path) -> tuple[list[dict[str, Any]], list[str], str]:
    """The specs, the ids of the errors, and the format."""
    wish = make_wish(options_of(case))
    refused = check_wish(wish)
    if refused:
        return [], [f.id for f in refused], wish.format
    built = build_spec(wish, read_cdi_host(build(case, root), wish, lambda: view(case)))
    specs = [built.spec, *built.further.values()] if built.spec else []
    return specs, [f.id for f in built.findings if f.severity == "error"], wish.format


def comparable(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Mounts, nodes and pairs of links are sets; everything else has an order."""

    def edits(part: Mapping[str, Any]) -> dict[str, Any]:
        sets = {
            name: sorted(json.dumps(e, sort_keys=True) for e in part.get(name, []))
            for name in ("mounts", "deviceNodes")
        }
        return {**part, **sets}

    devices = [{**d, "containerEdits": edits(d["containerEdits"])} for d in spec["devices"]]
    return {**spec, "devices": devices, "containerEdits": edits(spec.get("containerEdits") or {})}


def expected(name: str) -> list[dict[str, Any]]:
    """What was printed or written, the specs of parts of the GPUs last; nothing where the command failed."""
    files = sorted(
        (p for g in ("stdout.*", "file__*") for p in (FOLDER / name).glob(g)), key=lambda p: "coherent" in p.name
    )
    return [document for path in files for document in yaml.safe_load_all(path.read_text())]


def test_there_are_cases():
    assert len(CASES) > 3


@pytest.mark.parametrize("name", CASES)
def test_spec_is_that_of_the_reference(name, tmp_path):
    specs, errors, form = made(CASES[name], tmp_path)
    wanted = expected(name)
    assert bool(errors) == (not wanted)
    assert [comparable(s) for s in specs] == [comparable(s) for s in wanted]
    assert [yaml.safe_load(spec_text(s, form)) for s in specs] == specs


@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_of_the_reference_is_not_followed(name, tmp_path):
    specs, errors, form = made(DEFECTS[name], tmp_path)
    assert bool(errors) != bool(specs)
    assert errors == RIGHT.get(name, errors)
    assert [schema_error(s) for s in specs] == [""] * len(specs)
    assert [yaml.safe_load(spec_text(s, form)) for s in specs] == specs
    assert [comparable(s) for s in specs] != [comparable(s) for s in expected(name)]
