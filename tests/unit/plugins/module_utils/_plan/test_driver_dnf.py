# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The driver's decision on systems with dnf: streams, lock, one transaction, removal."""

from __future__ import annotations

from dataclasses import replace

import pytest
from trees.driver import UNIT, bare
from trees.driver import WISH as ANY

from ansible_collections.gpu.fleet.plugins.module_utils._plan.ask import Answer
from ansible_collections.gpu.fleet.plugins.module_utils._plan.driver import MODULES_LOAD, decide_driver
from ansible_collections.gpu.fleet.plugins.module_utils._plan.driver_repository import driver_repository
from ansible_collections.gpu.fleet.plugins.module_utils._plan.driver_wish import DriverWish
from ansible_collections.gpu.fleet.plugins.module_utils._plan.facts import (
    DnfSource,
    DriverVersion,
    LoadedModule,
    OsRelease,
    Package,
    Resolution,
    Service,
)
from ansible_collections.gpu.fleet.plugins.module_utils._plan.module_parameters import render_options
from ansible_collections.gpu.fleet.plugins.module_utils._plan.modules import SERVER, ModuleHost
from ansible_collections.gpu.fleet.plugins.module_utils._plan.packages_dnf import STREAM_PATH, lock, render_stream

WISH = replace(ANY, any_branch=True)
KERNEL = "5.14.0-687.51.1.el9_8.x86_64"
# Our parameters are there: test_driver_parts has the hosts without them.
OPTIONS = render_options({"nvidia": {"NVreg_CoherentGPUMemoryMode": "driver"}})
EL9 = replace(bare(OsRelease("rocky", "9.8", "Rocky Linux 9.8"), KERNEL, headers=False), options=OPTIONS)
NEW_KEY = "B" * 40
EL10 = replace(EL9, os=OsRelease("almalinux", "10.2", "AlmaLinux 10.2"))
AMAZON = replace(
    EL9,
    os=OsRelease("amzn", "2023", "Amazon Linux 2023"),
    kernel=replace(EL9.kernel, release="6.1.150-174.273.amzn2023.x86_64"),
)
NAMES = ("nvidia-driver-cuda", "kmod-nvidia-open-dkms", "nvidia-persistenced")
HEADERS = "kernel-devel-5.14.0-687.51.1.el9_8"


def versions(version: str, *more: str) -> dict[str, str]:
    return dict.fromkeys((*NAMES, "libnvidia-ml", *more), f"3:{version}-1.el9")


def answer(version: str, **more: str) -> Answer:
    return Answer(Resolution({**versions(version), **more}), versions=(f"3:{version}-1.el9",))


FOUND = replace(answer("595.71.05", **{"kernel-devel": "5.14.0-687.51.1.el9_8", "dkms": "3.0.10-1.el9"}), key="KEY")
REPOSITORY = driver_repository(WISH, EL9)
NEW = DriverVersion("595.71.05", "open")
OWN_FILES = {
    REPOSITORY.key_path: "KEY",
    REPOSITORY.source_path: REPOSITORY.render(lock("595.71.05")),
    STREAM_PATH: render_stream("595-open"),
    MODULES_LOAD: "nvidia\nnvidia_uvm\nnvidia_modeset\n",
}
PACKAGES = {n: Package(n, v, "x86_64", "installed", False) for n, v in versions("595.71.05").items()}
READY = replace(
    EL9,
    kernel=replace(EL9.kernel, headers=True),
    packages=PACKAGES,
    files=OWN_FILES,
    key=REPOSITORY.key_fingerprint,
    module=ModuleHost(
        {n: LoadedModule(n, 0, ()) for n in SERVER},
        NEW,
        NEW,
        (),
        {"/dev/nvidia0": (195, 0)},
        {"/dev/char/195:0": "../nvidia0"},
        KERNEL,
    ),
    services={UNIT: Service(UNIT, "loaded", "active", "enabled")},
    owned=(
        *(f"file:{p}" for p in OWN_FILES),
        *(f"package:{n}" for n in (*PACKAGES, "kernel-devel")),
        f"rpm_key:{REPOSITORY.key_fingerprint}",
    ),
)


LOOSE = {"nvidia-modprobe": "3:595.71.05-1.el9", "nvlsm": "2025.06.11-1"}


