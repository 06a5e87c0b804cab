# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The driver's whole decision, from plain data: what is asked of apt, what is done, what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from trees.driver import H100, UNIT, WISH, bare

from ansible_collections.gpu.fleet.plugins.module_utils._catalog.packages import DRIVER_PATTERNS
from ansible_collections.gpu.fleet.plugins.module_utils._plan.ask import Answer
from ansible_collections.gpu.fleet.plugins.module_utils._plan.driver import (
    MODULES_LOAD,
    decide_driver,
    driver_repository,
)
from ansible_collections.gpu.fleet.plugins.module_utils._plan.facts import (
    AptSource,
    DriverVersion,
    Holder,
    LoadedModule,
    OsRelease,
    Package,
    Resolution,
    Service,
)
from ansible_collections.gpu.fleet.plugins.module_utils._plan.module_parameters import OPTIONS_PATH, render_options
from ansible_collections.gpu.fleet.plugins.module_utils._plan.modules import SERVER, ModuleHost
from ansible_collections.gpu.fleet.plugins.module_utils._plan.packages_apt import render_pin

KEY = "EB693B3035CD5710E231E123A4B469963BF863CC"
BARE = bare(OsRelease("debian", "12", "Debian GNU/Linux 12 (bookworm)"), "6.1.0-57-amd64", headers=False)
NAMES = ("nvidia-driver-cuda", "nvidia-kernel-open-dkms", "nvidia-persistenced")
HEADERS = "linux-headers-6.1.0-57-amd64"
SET = dict.fromkeys((*NAMES, "libcuda1"), "595.71.05-1")
FOUND = Answer(
    Resolution({**SET, HEADERS: "6.1.192-3", "dkms": "3.0.10"}), key="KEY", versions=("595.71.05-1", "595.58.03-1")
)


def package(name: str, version: str = "595.71.05-1", *, state: str = "installed", held: bool = False) -> Package:
    return Package(name, version, "amd64", state, held)


NEW = DriverVersion("595.71.05", "open")
LOADED = ModuleHost(
    {n: LoadedModule(n, 0, ()) for n in SERVER},
    NEW,
    NEW,
    (),
    {"/dev/nvidia0": (195, 0)},
    {"/dev/char/195:0": "../nvidia0"},
    "",
)
REPOSITORY = driver_repository(WISH, BARE)
OWN_FILES = {
    REPOSITORY.key_path: "KEY",
    REPOSITORY.source_path: REPOSITORY.render(),
    "/etc/apt/preferences.d/gpu-fleet-driver": render_pin(DRIVER_PATTERNS, "595.71.05-*"),
    MODULES_LOAD: "nvidia\nnvidia_uvm\nnvidia_modeset\n",
}
OPTIONS = render_options({"nvidia": {"NVreg_CoherentGPUMemoryMode": "driver"}})
ARCHIVE = {"nvidia-alternative": package("nvidia-alternative")}
TWICE = AptSource("/etc/apt/sources.list.d/cuda.list", REPOSITORY.uri.rstrip("/"), "/", "x.gpg")
UNMET = "nvidia-driver-cuda : Depends: libcuda1 (= 595.71.05-1)"
WITH_KERNEL = {**SET, "linux-image-6.1.0-60-amd64": "6.1.200-1"}
READY = replace(
    BARE,
    kernel=replace(BARE.kernel, headers=True),
    packages={n: package(n, held=n in NAMES) for n in SET},
    files=OWN_FILES,
    key=KEY,
    module=LOADED,
    services={UNIT: Service(UNIT, "loaded", "active", "enabled")},
    options=OPTIONS,
    owned=(
        f"file:{OPTIONS_PATH}",
        *(f"file:{p}" for p in OWN_FILES),
        *(f"package:{n}" for n in (*SET, HEADERS, "dkms")),
        *(f"hold:{n}" for n in NAMES),
    ),
)


def steps(decision) -> list[str]:
    return [f"{s.action} {s.target}" for s in decision.work.steps]


def ids(decision) -> list[str]:
    return [f.id for f in decision.work.findings]


def test_a_bare_host_asks_apt_first_under_a_pin_of_the_branch():
    ask = decide_driver(WISH, BARE).ask
    assert ask.packages == (*NAMES, HEADERS)
    assert ask.needs_key
    assert "Pin: version 595.*\n" in ask.pin
    assert ask.repository.uri == "https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/"
    assert ask.repository.key_url.endswith("/debian12/x86_64/3bf863cc.pub")


