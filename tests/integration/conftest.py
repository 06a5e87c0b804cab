# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The runs of gpu.fleet that the tests look at. Each is made once, after those that it stands on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lab import access, file_tree, fleet, proving
from lab.cluster.controlplane import ControlPlane
from lab.fleet import HostSpec
from lab.lab import Lab
from lab.watched import Calm, Watched, watch


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What uses a further host comes last, since the others speak of the fleet alone: the test bed's, then the calm."""
    items.sort(key=lambda item: ("bed" in item.path.parts, "calm" in getattr(item, "fixturenames", ())))


@pytest.fixture(scope="session")
def lab() -> Lab:
    """The lab that `./dev integration` runs the tests in, with the variables of the proving fleet."""
    current = Lab.current()
    proving.write_variables(current)
    return current


@pytest.fixture(scope="session")
def plane(lab: Lab) -> ControlPlane:
    return proving.plane_of(lab)


@pytest.fixture(scope="session")
def checked(lab: Lab) -> Watched:
    """site in check mode, on bare hosts and an empty cluster."""
    return watch(lab, "gpu.fleet.site", "--check", "--diff")


@pytest.fixture(scope="session")
def planned(lab: Lab, checked: Watched) -> Watched:
    """plan, on bare hosts and an empty cluster."""
    return watch(lab, "gpu.fleet.plan")


@pytest.fixture(scope="session")
def brought(lab: Lab, planned: Watched) -> Watched:
    """The first site."""
    return watch(lab, "gpu.fleet.site")


@pytest.fixture(scope="session")
def repeated(lab: Lab, brought: Watched) -> Watched:
    """The second site, with nothing to do."""
    assert brought.run.status == 0, brought.run.end()
    return watch(lab, "gpu.fleet.site")


@pytest.fixture(scope="session")
def calm(lab: Lab) -> Iterator[Calm]:
    host = fleet.add(lab, HostSpec.parse(f"calm={Calm.spec}"))
    host.wait()
    bare = file_tree.snapshot(host)
    run = proving.play(lab, "gpu.fleet.site", "--limit", host.name, "--extra-vars", Calm.variables)
    yield Calm(host, bare, file_tree.snapshot(host), run)
    host.down()
    access.write_inventory(lab)