def steps(decision) -> list[str]:
    return [f"{s.action} {s.target}" for s in decision.work.steps]


def ids(decision) -> list[str]:
    return [f.id for f in decision.work.findings]


def dnf_calls(decision) -> list[dict]:
    return [c.args for c in decision.work.calls if c.module == "ansible.builtin.dnf"]


def test_a_bare_host_asks_dnf_first_under_the_lock_of_the_branch():
    ask = decide_driver(WISH, EL9).ask
    assert (ask.manager, ask.packages, ask.prefix) == ("dnf", (*NAMES, HEADERS), "595")
    assert ask.repository.uri == "https://developer.download.nvidia.com/compute/cuda/repos/rhel9/x86_64/"
    assert ask.repository.key_url.endswith("/rhel9/x86_64/D42D0685.pub")
    assert f"excludepkgs={' '.join(lock('595'))}\n" in ask.pin
    assert "module_hotfixes=1\n" in ask.pin


def test_a_bare_host_gets_the_whole_plan_in_order():
    decision = decide_driver(WISH, EL9, answer=FOUND)
    assert steps(decision) == [
        f"add_key {REPOSITORY.key_path}",
        f"add_repository {REPOSITORY.source_path}",
        "enable_stream nvidia-driver:595-open",
        *(f"install {n}" for n in (*NAMES, HEADERS)),
        f"load_at_boot {MODULES_LOAD}",
        "load nvidia",
        "load nvidia_uvm",
        "load nvidia_modeset",
        "link /dev/char",
        f"enable {UNIT}",
        f"start {UNIT}",
    ]
    assert (decision.version, decision.flavour, decision.reboot_required) == ("595.71.05", "open", False)
    assert {"package:dkms", "package:kernel-devel", f"rpm_key:{REPOSITORY.key_fingerprint}"} <= set(
        decision.work.objects
    )


def test_dnf_is_called_once_with_exact_versions():
    calls = dnf_calls(decide_driver(WISH, EL9, answer=FOUND))
    assert [c["name"] for c in calls] == [[*(f"{n}-3:595.71.05-1.el9" for n in NAMES), HEADERS]]
    assert (calls[0]["allowerasing"], calls[0]["install_weak_deps"]) == (False, False)


def test_the_lock_keeps_the_exact_version_while_held_and_else_the_branch():
    def text(wish: DriverWish) -> str:
        calls = decide_driver(wish, EL9, answer=FOUND).work.calls
        return next(c.args["content"] for c in calls if c.args.get("dest") == REPOSITORY.source_path)

    assert text(WISH) == REPOSITORY.render(lock("595.71.05"))
    assert text(replace(WISH, hold=False)) == REPOSITORY.render(lock("595"))


def test_a_key_that_rpm_trusted_before_is_not_ours():
    key = Package("gpg-pubkey-d42d0685", "d42d0685-62589a51", "(none)", "installed", False)
    decision = decide_driver(WISH, replace(EL9, packages={key.name: key}), answer=FOUND)
    assert not [o for o in decision.work.objects if o.startswith("rpm_key:")]


def test_an_unchanged_host_asks_nothing_and_does_nothing():
    decision = decide_driver(WISH, READY)
    assert (decision.ask, steps(decision), ids(decision)) == (None, [], [])
    assert (decision.version, decision.flavour) == ("595.71.05", "open")


@pytest.mark.parametrize(
    ("path", "text", "wanted"),
    [
        (STREAM_PATH, render_stream("580-open"), "switch_stream nvidia-driver:595-open"),
        (STREAM_PATH, None, "enable_stream nvidia-driver:595-open"),
        (REPOSITORY.source_path, REPOSITORY.render(), f"pin {REPOSITORY.source_path}"),
        (REPOSITORY.source_path, None, f"add_repository {REPOSITORY.source_path}"),
    ],
)
def test_drift_of_our_files_is_put_right(path, text, wanted):
    decision = decide_driver(WISH, replace(READY, files={**OWN_FILES, path: text}))
    assert (decision.ask, steps(decision)) == (None, [wanted])


