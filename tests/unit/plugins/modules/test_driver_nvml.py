# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NVML's side of the driver's proof, on simulated machines: real pynvml, simulated NVML."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from simulator.sandbox import Sandbox
from simulator.state import edit

CODE = """
import json
from dataclasses import asdict
from ansible_collections.gpu.fleet.plugins.module_utils._observe.driver_proof import read_driver_proof
from ansible_collections.gpu.fleet.plugins.module_utils._observe.files import HostRoot
from ansible_collections.gpu.fleet.plugins.module_utils._plan.driver_proof import Wanted
from ansible_collections.gpu.fleet.plugins.module_utils._plan.facts import DriverVersion
wanted = Wanted("570.172.08", "open", DriverVersion("570.172.08", "open"))
print(json.dumps(asdict(read_driver_proof(HostRoot({root!r}), lambda args: (1, "", ""), wanted))))
"""


def proof(box: Sandbox) -> dict[str, Any]:
    """What read_driver_proof() finds on the machine."""
    environment = {**os.environ, **box.environment}
    code = CODE.format(root=str(box.folder))
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_gpu_that_pci_has_with_its_fabric_and_persistence(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, "hgx-h100")
    with edit(box.state_path) as state:
        for gpu in state.gpus:
            gpu["persistence"] = "1"
    found = proof(box)
    assert len(found["pci_gpus"]) == 8
    assert found["nvml_gpus"] == found["pci_gpus"]
    assert (found["nvml_version"], found["nvml_error"]) == ("570.172.08", "")
    assert set(found["fabric"].values()) == {"not_started"}
    assert set(found["persistence"].values()) == {True}
    assert found["kernel_log"] == {}


def test_a_gpu_without_switches_has_no_fabric_and_no_persistence_yet(tmp_path: Path) -> None:
    found = proof(Sandbox(tmp_path, "t4x1"))
    assert list(found["fabric"].values()) == [None]
    assert list(found["persistence"].values()) == [False]


def test_a_lost_gpu_is_named(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, ["H100-80"] * 3)
    with edit(box.state_path) as state:
        state.gpus[1]["lost"] = "1"
    found = proof(box)
    assert set(found["pci_gpus"]) - set(found["nvml_gpus"]) == {box.state.gpus[1]["bus"]}


@pytest.mark.parametrize(
    ("code", "words"), [(999, "Unknown Error"), (18, "version mismatch"), (9, "Driver Not Loaded")]
)
def test_nvml_that_does_not_start(tmp_path: Path, code: int, words: str) -> None:
    box = Sandbox(tmp_path, "h100x2")
    box.fault("nvmlInit", code)
    found = proof(box)
    assert words in found["nvml_error"]
    assert (found["nvml_gpus"], found["fabric"]) == ([], {})
