# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
from dataclasses import replace

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._catalog.mig import MigProfile, find_model
from ansible_collections.gpu.fleet.plugins.module_utils._plan.mig_findings import KINDS
from ansible_collections.gpu.fleet.plugins.module_utils._plan.mig_layout import ComputeInstance, GpuInstance, MigGpu
from ansible_collections.gpu.fleet.plugins.module_utils._plan.mig_wish import MigWish

A100, H100 = find_model("20B0"), find_model("2330")
SEVEN = {"1g.5gb": 7}


def gpu(index=0, *, model=A100, on=True, pending=None, places=(), busy=(), **more):
    """``places``: 3g.20gb@4, or 3g.20gb@4=1,1,1 for widths of compute instances; ``busy``: places with a process."""
    slices = {p.name: p.slices for p in model.profiles} if model else {}
    found = []
    for number, place in enumerate(places):
        text, _sep, widths = place.partition("=")
        name, _sep, start = text.partition("@")
        split = [int(w) for w in widths.split(",") if w != "none"] if widths else [slices[name]]
        clients = (4000 + number,) if text in busy else ()
        compute = tuple(ComputeInstance(i, w, clients=clients) for i, w in enumerate(split))
        found.append(GpuInstance(number, name, slices[name], int(start), compute))
    start = {
        "index": index,
        "uuid": f"GPU-{index}",
        "pci_address": f"0000:0{index}:00.0",
        "pci_id": f"{model.device_ids[0]}10DE" if model else "1EB810DE",
        "subsystem_id": "000010DE",
        "name": model.name if model else "T4",
        "capable": model is not None,
        "enabled": on and model is not None,
        "pending": (on if pending is None else pending) and model is not None,
        "architecture": model.architecture if model else "turing",
        "profiles": model.profiles if model else (),
        "instances": tuple(found),
        "source": "nvml" if model else None,
    }
    return MigGpu(**{**start, **more})


def wish(devices=None, *, enabled=True, which="all", **more):
    entry = {"devices": which, "mig-enabled": enabled}
    if enabled:
        entry["mig-devices"] = {} if devices is None else devices
    return MigWish(config={"version": "v1", "mig-configs": {"want": [entry]}}, **more)


def steps(decision):
    return [f"{s.action} {s.target}" for s in decision.plan.steps]


