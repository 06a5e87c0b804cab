# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The toolkit's config.toml, compared with what nvidia-ctk config 1.20.0 made of it.

The cases come from GPU_FLEET_CASES where it is set, else from the project's own fixtures of the same form.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import tomlkit
import yaml

from ansible_collections.gpu.fleet.plugins.module_utils._catalog.toolkit_config import DEFAULT_PATH
from ansible_collections.gpu.fleet.plugins.module_utils._observe.files import HostRoot
from ansible_collections.gpu.fleet.plugins.modules import toolkit_config

OWN = Path(__file__).parents[1] / "fixtures"
FOLDER = Path(os.environ.get("GPU_FLEET_CASES", OWN)) / "runtime"


def sets(case: Mapping[str, Any]) -> bool:
    """Whether keys are set in a file: what is only printed has no counterpart here."""
    commands = case["commands"]
    return all(c["args"][0] == "config" and "--in-place" in c["args"] for c in commands)


ALL = {path.parent.name: yaml.safe_load(path.read_text()) for path in sorted(FOLDER.glob("*/case.yaml"))}
CASES = {name: case for name, case in ALL.items() if sets(case)}


class Ended(Exception):
    """The module has failed."""


class Module:
    """The members of AnsibleModule that the module touches."""

    check_mode = False

    def __init__(self, **params: Any) -> None:
        self.params = params

    def fail_json(self, msg: str, **kwargs: Any) -> None:
        raise Ended(msg)


def options_of(words: list[str]) -> dict[str, Any]:
    """A key without a value is switched on; lists have colons between their parts."""
    given = [word.removeprefix("--set=") for word in words if word.startswith("--set=")]
    settings = {name: value if equals else True for name, equals, value in (g.partition("=") for g in given)}
    paths = [word.partition("=")[2] for word in words if word.startswith(("--config-file=", "--config="))]
    return {"state": "present", "config_path": (*paths, DEFAULT_PATH)[0], "settings": settings}


def run(case: Mapping[str, Any], root: Path) -> list[bool]:
    """One run of the module for each command; which of them failed."""
    failed = []
    for command in case["commands"]:
        try:
            toolkit_config.configure(Module(**options_of(command["args"])), HostRoot(str(root)))
            failed.append(False)
        except Ended:
            failed.append(True)
    return failed


def lay_out(name: str, root: Path) -> None:
    if (FOLDER / name / "before").is_dir():
        shutil.copytree(FOLDER / name / "before", root, dirs_exist_ok=True)


def read(folder: Path) -> dict[str, Any]:
    """Path -> content by value."""
    found = {p.relative_to(folder): p.read_text() for p in folder.rglob("*.toml")}
    return {str(path): parse(text) for path, text in found.items()}


def parse(text: str) -> Any:
    try:
        return tomlkit.parse(text).unwrap()
    except ValueError:
        return text


def test_there_are_cases():
    assert CASES


@pytest.mark.parametrize("name", CASES)
def test_file_is_that_of_the_reference(name, tmp_path):
    lay_out(name, tmp_path)
    assert run(CASES[name], tmp_path) == [bool(r["rc"]) for r in CASES[name]["results"]]
    assert read(tmp_path) == read(FOLDER / name / "after")


@pytest.mark.parametrize("name", CASES)
def test_comments_are_kept_where_the_reference_loses_them(name, tmp_path):
    lay_out(name, tmp_path)
    before = [line for p in tmp_path.rglob("*.toml") for line in p.read_text().splitlines() if line.startswith("#")]
    run(CASES[name], tmp_path)
    after = [line for p in tmp_path.rglob("*.toml") for line in p.read_text().splitlines()]
    assert [line for line in before if line not in after] == []
