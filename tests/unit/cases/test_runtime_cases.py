# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Engine configurations, compared with what nvidia-ctk runtime configure 1.20.0 made of them.

The cases come from GPU_FLEET_CASES where it is set, else from the project's own fixtures of the same form.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import tomlkit
import yaml

from ansible_collections.gpu.fleet.plugins.module_utils._act.runtime import Engine
from ansible_collections.gpu.fleet.plugins.module_utils._host.command import run
from ansible_collections.gpu.fleet.plugins.module_utils._observe.files import HostRoot
from ansible_collections.gpu.fleet.plugins.module_utils._plan.runtime import make_engine_wish

OWN = Path(__file__).parents[1] / "fixtures"
FOLDER = Path(os.environ.get("GPU_FLEET_CASES", OWN)) / "runtime"
TOOLKIT = "/usr/local/nvidia/toolkit/nvidia-container-runtime"
INSTALLER = [
    {"name": "nvidia", "path": TOOLKIT},
    {"name": "nvidia-cdi", "path": f"{TOOLKIT}.cdi"},
    {"name": "nvidia-legacy", "path": f"{TOOLKIT}.legacy"},
]
FLAGS = {
    "nvidia-set-as-default": "set_as_default",
    "set-as-default": "set_as_default",
    "cdi.enabled": "cdi_enabled",
    "cdi.enable": "cdi_enabled",
    "enable-cdi": "cdi_enabled",
}
VALUES = {
    "runtime": "runtime",
    "config": "config_path",
    "drop-in-config": "drop_in_path",
    "nvidia-runtime-name": "runtime_name",
    "nvidia-runtime-path": "runtime_path",
    "config-source": "config_source",
}
NONE: dict[str, Any] = {
    "runtime": "docker",
    "state": "present",
    "config_source": "file",
    "set_as_default": False,
    "cdi_enabled": False,
}


def is_ours(case: Mapping[str, Any]) -> bool:
    """Whether module container_runtime corresponds."""
    commands = case["commands"]
    words = {word for c in commands for word in c["args"]}
    configures = all(c["tool"] == "nvidia-ctk-installer" or c["args"][:2] == ["runtime", "configure"] for c in commands)
    # Podman is looked at only; OCI hooks and dry runs have no counterpart.
    foreign = [w for w in words if w in ("--runtime=podman", "--dry-run") or w.startswith("--oci-hook-path")]
    return configures and not foreign


ALL = {
    path.parent.name: case
    for path in sorted(FOLDER.glob("*/case.yaml"))
    if is_ours(case := yaml.safe_load(path.read_text()))
}
CASES = {name: case for name, case in ALL.items() if "peer_defect" not in case}
DEFECTS = {name: case for name, case in ALL.items() if "peer_defect" in case}


def options_of(command: Mapping[str, Any]) -> dict[str, Any]:
    options = dict(NONE)
    if command["tool"] == "nvidia-ctk-installer":
        options.update(set_as_default=True, handlers=INSTALLER)
    for word in command["args"]:
        name, equals, value = word.removeprefix("--").partition("=")
        if name in FLAGS and not equals:
            options[FLAGS[name]] = True
        elif name in VALUES and equals:
            options[VALUES[name]] = value
    return options


def lay_out(name: str, root: Path) -> None:
    """The files before, with the modes that the case tells: the cases themselves may be read-only."""
    before = FOLDER / name / "before"
    if not before.is_dir():
        return
    shutil.copytree(before, root, dirs_exist_ok=True)
    for path, mode in ALL[name].get("before_modes", {}).items():
        (root / path.lstrip("/")).chmod(int(mode, 8))


def programs(case: Mapping[str, Any], root: Path) -> str | None:
    """Lays out the stand-in for the engine; its path."""
    made = None
    for path, text in (case.get("programs") or {}).items():
        made = root / path.lstrip("/")
        made.parent.mkdir(parents=True, exist_ok=True)
        made.write_text(text)
        made.chmod(0o755)
    return None if made is None else str(made)