PLANS = {
    "already so": ([gpu(places=[f"1g.5gb@{n}" for n in range(7)])], wish(SEVEN), []),
    "other starts are as good": ([gpu(places=["3g.20gb@0"])], wish({"3g.20gb": 1}), []),
    "mode, then instances": (
        [gpu(on=False)],
        wish({"3g.20gb": 2}),
        [
            "set_mig_mode 0000:00:00.0",
            "create_gpu_instance 0000:00:00.0 3g.20gb@0",
            "create_gpu_instance 0000:00:00.0 3g.20gb@4",
        ],
    ),
    "off takes instances first": (
        [gpu(places=["3g.20gb@4"])],
        wish(enabled=False),
        ["destroy_gpu_instance 0000:00:00.0 3g.20gb@4", "set_mig_mode 0000:00:00.0"],
    ),
    "mode that waits for a reset": (
        [gpu(on=False, pending=True)],
        wish({"7g.40gb": 1}),
        ["reset_gpu 0000:00:00.0", "create_gpu_instance 0000:00:00.0 7g.40gb@0"],
    ),
    "pending mode that nobody wants": (
        [gpu(on=False, pending=True)],
        wish(enabled=False),
        ["set_mig_mode 0000:00:00.0"],
    ),
    "only the mode": ([gpu(on=False)], wish(SEVEN, mode_only=True), ["set_mig_mode 0000:00:00.0"]),
    "mode only keeps instances": ([gpu(places=["3g.20gb@4"])], wish(SEVEN, mode_only=True), []),
    "empty layout": ([gpu(places=["2g.10gb@2"])], wish({}), ["destroy_gpu_instance 0000:00:00.0 2g.10gb@2"]),
    "a leftover without compute instance goes": (
        [gpu(places=["3g.20gb@4=none"])],
        wish({"1g.5gb": 1}),
        ["destroy_gpu_instance 0000:00:00.0 3g.20gb@4", "create_gpu_instance 0000:00:00.0 1g.5gb@6"],
    ),
    "a leftover without compute instance is not right as it is": (
        [gpu(places=["3g.20gb@4", "1g.5gb@0=none"])],
        wish({"3g.20gb": 1}),
        ["destroy_gpu_instance 0000:00:00.0 1g.5gb@0"],
    ),
    "compute instances change in place": (
        [gpu(places=["3g.20gb@4"])],
        wish({"1c.3g.20gb": 2}),
        [
            "destroy_compute_instance 0000:00:00.0 3g.20gb@4 compute instance 0",
            "create_compute_instance 0000:00:00.0 3g.20gb@4 1c.3g.20gb",
            "create_compute_instance 0000:00:00.0 3g.20gb@4 1c.3g.20gb",
        ],
    ),
    "only the wrong GPU is touched": (
        [gpu(0, places=["3g.20gb@4"], busy=["3g.20gb@4"]), gpu(1)],
        wish({"3g.20gb": 1}),
        ["create_gpu_instance 0000:01:00.0 3g.20gb@4"],
    ),
    "all modes first, all creations last": (
        [gpu(0, places=["2g.10gb@0"]), gpu(1, on=False)],
        wish({"7g.40gb": 1}),
        [
            "set_mig_mode 0000:01:00.0",
            "destroy_gpu_instance 0000:00:00.0 2g.10gb@0",
            "create_gpu_instance 0000:00:00.0 7g.40gb@0",
            "create_gpu_instance 0000:01:00.0 7g.40gb@0",
        ],
    ),
    "all passes over a GPU without MIG": (
        [gpu(0, model=None), gpu(1)],
        wish({"7g.40gb": 1}),
        ["create_gpu_instance 0000:01:00.0 7g.40gb@0"],
    ),
    "off on a GPU without MIG": ([gpu(model=None)], wish(enabled=False), []),
    "reset is not allowed": ([gpu(on=False, pending=True)], wish(mode_only=True, skip_reset=True), []),
    "a layout without a file": (
        [gpu()],
        MigWish(selected_config="all-7g.40gb"),
        ["create_gpu_instance 0000:00:00.0 7g.40gb@0"],
    ),
}


@pytest.mark.parametrize(("gpus", "wanted", "expected"), PLANS.values(), ids=PLANS)
def test_plan(gpus, wanted, expected):
    decision = wanted.decide(gpus)
    assert decision.error_kind is None
    assert steps(decision) == expected


INVENTED = (
    MigProfile("1g.14gb", 19, 1, 4, (0, 1, 3, 4), 1),
    MigProfile("2g.21gb", 14, 2, 2, (0, 3), 3),
    MigProfile("4g.56gb", 0, 4, 1, (0,), 6),
)
REFUSED = {
    "profile of another board": ([gpu(model=H100)], wish({"1g.5gb": 1}), "unknown_profile", "1g.10gb"),
    "close is not equal": ([gpu(model=H100)], wish({"3g.39gb": 2}), "unknown_profile", "3g.40gb"),
    "wider than its instance": ([gpu()], wish({"3c.2g.10gb": 1}), "unknown_profile", "3-slice"),
    "width that no profile has": ([gpu()], wish({"3c.4g.20gb": 1}), "unknown_profile", "3-slice"),
    "too many": ([gpu()], wish({"1g.10gb": 7}), "infeasible_layout", "at most 4"),
    "geometry of an unknown model": (
        [gpu(profiles=INVENTED)],
        wish({"1g.14gb": 3, "2g.21gb": 1}),
        "infeasible_layout",
        "no arrangement",
    ),
    "in use": ([gpu(places=["2g.10gb@2"], busy=["2g.10gb@2"])], wish(SEVEN), "in_use", "4000"),
    "in use, split": ([gpu(places=["3g.20gb@4"], busy=["3g.20gb@4"])], wish({"1c.3g.20gb": 3}), "in_use", "4000"),
    "in use, off": ([gpu(places=["2g.10gb@2"], busy=["2g.10gb@2"])], wish(enabled=False), "in_use", "4000"),
    "processes against a mode change": ([gpu(on=False, clients=(17,))], wish(SEVEN), "mode_change_blocked", "17"),
    "no MIG at all": ([gpu(model=None)], wish(SEVEN), "not_mig_capable", "no MIG"),
    "no MIG, by index": ([gpu(0, model=None), gpu(1)], wish(SEVEN, which=[0, 1]), "not_mig_capable", "no MIG"),
    "lost": ([gpu(error="GPU is lost", error_kind="gpu_lost")], wish(SEVEN), "gpu_lost", "GPU is lost"),
    "unknown model without driver": (
        [gpu(profiles=(), capable=None, enabled=False, pending=False)],
        wish(SEVEN),
        "unknown_profile",
        "no row",
    ),
    "reset is not allowed, instances are wanted": (
        [gpu(on=False, pending=True)],
        wish(SEVEN, skip_reset=True),
        "reset_required",
        "skip_reset",
    ),
    "layout that no board of the host has": (
        [gpu()],
        MigWish(selected_config="all-1g.24gb"),
        "unknown_config",
        "all-1g.5gb",
    ),
}