def test_another_branch_is_one_stream_one_lock_and_one_transaction():
    wish = replace(WISH, branch=580, any_branch=False)
    assert decide_driver(wish, READY).ask.packages == NAMES
    decision = decide_driver(wish, READY, answer=answer("580.178.04"))
    assert steps(decision)[:5] == [
        f"pin {REPOSITORY.source_path}",
        "switch_stream nvidia-driver:580-open",
        *(f"install {n}" for n in NAMES),
    ]
    stream = next(s for s in decision.work.steps if s.action == "switch_stream")
    assert (stream.before, stream.after) == ("595-open", "580-open")
    assert [c["allow_downgrade"] for c in dnf_calls(decision)] == [True]
    assert "unload nvidia" in steps(decision)
    assert decision.work.plan.disrupts == "gpu_workloads"


def test_what_nothing_makes_follow_comes_along():
    wish = replace(WISH, branch=580, any_branch=False)
    loose = {n: Package(n, v, "x86_64", "installed", False) for n, v in LOOSE.items()}
    host = replace(READY, packages={**PACKAGES, **loose}, owned=(*READY.owned, *(f"package:{n}" for n in loose)))
    assert decide_driver(WISH, host).ask is None
    assert decide_driver(wish, host).ask.along == ("libnvidia-ml", "nvidia-modprobe")
    reply = replace(answer("580.178.04", **{"nvidia-modprobe": "3:580.178.04-1.el9"}), along=("nvidia-modprobe",))
    decision = decide_driver(wish, host, answer=reply)
    assert "install nvidia-modprobe" in steps(decision)
    assert dnf_calls(decision)[0]["name"][-1] == "nvidia-modprobe-3:580.178.04-1.el9"
    foreign = replace(host, owned=READY.owned)
    assert "nvidia-modprobe" not in decide_driver(wish, foreign).ask.along


def test_another_flavour_goes_and_comes_in_one_transaction():
    wish = replace(WISH, flavour="proprietary")
    ask = decide_driver(wish, READY).ask
    assert ask.packages == ("nvidia-driver-cuda", "kmod-nvidia-latest-dkms", "nvidia-persistenced")
    assert ask.without == ("kmod-nvidia-open-dkms",)
    found = Answer(
        Resolution({"kmod-nvidia-latest-dkms": "3:595.71.05-1.el9"}, ("kmod-nvidia-open-dkms",)),
        versions=("3:595.71.05-1.el9",),
    )
    decision = decide_driver(wish, READY, answer=found)
    assert steps(decision)[:3] == [
        "switch_stream nvidia-driver:595-dkms",
        "remove kmod-nvidia-open-dkms",
        "install kmod-nvidia-latest-dkms",
    ]
    (call,) = dnf_calls(decision)
    assert (call["state"], call["allowerasing"]) == ("present", True)
    assert call["name"] == [
        "nvidia-driver-cuda-3:595.71.05-1.el9",
        "kmod-nvidia-latest-dkms-3:595.71.05-1.el9",
        "nvidia-persistenced-3:595.71.05-1.el9",
    ]


def test_compiled_modules_have_their_version_in_their_name():
    wish = replace(WISH, flavour="proprietary", branch=580, any_branch=False, precompiled="true")
    ask = decide_driver(wish, EL9).ask
    pattern = "kmod-nvidia-580.*-5.14.0-687.51.1"
    assert ask.packages == ("nvidia-driver-cuda", pattern, "nvidia-persistenced")
    assert (ask.compiled, ask.kernel_package) == (pattern, "nvidia-driver-cuda")
    name = "kmod-nvidia-580.178.04-5.14.0-687.51.1"
    version = "3:580.178.04-1.el9"
    found = dict.fromkeys(("nvidia-driver-cuda", name, "nvidia-persistenced"), version)
    reply = Answer(Resolution(found), key="KEY", versions=(version,), compiled=pattern)
    decision = decide_driver(wish, EL9, answer=reply)
    assert "enable_stream nvidia-driver:580" in steps(decision)
    assert f"install {name}" in steps(decision)
    assert dnf_calls(decision)[0]["name"][1] == f"{name}-{version}"
    assert decision.version == "580.178.04"
    there = {n: Package(n, v, "x86_64", "installed", False) for n, v in found.items()}
    assert decide_driver(wish, replace(READY, packages=there)).ask is None
    other = replace(wish, version="580.142")
    assert decide_driver(other, replace(READY, packages=there)).ask.without == (name,)


