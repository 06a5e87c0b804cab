# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the containerd of a Kubernetes distribution learns of the handlers."""

from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._catalog.engines import DISTRIBUTIONS
from ansible_collections.gpu.fleet.plugins.module_utils._plan.engine import EngineState, EngineWish, Handler, lookup
from ansible_collections.gpu.fleet.plugins.module_utils._plan.runtime import PLANNERS

plan = PLANNERS["containerd"]
NVIDIA = Handler("nvidia", "/usr/bin/nvidia-container-runtime")
PLUGIN = "io.containerd.cri.v1.runtime"
RUNC = {"runtime_type": "io.containerd.runc.v2", "options": {"SystemdCgroup": True}}


def wish(name, **changes):
    row = DISTRIBUTIONS[name]
    base = {"runtime": "containerd", "state": "present", "config_path": row.config, "handlers": (NVIDIA,)}
    return EngineWish(**{**base, "drop_in_path": row.drop_in(3), "distribution": name, **changes})


def written(name, *, imports=True, **runtimes):
    """What the distribution has written for its containerd."""
    folder = DISTRIBUTIONS[name].drop_in(3).rpartition("/")[0]
    section = {"sandbox_image": "pause:3.6", "containerd": {"runtimes": {"runc": RUNC, **runtimes}}}
    return {"version": 3, **({"imports": [f"{folder}/*.toml"]} if imports else {}), "plugins": {PLUGIN: section}}


def state(main, **changes):
    return EngineState(main=main, source=main, **changes)


@pytest.mark.parametrize("name", ["k3s", "rke2", "k0s"])
def test_the_drop_in_has_nothing_but_the_handler(name):
    made = plan(wish(name, cdi_enabled=True), state(written(name)))
    (change,) = made.files
    assert change.path == DISTRIBUTIONS[name].drop_in(3)
    options = {"SystemdCgroup": True, "BinaryName": NVIDIA.path}
    entry = {"runtime_type": "io.containerd.runc.v2", "options": options}
    section = {"containerd": {"runtimes": {"nvidia": entry}}, "enable_cdi": True}
    assert change.after == {"version": 3, "plugins": {PLUGIN: section}}
    assert plan(wish(name, cdi_enabled=True), state(written(name), drop_in=change.after)).files == ()
    removed = plan(wish(name, state="absent"), state(written(name), drop_in=change.after))
    assert [(f.path, f.after) for f in removed.files] == [(change.path, None)]


@pytest.mark.parametrize("version", [2, 3])
def test_k3s_that_was_never_started_gets_the_drop_in_of_its_template(version):
    path = DISTRIBUTIONS["k3s"].drop_in(version)
    (change,) = plan(wish("k3s", drop_in_path=path), state(None)).files
    assert (change.path, change.after["version"]) == (path, version)


def test_k0s_that_was_never_started_is_an_error():
    made = plan(wish("k0s"), state(None))
    assert ([f.id for f in made.plan.findings], made.files) == (["GPU-CTR-115"], ())
    assert plan(wish("k0s", state="absent"), state(None)).files == ()


def test_k3s_without_drop_ins_is_an_error_that_says_where_the_handlers_go():
    (finding,) = plan(wish("k3s"), state(written("k3s", imports=False))).plan.findings
    assert (finding.id, finding.severity) == ("GPU-CTR-047", "error")
    assert "config-v3.toml.tmpl" in finding.remedy


def test_k3s_that_found_the_program_by_itself_needs_nothing():
    found = {"runtime_type": "io.containerd.runc.v2", "options": {"BinaryName": NVIDIA.path}}
    main = written("k3s", imports=False, nvidia=found)
    assert plan(wish("k3s", cdi_enabled=True), state(main)).plan.findings == ()
    assert [f.id for f in plan(wish("k3s", set_as_default=True), state(main)).plan.findings] == ["GPU-CTR-047"]


def test_k0s_whose_settings_somebody_took_over_is_an_error():
    made = plan(wish("k0s"), state(written("k0s"), managed=False))
    assert ([f.id for f in made.plan.findings], made.files) == (["GPU-CTR-045"], ())


def test_the_template_of_microk8s_is_edited_itself():
    main = {"version": 2, "plugins": {"io.containerd.grpc.v1.cri": {"containerd": {"runtimes": {"runc": RUNC}}}}}
    (change,) = plan(wish("microk8s", drop_in_path=""), state(main)).files
    assert change.path == DISTRIBUTIONS["microk8s"].config
    runtimes = lookup(change.after, "plugins", "io.containerd.grpc.v1.cri", "containerd", "runtimes")
    assert list(runtimes) == ["runc", "nvidia"]


@pytest.mark.parametrize("row", DISTRIBUTIONS.values(), ids=DISTRIBUTIONS)
def test_rows(row):
    assert row.source
    assert row.in_place != bool(row.drop_ins)
    assert all(unit.endswith(".service") for unit in row.units)