def test_a_bare_host_gets_the_whole_plan_in_order():
    decision = decide_driver(WISH, BARE, answer=FOUND)
    assert steps(decision) == [
        f"set_parameters {OPTIONS_PATH}",
        f"add_key {REPOSITORY.key_path}",
        f"add_repository {REPOSITORY.source_path}",
        "pin /etc/apt/preferences.d/gpu-fleet-driver",
        *(f"install {n}" for n in (*NAMES, HEADERS)),
        *(f"hold {n}" for n in NAMES),
        f"load_at_boot {MODULES_LOAD}",
        "load nvidia",
        "load nvidia_uvm",
        "load nvidia_modeset",
        "link /dev/char",
        f"enable {UNIT}",
        f"start {UNIT}",
    ]
    assert (decision.version, decision.flavour, decision.reboot_required) == ("595.71.05", "open", False)
    load = next(s for s in decision.work.steps if s.action == "load")
    assert load.after == "known after install nvidia-kernel-open-dkms"
    assert {"package:dkms", f"package:{HEADERS}", "hold:nvidia-driver-cuda"} <= set(decision.work.objects)


def test_headers_of_later_kernels_come_where_they_are_on_offer():
    assert decide_driver(WISH, BARE).ask.welcome == ("linux-headers-amd64",)
    offered = replace(FOUND, resolution=Resolution({**FOUND.resolution.install, "linux-headers-amd64": "6.1.192-3"}))
    decision = decide_driver(WISH, BARE, answer=offered)
    assert "install linux-headers-amd64" in steps(decision)
    apt = next(c for c in decision.work.calls if c.module == "ansible.builtin.apt")
    assert apt.args["name"][-2:] == [HEADERS, "linux-headers-amd64"]
    assert decide_driver(replace(WISH, kernel_headers=False), BARE).ask.welcome == ()
    assert decide_driver(WISH, READY).ask is None


def test_every_call_is_there_and_apt_is_called_once_with_exact_versions():
    calls = decide_driver(WISH, BARE, answer=FOUND).work.calls
    apt = [c for c in calls if c.module == "ansible.builtin.apt"]
    assert len(apt) == 1
    assert apt[0].args["name"] == [*(f"{n}=595.71.05-1" for n in NAMES), HEADERS]
    assert [c.args["state"] for c in calls if c.module == "gpu.fleet.driver_modules"] == ["loaded"]


def test_an_unchanged_host_asks_nothing_and_does_nothing():
    decision = decide_driver(WISH, READY)
    assert decision.ask is None
    assert steps(decision) == []
    assert (decision.version, decision.flavour, decision.reboot_required) == ("595.71.05", "open", False)


@pytest.mark.parametrize(
    ("host", "wanted"),
    [
        (replace(READY, services={UNIT: Service(UNIT, "loaded", "inactive", "enabled")}), [f"start {UNIT}"]),
        (replace(READY, services={UNIT: Service(UNIT, "loaded", "active", "disabled")}), [f"enable {UNIT}"]),
        (replace(READY, files={**OWN_FILES, MODULES_LOAD: None}), [f"load_at_boot {MODULES_LOAD}"]),
        (
            replace(READY, packages={**READY.packages, NAMES[0]: package(NAMES[0])}),
            [f"hold {NAMES[0]}"],
        ),
        (
            replace(READY, module=replace(LOADED, modules={})),
            ["load nvidia", "load nvidia_uvm", "load nvidia_modeset", "link /dev/char"],
        ),
        (replace(READY, module=replace(LOADED, links={"/dev/char/195:0": None})), ["link /dev/char/195:0"]),
    ],
)
def test_drift_is_put_right_by_the_smallest_plan(host, wanted):
    decision = decide_driver(WISH, host)
    assert decision.ask is None
    assert steps(decision) == wanted


def test_a_half_configured_package_is_asked_for_again():
    packages = {**READY.packages, NAMES[1]: package(NAMES[1], state="half-configured", held=True)}
    assert decide_driver(WISH, replace(READY, packages=packages)).ask.packages == (NAMES[1],)


OTHER = Answer(Resolution(dict.fromkeys((*NAMES, "libcuda1"), "570.172.08-1")), versions=("570.172.08-1",))


