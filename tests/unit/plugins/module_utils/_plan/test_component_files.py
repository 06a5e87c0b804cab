# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings, nodes, token and services of components: the smallest change, and the way back."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._catalog import driver_components as catalog
from ansible_collections.gpu.fleet.plugins.module_utils._catalog.driver_services import DROP_INS, PERSISTENCED_DROP_IN
from ansible_collections.gpu.fleet.plugins.module_utils._plan.component_files import (
    FABRIC_MODULES_LOAD,
    plan_files,
    plan_no_files,
    plan_persistenced,
    plan_services,
    plan_settings,
)
from ansible_collections.gpu.fleet.plugins.module_utils._plan.component_wish import ComponentWish
from ansible_collections.gpu.fleet.plugins.module_utils._plan.components import ComponentHost, Components
from ansible_collections.gpu.fleet.plugins.module_utils._plan.facts import Holder, Service
from ansible_collections.gpu.fleet.plugins.module_utils._plan.work import Work

CONFIG, FABRIC = catalog.FABRIC_MANAGER_CONFIG, "nvidia-fabricmanager.service"
IMEX, GRIDD, PERSISTENCED = "nvidia-imex.service", "nvidia-gridd.service", "nvidia-persistenced.service"
MANAGER = Components(("fabric_manager",))
SEEN = ComponentHost(settings={CONFIG: {"FABRIC_MODE": "0", "LOG_LEVEL": "4"}})
TOKEN = "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9"
JOB = Holder(7, "python3", ("/dev/nvidia0",))
ON = Service(FABRIC, "loaded", "active", "enabled")


def rows(work: Work) -> list[str]:
    return [f"{s.action} {s.target}" for s in work.steps]


def test_only_keys_that_differ_are_set_each_with_its_value_before():
    wish = ComponentWish(fabric_manager_config={"FABRIC_MODE": "1", "LOG_LEVEL": "4", "NEW_KEY": "x"})
    work = plan_files(wish, MANAGER, SEEN, ())
    assert rows(work) == [f"set_key {CONFIG}:FABRIC_MODE", f"set_key {CONFIG}:NEW_KEY"]
    assert work.objects == {
        f"setting:{CONFIG}:FABRIC_MODE": ("0", "1"),
        f"setting:{CONFIG}:NEW_KEY": (None, "x"),
    }
    assert work.calls[0].args["line"] == "FABRIC_MODE=1"
    assert work.calls[0].args["create"] is False


def test_a_file_that_comes_with_the_package_is_edited_after_it():
    work = plan_files(ComponentWish(fabric_manager_config={"FABRIC_MODE": "1"}), MANAGER, ComponentHost(), ())
    assert (rows(work), work.steps[0].before) == ([f"set_key {CONFIG}:FABRIC_MODE"], None)


@pytest.mark.parametrize(
    ("found", "before", "steps", "gone"),
    [
        ("1", "0", [f"restore_key {CONFIG}:FABRIC_MODE"], False),
        ("1", None, [f"restore_key {CONFIG}:FABRIC_MODE"], False),
        ("0", "0", [], True),
    ],
)
def test_a_key_that_is_wanted_no_more_gets_its_value_back(found, before, steps, gone):
    name = f"setting:{CONFIG}:FABRIC_MODE"
    seen = ComponentHost(settings={CONFIG: {"FABRIC_MODE": found}}, before={name: before})
    work = plan_settings(CONFIG, {}, seen=seen)
    assert (rows(work), name in work.gone) == (steps, gone)
    if steps:
        wanted = {"state": "absent"} if before is None else {"line": f"FABRIC_MODE={before}"}
        assert wanted.items() <= work.calls[0].args.items()


def test_a_file_that_went_with_its_package_needs_no_way_back():
    name = f"setting:{CONFIG}:FABRIC_MODE"
    work = plan_settings(CONFIG, {}, seen=ComponentHost(settings={CONFIG: None}, before={name: "0"}))
    assert (rows(work), work.gone) == ([], (name,))


def test_nodes_of_imex_are_a_file_of_addresses():
    wish = ComponentWish(imex_nodes=("10.0.0.1", "10.0.0.2"))
    work = plan_files(wish, Components(("imex",)), ComponentHost(), ())
    assert rows(work) == [f"write_nodes {catalog.IMEX_NODES}"]
    assert work.calls[0].args["content"] == "10.0.0.1\n10.0.0.2\n"
    same = ComponentHost(texts={catalog.IMEX_NODES: "10.0.0.1\n10.0.0.2\n"})
    assert rows(plan_files(wish, Components(("imex",)), same, ())) == []