def configure(options: Mapping[str, Any], root: Path, executable: str | None) -> str:
    """One run of the module; what blocked it."""
    host = HostRoot(str(root))
    wish = make_engine_wish(options, programs=host.is_executable)
    engine = Engine(host, wish, run=run, toml=tomlkit, executable=executable, config_source=options["config_source"])
    state = engine.observe()
    plan = engine.decide(state)
    for step in () if plan.blocked else plan.steps:
        engine.act(step, state)
    assert plan.blocked or not engine.decide(engine.observe()).changed
    return plan.message()


def values(folder: Path) -> dict[str, Any]:
    """Path -> content by value of the engines' files; a file that cannot be parsed stays a text."""
    found = {}
    for path in folder.rglob("*"):
        if path.suffix in (".toml", ".json", ".conf") and path.is_file() and "toolkit" not in path.parts:
            text = path.read_text()
            try:
                found[f"/{path.relative_to(folder)}"] = parse(text, path)
            except ValueError:
                found[f"/{path.relative_to(folder)}"] = text
    return found


def parse(text: str, path: Path) -> Any:
    return json.loads(text) if path.suffix == ".json" else tomlkit.parse(text).unwrap()


def test_there_are_cases():
    assert len(CASES) > 3


@pytest.mark.parametrize("name", CASES)
def test_files_are_those_of_the_reference(name, tmp_path):
    case = CASES[name]
    lay_out(name, tmp_path)
    executable = programs(case, tmp_path)
    said = [configure(options_of(c), tmp_path, executable) for c in case["commands"]]
    assert bool(said[-1]) == bool(case["results"][-1]["rc"])
    state = tmp_path / "var/lib/gpu-fleet"
    if state.exists():
        shutil.rmtree(state)
    assert values(tmp_path) == values(FOLDER / name / "after")
    for row in case["files"]:
        path = tmp_path / row["path"].lstrip("/")
        if path.exists():
            assert f"{path.stat().st_mode & 0o777:04o}" == row["mode"]


@pytest.mark.parametrize("name", CASES)
def test_removal_leaves_what_was_there(name, tmp_path):
    case = CASES[name]
    lay_out(name, tmp_path)
    executable = programs(case, tmp_path)
    options = [options_of(c) for c in case["commands"]]
    said = [configure(o, tmp_path, executable) for o in options]
    configure({**options[-1], "state": "absent"}, tmp_path, executable)
    assert said[-1] or values(tmp_path) == values(FOLDER / name / "before")


def comments(folder: Path) -> list[str]:
    found = [p.read_text().splitlines() for p in folder.rglob("*.toml") if "toolkit" not in p.parts]
    return [line for lines in found for line in lines if line.lstrip().startswith("#")]


def names_of(options: Mapping[str, Any], root: Path) -> set[str]:
    """The handlers that are in effect."""
    host = HostRoot(str(root))
    wish = make_engine_wish(options, programs=host.is_executable)
    engine = Engine(host, wish, run=run, toml=tomlkit, executable=None, config_source="file")
    return set(engine.returns(engine.observe())["effective"]["handlers"])


@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_of_the_reference_is_not_followed(name, tmp_path):
    """Comments stay, each handler that was asked for is there, nothing of before is lost, and removal goes back."""
    case = DEFECTS[name]
    lay_out(name, tmp_path)
    executable, before = programs(case, tmp_path), values(tmp_path)
    kept, options = comments(tmp_path), [options_of(c) for c in case["commands"]]
    said = [configure(o, tmp_path, executable) for o in options]
    assert [line for line in kept if line not in comments(tmp_path)] == []
    if said[-1]:
        assert values(tmp_path) == before
        return
    wanted = {make_engine_wish(o, programs=lambda path: False).handlers[0].name for o in options}
    assert wanted <= names_of(options[-1], tmp_path)
    for step in reversed(options):
        configure({**step, "state": "absent"}, tmp_path, executable)
    assert values(tmp_path) == before