def test_another_version_releases_installs_holds_and_reloads():
    decision = decide_driver(replace(WISH, branch=570), READY, answer=OTHER)
    assert steps(decision)[:2] == [
        f"forget_parameters {OPTIONS_PATH}",
        "pin /etc/apt/preferences.d/gpu-fleet-driver",
    ]
    assert steps(decision)[2:] == [
        *(f"unhold {n}" for n in NAMES),
        *(f"install {n}" for n in NAMES),
        *(f"hold {n}" for n in NAMES),
        "unload nvidia_modeset",
        "unload nvidia_uvm",
        "unload nvidia",
        "load nvidia",
        "load nvidia_uvm",
        "load nvidia_modeset",
        "link /dev/char",
    ]
    assert decision.work.plan.disrupts == "gpu_workloads"
    apt = next(c for c in decision.work.calls if c.module == "ansible.builtin.apt")
    assert apt.args["allow_downgrade"] is True
    assert not [o for o in decision.work.objects if o.startswith("package:")]


def test_another_version_under_running_jobs_needs_a_reboot():
    busy = replace(READY, module=replace(LOADED, holders=(Holder(7, "python3", ("/dev/nvidia0",)),)))
    decision = decide_driver(replace(WISH, branch=570), busy, answer=OTHER)
    assert decision.reboot_required
    assert ids(decision) == ["GPU-KRN-026"]
    assert not [s for s in steps(decision) if s.startswith(("load ", "unload ", "start "))]


def test_a_stale_module_is_reloaded_or_needs_a_reboot():
    stale = replace(LOADED, loaded=DriverVersion("570.172.08", "open"))
    assert "unload nvidia" in steps(decide_driver(WISH, replace(READY, module=stale)))
    busy = replace(stale, holders=(Holder(7, "python3", ("/dev/nvidia0",)),))
    decision = decide_driver(WISH, replace(READY, module=busy))
    assert (steps(decision), ids(decision), decision.reboot_required) == ([], ["GPU-KRN-026"], True)


@pytest.mark.parametrize(
    ("host", "finding", "words"),
    [
        (replace(BARE, os=OsRelease("rocky", "8.10", "Rocky Linux 8.10")), "GPU-PKG-101", "rocky 9"),
        (replace(BARE, os=OsRelease("", "", "")), "GPU-PKG-101", "debian 12"),
        (replace(BARE, kernel=replace(BARE.kernel, machine="ppc64le")), "GPU-PKG-102", "x86_64, aarch64"),
        (replace(BARE, pci=(replace(H100, device="1db1"),)), "GPU-KRN-024", "driver_branch to '580'"),
        (replace(BARE, pci=(replace(H100, device="5000"),)), "GPU-KRN-101", "driver_flavour"),
        (replace(BARE, runfile="/usr/bin/nvidia-uninstall"), "GPU-PKG-011", "nvidia-uninstall --silent"),
        (
            replace(BARE, packages={"nvidia-alternative": package("nvidia-alternative")}),
            "GPU-PKG-006",
            "nvidia-alternative",
        ),
        (
            replace(BARE, packages={"nvidia-driver-pinning-595": package("nvidia-driver-pinning-595")}),
            "GPU-PKG-105",
            "apt-get remove nvidia-driver-pinning-595",
        ),
        (replace(BARE, module=replace(LOADED, on_disk=None)), "GPU-PKG-110", "595.71.05"),
        (
            replace(
                BARE,
                sources=(AptSource("/etc/apt/sources.list.d/cuda.list", REPOSITORY.uri.rstrip("/"), "/", "x.gpg"),),
            ),
            "GPU-PKG-001",
            "rm /etc/apt/sources.list.d/cuda.list",
        ),
    ],
)
def test_refused_before_apt_is_asked(host, finding, words):
    decision = decide_driver(WISH, host)
    assert decision.ask is None
    assert ids(decision) == [finding]
    assert words in decision.work.plan.message()
    assert steps(decision) == []


