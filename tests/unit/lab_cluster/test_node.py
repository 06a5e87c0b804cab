# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What makes a host a node."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.cluster import components, node

PATHS = components.Paths(Path("/lab/cluster"), "198.51.100.1")


def test_pods_of_a_node_have_a_network_of_their_own() -> None:
    assert node.pod_network("198.51.100.12") == "10.244.12.0/24"


def test_name_and_address_are_those_of_the_laid_out_root(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/hostname").write_text("gpu1\n")
    (tmp_path / "etc/hosts").write_text("127.0.0.1 localhost\n198.51.100.11 gpu1\n198.51.100.1 lab\n")
    assert node._identity(tmp_path) == ("gpu1", "198.51.100.11")


def test_a_root_without_address_is_refused(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/hostname").write_text("gpu1\n")
    (tmp_path / "etc/hosts").write_text("127.0.0.1 localhost\n")
    with pytest.raises(LookupError, match="gpu1"):
        node._identity(tmp_path)


def test_the_engine_has_no_nvidia_part() -> None:
    """It is the collection's work to bring it there."""
    for path in node.FILES.rglob("*"):
        assert path.is_dir() or "nvidia" not in path.read_text().lower()


def test_templates_are_filled_and_modes_kept(tmp_path: Path) -> None:
    source = tmp_path / "unit"
    source.write_text("--node-ip=@address@\n")
    source.chmod(0o755)
    node._fill(source, tmp_path / "etc/unit", {"address": "198.51.100.11"})
    assert (tmp_path / "etc/unit").read_text() == "--node-ip=198.51.100.11\n"
    assert (tmp_path / "etc/unit").stat().st_mode & 0o777 == 0o755


def test_every_unit_has_a_file() -> None:
    units = [p.name for p in node.FILES.rglob("*.service")]
    assert sorted(units) == sorted(f"{name}.service" for name in node.UNITS)


@pytest.mark.parametrize("name", ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"])
def test_components_of_two_labs_can_be_told_apart(name: str) -> None:
    """By their command lines: this is how they are found and stopped."""
    other = components.Paths(Path("/other/cluster"), "198.51.100.1")
    assert components.flags(name, PATHS) != components.flags(name, other)


def test_an_unknown_component_is_refused() -> None:
    with pytest.raises(KeyError, match="cloud-controller-manager"):
        components.flags("cloud-controller-manager", PATHS)
