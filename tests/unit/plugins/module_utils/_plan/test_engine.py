# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the deciders of all engines share; Docker and CRI-O where the recorded cases say nothing."""

from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._plan.crio import plan_crio
from ansible_collections.gpu.fleet.plugins.module_utils._plan.docker import plan_docker
from ansible_collections.gpu.fleet.plugins.module_utils._plan.engine import (
    EngineState,
    EngineWish,
    Handler,
    Owned,
    differences,
    merged,
    undo,
)
from ansible_collections.gpu.fleet.plugins.module_utils._plan.runtime import find_leftovers, make_engine_wish

DAEMON = "/etc/docker/daemon.json"
NVIDIA = Handler("nvidia", "/usr/bin/nvidia-container-runtime")
OPTIONS = {"state": "present", "set_as_default": False, "cdi_enabled": False}

DIFFERENCES = {
    "same": ({"a": {"b": 1}}, {"a": {"b": 1}}, []),
    "leaf": ({"a": {"b": 1}}, {"a": {"b": 2}}, [(("a", "b"), 1, 2)]),
    "new table": ({}, {"a": {"b": {"c": 1}}}, [(("a", "b", "c"), None, 1)]),
    "new empty table": ({}, {"a": {}}, [(("a",), None, {})]),
    "gone": ({"a": 1, "b": {"c": 2}}, {}, [(("a",), 1, None), (("b",), {"c": 2}, None)]),
    "table in place of a value": ({"a": 1}, {"a": {"b": 2}}, [(("a",), 1, {"b": 2})]),
}


@pytest.mark.parametrize(("before", "after", "rows"), DIFFERENCES.values(), ids=DIFFERENCES)
def test_differences(before, after, rows):
    assert list(differences(before, after)) == rows


UNDO = {
    "added": ({"a": {"b": 1}, "c": 2}, [(("a", "b"), None, 1)], {"c": 2}),
    "changed": ({"a": 2}, [(("a",), 1, 2)], {"a": 1}),
    "changed by somebody since": ({"a": 3}, [(("a",), 1, 2)], {"a": 3}),
    "gone since": ({"c": 1}, [(("a",), 1, 2)], {"c": 1}),
    "added to a list": ({"a": ["x", "ours", "later"]}, [(("a",), ["x"], ["x", "ours"])], {"a": ["x", "later"]}),
    "a list of its own": ({"a": ["ours"]}, [(("a",), None, ["ours"])], {}),
    "taken out of a list": ({"a": ["y"]}, [(("a",), ["x", "y"], ["y"])], {"a": ["x", "y"]}),
}


@pytest.mark.parametrize(("document", "rows", "after"), UNDO.values(), ids=UNDO)
def test_undo(document, rows, after):
    assert undo(document, [Owned("f", key, before, ours) for key, before, ours in rows]) == after


def test_merged():
    assert merged({"a": {"b": 1, "c": 2}, "d": 1}, {"a": {"c": 3}, "d": {"e": 1}}) == {
        "a": {"b": 1, "c": 3},
        "d": {"e": 1},
    }


def docker(**changes):
    base = {"runtime": "docker", "state": "present", "config_path": DAEMON, "drop_in_path": "", "handlers": (NVIDIA,)}
    return EngineWish(**{**base, **changes})


def test_docker_keeps_arguments_of_the_runtime():
    main = {"runtimes": {"nvidia": {"path": "/old", "runtimeArgs": ["--x"]}}}
    after = plan_docker(docker(), EngineState(main)).file(DAEMON).after
    assert after["runtimes"]["nvidia"] == {"path": NVIDIA.path, "runtimeArgs": ["--x"]}


def test_docker_gets_its_default_back():
    main = {"default-runtime": "nvidia", "runtimes": {"nvidia": {"path": NVIDIA.path, "args": []}}}
    owned = (Owned(DAEMON, ("default-runtime",), "kata", "nvidia"),)
    assert plan_docker(docker(), EngineState(main, owned=owned)).file(DAEMON).after["default-runtime"] == "kata"
    assert "default-runtime" not in plan_docker(docker(), EngineState(main)).file(DAEMON).after


def test_docker_with_odd_types_is_an_error():
    plan = plan_docker(docker(), EngineState({"runtimes": "x"}))
    assert [f.id for f in plan.plan.findings] == ["GPU-CTR-102"]


def test_docker_file_that_was_ours_goes():
    owned = (Owned(DAEMON, (), None, "present"), Owned(DAEMON, ("runtimes", "nvidia", "path"), None, NVIDIA.path))
    main = {"runtimes": {"nvidia": {"path": NVIDIA.path}}}
    assert plan_docker(docker(state="absent"), EngineState(main, owned=owned)).file(DAEMON).after is None
    assert plan_docker(docker(state="absent"), EngineState(main)).file(DAEMON).after == {}


def test_crio_edits_the_main_file_where_no_drop_in_is_wanted():
    wish = docker(runtime="crio", config_path="/etc/crio/crio.conf")
    vm = {"runtime_path": "/k", "runtime_type": "vm"}
    main = {"crio": {"runtime": {"default_runtime": "kata", "runtimes": {"kata": vm}}}}
    after = plan_crio(wish, EngineState(main, source=main)).file("/etc/crio/crio.conf").after
    assert after["crio"]["runtime"]["runtimes"]["nvidia"] == {"runtime_path": NVIDIA.path, "runtime_type": "oci"}
    assert after["crio"]["runtime"]["runtimes"]["kata"] == vm


