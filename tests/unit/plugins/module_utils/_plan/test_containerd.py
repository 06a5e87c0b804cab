# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How containerd learns of the handlers, where the recorded cases say nothing."""

from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._plan.containerd import (
    config_version,
    effective,
    plan_containerd,
)
from ansible_collections.gpu.fleet.plugins.module_utils._plan.engine import (
    EngineState,
    EngineWish,
    Handler,
    Owned,
    lookup,
)

MAIN, DROP_IN = "/etc/containerd/config.toml", "/etc/containerd/conf.d/99-nvidia.toml"
PLUGIN = "io.containerd.cri.v1.runtime"
NVIDIA = Handler("nvidia", "/usr/bin/nvidia-container-runtime")
RUNC = {"runtime_type": "io.containerd.runc.v2", "options": {"SystemdCgroup": True}}
KATA = {"runtime_type": "io.containerd.kata.v2"}


def wish(**changes):
    return EngineWish(
        **{
            "runtime": "containerd",
            "state": "present",
            "config_path": MAIN,
            "drop_in_path": DROP_IN,
            "handlers": (NVIDIA,),
            **changes,
        }
    )


def config(*, default="runc", version=3, plugin=PLUGIN, imports=(), **runtimes):
    section = {"containerd": {"default_runtime_name": default, "runtimes": runtimes}}
    extra = {"imports": list(imports)} if imports else {}
    return {"version": version, **extra, "plugins": {plugin: section}}


def state(main, **changes):
    return EngineState(**{"main": main, "source": main, **changes})


def entry(plan, name="nvidia", path=DROP_IN, plugin=PLUGIN):
    return lookup(plan.file(path).after, "plugins", plugin, "containerd", "runtimes", name)


VERSIONS = {
    "no file": (None, 2),
    "empty": ({}, 2),
    "no version": ({"root": "/x"}, 1),
    "Docker's package": ({"disabled_plugins": ["cri"]}, 2),
    "said": ({"version": 3}, 3),
    "text": ({"version": "3"}, 0),
}


@pytest.mark.parametrize(("document", "version"), VERSIONS.values(), ids=VERSIONS)
def test_version(document, version):
    assert config_version(document) == version


def test_kata_as_the_default_is_no_template():
    plan = plan_containerd(wish(), state(config(default="kata", kata=KATA, runc=RUNC)))
    assert entry(plan)["runtime_type"] == "io.containerd.runc.v2"
    assert entry(plan)["options"]["SystemdCgroup"] is True


def test_built_in_options_are_the_template_where_files_have_none():
    dumped = config(version=4, runc={**RUNC, "snapshotter": ""})
    plan = plan_containerd(wish(), state({"version": 3}, dumped=dumped))
    assert entry(plan)["options"] == {"SystemdCgroup": True, "BinaryName": NVIDIA.path}
    assert "snapshotter" not in entry(plan)


def test_handlers_of_an_earlier_run_stay():
    old = config(version=3, mine={"runtime_type": "x"})
    plan = plan_containerd(wish(), state(config(runc=RUNC), drop_in=old))
    assert entry(plan, "mine") == {"runtime_type": "x"}


def test_disabled_cri_is_enabled_and_comes_back_with_removal():
    main = {"disabled_plugins": ["cri"]}
    after = plan_containerd(wish(), state(main)).file(MAIN).after
    assert after["disabled_plugins"] == []
    owned = (
        Owned(MAIN, ("disabled_plugins",), ["cri"], []),
        Owned(MAIN, ("version",), None, 2),
        Owned(MAIN, ("imports",), None, after["imports"]),
    )
    removed = plan_containerd(wish(state="absent"), state(after, owned=owned)).file(MAIN).after
    assert removed == main


def test_version_1_is_edited_in_place():
    plan = plan_containerd(wish(), state({"root": "/x"}))
    assert [s.target for s in plan.plan.steps] == [MAIN]
    assert entry(plan, path=MAIN, plugin="cri")["options"]["Runtime"] == NVIDIA.path


@pytest.mark.parametrize("version", [0, 5, "3"])
def test_unknown_version_is_an_error(version):
    plan = plan_containerd(wish(), state({"version": version}))
    assert [f.id for f in plan.plan.findings] == ["GPU-CTR-104"]
    assert not plan.plan.steps


def test_wrong_type_is_an_error_not_a_crash():
    plan = plan_containerd(wish(), state({"version": 3, "plugins": {PLUGIN: {"containerd": "x"}}}))
    assert [f.id for f in plan.plan.findings] == ["GPU-CTR-102"]


def test_default_is_taken_back():
    main = config(default="nvidia", runc=RUNC)
    plan = plan_containerd(wish(drop_in_path=""), state(main))
    assert effective(plan.file(MAIN).after)["default_runtime"] is None


