# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the driver comes from: Ubuntu's and Debian's archives, compiled modules, another source, a driver of others."""

from __future__ import annotations

from dataclasses import replace

import pytest
from trees.driver import H100, bare
from trees.driver import WISH as ANY

from ansible_collections.gpu.fleet.plugins.module_utils._catalog.packages import driver_packages
from ansible_collections.gpu.fleet.plugins.module_utils._plan.ask import Answer
from ansible_collections.gpu.fleet.plugins.module_utils._plan.driver import decide_driver
from ansible_collections.gpu.fleet.plugins.module_utils._plan.driver_repository import (
    archive_repository,
    driver_repository,
)
from ansible_collections.gpu.fleet.plugins.module_utils._plan.driver_set import in_the_way
from ansible_collections.gpu.fleet.plugins.module_utils._plan.facts import (
    AptSource,
    DriverVersion,
    LoadedModule,
    OsRelease,
    Package,
    Resolution,
)
from ansible_collections.gpu.fleet.plugins.module_utils._plan.module_parameters import render_options
from ansible_collections.gpu.fleet.plugins.module_utils._plan.modules import SERVER, ModuleHost

WISH = replace(ANY, any_branch=True)
DISTRO = replace(WISH, source="distro")
CUDA = replace(WISH, source="cuda_repo")
RELEASE = "6.8.0-149-generic"
V100 = replace(H100, device="1db4")
B200 = replace(H100, device="2901")
# Our parameters are there: test_driver_parts has the hosts without them.
OPTIONS = render_options({"nvidia": {"NVreg_CoherentGPUMemoryMode": "driver"}})
UBUNTU = replace(bare(OsRelease("ubuntu", "24.04", "Ubuntu 24.04.3 LTS"), RELEASE, headers=True), options=OPTIONS)
MIRROR = AptSource("/etc/apt/sources.list", "http://deb.debian.org/debian", "bookworm", "", ("main",))
DEBIAN = replace(
    UBUNTU,
    os=OsRelease("debian", "12", "Debian GNU/Linux 12 (bookworm)"),
    kernel=replace(UBUNTU.kernel, release="6.1.0-57-amd64"),
    sources=(MIRROR,),
)
ARCHIVE_VERSION = "595.84-0ubuntu0.24.04.1"
COMPILED = "linux-modules-nvidia-595-server-open-6.8.0-149-generic"
META = "linux-modules-nvidia-595-server-open-generic"
USERSPACE = (
    "nvidia-headless-no-dkms-595-server-open",
    "nvidia-utils-595-server",
    "libnvidia-compute-595-server",
    "nvidia-compute-utils-595-server",
)
DKMS = "nvidia-dkms-595-server-open"


def package(name: str, version: str = ARCHIVE_VERSION, *, held: bool = False) -> Package:
    return Package(name, version, "amd64", "installed", held)


def there(*names: str, version: str = ARCHIVE_VERSION) -> dict[str, Package]:
    return {n: package(n, version) for n in names}


def steps(decision) -> list[str]:
    return [f"{s.action} {s.target}" for s in decision.work.steps]


def ids(decision) -> list[str]:
    return [f.id for f in decision.work.findings]


def test_ubuntus_archive_gives_compiled_modules_and_needs_no_repository_of_ours():
    ask = decide_driver(DISTRO, UBUNTU).ask
    assert ask.packages == (*USERSPACE, COMPILED, META)
    assert (ask.repository, ask.needs_key, ask.compiled) == (None, False, COMPILED)
    assert ask.kernel_package == "libnvidia-compute-595-server"
    found = {**dict.fromkeys(USERSPACE, ARCHIVE_VERSION), COMPILED: "6.8.0-149.149", META: "6.8.0-149.149"}
    decision = decide_driver(DISTRO, UBUNTU, answer=Answer(Resolution(found), compiled=COMPILED))
    assert steps(decision)[:6] == [
        "pin /etc/apt/preferences.d/gpu-fleet-driver",
        *(f"install {n}" for n in (*USERSPACE, COMPILED)),
    ]
    apt = next(c.args for c in decision.work.calls if c.module == "ansible.builtin.apt")
    assert apt["name"] == [*(f"{n}={ARCHIVE_VERSION}" for n in USERSPACE), COMPILED, META]
    assert {f"hold {n}" for n in USERSPACE} == {s for s in steps(decision) if s.startswith("hold ")}
    assert decision.version == "595.84"


