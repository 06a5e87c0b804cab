# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""MIG cases: mig_config and mig_info on a simulated node, and the outcome that the case asks for.

The cases come from GPU_FLEET_CASES where it is set, else from the project's own fixtures of the same form.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from simulator import mig_case
from simulator.build import artifact_dir
from simulator.invariants import violations
from simulator.runner import Runner
from simulator.sandbox import Sandbox
from simulator.state import State

OWN = Path(__file__).parents[1] / "fixtures"
FOLDER = Path(os.environ.get("GPU_FLEET_CASES", OWN)) / "mig"
NO_CASES = ("geometry",)
CASES = {p.stem: yaml.safe_load(p.read_text()) for p in sorted(FOLDER.glob("*.yaml")) if p.stem not in NO_CASES}
ON, OFF = "enabled", "disabled"


class Node:
    """The node of a case, on which modules run."""

    def __init__(self, box: Sandbox, case: Mapping[str, Any]) -> None:
        box.environment["PATH"] = f"{artifact_dir() / 'bin'}:/usr/bin:/bin"
        self.box, self._case = box, case

    def module(self, name: str, *, check: bool = False, **options: Any) -> dict[str, Any]:
        arguments = {"host_root": str(self.box.folder), "_ansible_check_mode": check, **options}
        _status, said = _runner(self.box.environment["LD_LIBRARY_PATH"]).run(self.box.environment, name, arguments)
        assert said.strip().startswith("{"), said
        return json.loads(said)

    def act(self, checkpoint: dict[str, Any] | None, *, check: bool = False) -> dict[str, Any]:
        """Does what the case asks for, with ``check`` in check mode."""
        action = self._case["action"]
        if checkpoint is not None:
            return self.module("mig_config", check=check, checkpoint=checkpoint)
        options = {"config": self._case["config"], "selected_config": self._case.get("selected")}
        if action["verb"] == "assert":
            return self.module("mig_info", mode_only=action.get("mode_only", False), **options)
        flags = {flag: action[flag] for flag in ("mode_only", "skip_reset") if flag in action}
        return self.module("mig_config", check=check or action.get("check", False), **options, **flags)


@cache
def _runner(libraries: str) -> Runner:
    return Runner(Path(libraries))


@pytest.fixture(params=sorted(CASES))
def case(request: pytest.FixtureRequest) -> Mapping[str, Any]:
    return CASES[request.param]


@pytest.fixture
def node(tmp_path: Path, case: Mapping[str, Any]) -> Iterator[Node]:
    with mig_case.machine(tmp_path / "node", case) as box:
        yield Node(box, case)


def test_case(tmp_path: Path, node: Node, case: Mapping[str, Any]) -> None:
    checkpoint = _checkpoint(tmp_path / "before", case)
    before = node.box.state
    if case["action"]["verb"] == "export":
        assert _groups(node.module("mig_info")["config"]) == _groups(case["expect"]["export"])
        return
    planned = node.act(checkpoint, check=True)
    assert (node.box.state, node.box.writes) == (before, []), "check mode has changed something"
    result = node.act(checkpoint)
    if not case.get("faults") and not result.get("failed"):
        assert _prediction(planned) == _prediction(result), result.get("msg")
    outcomes = [case["expect"], *case.get("accept_also", [])]
    differences = [_differences(node.box, before, result, outcome) for outcome in outcomes]
    assert [] in differences, f"{differences}; {result.get('msg', '')}"
    assert violations(node.box.state) == []
    if _word(result) == "changed" and not case.get("faults") and not case["action"].get("check"):
        _assert_settled(node, checkpoint)


def _prediction(result: Mapping[str, Any]) -> Any:
    """What a run says that it does, and makes of each GPU."""
    steps = [(s["action"], s["target"]) for s in result["plan"]["steps"]]
    return _word(result), steps, [gpu.get("predicted") for gpu in result["gpus"]]


def _assert_settled(node: Node, checkpoint: dict[str, Any] | None) -> None:
    """The second run has nothing to do, unless the GPU waits for a reboot."""
    writes, state = node.box.writes, node.box.state
    again = node.act(checkpoint)
    assert _word(again) == "unchanged" or again.get("reboot_required"), again.get("msg")
    assert (node.box.writes, node.box.state) == (writes, state)


