# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables of what a host shows, and what that proves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._plan.validation import (
    Seen,
    Validation,
    content,
    judge,
    plan_barriers,
    plan_removal,
)

A, B = "0000:41:00.0", "0000:42:00.0"
DRIVER_READY = content("driver", Validation())
WORKS = Seen(
    pci_gpus=(A, B),
    nvml_gpus=(A, B),
    module_version="595.71.05",
    nvml_version="595.71.05",
    modules=("nvidia", "nvidia_uvm"),
    engine="containerd",
    handlers={"nvidia": "/usr/bin/nvidia-container-runtime", "runc": ""},
    cdi_enabled=True,
    program="/usr/bin/nvidia-container-runtime",
    cdi_path="/var/run/cdi/nvidia.yaml",
    barriers={"driver-ready": DRIVER_READY, "toolkit-ready": ""},
)
BARE = Seen(
    pci_gpus=(A,), nvml_error="Driver Not Loaded", program_error="not there", cdi_error="no such file", barriers={}
)


def test_a_working_host_is_ready_and_needs_nothing():
    assert {c.name: c.state for c in judge(Validation(), WORKS)} == {
        "driver": "ready", "toolkit": "ready", "runtime": "ready", "cdi": "ready", "mig": "disabled",
    }  # fmt: skip
    assert not plan_barriers(Validation(), WORKS).changed


# change of a working host -> component that is not ready, finding, word of it
WRONG = {
    "module not loaded": ({"module_version": ""}, "driver", "GPU-KRN-018", "not loaded"),
    "NVML refuses": ({"nvml_error": "Unknown Error"}, "driver", "GPU-HW-101", "Unknown Error"),
    "library of another version": ({"nvml_version": "595.80"}, "driver", "GPU-KRN-026", "different versions"),
    "a GPU fell off": ({"nvml_gpus": (A,)}, "driver", "GPU-HW-102", "lacks 1 of 2"),
    "no uvm node": ({"missing_nodes": ("/dev/nvidia-uvm",)}, "driver", "GPU-KRN-027", "/dev/nvidia-uvm"),
    "no /dev/char link": ({"missing_links": ("/dev/char/195:0",)}, "driver", "GPU-CTR-038", "daemon-reload"),
    "runtime does not run": ({"program_error": "exit status 127"}, "toolkit", "GPU-CTR-102", "127"),
    "no engine": ({"engine": ""}, "runtime", "GPU-CTR-103", "no container engine"),
    "engine refuses its files": ({"engine_error": "line 3"}, "runtime", "GPU-CTR-104", "line 3"),
    "handler in a file that nobody reads": ({"handlers": {"runc": ""}}, "runtime", "GPU-CTR-042", "no handler nvidia"),
    "CDI off": ({"cdi_enabled": False}, "runtime", "GPU-K8S-058", "CDI is off"),
    "engine not restarted": ({"restart": True}, "runtime", "GPU-CTR-041", "before the last change"),
    "no spec": ({"cdi_error": "no such file"}, "cdi", "GPU-CTR-048", "no such file"),
    "stale spec": ({"cdi_stale": (("device_major", "511", "510"),)}, "cdi", "GPU-CTR-048", "device_major"),
    "layout lost": ({"mig_saved": True, "mig_left": ("create 0",)}, "mig", "GPU-MIG-052", "not the saved one"),
    "layout unreadable": ({"mig_saved": True, "mig_error": "no JSON"}, "mig", "GPU-MIG-052", "no JSON"),
}


@pytest.mark.parametrize(("change", "name", "identifier", "word"), WRONG.values(), ids=WRONG)
def test_one_thing_wrong(change, name, identifier, word):
    seen = replace(WORKS, **change)
    bad = [c for c in judge(Validation(), seen) if c.finding is not None]
    assert [(c.name, c.finding.id) for c in bad] == [(name, identifier)]
    assert word in bad[0].reason
    assert bad[0].finding.remedy
    removed = [s.target.rpartition("/")[2] for s in plan_barriers(Validation(), seen).steps]
    assert "toolkit-ready" in removed
    assert ("driver-ready" in removed) is (name == "driver")


