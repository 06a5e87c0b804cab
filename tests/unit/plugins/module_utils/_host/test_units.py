# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._act.mig_state import MigState
from ansible_collections.gpu.fleet.plugins.module_utils._act.ownership import STATE_DIRECTORY
from ansible_collections.gpu.fleet.plugins.module_utils._host import program, units


def test_every_enabled_unit_has_a_file():
    assert {f"/etc/systemd/system/{u}" for u in units.ENABLED} <= set(units.FILES)


@pytest.mark.parametrize("verb", ["devices", "mig", "cdi", "validation"])
def test_each_boot_verb_has_a_unit_that_runs_it(verb):
    text, _mode = units.FILES[f"/etc/systemd/system/gpu-fleet-{verb}.service"]
    assert f"ExecStart={units.PROGRAM_PATH} {verb}\n" in text
    assert verb in program.VERBS


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("gpu-fleet-devices.service", "nvidia-persistenced.service"),
        ("gpu-fleet-devices.service", "gpu-fleet-mig.service"),
        ("gpu-fleet-mig.service", "gpu-fleet-cdi.service"),
        ("gpu-fleet-mig.service", "containerd.service"),
        ("gpu-fleet-cdi.service", "docker.service"),
        ("gpu-fleet-cdi.service", "k3s.service"),
        ("gpu-fleet-validation.service", "kubelet.service"),
    ],
)
def test_order_at_boot(earlier, later):
    text, _mode = units.FILES[f"/etc/systemd/system/{earlier}"]
    before = next(line for line in text.splitlines() if line.startswith("Before="))
    assert later in before.removeprefix("Before=").split()


def test_validation_comes_after_the_engines():
    after = next(line for line in units.VALIDATION_SERVICE.splitlines() if line.startswith("After="))
    assert {"gpu-fleet-cdi.service", *units.ENGINES.split()} <= set(after.removeprefix("After=").split())


def test_program_is_python_and_calls_main():
    compile(units.PROGRAM, units.PROGRAM_PATH, "exec")
    assert units.PROGRAM.startswith("#!/usr/bin/python3\n")


def test_wrong_verb_is_wrong_usage(capsys):
    with pytest.raises(SystemExit) as stopped:
        program.main(["migg"])
    assert stopped.value.code == 2
    assert "migg" in capsys.readouterr().err


def test_driver_and_mig_layout_are_watched():
    watched = [line.partition("=")[2] for line in units.CDI_PATH.splitlines() if line.startswith("PathChanged=")]
    state = MigState(STATE_DIRECTORY)
    assert watched == ["/lib/modules/%v/modules.dep", "/lib/modules/%v/modules.dep.bin", state.checkpoint_path]
