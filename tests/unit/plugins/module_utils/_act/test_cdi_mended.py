# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each reason for which a CDI spec gets stale: it is found, told, and mended by one write; then nothing is left."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from trees.host import build
from trees.nvml import view

from ansible_collections.gpu.fleet.plugins.module_utils._act.cdi import CdiSpecs
from ansible_collections.gpu.fleet.plugins.module_utils._observe.cdi_specs import yaml_loader
from ansible_collections.gpu.fleet.plugins.module_utils._observe.runtimes import read_cdi_facts
from ansible_collections.gpu.fleet.plugins.module_utils._plan.cdi import WRITE, plan_cdi
from ansible_collections.gpu.fleet.plugins.module_utils._plan.cdi_stale import REASONS
from ansible_collections.gpu.fleet.plugins.module_utils._plan.cdi_wish import make_wish

CASE = Path(__file__).parents[3] / "fixtures/cdi/mig-and-whole/case.yaml"
LIBRARIES = "/usr/lib/x86_64-linux-gnu"
PATH = "/var/run/cdi/nvidia.yaml"
Case = dict[str, Any]


class Host:
    """A described host at one moment; what was written on it before stays."""

    def __init__(self, case: Case, root: Path) -> None:
        self.case = case
        self.host = build(case, root)

    def specs(self) -> CdiSpecs:
        wish = make_wish({"path": PATH, "kernel_release": "6.1.0-test", "machine": "x86_64"})
        return CdiSpecs(self.host, wish, read_gpus=lambda: view(self.case), load=yaml_loader(yaml), run=no_program)

    def bring_about(self) -> tuple[list[str], list[str]]:
        """One run: the reasons that were found, and the steps."""
        specs, wish = self.specs(), make_wish({"path": PATH})
        state = specs.observe()
        plan = plan_cdi(wish, state, at_boot=False)
        assert not plan.blocked, plan.message()
        for step in plan.steps:
            specs.act(step, state)
        return [s.reason for s in state.stale], [f"{s.action} {s.target}" for s in plan.steps]

    def told(self) -> list[str]:
        """What gpu_info says of the spec."""
        facts = read_cdi_facts(self.host, no_program, yaml, view(self.case).gpus)
        return [row["reason"] for spec in facts["specs"] for row in spec["stale_because"]]


def no_program(args: Any) -> tuple[int, str, str]:
    return 127, "", "not found"


def at(root: Path, path: str) -> Path:
    return root / path.lstrip("/")


def upgraded(case: Case, root: Path) -> None:
    """A driver of another version, loaded."""
    old, new = str(case["driver"]["version"]), "590.10.01"
    case["driver"]["version"] = new
    case["tree"] += [{"path": "/sys/module/nvidia/version", "type": "file", "content": f"{new}\n"}]
    for row in case["tree"]:
        for key in ("path", "target"):
            row[key] = row.get(key, "").replace(old, new)
    for path in at(root, LIBRARIES).iterdir():
        path.unlink()


def reloaded(case: Case, root: Path) -> None:
    """nvidia-uvm, which got another major."""
    for row in case["tree"]:
        if row["path"].startswith("/dev/nvidia-uvm"):
            row["major"] = 511


def lost(case: Case, root: Path) -> None:
    """A GPU that fell off the bus, with its node."""
    case["gpus"] = case["gpus"][:1]
    case["tree"] = [row for row in case["tree"] if row["path"] != "/dev/nvidia1"]
    at(root, "/dev/nvidia1").unlink()


def relaid(case: Case, root: Path) -> None:
    """A MIG device that is another one now."""
    case["gpus"][0]["mig"]["devices"][0]["uuid"] = "MIG-99999999-1111-2222-3333-000000000000"


def moved(case: Case, root: Path) -> None:
    """The hook program, which is in another directory now."""
    for row in case["tree"]:
        row["path"] = row["path"].replace("/usr/bin/nvidia-cdi-hook", "/usr/local/bin/nvidia-cdi-hook")
    at(root, "/usr/bin/nvidia-cdi-hook").unlink()


def without_library(case: Case, root: Path) -> None:
    """A library that somebody took away."""
    case["tree"] = [row for row in case["tree"] if "ptxjitcompiler" not in row["path"]]
    for path in at(root, LIBRARIES).glob("*ptxjitcompiler*"):
        path.unlink()


def other_version(case: Case, root: Path) -> None:
    """A version that no engine knows, written by hand."""
    at(root, PATH).write_text(at(root, PATH).read_text().replace('"0.5.0"', '"9.9.9"').replace("0.5.0", "9.9.9"))


FAULTS: dict[str, Callable[[Case, Path], None]] = {
    "driver_version": upgraded,
    "device_major": reloaded,
    "device_missing": lost,
    "mig_layout": relaid,
    "hook_missing": moved,
    "library_missing": without_library,
    "spec_version": other_version,
}


def test_every_reason_is_here():
    assert set(FAULTS) == set(REASONS)


@pytest.mark.parametrize(("reason", "fault"), FAULTS.items(), ids=FAULTS)
def test_found_told_and_mended_by_one_write(reason, fault, tmp_path):
    case = yaml.safe_load(CASE.read_text())
    first = Host(case, tmp_path)
    assert first.bring_about() == ([], [f"{WRITE} {PATH}"])
    assert first.bring_about() == ([], [])
    later = copy.deepcopy(case)
    fault(later, tmp_path)
    for row in later["tree"]:
        if row.get("type") == "link":
            at(tmp_path, row["path"]).unlink(missing_ok=True)
    host = Host(later, tmp_path)
    assert reason in host.told()
    reasons, steps = host.bring_about()
    assert (reason in reasons, steps) == (True, [f"{WRITE} {PATH}"])
    assert host.bring_about() == ([], [])
    assert host.told() == []