def test_compiled_modules_that_nobody_offers_for_the_kernel():
    wish = replace(WISH, flavour="proprietary", branch=580, any_branch=False, precompiled="true")
    reply = Answer(
        Resolution({}, (), "No match"), versions=("3:580.178.04-1.el9",), compiled="kmod-nvidia-580.*", offered=False
    )
    decision = decide_driver(wish, EL9, answer=reply)
    assert ids(decision) == ["GPU-PKG-016"]
    assert decision.work.plan.blocked


def test_el_10_has_no_streams_and_names_its_key_nowhere():
    refused = decide_driver(WISH, EL10)
    assert (refused.ask, ids(refused)) == (None, ["GPU-PKG-121"])
    decision = decide_driver(replace(WISH, repository_key_fingerprint=NEW_KEY), EL10, answer=FOUND)
    assert not [s for s in steps(decision) if "stream" in s]
    assert "add_repository /etc/yum.repos.d/gpu-fleet-cuda.repo" in steps(decision)


def test_amazon_linux_has_streams_and_its_own_headers():
    ask = decide_driver(WISH, AMAZON).ask
    assert ask.packages[-1] == "kernel-devel-6.1.150-174.273.amzn2023"
    assert "/amzn2023/x86_64/" in ask.repository.uri
    assert "enable_stream nvidia-driver:595-open" in steps(decide_driver(WISH, AMAZON, answer=FOUND))


def test_headers_that_rpm_has_are_not_asked_for_again():
    devel = Package("kernel-devel", "5.14.0-687.51.1.el9_8", "x86_64", "installed", False)
    host = replace(READY, kernel=EL9.kernel, packages={**PACKAGES, "kernel-devel": devel})
    assert decide_driver(WISH, host).ask is None
    older = replace(devel, version="5.14.0-600.el9_7")
    assert decide_driver(WISH, replace(host, packages={**PACKAGES, "kernel-devel": older})).ask.packages == (HEADERS,)


def test_to_a_source_of_the_distribution_the_stream_goes_once():
    there = {"nvidia-release": Package("nvidia-release", "1-1", "noarch", "installed", False)}
    host = replace(READY, os=AMAZON.os, packages={**PACKAGES, **there})
    decision = decide_driver(replace(WISH, source="distro"), host)
    assert [s for s in steps(decision) if "install" not in s] == [
        f"remove_repository {REPOSITORY.source_path}",
        f"remove_key {REPOSITORY.key_path}",
        f"reset_stream {STREAM_PATH}",
    ]


def test_a_repository_of_the_distribution_has_no_lock_of_ours():
    there = {"nvidia-release": Package("nvidia-release", "1-1", "noarch", "installed", False)}
    host, wish = replace(AMAZON, packages=there), replace(WISH, source="distro")
    decision = decide_driver(wish, host, answer=FOUND)
    assert [(f.id, f.severity) for f in decision.work.findings] == [("GPU-PKG-125", "info")]
    assert "repository" not in " ".join(steps(decision))
    assert ids(decide_driver(replace(wish, hold=False), host, answer=FOUND)) == []


@pytest.mark.parametrize(
    ("host", "wish", "finding", "words"),
    [
        (
            replace(EL9, repositories=(DnfSource("/etc/yum.repos.d/c.repo", "c", REPOSITORY.uri.rstrip("/")),)),
            WISH,
            "GPU-PKG-001",
            "rm /etc/yum.repos.d/c.repo",
        ),
        (
            replace(EL9, packages={"akmod-nvidia": Package("akmod-nvidia", "3:580-1", "x86_64", "installed", False)}),
            WISH,
            "GPU-PKG-006",
            "driver_source to cuda_repo",
        ),
        (EL9, replace(WISH, source="distro"), "GPU-PKG-117", "driver_source to cuda_repo"),
        (EL10, replace(WISH, source="distro"), "GPU-PKG-123", "dnf install almalinux-release-nvidia-driver"),
        (EL9, replace(WISH, precompiled="true"), "GPU-PKG-120", "driver_precompiled to auto"),
        (
            replace(EL10),
            replace(WISH, branch=570, any_branch=False, repository_key_fingerprint=NEW_KEY),
            "GPU-PKG-122",
            "580-",
        ),
    ],
)
def test_refused_before_dnf_is_asked(host, wish, finding, words):
    decision = decide_driver(wish, host)
    assert (decision.ask, ids(decision), steps(decision)) == (None, [finding], [])
    assert words in decision.work.plan.message()


