# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The driver's whole plan on hosts with NVLink switches, GPUDirect and drivers of the kernel."""

from __future__ import annotations

from dataclasses import replace

import pytest
from trees.driver import H100, WISH, bare

from ansible_collections.gpu.fleet.plugins.module_utils._plan.ask import Answer
from ansible_collections.gpu.fleet.plugins.module_utils._plan.component_wish import ComponentWish
from ansible_collections.gpu.fleet.plugins.module_utils._plan.components import ComponentHost
from ansible_collections.gpu.fleet.plugins.module_utils._plan.driver import decide_driver, what_to_prove
from ansible_collections.gpu.fleet.plugins.module_utils._plan.driver_wish import DriverWish
from ansible_collections.gpu.fleet.plugins.module_utils._plan.facts import (
    DriverVersion,
    LoadedModule,
    OsRelease,
    Package,
    PciFunction,
    Resolution,
    Service,
)
from ansible_collections.gpu.fleet.plugins.module_utils._plan.kernel_files import (
    BLACKLIST_PATH,
    UPDATE_INITRAMFS,
    BootFiles,
    BootImage,
)
from ansible_collections.gpu.fleet.plugins.module_utils._plan.module_parameters import OPTIONS_PATH, render_options
from ansible_collections.gpu.fleet.plugins.module_utils._plan.module_trust import ModuleTrust, is_trusted
from ansible_collections.gpu.fleet.plugins.module_utils._plan.modules import SERVER, ModuleHost

FABRIC, PERSISTENCED = "nvidia-fabricmanager.service", "nvidia-persistenced.service"
SWITCH = PciFunction("0000:c4:00.0", "10de", "22a3", "", "0680", None)
DEBIAN = bare(OsRelease("debian", "12", "Debian GNU/Linux 12 (bookworm)"), "6.1.0-57-amd64", headers=True)
HGX = replace(DEBIAN, pci=(H100, SWITCH), services={})
NAMES = (
    "nvidia-driver-cuda", "nvidia-kernel-open-dkms", "nvidia-persistenced", "nvidia-fabricmanager", "libnvidia-nscq",
)  # fmt: skip
FOUND = Answer(Resolution(dict.fromkeys((*NAMES, "libcuda1"), "595.71.05-1")), key="KEY", versions=("595.71.05-1",))


def steps(decision) -> list[str]:
    return [f"{s.action} {s.target}" for s in decision.work.steps]


def ids(decision) -> list[str]:
    return [f.id for f in decision.work.findings]


def wish(**parts) -> DriverWish:
    return replace(WISH, parts=ComponentWish(**parts))


def test_driver_and_fabric_manager_are_one_version_in_one_transaction_and_held_together():
    assert set(NAMES) <= set(decide_driver(WISH, HGX).ask.packages)
    decision = decide_driver(WISH, HGX, answer=FOUND)
    done = steps(decision)
    (apt,) = [c for c in decision.work.calls if c.module == "ansible.builtin.apt"]
    assert apt.args["name"] == [f"{n}=595.71.05-1" for n in NAMES]
    assert "hold nvidia-fabricmanager" in done
    assert done.index("load nvidia") < done.index(f"start {FABRIC}") < done.index("start nvidia-persistenced.service")


def test_nvlink5_brings_the_subnet_manager_in_its_own_version():
    host = replace(HGX, pci=(replace(H100, device="2901"),), seen=ComponentHost(bridges=("mlx5_8",)))
    names = (*NAMES, "libnvsdm")
    answer = Answer(
        Resolution({**dict.fromkeys(names, "595.71.05-1"), "nvlsm": "2025.10.14-1"}),
        key="KEY",
        versions=("595.71.05-1",),
    )
    decision = decide_driver(WISH, host, answer=answer)
    (apt,) = [c for c in decision.work.calls if c.module == "ansible.builtin.apt"]
    assert set(apt.args["name"]) == {*(f"{n}=595.71.05-1" for n in names), "nvlsm"}
    done = steps(decision)
    assert done.index("load ib_umad") < done.index(f"start {FABRIC}")


def test_the_name_with_the_old_branch_makes_way():
    packages = {
        "nvidia-fabricmanager-570": Package("nvidia-fabricmanager-570", "570.172.08-1", "amd64", "installed", False)
    }
    ask = decide_driver(WISH, replace(HGX, packages=packages)).ask
    assert ask.without == ("nvidia-fabricmanager-570",)
    devel = {
        "nvidia-fabricmanager-dev": Package("nvidia-fabricmanager-dev", "595.71.05-1", "amd64", "installed", False)
    }
    assert decide_driver(WISH, replace(HGX, packages=devel)).ask.without == ()


