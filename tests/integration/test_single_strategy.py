# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Another layout and MIG strategy on a fleet that is ready: instances of one size are offered as nvidia.com/gpu."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lab import claims, proving
from lab.cluster.controlplane import ControlPlane
from lab.lab import Lab
from lab.watched import Watched, watch

NAME, LAYOUT, STRATEGY = "gpu2", "all-1g.5gb", "single"
INSTANCES = 14  # 7 on each of two A100


@pytest.fixture(scope="module")
def single(lab: Lab, repeated: Watched) -> Iterator[Watched]:
    """site with the new layout and strategy; the old ones are brought back at the end."""
    proving.write_variables(
        lab, common={"gpu_fleet_mig_strategy": STRATEGY}, own={NAME: {"mig_selected_config": LAYOUT}}
    )
    yield watch(lab, "gpu.fleet.site")
    proving.write_variables(lab)
    back = watch(lab, "gpu.fleet.site")
    assert back.run.status == 0, back.run.end()


def test_site_changes_layout_and_strategy(single: Watched) -> None:
    assert single.run.status == 0, single.run.end()
    assert single.not_ready() == []


def test_every_instance_is_one_gpu(plane: ControlPlane, lab: Lab, single: Watched) -> None:
    listed = lab.host(NAME).run(["nvidia-smi", "-L"])
    assert len([line for line in listed.splitlines() if line.strip().startswith("MIG ")]) == INSTANCES, listed
    assert claims.allocatable(plane, NAME) == {"nvidia.com/gpu": INSTANCES}


def test_whole_gpus_of_the_other_host_stay(plane: ControlPlane, single: Watched) -> None:
    assert claims.allocatable(plane, "gpu1") == proving.RESOURCES["gpu1"]