def test_a_line_of_versionlock_is_not_undone():
    packages = {**PACKAGES, "libnvidia-ml": replace(PACKAGES["libnvidia-ml"], held=True)}
    wish = replace(WISH, branch=580, any_branch=False)
    decision = decide_driver(wish, replace(READY, packages=packages), answer=answer("580.178.04"))
    assert ids(decision) == ["GPU-PKG-008"]
    assert "dnf versionlock delete libnvidia-ml" in decision.work.plan.message()


@pytest.mark.parametrize(
    ("resolution", "finding", "words"),
    [
        (Resolution({**versions("595.71.05"), "kernel-core": "5.14.0-700.el9"}), "GPU-PKG-108", "dnf install"),
        (Resolution(versions("595.71.05"), ("vim-enhanced",)), "GPU-PKG-124", "dnf remove vim-enhanced"),
        (Resolution({}, (), f"No match for argument: {HEADERS}"), "GPU-KRN-020", KERNEL),
        (
            Resolution({}, (), "nothing provides dkms needed by kmod-nvidia-open-dkms-3:595", {"missing": "dkms"}),
            "GPU-PKG-126",
            "epel-release",
        ),
        (Resolution({}, (), "Curl error (7)"), "GPU-PKG-107", "dnf --assumeno install"),
    ],
)
def test_what_dnf_answers_can_block(resolution, finding, words):
    packages = {"vim-enhanced": Package("vim-enhanced", "2:9-1", "x86_64", "installed", False)}
    reply = Answer(resolution, key="KEY", versions=("3:595.71.05-1.el9",))
    decision = decide_driver(WISH, replace(EL9, packages=packages), answer=reply)
    assert (ids(decision), steps(decision)) == ([finding], [])
    assert words in decision.work.plan.message()


ABSENT = replace(WISH, state="absent")


def test_removal_takes_packages_stream_repository_and_key():
    key = Package("gpg-pubkey-d42d0685", "d42d0685-62589a51", "(none)", "installed", False)
    host = replace(READY, packages={**PACKAGES, key.name: key})
    ask = decide_driver(ABSENT, host).ask
    assert (ask.kind, ask.manager, set(ask.packages)) == ("remove", "dnf", set(PACKAGES))
    reply = Answer(Resolution({}, tuple(PACKAGES)), taken=tuple(PACKAGES))
    decision = decide_driver(ABSENT, host, answer=reply)
    assert steps(decision)[3:] == [
        *(f"remove {n}" for n in PACKAGES),
        f"reset_stream {STREAM_PATH}",
        f"remove_repository {REPOSITORY.source_path}",
        f"remove_key {REPOSITORY.key_path}",
        f"distrust_key {key.name}",
        f"forget_at_boot {MODULES_LOAD}",
    ]
    assert [(c["state"], c["name"]) for c in dnf_calls(decision)] == [("absent", list(PACKAGES))]


def test_what_came_along_stays_and_is_named():
    host = replace(
        READY,
        owned=(*READY.owned, "package:gcc"),
        packages={**PACKAGES, "gcc": replace(next(iter(PACKAGES.values())), name="gcc")},
    )
    reply = Answer(Resolution({}, (*PACKAGES, "gcc")), taken=tuple(PACKAGES))
    decision = decide_driver(ABSENT, host, answer=reply)
    assert "remove gcc" not in steps(decision)
    (found,) = [f for f in decision.work.findings if f.id == "GPU-PKG-127"]
    assert found.remedy.endswith("dnf remove gcc")


def test_after_the_removal_the_record_forgets():
    decision = decide_driver(ABSENT, replace(EL9, owned=READY.owned))
    assert (decision.ask, steps(decision)) == (None, [])
    assert set(decision.work.gone) == set(READY.owned)