CDI = {
    "1.7 has a switch": ({"enable_cdi": False}, 3, True, []),
    "2.3 has it always": ({"containerd": {}}, 4, None, []),
    "1.6 has none": ({"containerd": {}}, 2, None, ["GPU-CTR-112"]),
}


@pytest.mark.parametrize(("section", "version", "switch", "findings"), CDI.values(), ids=CDI)
def test_cdi_switch(section, version, switch, findings):
    plugin = PLUGIN if version > 2 else "io.containerd.grpc.v1.cri"
    dumped = {"version": version, "plugins": {plugin: section}}
    plan = plan_containerd(wish(cdi_enabled=True), state({"version": min(version, 3)}, dumped=dumped))
    assert lookup(plan.file(DROP_IN).after, "plugins", plugin, "enable_cdi") is switch
    assert [f.id for f in plan.plan.findings] == findings


def test_directories_that_lack_ours_are_told():
    main = config(runc=RUNC)
    main["plugins"][PLUGIN]["cdi_spec_dirs"] = ["/etc/cdi"]
    assert [f.id for f in plan_containerd(wish(), state(main)).plan.findings] == ["GPU-CTR-103"]


def test_removal_keeps_what_is_not_ours():
    drop_in = config(runc=RUNC, nvidia=RUNC, other=RUNC)
    main = config(runc=RUNC, imports=["/etc/containerd/conf.d/*.toml"])
    plan = plan_containerd(wish(state="absent"), state(main, drop_in=drop_in))
    assert set(lookup(plan.file(DROP_IN).after, "plugins", PLUGIN, "containerd", "runtimes")) == {"runc", "other"}
    assert [s.target for s in plan.plan.steps] == [DROP_IN]


NRI = ("plugins", "io.containerd.nri.v1.nri")


def test_nri_is_switched_on_in_the_drop_in_and_left_to_others_without_the_wish():
    main = {**config(runc=RUNC), "plugins": {**config(runc=RUNC)["plugins"], NRI[1]: {"socket_path": "/x"}}}
    after = plan_containerd(wish(nri_enabled=True), state(main)).file(DROP_IN).after
    assert lookup(after, *NRI) == {"socket_path": "/x", "disable": False}
    assert effective(after)["nri_enabled"] is True
    assert lookup(plan_containerd(wish(), state(main, drop_in=after)).file(DROP_IN).after, *NRI) is None


def test_nri_in_the_main_file():
    after = plan_containerd(wish(nri_enabled=True, drop_in_path=""), state(config(runc=RUNC))).file(MAIN).after
    assert lookup(after, *NRI) == {"disable": False}


def test_nri_needs_a_later_version():
    plan = plan_containerd(wish(nri_enabled=True), state({"root": "/x"})).plan
    assert [f.id for f in plan.findings] == ["GPU-CTR-113"]


def test_annotations_are_added_to_those_of_the_template():
    main = config(runc={**RUNC, "container_annotations": ["a/*"]})
    plan = plan_containerd(wish(annotations=("cdi.k8s.io/", "a/")), state(main))
    assert entry(plan)["container_annotations"] == ["a/*", "cdi.k8s.io/*"]


def test_annotations_of_a_wrong_type_are_an_error():
    main = config(runc={**RUNC, "container_annotations": "a/*"})
    assert [f.id for f in plan_containerd(wish(annotations=("b/",)), state(main)).plan.findings] == ["GPU-CTR-102"]


def dump(version, **section):
    plugin = PLUGIN if version > 2 else "io.containerd.grpc.v1.cri"
    return {"version": version, "plugins": {plugin: section}}


# main file, dump -> whether CDI alone needs a file
SWITCHES = {
    "2.x has CDI on": ({"version": 3}, None, False),
    "2.x with CDI off": (dump(3, enable_cdi=False), None, True),
    "1.7 has CDI off": ({"version": 2}, dump(2, enable_cdi=False), True),
    "1.7 with CDI on": ({"version": 2}, dump(2, enable_cdi=True), False),
    "1.6 has no CDI": ({"version": 2}, dump(2), False),
}


@pytest.mark.parametrize(("main", "dumped", "needed"), SWITCHES.values(), ids=SWITCHES)
def test_without_handlers_only_the_switch_is_set(main, dumped, needed):
    plan = plan_containerd(wish(handlers=(), cdi_enabled=True), state(main, dumped=dumped))
    assert [f.path for f in plan.files] == ([DROP_IN, MAIN] if needed else [])
    if needed:
        plugins = plan.file(DROP_IN).after["plugins"]
        assert all("containerd" not in section for section in plugins.values())
        assert [section["enable_cdi"] for section in plugins.values()] == [True]
