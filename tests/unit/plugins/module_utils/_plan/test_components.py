# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which components a host gets: by hardware, by what is installed, and every refusal."""

from __future__ import annotations

import inspect
import re
from dataclasses import replace

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._catalog import driver_components as catalog
from ansible_collections.gpu.fleet.plugins.module_utils._catalog.components import COMPONENT_PACKAGES
from ansible_collections.gpu.fleet.plugins.module_utils._catalog.packages import DRIVER_PATTERNS
from ansible_collections.gpu.fleet.plugins.module_utils._plan import component_findings
from ansible_collections.gpu.fleet.plugins.module_utils._plan.component_wish import ComponentWish
from ansible_collections.gpu.fleet.plugins.module_utils._plan.components import (
    ComponentHost,
    Components,
    Scene,
    decide_components,
)
from ansible_collections.gpu.fleet.plugins.module_utils._plan.facts import (
    OsRelease,
    Package,
    PciFunction,
    Service,
)
from ansible_collections.gpu.fleet.plugins.module_utils._plan.packages import matches

FABRIC, IMEX, GRIDD = "nvidia-fabricmanager.service", "nvidia-imex.service", "nvidia-gridd.service"
BRIDGES = ("mlx5_8", "mlx5_9")
CDMM = {"nvidia": {"NVreg_CoherentGPUMemoryMode": "driver"}}


def gpu(device: str) -> PciFunction:
    return PciFunction("0000:41:00.0", "10de", device, "", "0302", None)


H100, B200, GB200, GH200 = gpu("2330"), gpu("2901"), gpu("2941"), gpu("2342")
SWITCH = PciFunction("0000:c4:00.0", "10de", "22a3", "", "0680", None)
ADAPTER = PciFunction("0000:17:00.0", "15b3", "1021", "", "0207", "mlx5_core")
PLAIN = Scene(ComponentWish(), (H100,), {}, {}, ComponentHost(), "open")
HGX = replace(PLAIN, pci=(H100, SWITCH))
NVLINK5 = replace(PLAIN, pci=(B200,), seen=ComponentHost(bridges=BRIDGES))
RACK = replace(PLAIN, pci=(GB200,))


def wish(scene: Scene, name: str, word: str, **more) -> Scene:
    return replace(scene, wish=replace(scene.wish, components={name: word}, **more))


def unit(scene: Scene, name: str, active: str = "inactive", enabled: str = "disabled") -> Scene:
    return replace(scene, services={name: Service(name, "loaded", active, enabled)})


def installed(scene: Scene, name: str) -> Scene:
    return replace(scene, packages={name: Package(name, "2.28.4-1", "amd64", "installed", False)})


def nodes(scene: Scene) -> Scene:
    return replace(scene, wish=replace(scene.wish, imex_nodes=("10.0.0.1", "10.0.0.2")))


WANTED = {
    "nothing on a host without switches": (PLAIN, ()),
    "fabric manager by NVSwitch": (HGX, ("fabric_manager",)),
    "fabric manager by NVLink 5 bridges": (NVLINK5, ("fabric_manager",)),
    "fabric manager when asked for": (wish(HGX, "fabric_manager", "true"), ("fabric_manager",)),
    "IMEX in a rack whose nodes are known": (nodes(RACK), ("imex",)),
    "IMEX in a rack whose nodes somebody else wrote": (
        replace(RACK, seen=ComponentHost(texts={catalog.IMEX_NODES: "10.0.0.1\n"})),
        ("imex",),
    ),
    "IMEX of GH200 NVL32": (nodes(replace(PLAIN, pci=(GH200, SWITCH))), ("fabric_manager", "imex")),
    "no IMEX where it is not wanted": (wish(RACK, "imex", "false"), ()),
    "gridd where its unit is": (unit(PLAIN, GRIDD), ("gridd",)),
    "no gridd where it is not wanted": (wish(unit(PLAIN, GRIDD), "gridd", "false"), ()),
    "peermem with OFED and an adapter": (
        replace(PLAIN, pci=(H100, ADAPTER), seen=ComponentHost(ofed=True)),
        ("peermem",),
    ),
    "no peermem with the kernel's RDMA": (replace(PLAIN, pci=(H100, ADAPTER)), ()),
    "no peermem without an adapter": (replace(PLAIN, seen=ComponentHost(ofed=True)), ()),
    "GDS when asked for": (wish(PLAIN, "gds", "true"), ("gds",)),
    "GDS where it is installed": (installed(PLAIN, "nvidia-fs"), ("gds",)),
    "no GDS where it is not wanted": (wish(installed(PLAIN, "nvidia-fs"), "gds", "false"), ()),
    "GDRCopy when asked for": (wish(PLAIN, "gdrcopy", "true"), ("gdrcopy",)),
    "GDRCopy where it is installed": (installed(PLAIN, "gdrdrv-dkms"), ("gdrcopy",)),
    "GDS on Grace with memory as NUMA nodes": (wish(replace(PLAIN, pci=(GH200,)), "gds", "true"), ("gds",)),
}