def test_the_token_is_in_no_step_no_call_and_no_record():
    wish = ComponentWish(gridd_token=TOKEN, gridd_config={"FeatureType": "4"})
    work = plan_files(wish, Components(("gridd",)), ComponentHost(), ())
    assert rows(work) == [f"set_key {catalog.GRIDD_CONFIG}:FeatureType", f"write_token {catalog.GRIDD_TOKEN}"]
    told = json.dumps([[asdict(s) for s in work.steps], [asdict(c) for c in work.calls], dict(work.objects)])
    assert TOKEN not in told
    copy = next(c for c in work.calls if c.module == "ansible.builtin.copy")
    assert (copy.secret, copy.args["mode"], copy.args["owner"]) == ("gridd_token", "0400", "root")


@pytest.mark.parametrize(("found", "steps"), [(f"{TOKEN}\n", 0), ("another-token-of-the-server", 1)])
def test_the_token_is_written_once(found, steps):
    seen = ComponentHost(texts={catalog.GRIDD_TOKEN: found})
    work = plan_files(ComponentWish(gridd_token=TOKEN), Components(("gridd",)), seen, ())
    assert len(work.steps) == steps
    assert found.strip() not in str(work.steps)


def test_nvlink5_switches_need_modules_of_the_kernel_now_and_at_boot():
    fabric = Components(("fabric_manager",), nvlink5=True)
    work = plan_files(ComponentWish(), fabric, ComponentHost(kernel_modules=("mlx5_ib",)), ())
    assert rows(work) == [f"load_at_boot {FABRIC_MODULES_LOAD}", "load ib_umad"]
    assert work.calls[-1].args == {"argv": ["modprobe", "ib_umad"]}
    done = ComponentHost(kernel_modules=("mlx5_ib", "ib_umad"), texts={FABRIC_MODULES_LOAD: "ib_umad\nmlx5_ib\n"})
    assert rows(plan_files(ComponentWish(), fabric, done, ())) == []
    gone = plan_files(ComponentWish(), Components(), done, (f"file:{FABRIC_MODULES_LOAD}",))
    assert rows(gone) == [f"remove_file {FABRIC_MODULES_LOAD}"]


NOTHING, AUTO = Work(), ComponentWish()


def services(components, unit=ON, *, seen=SEEN, files=NOTHING, wish=AUTO, running=True, holders=()):
    found = {unit.name: unit} if unit else {}
    return plan_services(components, seen, found, files, wish=wish, running=running, holders=holders)


OLD = replace(SEEN, started={FABRIC: 100.0}, changed={CONFIG: 200.0})
EDIT = plan_files(ComponentWish(fabric_manager_config={"FABRIC_MODE": "1"}), MANAGER, SEEN, ())
OFF = Service(FABRIC, "loaded", "inactive", "disabled")


@pytest.mark.parametrize(
    ("work", "steps", "finding"),
    [
        (services(MANAGER), [], None),
        (services(MANAGER, OFF), [f"enable {FABRIC}", f"start {FABRIC}"], None),
        (services(MANAGER, OFF, running=False), [f"enable {FABRIC}"], None),
        (services(MANAGER, files=EDIT), [f"restart {FABRIC}"], None),
        # Killed between the edit and the restart: the file is newer than the start.
        (services(MANAGER, seen=OLD), [f"restart {FABRIC}"], None),
        (services(MANAGER, seen=OLD, holders=(JOB,)), [], "GPU-FAB-104"),
        (services(MANAGER, OFF, files=EDIT, holders=(JOB,)), [f"enable {FABRIC}", f"start {FABRIC}"], None),
        (services(Components()), [], None),
        (
            services(Components(), wish=ComponentWish(components={"fabric_manager": "false"})),
            [f"disable {FABRIC}", f"stop {FABRIC}"],
            None,
        ),
        # NVIDIA's DRA driver may run IMEX: without nodes it is installed, and stays off.
        (services(Components(("imex",)), Service(IMEX, "loaded", "inactive", "disabled")), [], None),
        (services(Components(("imex",)), None), [f"disable {IMEX}"], None),
        (
            services(Components(("imex",)), Service(IMEX, "loaded", "active", "enabled")),
            [f"disable {IMEX}", f"stop {IMEX}"],
            None,
        ),
        # Somebody else wrote the addresses.
        (
            services(
                Components(("imex",)),
                Service(IMEX, "loaded", "active", "enabled"),
                seen=replace(SEEN, texts={catalog.IMEX_NODES: "10.0.0.1"}),
            ),
            [],
            None,
        ),
        (services(Components(), Service(IMEX, "loaded", "active", "enabled")), [], None),
        (
            services(
                Components(),
                Service(IMEX, "loaded", "active", "enabled"),
                wish=ComponentWish(components={"imex": "false"}),
            ),
            [f"disable {IMEX}", f"stop {IMEX}"],
            None,
        ),
        (
            services(
                Components(("imex",)),
                Service(IMEX, "loaded", "inactive", "disabled"),
                wish=ComponentWish(imex_nodes=("a", "b")),
            ),
            [f"enable {IMEX}", f"start {IMEX}"],
            None,
        ),
    ],
)
def test_services_of_components(work, steps, finding):
    assert rows(work) == steps
    assert [f.id for f in work.findings] == ([finding] if finding else [])