def test_unknown_cdi_state_is_the_default_of_the_engine():
    assert all(c.finding is None for c in judge(Validation(), replace(WORKS, cdi_enabled=None)))


def test_a_bare_host_gets_no_barrier_file():
    assert not plan_barriers(Validation(), BARE).changed
    assert [c.state for c in judge(Validation(), BARE)][:2] == ["not_ready", "not_ready"]


def test_what_planned_steps_will_bring_counts_as_ready():
    plan = plan_barriers(Validation(), BARE, pending=True)
    assert [(s.action, s.target.rpartition("/")[2]) for s in plan.steps] == [
        ("write_barrier", "driver-ready"),
        ("write_barrier", "toolkit-ready"),
    ]
    assert not plan_barriers(Validation(), Seen(), pending=True).changed


def test_a_host_that_became_ready_gets_both_files():
    plan = plan_barriers(Validation(), replace(WORKS, barriers={}))
    assert [(s.action, s.target) for s in plan.steps] == [
        ("write_barrier", "/run/nvidia/validations/driver-ready"),
        ("write_barrier", "/run/nvidia/validations/toolkit-ready"),
    ]


def test_a_file_with_other_content_is_written_again():
    (step,) = plan_barriers(Validation(), replace(WORKS, barriers={"driver-ready": "x", "toolkit-ready": ""})).steps
    assert step.before == "other content"


def test_a_host_without_gpu_is_ignored_and_loses_its_files():
    seen = Seen(barriers={"driver-ready": DRIVER_READY})
    assert {c.state for c in judge(Validation(), seen)} == {"ignored"}
    assert [s.action for s in plan_barriers(Validation(), seen).steps] == ["remove_barrier"]


def test_removal_takes_every_file():
    assert [s.target.rpartition("/")[2] for s in plan_removal(WORKS).steps] == ["driver-ready", "toolkit-ready"]


def test_extras_are_proved_by_their_module_and_have_their_own_file():
    wish = Validation(extras=("nvidia-peermem", "nvidia-fs"))
    seen = replace(WORKS, modules=("nvidia_peermem",))
    states = {c.name: c.state for c in judge(wish, seen)}
    assert (states["nvidia-peermem"], states["nvidia-fs"]) == ("ready", "not_ready")
    assert [s.target for s in plan_barriers(wish, seen).steps] == ["/run/nvidia/validations/nvidia-peermem-ready"]


def test_podman_needs_no_handler():
    seen = replace(WORKS, engine="podman", handlers=None, cdi_enabled=None)
    assert all(c.finding is None for c in judge(Validation(), seen))


# What NVIDIA GPU Operator 26.7's validator writes for a driver on the host, and for its driver container.
HOST = """IS_HOST_DRIVER=true
NVIDIA_DRIVER_ROOT=/
DRIVER_ROOT_CTR_PATH=/host
NVIDIA_DEV_ROOT=/
DEV_ROOT_CTR_PATH=/host
"""
CONTAINER = """IS_HOST_DRIVER=false
NVIDIA_DRIVER_ROOT=/run/nvidia/driver
DRIVER_ROOT_CTR_PATH=/driver-root
NVIDIA_DEV_ROOT=/run/nvidia/driver
DEV_ROOT_CTR_PATH=/driver-root
"""


@pytest.mark.parametrize(("root", "text"), [("/", HOST), ("/run/nvidia/driver", CONTAINER)])
def test_driver_ready_is_what_operands_source(root, text):
    assert content("driver", Validation(driver_root=root)) == text


def test_without_handlers_nothing_runs_nvidias_program():
    seen = Seen(**{**vars(WORKS), "program_error": "not there", "handlers": {}})
    states = {c.name: c.state for c in judge(Validation(handlers=()), seen)}
    assert (states["toolkit"], states["runtime"]) == ("ready", "ready")
    assert {c.name: c.state for c in judge(Validation(), seen)}["toolkit"] == "not_ready"