NOT_OFFERED = Answer(Resolution({}, (), f"E: Unable to locate package {COMPILED}"), compiled=COMPILED, offered=False)


UNMET = "Depends: nvidia-kernel-common-595-server (<= 595.71.05-1) but 595.84 is to be installed"
DOES_NOT_FIT = Answer(Resolution({}, (), UNMET), versions=(ARCHIVE_VERSION,), compiled=COMPILED)


@pytest.mark.parametrize("answer", [NOT_OFFERED, DOES_NOT_FIT])
def test_without_compiled_modules_for_the_kernel_dkms_is_asked_next(answer):
    decision = decide_driver(DISTRO, UBUNTU, answer=answer)
    ask = decision.ask
    assert (ask.compiled, DKMS in ask.packages) == ("", True)
    found = dict.fromkeys((*USERSPACE, DKMS), ARCHIVE_VERSION)
    last = decide_driver(DISTRO, UBUNTU, answer=Answer(Resolution(found)))
    assert (last.ask, f"install {DKMS}" in steps(last)) == (None, True)
    assert [(f.id, f.severity) for f in last.work.findings] == [("GPU-PKG-016", "info")]


def test_who_insists_on_compiled_modules_is_refused():
    decision = decide_driver(replace(DISTRO, precompiled="true"), UBUNTU, answer=NOT_OFFERED)
    assert (decision.ask, ids(decision), steps(decision)) == (None, ["GPU-PKG-016"], [])
    assert RELEASE in decision.work.plan.message()
    unfit = decide_driver(replace(DISTRO, precompiled="true"), UBUNTU, answer=DOES_NOT_FIT)
    assert (ids(unfit), unfit.ask) == (["GPU-PKG-128"], None)
    assert "set driver_version to '595.71.05'" in unfit.work.plan.message()
    other = replace(DOES_NOT_FIT, resolution=Resolution({}, (), "E: Unable to correct problems"))
    assert ids(decide_driver(replace(DISTRO, precompiled="true"), UBUNTU, answer=other)) == ["GPU-PKG-107"]


def test_what_is_there_stays_whichever_kind_it_is():
    dkms = replace(UBUNTU, packages=there(*USERSPACE, DKMS))
    compiled = replace(UBUNTU, packages=there(*USERSPACE, COMPILED, META))
    for host in (dkms, compiled):
        decision = decide_driver(DISTRO, host)
        assert (decision.ask, [s for s in steps(decision) if s.startswith(("install", "remove"))]) == (None, [])
    assert decide_driver(replace(DISTRO, precompiled="false"), compiled).ask.without == (COMPILED, META)


def test_modules_of_other_kernels_stay_and_those_of_another_branch_go():
    other = "linux-modules-nvidia-595-server-open-6.8.0-150-generic"
    old = "linux-modules-nvidia-580-server-open-6.8.0-149-generic"
    host = replace(UBUNTU, packages=there(*USERSPACE, COMPILED, META, other, old))
    assert decide_driver(DISTRO, host).ask.without == (old,)


@pytest.mark.parametrize(
    ("sources", "components"),
    [
        ((MIRROR,), "contrib non-free non-free-firmware"),
        ((replace(MIRROR, components=("main", "non-free-firmware")),), "contrib non-free"),
        ((replace(MIRROR, components=("main", "contrib", "non-free", "non-free-firmware")),), None),
        ((), None),
    ],
)
def test_debians_archive_gets_the_components_that_lack_on_the_hosts_own_mirror(sources, components):
    repository = archive_repository(replace(DEBIAN, sources=sources))
    assert (repository and repository.components) == components
    if repository:
        assert (repository.uri, repository.suite) == (MIRROR.uri, "bookworm")
        assert "Signed-By" not in repository.render()
        signed = replace(sources[0], signed_by="/usr/share/keyrings/x.gpg")
        assert (
            "Signed-By: /usr/share/keyrings/x.gpg\n" in archive_repository(replace(DEBIAN, sources=(signed,))).render()
        )