def test_a_refused_component_blocks_before_apt_is_asked():
    decision = decide_driver(wish(components={"fabric_manager": "true"}), replace(HGX, pci=(H100,)))
    assert (decision.ask, ids(decision), steps(decision)) == (None, ["GPU-FAB-033"], [])


def test_a_component_that_nobody_has_packages_of_blocks():
    decision = decide_driver(replace(WISH, source="distro", branch=535, package_set="full"), HGX)
    assert "GPU-PKG-130" in ids(decision)


def test_a_component_that_no_repository_has_is_named():
    answer = Answer(Resolution({}, (), "E: Unable to locate package gdrdrv-dkms"), key="KEY", versions=("595.71.05-1",))
    decision = decide_driver(wish(components={"gdrcopy": "true"}), HGX, answer=answer)
    assert ids(decision) == ["GPU-PKG-132"]
    assert "redist/gdrcopy" in decision.work.findings[0].remedy


def test_parameters_and_blacklist_come_before_the_packages():
    boot = BootFiles(("nouveau",), (BootImage("6.1", "/boot/initrd.img-6.1", 1.0),), UPDATE_INITRAMFS)
    done = steps(decide_driver(WISH, replace(HGX, boot=boot), answer=FOUND))
    assert done[:3] == [
        f"set_parameters {OPTIONS_PATH}",
        f"blacklist {BLACKLIST_PATH}",
        "rebuild_initramfs /boot/initrd.img-6.1",
    ]
    without = steps(decide_driver(wish(blacklist_nouveau=False), replace(HGX, boot=boot), answer=FOUND))
    assert not [s for s in without if "nouveau" in s or "initramfs" in s]


def test_component_modules_are_loaded_now_and_at_boot():
    decision = decide_driver(wish(components={"gds": "true", "gdrcopy": "true"}), HGX, answer=FOUND)
    assert [s for s in steps(decision) if s.startswith("load ")][-2:] == ["load nvidia_fs", "load gdrdrv"]
    boot = next(c for c in decision.work.calls if c.args.get("dest") == "/etc/modules-load.d/gpu-fleet.conf")
    assert boot.args["content"].split() == [*SERVER, "nvidia_fs", "gdrdrv"]


KEPT = replace(WISH, source="preinstalled")
LOADED = ModuleHost(
    {n: LoadedModule(n, 0, ()) for n in SERVER}, DriverVersion("595.71.05", "open"), DriverVersion("595.71.05", "open"),
    (), {}, {}, "6.1",
)  # fmt: skip


@pytest.mark.parametrize(("word", "severity"), [("auto", "warning"), ("true", "error")])
def test_a_driver_of_others_without_its_fabric_manager(word, severity):
    host = replace(HGX, module=LOADED)
    decision = decide_driver(replace(KEPT, parts=ComponentWish(components={"fabric_manager": word})), host)
    assert ("GPU-PKG-131", severity) in [(f.id, f.severity) for f in decision.work.findings]
    assert not [s for s in steps(decision) if FABRIC in s]


def test_a_driver_of_others_gets_its_services_and_no_defaults():
    services = {FABRIC: Service(FABRIC, "loaded", "inactive", "disabled")}
    boot = BootFiles(("nouveau",), (), "")
    decision = decide_driver(KEPT, replace(HGX, module=LOADED, services=services, boot=boot))
    assert f"start {FABRIC}" in steps(decision)
    assert not [s for s in steps(decision) if "modprobe.d" in s]


def test_a_component_of_another_version_is_told():
    imex = Package("nvidia-imex", "580.65.06-1", "amd64", "installed", False)
    decision = decide_driver(WISH, replace(HGX, packages={"nvidia-imex": imex}), answer=FOUND)
    assert "GPU-FAB-032" in ids(decision)
    same = Package("nvidia-imex", "595.71.05-1", "amd64", "installed", False)
    assert "GPU-FAB-032" not in ids(decide_driver(WISH, replace(HGX, packages={"nvidia-imex": same}), answer=FOUND))


def test_no_service_is_started_where_only_a_reboot_brings_the_driver():
    host = replace(HGX, pci=(replace(H100, driver="nouveau"), SWITCH))
    decision = decide_driver(WISH, host, answer=FOUND)
    assert decision.reboot_required
    assert f"enable {FABRIC}" in steps(decision)
    assert f"start {FABRIC}" not in steps(decision)


def test_removal_takes_files_of_ours():
    owned = (f"file:{OPTIONS_PATH}", f"file:{BLACKLIST_PATH}")
    host = replace(HGX, owned=owned, options="x", boot=BootFiles(("nouveau",), (), "", "blacklist nouveau\n", 1.0))
    decision = decide_driver(replace(WISH, state="absent"), host)
    assert steps(decision) == [f"forget_parameters {OPTIONS_PATH}", f"forget_blacklist {BLACKLIST_PATH}"]