@pytest.mark.parametrize(
    ("answer", "wish", "finding", "words"),
    [
        (
            Answer(Resolution({}, (), f"E: Unable to locate package {HEADERS}"), versions=("595.71.05-1",)),
            WISH,
            "GPU-KRN-020",
            HEADERS,
        ),
        (
            Answer(Resolution({}, (), "E: Unable to locate package nvidia-driver-cuda"), versions=()),
            WISH,
            "GPU-PKG-104",
            "driver_repository_url",
        ),
        (
            Answer(Resolution(dict.fromkeys(NAMES, "570.172.08-1")), versions=("570.172.08-1",)),
            WISH,
            "GPU-PKG-104",
            "on offer: 570.172.08-1",
        ),
        (FOUND, replace(WISH, version="595.99.01"), "GPU-PKG-104", "set driver_version to one on offer"),
        (
            Answer(
                Resolution({}, (), "nvidia-driver-cuda : Depends: libcuda1 (= 595.71.05-1)"), versions=("595.71.05-1",)
            ),
            WISH,
            "GPU-PKG-107",
            "Depends: libcuda1",
        ),
        (
            Answer(
                Resolution(
                    {}, (), "E: Could not get lock", {"error": "lock_held", "lock": "/x", "pid": 7, "holder": "y"}
                ),
                versions=("595.71.05-1",),
            ),
            WISH,
            "GPU-PKG-010",
            "y (process 7) holds /x",
        ),
        (
            Answer(Resolution({**SET, "linux-image-6.1.0-60-amd64": "6.1.200-1"}), versions=()),
            WISH,
            "GPU-PKG-108",
            "kernel",
        ),
    ],
)
def test_what_apt_answers_can_block(answer, wish, finding, words):
    decision = decide_driver(wish, BARE, answer=answer)
    assert ids(decision) == [finding]
    assert words in decision.work.plan.message()
    assert steps(decision) == []


def test_a_hold_of_somebody_else_is_not_undone():
    packages = {**READY.packages, "libcuda1": package("libcuda1", held=True)}
    decision = decide_driver(replace(WISH, branch=570), replace(READY, packages=packages), answer=OTHER)
    assert ids(decision) == ["GPU-PKG-008"]
    assert "apt-mark unhold libcuda1" in decision.work.plan.message()


def test_a_host_without_gpu_is_ignored_whatever_it_is():
    decision = decide_driver(WISH, replace(BARE, pci=(), os=OsRelease("rocky", "9", "")))
    assert "no NVIDIA GPU" in decision.ignored
    assert (steps(decision), ids(decision), decision.ask) == ([], [], None)


def test_nouveau_means_reboot_and_no_loading():
    decision = decide_driver(WISH, replace(BARE, pci=(replace(H100, driver="nouveau"),)), answer=FOUND)
    assert decision.reboot_required
    assert ids(decision) == ["GPU-KRN-022"]
    assert not [s for s in steps(decision) if s.startswith(("load ", "start "))]
    assert f"enable {UNIT}" in steps(decision)


def test_another_flavour_makes_way_first_and_asks_for_all_of_the_set():
    old = {n: package(n, held=True) for n in ("nvidia-kernel-dkms", "cuda-drivers")}
    kept = {n: p for n, p in READY.packages.items() if n != "nvidia-kernel-open-dkms"}
    host = replace(READY, packages={**kept, **old}, owned=(*READY.owned, *(f"hold:{n}" for n in old)))
    ask = decide_driver(WISH, host).ask
    assert (ask.packages, ask.without) == (NAMES, ("nvidia-kernel-dkms", "cuda-drivers"))
    answer = Answer(Resolution({"nvidia-kernel-open-dkms": "595.71.05-1"}, ("cuda-drivers", "nvidia-kernel-dkms")))
    decision = decide_driver(WISH, host, answer=answer)
    done = steps(decision)
    assert done.index("remove nvidia-kernel-dkms") < done.index("install nvidia-kernel-open-dkms")
    assert done.index("unhold cuda-drivers") < done.index("remove cuda-drivers")
    apt = [c.args for c in decision.work.calls if c.module == "ansible.builtin.apt"]
    assert [a["state"] for a in apt] == ["absent", "present"]
    assert apt[1]["name"] == [f"{n}=595.71.05-1" for n in NAMES]


def test_a_release_with_a_known_fault_is_a_warning():
    answer = Answer(Resolution(dict.fromkeys((*NAMES, HEADERS), "570.158.01-1")), key="KEY", versions=("570.158.01-1",))
    decision = decide_driver(replace(WISH, version="570.158.01", branch=570), BARE, answer=answer)
    assert ids(decision) == ["GPU-PKG-112"]
    assert "570.172.08" in decision.work.findings[0].remedy
    assert not decision.work.plan.blocked


def test_secure_boot_is_said_before_the_module_is_refused():
    decision = decide_driver(WISH, replace(BARE, kernel=replace(BARE.kernel, secure_boot=True)), answer=FOUND)
    assert ids(decision) == ["GPU-KRN-021"]
    assert "load nvidia" in steps(decision)