def test_debians_archive_has_one_branch_and_it_is_the_default():
    ask = decide_driver(DISTRO, DEBIAN).ask
    assert ask.packages[0] == "nvidia-open-kernel-dkms" or ask.packages[0] == "nvidia-kernel-dkms"
    assert ask.prefix == "535"
    assert ask.repository.source_path == "/etc/apt/sources.list.d/gpu-fleet-debian-archive.sources"
    assert not ask.needs_key


def test_the_archives_driver_makes_way_for_who_names_the_cuda_repository():
    old = there("nvidia-alternative", "nvidia-kernel-dkms", "nvidia-driver", version="535.261.03-1")
    refused = decide_driver(WISH, replace(DEBIAN, packages=old))
    assert (ids(refused), refused.ask) == (["GPU-PKG-006"], None)
    ask = decide_driver(CUDA, replace(DEBIAN, packages=old)).ask
    assert {"nvidia-alternative", "nvidia-kernel-dkms"} <= set(ask.without)
    names = ("nvidia-driver-cuda", "nvidia-kernel-open-dkms", "nvidia-persistenced")
    resolution = Resolution(dict.fromkeys((*names, "libcuda1"), "595.71.05-1"), tuple(old))
    decision = decide_driver(
        CUDA, replace(DEBIAN, packages=old), answer=Answer(resolution, key="KEY", versions=("595.71.05-1",))
    )
    done = steps(decision)
    assert [s for s in done if s.startswith("remove ")] == [f"remove {n}" for n in old]
    assert done.index("remove nvidia-driver") < done.index("install nvidia-driver-cuda")


def test_back_to_the_archive_our_repository_goes():
    repository = driver_repository(CUDA, DEBIAN)
    files = {repository.source_path: repository.render(), repository.key_path: "KEY"}
    host = replace(DEBIAN, files=files, owned=tuple(f"file:{p}" for p in files))
    names = ("nvidia-kernel-dkms", "nvidia-open-kernel-dkms", "libcuda1", "libnvidia-ml1", "nvidia-smi")
    found = dict.fromkeys((*names, "firmware-nvidia-gsp"), "535.261.03-1")
    decision = decide_driver(DISTRO, host, answer=Answer(Resolution(found), versions=("535.261.03-1",)))
    assert steps(decision)[:2] == [f"remove_repository {repository.source_path}", f"remove_key {repository.key_path}"]


def test_auto_is_the_source_of_the_driver_that_we_brought():
    packages = there(*USERSPACE, COMPILED, META)
    host = replace(UBUNTU, packages=packages, owned=tuple(f"package:{n}" for n in packages), module=LOADED)
    decision = decide_driver(WISH, host)
    assert (decision.ask, ids(decision)) == (None, [])
    assert not [s for s in steps(decision) if s.startswith(("install", "remove", "add_repository"))]


@pytest.mark.parametrize(
    ("host", "wish", "finding", "words"),
    [
        (replace(UBUNTU, packages=there(COMPILED)), WISH, "GPU-PKG-006", COMPILED),
        (UBUNTU, replace(DISTRO, branch=570, any_branch=False), "GPU-PKG-140", "driver_branch to '580'"),
        (UBUNTU, replace(WISH, precompiled="true"), "GPU-PKG-120", "driver_precompiled to auto"),
        (DEBIAN, replace(DISTRO, precompiled="true"), "GPU-PKG-120", "driver_precompiled to auto"),
        (DEBIAN, replace(DISTRO, branch=595, any_branch=False), "GPU-PKG-122", "535"),
        (replace(UBUNTU, pci=(V100,)), replace(DISTRO, branch=595, any_branch=False), "GPU-KRN-024", "'580'"),
        (
            replace(UBUNTU, pci=(replace(H100, device="20b2"),)),
            replace(WISH, branch=620, any_branch=False, flavour="proprietary"),
            "GPU-KRN-103",
            "proprietary",
        ),
    ],
)
def test_refused_before_apt_is_asked(host, wish, finding, words):
    decision = decide_driver(wish, host)
    assert decision.ask is None
    assert finding in ids(decision)
    assert words in decision.work.plan.message()
    assert steps(decision) == []