READY = replace(
    HGX,
    pci=(H100,),
    module=LOADED,
    options=render_options({"nvidia": {"NVreg_CoherentGPUMemoryMode": "driver"}}),
    files={"/etc/modules-load.d/gpu-fleet.conf": "".join(f"{n}\n" for n in SERVER)},
    services={PERSISTENCED: Service(PERSISTENCED, "loaded", "active", "enabled")},
)


def test_a_driver_is_proved_where_nothing_is_left_to_do():
    wanted = what_to_prove(KEPT, READY, decide_driver(KEPT, READY))
    assert (wanted.version, wanted.flavour, wanted.loaded.version) == ("595.71.05", "open", "595.71.05")
    assert (wanted.components, wanted.imex, wanted.persistenced, wanted.licence) == ((), False, True, False)


@pytest.mark.parametrize(
    ("wish", "host"),
    [
        (KEPT, replace(READY, files={})),
        (KEPT, replace(READY, module=ModuleHost({}, None, None, (), {}, {}, ""))),
        (replace(KEPT, load=False), READY),
        (replace(KEPT, state="absent"), READY),
        (KEPT, replace(READY, pci=())),
        (replace(KEPT, parts=ComponentWish(components={"imex": "true"})), READY),
    ],
)
def test_nothing_is_proved_before(wish, host):
    assert what_to_prove(wish, host, decide_driver(wish, host)) is None


KEY_FILE = "/var/lib/dkms/mok.pub"
SECURE = replace(HGX, pci=(H100,), kernel=replace(HGX.kernel, secure_boot=True))
BUILT = replace(LOADED, modules={}, loaded=None, on_disk=DriverVersion("595.71.05", "open", "DKMS module signing key"))
UNENROLLED = ModuleTrust(asked=True, keys={KEY_FILE: False})


@pytest.mark.parametrize(
    ("trust", "on_disk", "trusted"),
    [
        (ModuleTrust(), None, None),
        (ModuleTrust(asked=True), None, False),
        (UNENROLLED, BUILT.on_disk, False),
        (ModuleTrust(asked=True, keys={KEY_FILE: True}), BUILT.on_disk, True),
        (ModuleTrust(asked=True, keys={KEY_FILE: False, "/var/lib/shim-signed/mok/MOK.der": True}), None, True),
        (ModuleTrust(asked=True, keys={KEY_FILE: None}), None, None),
        (ModuleTrust(asked=True, own_key=True), None, None),
        (UNENROLLED, DriverVersion("595.71.05", "open", "Canonical Ltd. Kernel Module Signing"), True),
    ],
)
def test_whether_secure_boot_takes_the_module(trust, on_disk, trusted):
    assert is_trusted(SECURE.kernel, on_disk, trust) is trusted
    assert is_trusted(HGX.kernel, on_disk, trust) is True


def test_a_module_that_would_be_refused_is_installed_and_not_loaded():
    decision = decide_driver(WISH, replace(SECURE, trust=ModuleTrust(asked=True)), answer=FOUND)
    found = next(f for f in decision.work.findings if f.id == "GPU-KRN-021")
    assert (found.severity, decision.reboot_required) == ("warning", True)
    assert "install nvidia-kernel-open-dkms" in steps(decision)
    assert not [s for s in steps(decision) if s.startswith(("load ", "start "))]


def test_what_is_installed_and_refused_is_an_error_with_the_way_to_the_console():
    decision = decide_driver(KEPT, replace(SECURE, module=BUILT, trust=UNENROLLED))
    assert ("GPU-KRN-021", "error") in [(f.id, f.severity) for f in decision.work.findings]
    assert f"mokutil --import {KEY_FILE}" in decision.work.plan.message()


def test_an_enrolled_key_is_no_warning_and_a_loaded_driver_neither():
    enrolled = replace(SECURE, module=BUILT, trust=ModuleTrust(asked=True, keys={KEY_FILE: True}))
    assert "GPU-KRN-021" not in ids(decide_driver(KEPT, enrolled))
    assert "load nvidia" in steps(decide_driver(KEPT, enrolled))
    assert "GPU-KRN-021" not in ids(decide_driver(KEPT, replace(SECURE, module=LOADED, trust=UNENROLLED)))


def test_a_new_key_keeps_the_loaded_driver_from_being_unloaded():
    stale = replace(LOADED, loaded=DriverVersion("580.65.06", "open"))
    old = Package("nvidia-kernel-open-dkms", "580.65.06-1", "amd64", "installed", False)
    host = replace(SECURE, module=stale, trust=UNENROLLED, packages={old.name: old})
    decision = decide_driver(WISH, host, answer=FOUND)
    assert ("GPU-KRN-021", "warning") in [(f.id, f.severity) for f in decision.work.findings]
    assert not [s for s in steps(decision) if s.startswith(("unload ", "stop "))]