def test_a_restart_of_the_fabric_manager_disrupts_jobs_and_one_of_gridd_nobody():
    assert services(MANAGER, files=EDIT).plan.disrupts == "gpu_workloads"
    wish = ComponentWish(gridd_token=TOKEN)
    files = plan_files(wish, Components(("gridd",)), ComponentHost(), ())
    work = services(
        Components(("gridd",)), Service(GRIDD, "loaded", "active", "enabled"), files=files, wish=wish, holders=(JOB,)
    )
    assert (rows(work), work.plan.disrupts) == ([f"restart {GRIDD}"], "nothing")


UBUNTU = DROP_INS[0].text


def persistenced(unit, *, system="ubuntu", seen=SEEN, wanted=True, owned=()):
    return plan_persistenced(unit, seen, distribution=system, wanted=wanted, running=True, owned=owned)


STATIC = Service(PERSISTENCED, "loaded", "active", "static")
DONE = replace(SEEN, texts={PERSISTENCED_DROP_IN: UBUNTU})
RUNS = Service(PERSISTENCED, "loaded", "active", "enabled")


@pytest.mark.parametrize(
    ("work", "steps"),
    [
        (
            persistenced(None),
            [f"write_drop_in {PERSISTENCED_DROP_IN}", f"enable {PERSISTENCED}", f"start {PERSISTENCED}"],
        ),
        (
            persistenced(STATIC),
            [f"write_drop_in {PERSISTENCED_DROP_IN}", f"enable {PERSISTENCED}", f"restart {PERSISTENCED}"],
        ),
        (persistenced(RUNS, seen=DONE), []),
        (
            persistenced(RUNS, seen=replace(DONE, started={PERSISTENCED: 1.0}, changed={PERSISTENCED_DROP_IN: 2.0})),
            [f"restart {PERSISTENCED}"],
        ),
        (persistenced(RUNS, system="debian"), []),
        (persistenced(STATIC, system="debian"), []),
        (
            persistenced(RUNS, seen=DONE, wanted=False, owned=(f"file:{PERSISTENCED_DROP_IN}",)),
            [f"remove_file {PERSISTENCED_DROP_IN}", f"disable {PERSISTENCED}", f"stop {PERSISTENCED}"],
        ),
    ],
)
def test_persistence_mode_stays_on_whatever_the_distributions_unit_says(work, steps):
    assert rows(work) == steps


def test_systemd_reads_the_drop_in_before_the_unit_starts():
    assert persistenced(None).calls[-1].args["daemon_reload"] is True
    assert persistenced(None, system="debian").calls[-1].args.get("daemon_reload") is None


def test_removal_puts_settings_back_and_takes_our_files():
    record = {f"file:{catalog.GRIDD_TOKEN}", f"file:{PERSISTENCED_DROP_IN}"}
    seen = ComponentHost(
        settings={CONFIG: {"FABRIC_MODE": "1"}},
        before={f"setting:{CONFIG}:FABRIC_MODE": "0"},
        texts={catalog.GRIDD_TOKEN: TOKEN, PERSISTENCED_DROP_IN: UBUNTU, catalog.IMEX_NODES: "10.0.0.1\n"},
    )
    work = plan_no_files(seen, record)
    assert rows(work) == [
        f"restore_key {CONFIG}:FABRIC_MODE",
        f"remove_token {catalog.GRIDD_TOKEN}",
        f"remove_file {PERSISTENCED_DROP_IN}",
    ]
    assert TOKEN not in str(work)