KEPT = replace(WISH, source="preinstalled")
DRIVER = DriverVersion("580.178.04", "open")
LOADED = ModuleHost(
    {n: LoadedModule(n, 0, ()) for n in SERVER},
    DRIVER,
    DRIVER,
    (),
    {"/dev/nvidia0": (195, 0)},
    {"/dev/char/195:0": "../nvidia0"},
    "",
)


def test_a_driver_of_others_is_only_proved():
    decision = decide_driver(KEPT, replace(UBUNTU, module=LOADED))
    assert (decision.ask, ids(decision)) == (None, [])
    assert (decision.version, decision.flavour) == ("580.178.04", "open")
    assert {s.action for s in decision.work.steps} <= {"load_at_boot"}
    assert ids(decide_driver(replace(KEPT, source="auto"), replace(UBUNTU, module=LOADED))) == ["GPU-PKG-110"]


def test_a_known_fault_of_a_driver_of_others_is_said():
    bad = DriverVersion("570.158.01", "open")
    host = replace(UBUNTU, module=replace(LOADED, loaded=bad, on_disk=bad))
    assert ids(decide_driver(KEPT, host)) == ["GPU-PKG-112"]


def test_a_driver_of_others_is_loaded():
    host = replace(UBUNTU, module=replace(LOADED, loaded=None, modules={}))
    assert "load nvidia" in steps(decide_driver(KEPT, host))


@pytest.mark.parametrize(
    ("host", "wish", "finding", "words"),
    [
        (UBUNTU, KEPT, "GPU-PKG-118", "cuda_repo or distro"),
        (
            replace(UBUNTU, module=LOADED),
            replace(KEPT, branch=595, any_branch=False),
            "GPU-PKG-119",
            "driver 595",
        ),
        (
            replace(UBUNTU, module=LOADED),
            replace(KEPT, branch=580, version="580.142", any_branch=False),
            "GPU-PKG-119",
            "580.142",
        ),
        (replace(UBUNTU, module=LOADED), replace(KEPT, flavour="proprietary"), "GPU-PKG-119", "proprietary"),
    ],
)
def test_a_driver_of_others_that_is_not_the_wanted_one(host, wish, finding, words):
    decision = decide_driver(wish, host)
    assert (ids(decision), steps(decision)) == ([finding], [])
    assert words in decision.work.plan.message()


@pytest.mark.parametrize(
    ("os", "release", "wish", "installed", "goes"),
    [
        (
            "debian 12",
            "6.1.0-57-amd64",
            replace(CUDA, branch=595),
            ("nvidia-kernel-dkms", "cuda-drivers-595", "cuda-drivers", "nvidia-kernel-open-dkms", "nvidia-driver-cuda"),
            ("nvidia-kernel-dkms", "cuda-drivers-595", "cuda-drivers"),
        ),
        (
            "ubuntu 24.04",
            RELEASE,
            replace(DISTRO, branch=580, flavour="proprietary"),
            ("nvidia-dkms-580-server-open", f"linux-modules-nvidia-580-server-open-{RELEASE}"),
            ("nvidia-dkms-580-server-open", f"linux-modules-nvidia-580-server-open-{RELEASE}"),
        ),
    ],
    ids=["open on debian", "proprietary on ubuntu"],
)
def test_packages_of_the_other_flavour_are_in_the_way(os, release, wish, installed, goes):
    system = OsRelease(*os.split(), os)
    row = driver_packages(
        *os.split(),
        branch=wish.branch,
        flavour="open" if wish.flavour == "auto" else wish.flavour,
        package_set="compute",
        source=wish.source,
        kernel_release=release,
    )
    packages = {n: Package(n, f"{wish.branch}.1-1", "amd64", "installed", held=False) for n in installed}
    assert in_the_way(system, row, wish, packages) == goes