HANDLERS = {
    "default": ({}, [], ["nvidia"]),
    "with the programs of all three": ({}, [".cdi", ".legacy"], ["nvidia", "nvidia-cdi", "nvidia-legacy"]),
    "short form": ({"runtime_name": "gpu"}, [".cdi"], ["gpu"]),
    "empty list": ({"handlers": []}, [".cdi"], []),
    "list": ({"handlers": [{"name": "a", "path": "/a"}, {"name": "b"}]}, [".cdi"], ["a", "b"]),
}


@pytest.mark.parametrize(("options", "endings", "names"), HANDLERS.values(), ids=HANDLERS)
def test_handlers(options, endings, names):
    there = {f"{NVIDIA.path}{e}" for e in endings}
    wish = make_engine_wish({**OPTIONS, "runtime": "containerd", **options}, programs=there.__contains__)
    assert list(wish.names) == names


# flags of dockerd, what our file has -> the key that both have
FLAGS = {
    "none of ours": ({"H": ("fd://",)}, {}, []),
    "runtime": ({"add-runtime": ("nvidia=/x",)}, {}, ["runtimes"]),
    "default": ({"default-runtime": ("nvidia",)}, {}, []),
    "default that we set too": ({"default-runtime": ("nvidia",)}, {"set_as_default": True}, ["default-runtime"]),
    "CDI switch": ({"feature": ("cdi",)}, {"cdi_enabled": True}, ["features"]),
    "log driver, not ours": ({"log-driver": ("journald",)}, {}, ["log-driver"]),
}


@pytest.mark.parametrize(("flags", "changes", "keys"), FLAGS.values(), ids=FLAGS)
def test_docker_with_a_directive_in_two_places_is_an_error(flags, changes, keys):
    main = {"log-driver": "json-file"}
    plan = plan_docker(docker(**changes), EngineState(main, flags=flags)).plan
    assert [(f.id, f.summary.split()[2]) for f in plan.findings] == [("GPU-CTR-040", key) for key in keys]
    assert plan.blocked == bool(keys)
    assert not plan_docker(docker(state="absent"), EngineState(main, flags=flags)).plan.blocked


SENSELESS = {
    "default without a handler": ({"handlers": (), "set_as_default": True}, "set_as_default"),
    "NRI of Docker": ({"nri_enabled": True}, "nri_enabled"),
    "annotations of Docker": ({"annotations": ("a/",)}, "annotations"),
}


@pytest.mark.parametrize(("changes", "option"), SENSELESS.values(), ids=SENSELESS)
def test_options_without_meaning_are_errors(changes, option):
    (finding,) = plan_docker(docker(**changes), EngineState({})).plan.findings
    assert (finding.id, finding.severity) == ("GPU-CTR-114", "error")
    assert option in finding.summary


def test_docker_without_handlers_gets_the_switch_only():
    wish = docker(handlers=(), cdi_enabled=True)
    assert plan_docker(wish, EngineState({"a": 1})).file(DAEMON).after == {"a": 1, "features": {"cdi": True}}


def crio(**changes):
    places = {"config_path": "/etc/crio/crio.conf", "drop_in_path": "/etc/crio/crio.conf.d/99-nvidia.toml"}
    return docker(runtime="crio", **{**places, **changes})


def test_crio_has_nri_and_annotations():
    wish = crio(nri_enabled=True, annotations=("cdi.k8s.io/",))
    after = plan_crio(wish, EngineState(None)).file(wish.drop_in_path).after["crio"]
    assert after["nri"] == {"enable_nri": True}
    assert after["runtime"]["runtimes"]["nvidia"]["allowed_annotations"] == ["cdi.k8s.io/"]
    left = plan_crio(crio(), EngineState(None, drop_in={"crio": after})).file(wish.drop_in_path).after
    assert "nri" not in left["crio"]


def test_crio_without_handlers_needs_no_file():
    assert plan_crio(crio(handlers=(), cdi_enabled=True), EngineState({})).files == ()


LEFTOVERS = {
    "containerd": ("/etc/containerd/config.d/99-nvidia.toml", ["GPU-CTR-042"]),
    "crio": ("/etc/crio/conf.d/99-nvidia.toml", ["GPU-CTR-042"]),
    "docker": ("/etc/docker/99-nvidia.toml", []),
}


@pytest.mark.parametrize(("runtime", "path", "ids"), [(r, *row) for r, row in LEFTOVERS.items()], ids=LEFTOVERS)
def test_drop_ins_where_nobody_reads_them(runtime, path, ids):
    wish = make_engine_wish({**OPTIONS, "runtime": runtime}, programs=lambda _path: False)
    assert [f.id for f in find_leftovers(wish, {path}.__contains__)] == ids
    assert find_leftovers(wish, lambda _path: False) == ()
    there = make_engine_wish({**OPTIONS, "runtime": runtime, "drop_in_path": path}, programs=lambda _path: False)
    assert find_leftovers(there, {path}.__contains__) == ()
