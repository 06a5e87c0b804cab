# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts that cannot be made ready: one clear message each, and the others do not care."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab import access, claims, fleet, proving
from lab.cluster.controlplane import ControlPlane
from lab.fleet import HostSpec
from lab.lab import Lab
from lab.watched import Watched, watch

FOREIGN_SYSTEM = 'ID=plan9\nVERSION_ID="4"\nPRETTY_NAME="Plan 9 Fourth Edition"\n'
NO_GPU, NO_NVML, NO_SYSTEM, NO_SENSE, GONE = "plain", "broken", "foreign", "typing", "gone"
SPECS = {
    NO_GPU: "bookworm",
    NO_NVML: "trixie:h100-nvml-broken",
    NO_SYSTEM: "bookworm:h100x1",
    NO_SENSE: "bookworm:a100x1",
}
# A wrong value for each role, and a word of what would be right that the message must have.
WRONG = {
    "prereq_state": ("perhaps", "present, absent"),
    "driver_flavour": ("strawberry", "auto, open, proprietary"),
    "mig_config_source": ("moon", "host, controller"),
    "toolkit_runtime": ("rkt", "auto, containerd, crio, docker, podman, none"),
    "validation_engine": ("steam", "containerd"),
    "device_plugin_mig_strategy": ("maximal", "none, single, mixed"),
    "dcgm_pull_policy": ("Sometimes", "IfNotPresent, Always, Never"),
    "gfd_mig_strategy": ("minimal", "none, single, mixed"),
}
# Names that nothing reads, and what the finding advises.
SLIPS = {"driver_versoin": "write driver_version", "gpu_fleet_reprot_path": "write gpu_fleet_report_path"}


@pytest.fixture(scope="module")
def together(lab: Lab, repeated: Watched) -> Iterator[Watched]:
    """site over two ready hosts, four that cannot be made ready, and one that is not there."""
    hosts = [fleet.add(lab, HostSpec.parse(f"{name}={spec}"), setup=[foreign(name)]) for name, spec in SPECS.items()]
    for host in hosts:
        host.wait()
    wrong = lab.folder / f"inventory/host_vars/{NO_SENSE}.yml"
    wrong.write_text(
        json.dumps({**{name: value for name, (value, _right) in WRONG.items()}, **dict.fromkeys(SLIPS, "x")})
    )
    missing = lab.folder / "inventory/missing.yml"
    missing.write_text(json.dumps({access.GROUP: {"hosts": {GONE: {"ansible_host": "198.51.100.99"}}}}))
    try:
        yield watch(lab, "gpu.fleet.site")
    finally:
        missing.unlink()
        wrong.unlink()
        for host in hosts:
            host.down()
        access.write_inventory(lab)


def foreign(name: str) -> Callable[[Path], None]:
    """What makes a host's system one that is not supported."""

    def change(root: Path) -> None:
        if name == NO_SYSTEM:
            (root / "etc/os-release").unlink()
            (root / "etc/os-release").write_text(FOREIGN_SYSTEM)

    return change


def test_exit_status_tells_of_the_failures(together: Watched) -> None:
    assert together.run.status != 0
    bad = {host for host, row in together.run.recap.items() if row["failed"]}
    assert bad == {NO_NVML, NO_SYSTEM, NO_SENSE, GONE}, together.run.end()


def test_report_has_every_host(together: Watched) -> None:
    wanted = {*SPECS, GONE, *proving.RESOURCES}
    assert {row["host"] for row in together.run.report["states"]} == wanted
    table = together.run.table().splitlines()[1:]
    assert {row.split()[0] for row in table} == wanted


@pytest.mark.parametrize("name", sorted(proving.RESOURCES))
def test_other_hosts_stay_ready(plane: ControlPlane, together: Watched, name: str) -> None:
    assert not [r for r in states(together, name) if r["value"] not in ("ready", "disabled")]
    assert claims.allocatable(plane, name) == proving.RESOURCES[name]


def test_host_without_gpu_is_ignored_and_untouched(together: Watched) -> None:
    values = {row["value"] for row in states(together, NO_GPU) if row["role"]}
    assert values == {"ignored"}
    assert together.changes()[NO_GPU] == []


def test_nvml_that_fails_is_named_with_its_code(together: Watched) -> None:
    (reason,) = errors(together, NO_NVML)
    assert "NVML" in reason
    assert "999" in reason or "Unknown Error" in reason


def test_unsupported_system_is_named_with_the_supported_ones(together: Watched) -> None:
    (reason,) = errors(together, NO_SYSTEM)
    assert "plan9 4" in reason
    assert "debian 12, debian 13" in reason
    assert together.changes()[NO_SYSTEM] == []


def test_unreachable_host_is_called_so(together: Watched) -> None:
    (reason,) = errors(together, GONE)
    assert "cannot be reached" in reason


@pytest.mark.parametrize("variable", list(WRONG))
def test_wrong_variable_is_named_with_its_value_and_what_is_allowed(together: Watched, variable: str) -> None:
    reasons = errors(together, NO_SENSE)
    value, right = WRONG[variable]
    found = [sentence for reason in reasons for sentence in reason.split("; ") if variable in sentence]
    assert len(found) == 1, reasons
    (role,) = {row["role"] for row in states(together, NO_SENSE) if found[0] in row["reason"]}
    assert variable.startswith(f"{role}_")
    assert value in found[0]
    assert right in found[0]


def test_misspelt_variables_are_findings_of_their_host(together: Watched) -> None:
    found = {f["summary"].split()[1]: f for f in together.run.report["findings"] if f["id"] == "GPU-ANS-102"}
    assert {name: f["remedy"] for name, f in found.items()} == SLIPS
    assert {f["host"] for f in found.values()} == {NO_SENSE}


def test_host_with_wrong_variables_is_untouched(together: Watched) -> None:
    assert together.changes()[NO_SENSE] == []


def states(seen: Watched, host: str) -> list[dict[str, str]]:
    return [row for row in seen.run.report["states"] if row["host"] == host]


def errors(seen: Watched, host: str) -> list[str]:
    """The reasons of the states of a host that are in error, each once."""
    return sorted({row["reason"] for row in states(seen, host) if row["value"] == "error"})