@pytest.mark.parametrize("name", WANTED)
def test_wanted_without_a_word(name):
    scene, wanted = WANTED[name]
    decision = decide_components(scene)
    assert (decision.wanted, decision.findings) == (wanted, ())


# What is asked for in so many words is refused; what auto would have brought is a warning.
REFUSED = {
    "fabric manager without switches": (wish(PLAIN, "fabric_manager", "true"), "GPU-FAB-033", "error"),
    "idle fabric manager": (unit(PLAIN, FABRIC, enabled="enabled"), "GPU-FAB-033", "warning"),
    "switches without fabric manager": (wish(HGX, "fabric_manager", "false"), "GPU-FAB-031", "warning"),
    "bridges without fabric manager": (wish(NVLINK5, "fabric_manager", "false"), "GPU-FAB-031", "warning"),
    "NVLink 5 without bridges": (replace(PLAIN, pci=(B200,)), "GPU-FAB-035", "warning"),
    "NVLink 5 without bridges, asked": (
        wish(replace(PLAIN, pci=(B200,)), "fabric_manager", "true"),
        "GPU-FAB-035",
        "error",
    ),
    "fabric manager in a rack": (wish(nodes(RACK), "fabric_manager", "true"), "GPU-FAB-036", "error"),
    "running fabric manager in a rack": (unit(nodes(RACK), FABRIC, active="active"), "GPU-FAB-036", "warning"),
    "IMEX without a domain": (wish(PLAIN, "imex", "true"), "GPU-FAB-101", "error"),
    "IMEX without nodes": (RACK, "GPU-FAB-102", "warning"),
    "IMEX without nodes, asked": (wish(RACK, "imex", "true"), "GPU-FAB-102", "error"),
    "GDS with the proprietary modules": (
        wish(replace(PLAIN, flavour="proprietary"), "gds", "true"),
        "GPU-KRN-104",
        "error",
    ),
    "installed GDS with the proprietary modules": (
        installed(replace(PLAIN, flavour="proprietary"), "nvidia-fs"),
        "GPU-KRN-104",
        "warning",
    ),
    "GDS with CDMM": (
        wish(replace(PLAIN, pci=(GH200,), parameters=CDMM), "gds", "true"),
        "GPU-KRN-105",
        "error",
    ),
    "peermem without an adapter": (wish(PLAIN, "peermem", "true"), "GPU-KRN-106", "error"),
    "peermem with the kernel's RDMA": (
        wish(replace(PLAIN, pci=(H100, ADAPTER)), "peermem", "true"),
        "GPU-KRN-028",
        "error",
    ),
    "gridd without a guest driver": (wish(PLAIN, "gridd", "true"), "GPU-FAB-103", "error"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    scene, finding, severity = REFUSED[name]
    decision = decide_components(scene)
    assert [(f.id, f.severity) for f in decision.findings] == [(finding, severity)]
    assert all((f.wanted, f.found, f.remedy, f.source) for f in decision.findings)
    refused = next(iter(scene.wish.components), None) if severity == "error" else None
    assert refused not in decision.wanted


def test_imex_without_nodes_is_installed_and_warned_of_only_by_auto():
    assert decide_components(RACK).wanted == ("imex",)
    assert decide_components(wish(RACK, "imex", "true")).wanted == ()


def test_cdmm_is_no_matter_where_memory_is_not_coherent():
    assert decide_components(wish(replace(PLAIN, parameters=CDMM), "gds", "true")).findings == ()


def test_the_table_has_a_case_for_every_finding():
    made = set(re.findall(r"GPU-[A-Z]+-\d{3}", inspect.getsource(component_findings)))
    # test_component_files, test_driver_parts
    elsewhere = {"GPU-FAB-104", "GPU-FAB-032", "GPU-PKG-130", "GPU-PKG-131", "GPU-PKG-132"}
    assert {f.id for scene, _id, _severity in REFUSED.values() for f in decide_components(scene).findings} == (
        made - elsewhere
    )


DEBIAN, EL9 = OsRelease("debian", "12", ""), OsRelease("rocky", "9.6", "")
SAME = {
    ("debian", 570): ("nvidia-fabricmanager-570", "libnvidia-nscq-570"),
    ("debian", 595): ("nvidia-fabricmanager", "libnvidia-nscq"),
    ("rocky", 570): ("nvidia-fabric-manager", "libnvidia-nscq-570"),
    ("rocky", 595): ("nvidia-fabricmanager", "libnvidia-nscq"),
}


@pytest.mark.parametrize(("system", "branch"), SAME)
def test_packages_of_the_fabric_manager_have_the_drivers_version(system, branch):
    os = {"debian": DEBIAN, "rocky": EL9}[system]
    names = Components(("fabric_manager",)).packages(os, branch=branch, source="cuda_repo", machine="x86_64")
    assert (names.same, names.own, names.missing) == (SAME[system, branch], (), ())


def test_nvlink5_brings_the_subnet_manager_with_a_version_of_its_own():
    names = Components(("fabric_manager",), nvlink5=True).packages(
        DEBIAN, branch=595, source="cuda_repo", machine="x86_64"
    )
    assert names.same == ("nvidia-fabricmanager", "libnvidia-nscq", "libnvsdm")
    assert names.own == ("nvlsm",)
    arm = Components(("fabric_manager",), nvlink5=True).packages(
        DEBIAN, branch=595, source="cuda_repo", machine="aarch64"
    )
    assert (arm.same, arm.missing) == (("nvidia-fabricmanager", "libnvidia-nscq"), ())


def test_gridd_has_no_packages_and_debians_archive_no_fabric_manager():
    assert (
        Components(("gridd", "peermem")).packages(DEBIAN, branch=580, source="cuda_repo", machine="x86_64").same == ()
    )
    names = Components(("fabric_manager",)).packages(DEBIAN, branch=535, source="distro", machine="x86_64")
    assert (names.same, names.missing) == ((), ("fabric_manager",))


def test_modules_of_components():
    assert Components(("fabric_manager", "peermem", "gds", "gdrcopy")).modules == (
        "nvidia_peermem",
        "nvidia_fs",
        "gdrdrv",
    )
    assert Components(("fabric_manager",)).kernel_modules == ()
    assert Components(("fabric_manager",), nvlink5=True).kernel_modules == ("ib_umad", "mlx5_ib")


@pytest.mark.parametrize("row", catalog.COMPONENTS, ids=lambda r: r.name)
def test_every_row_is_a_module_or_a_unit_with_its_source(row):
    assert (row.module is None) != (row.unit is None)
    assert row.source
    assert row.as_of >= "2025-12-01"


def test_memory_of_grace_hosts_is_coherent():
    assert [catalog.is_coherent(int(g.device, 16)) for g in (H100, B200, GB200, GH200)] == [False, False, True, True]


@pytest.mark.parametrize("row", [r for r in COMPONENT_PACKAGES if r.same_version and r.repository == "cuda_repo"])
def test_the_pin_is_about_every_package_of_the_drivers_version(row):
    assert [n for n in row.names if not matches(n, DRIVER_PATTERNS)] == []