def _checkpoint(folder: Path, case: Mapping[str, Any]) -> dict[str, Any] | None:
    """What mig_info would have given on the node as it was when the checkpoint was made."""
    if "checkpoint" not in case:
        return None
    then = {"node": {"driver_loaded": True, "gpus": case["checkpoint"]["gpus"]}}
    with mig_case.machine(folder, then) as box:
        return dict(Node(box, then).module("mig_info")["checkpoint"])


def _word(result: Mapping[str, Any]) -> str:
    """The outcome in the words of the cases."""
    if result.get("failed"):
        return "error"
    if "matches" in result:
        return "match" if result["matches"] else "mismatch"
    return "changed" if result["changed"] else "unchanged"


def _differences(box: Sandbox, before: State, result: Mapping[str, Any], outcome: Mapping[str, Any]) -> list[str]:
    """What is not as the outcome says; empty when all is."""
    found = [("result", _word(result), outcome["result"])]
    if "error_kind" in outcome:
        found.append(("error_kind", result.get("error_kind"), outcome["error_kind"]))
    if outcome.get("reboot_required"):
        found.append(("reboot_required", result.get("reboot_required"), True))
    state = box.state
    for gpu, wanted in zip(state.gpus, outcome["gpus"], strict=True):
        found += _of_gpu(before, state, gpu["minor"], wanted)
    resets = sum(line.startswith("reset ") for line in box.writes)
    if resets > outcome.get("resets", resets):
        found.append(("resets", resets, outcome["resets"]))
    kept = [f"nvmlGpuInstanceDestroy gpu={p['gpu']} gi={_id(before, p)}" for p in outcome.get("preserved", [])]
    found += [(line, "destroyed", "kept") for line in kept if line in box.writes]
    return [f"{what}: {have!r} instead of {want!r}" for what, have, want in found if have != want]


def _of_gpu(before: State, state: State, minor: str, wanted: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    if wanted.get("unchanged"):
        return [(f"GPU {minor}", _part(state, minor), _part(before, minor))]
    gpu = next(row for row in state.gpus if row["minor"] == minor)
    instances = [row for row in state.instances if row["gpu"] == minor]
    found: list[tuple[str, Any, Any]] = [
        (f"GPU {minor} mode", ON if gpu["mig"] == "1" else OFF, wanted["mig_mode"]),
        (f"GPU {minor} devices", mig_case.devices(state, minor), wanted["devices"]),
        (f"GPU {minor} instances", len(instances), wanted["gi_count"]),
    ]
    if wanted.get("mig_pending", "any") != "any":
        found.append((f"GPU {minor} pending", ON if gpu["pending"] == "1" else OFF, wanted["mig_pending"]))
    if "starts" in wanted:
        found.append((f"GPU {minor} starts", mig_case.starts(state, minor), wanted["starts"]))
    return found


def _part(state: State, minor: str) -> list[Any]:
    """Mode, instances and processes of one GPU."""
    gpu = next(row for row in state.gpus if row["minor"] == minor)
    tables = (state.instances, state.compute, state.processes)
    rows = [sorted((row for row in table if row["gpu"] == minor), key=str) for table in tables]
    return [gpu["mig"], gpu["pending"], *([{**row, "type": ""} for row in table] for table in rows)]


def _id(state: State, place: Mapping[str, Any]) -> str:
    here = (str(place["gpu"]), str(place["start"]))
    return next(row["id"] for row in state.instances if (row["gpu"], row["start"]) == here)


def _groups(config: Any) -> list[tuple[Any, ...]]:
    """Entries of a layout in one order and with the keys of the cases."""
    entries = config["mig-configs"]["current"] if isinstance(config, Mapping) else config
    rows = [{key.replace("-", "_"): value for key, value in entry.items()} for entry in entries]
    return sorted((str(row["devices"]), row["mig_enabled"], sorted(row.get("mig_devices", {}).items())) for row in rows)