@pytest.mark.parametrize(
    ("signer", "said"),
    [
        ("DKMS module signing key", True),
        (None, True),
        ("a key of nobody", True),
        ("Canonical Ltd. Kernel Module Signing", False),
    ],
)
def test_secure_boot_takes_the_keys_of_the_distribution(signer, said):
    module = replace(LOADED, loaded=None, on_disk=DriverVersion("595.71.05", "open", signer))
    host = replace(READY, module=module, kernel=replace(READY.kernel, secure_boot=True))
    assert ("GPU-KRN-021" in ids(decide_driver(WISH, host))) is said


def test_no_hold_pins_the_branch_and_releases_our_holds_only():
    decision = decide_driver(replace(WISH, hold=False), READY)
    assert steps(decision) == ["pin /etc/apt/preferences.d/gpu-fleet-driver", *(f"unhold {n}" for n in NAMES)]
    assert "Pin: version 595.*" in decision.work.calls[0].args["content"]
    foreign = replace(READY, owned=tuple(o for o in READY.owned if o != f"hold:{NAMES[0]}"))
    assert f"unhold {NAMES[0]}" not in steps(decide_driver(replace(WISH, hold=False), foreign))


ABSENT = replace(WISH, state="absent")


CAME_ALONG = ("dkms", "make", "perl")


@pytest.mark.parametrize("names", [(), CAME_ALONG[:1], CAME_ALONG])
def test_what_came_along_stays_and_is_named_before_and_after(names):
    owned = (*READY.owned, *(f"package:{n}" for n in CAME_ALONG))
    more = {n: package(n) for n in names}
    before = replace(READY, owned=owned, packages={**READY.packages, **more})
    gone = Answer(Resolution({}, (*SET, *names)), taken=tuple(SET))
    after = replace(BARE, owned=owned, packages={**BARE.packages, **more})
    for decision in (decide_driver(ABSENT, before, answer=gone), decide_driver(ABSENT, after)):
        assert not {s.target for s in decision.work.steps} & set(names)
        found = [f for f in decision.work.findings if f.id == "GPU-PKG-127"]
        assert [f.severity for f in found] == (["info"] if names else [])
        assert all(f.remedy.endswith(f"apt-get remove {' '.join(names)}") for f in found)


def test_removal_asks_for_the_set_and_headers_and_takes_only_what_is_ours():
    host = replace(
        READY, packages={**READY.packages, HEADERS: package(HEADERS), "dkms": package("dkms"), "vim": package("vim")}
    )
    ask = decide_driver(ABSENT, host).ask
    assert (ask.kind, ask.packages) == ("remove", ("libcuda1", HEADERS, *NAMES))
    gone = Answer(Resolution({}, (*SET, HEADERS, "dkms", "vim")), taken=(*SET, HEADERS))
    decision = decide_driver(ABSENT, host, answer=gone)
    assert steps(decision)[:7] == [
        "unload nvidia_modeset",
        "unload nvidia_uvm",
        "unload nvidia",
        f"forget_parameters {OPTIONS_PATH}",
        *(f"unhold {n}" for n in NAMES),
    ]
    removed = {s.target for s in decision.work.steps if s.action == "remove"}
    assert removed == {*SET, HEADERS}
    assert {s.action for s in decision.work.steps} >= {"unpin", "remove_repository", "remove_key", "forget_at_boot"}


def test_removal_stops_where_others_need_our_packages():
    answer = Answer(Resolution({}, tuple(SET)), taken=(*SET, "cuda-toolkit-13"))
    decision = decide_driver(ABSENT, READY, answer=answer)
    assert ids(decision) == ["GPU-PKG-111"]
    assert "cuda-toolkit-13" in decision.work.plan.message()


def test_removal_stops_under_running_jobs():
    busy = replace(READY, module=replace(LOADED, holders=(Holder(7, "python3", ("/dev/nvidia0",)),)))
    decision = decide_driver(ABSENT, busy, answer=Answer(Resolution({}, tuple(SET)), taken=tuple(SET)))
    assert ids(decision) == ["GPU-KRN-026"]
    assert decision.work.plan.blocked


def test_removal_of_nothing_is_nothing():
    decision = decide_driver(ABSENT, replace(READY, owned=()))
    assert (decision.ask, steps(decision)) == (None, [])


def test_after_the_removal_the_record_forgets():
    owned = READY.owned
    decision = decide_driver(ABSENT, replace(BARE, owned=owned))
    assert (decision.ask, steps(decision)) == (None, [])
    assert set(decision.work.gone) == set(owned)