OPTIONS = re.compile(r"\b(config_file|selected_config|mode_only|skip_reset|at_boot|gpu_clients)\b")


def unnamed(text):
    """Options that are named as the modules have them, without the role's variable."""
    return [option for option in OPTIONS.findall(text) if f"mig_{option}" not in text]


@pytest.mark.parametrize(("gpus", "wanted", "kind", "named"), REFUSED.values(), ids=REFUSED)
def test_findings_name_the_variables_of_role_mig(gpus, wanted, kind, named):
    found = wanted.decide(gpus).findings
    assert [unnamed(" ".join([f.summary, f.wanted, f.found, f.remedy])) for f in found] == [[] for _time in found]


@pytest.mark.parametrize("kind", KINDS)
def test_remedies_name_the_variables_of_role_mig(kind):
    assert unnamed(KINDS[kind][1]) == []


@pytest.mark.parametrize(("gpus", "wanted", "kind", "named"), REFUSED.values(), ids=REFUSED)
def test_impossible_requests_change_nothing(gpus, wanted, kind, named):
    decision = wanted.decide(gpus)
    assert decision.error_kind == kind
    assert decision.operations == ()
    assert named in decision.plan.message()


def test_one_impossible_gpu_stops_all():
    decision = wish({"1g.5gb": 7}).decide([gpu(0), gpu(1, model=H100)])
    assert decision.operations == ()
    assert "GPU 1" in decision.plan.message()


def test_skipped_reset_asks_for_a_reboot():
    decision = wish(mode_only=True, skip_reset=True).decide([gpu(on=False, pending=True)])
    assert decision.reboot_required
    assert [f.severity for f in decision.findings] == ["warning"]


def test_processes_of_units_that_are_stopped_are_in_nobodys_way():
    busy = gpu(places=["2g.10gb@2"], busy=["2g.10gb@2"])
    assert wish(SEVEN).decide([busy], [4000]).error_kind is None
    assert wish(SEVEN).decide([replace(gpu(on=False), clients=(5,))], [5]).error_kind is None


def test_what_is_lost_with_the_mode_is_not_destroyed_first():
    """A GPU whose mode is off has no instances, whatever an old reading says."""
    assert "destroy" not in str(steps(wish(SEVEN).decide([gpu(on=False, places=["2g.10gb@2"])])))


@pytest.mark.parametrize(("model", "resets"), [(A100, True), (H100, False)])
def test_step_says_whether_the_mode_change_resets(model, resets):
    step = wish({}).decide([gpu(model=model, on=False)]).plan.steps[0]
    assert ("resets" in step.reason) is resets
    assert step.disrupts == "gpu_workloads"


def test_mode_is_read_again_before_instances():
    decision = wish(SEVEN).decide([gpu(on=False)])
    assert [o.step.action for o in decision.first_batch] == ["set_mig_mode"]
