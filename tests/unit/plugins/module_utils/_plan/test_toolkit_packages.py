# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The toolkit's packages: what is asked of apt, what is done, what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._catalog.distributions import TOOLKIT_KEY_FINGERPRINT
from ansible_collections.gpu.fleet.plugins.module_utils._catalog.packages import TOOLKIT_PACKAGES
from ansible_collections.gpu.fleet.plugins.module_utils._plan.ask import Answer
from ansible_collections.gpu.fleet.plugins.module_utils._plan.driver_wish import WrongOption
from ansible_collections.gpu.fleet.plugins.module_utils._plan.facts import (
    DnfSource,
    Kernel,
    OsRelease,
    Package,
    Resolution,
)
from ansible_collections.gpu.fleet.plugins.module_utils._plan.packages_apt import render_pin
from ansible_collections.gpu.fleet.plugins.module_utils._plan.packages_dnf import lock
from ansible_collections.gpu.fleet.plugins.module_utils._plan.toolkit_packages import (
    ToolkitHost,
    decide_toolkit,
    toolkit_repository,
    toolkit_wish,
)

PARAMS = {
    "state": "present",
    "version": "",
    "package_set": "full",
    "hold": True,
    "repository_url": "",
    "repository_key_url": "",
    "repository_key_fingerprint": "",
}
WISH = toolkit_wish(PARAMS)
NAMES = TOOLKIT_PACKAGES["full"]
KERNEL = Kernel("6.1.0", "x86_64", headers=False, secure_boot=None)
BARE = ToolkitHost(OsRelease("debian", "12", "Debian 12"), KERNEL, {}, {}, None, (), ())
REPOSITORY = toolkit_repository(WISH, BARE.os, KERNEL)
FILES = {
    REPOSITORY.key_path: "KEY",
    REPOSITORY.source_path: REPOSITORY.render(),
    "/etc/apt/preferences.d/gpu-fleet-toolkit": render_pin(NAMES, "1.20.2-*"),
}
READY = replace(
    BARE,
    packages={n: Package(n, "1.20.2-1", "amd64", "installed", held=True) for n in NAMES},
    files=FILES,
    key=TOOLKIT_KEY_FINGERPRINT,
    owned=(*(f"file:{p}" for p in FILES), *(f"{kind}:{n}" for n in NAMES for kind in ("package", "hold"))),
)
ANSWER = Answer(Resolution(dict.fromkeys(NAMES, "1.20.2-1")), key="KEY", versions=("1.20.2-1", "1.18.1-1"))


def steps(decision) -> list[str]:
    return [f"{s.action} {s.target}" for s in decision.work.steps]


def test_a_bare_host_asks_then_installs_and_holds_all_four():
    ask = decide_toolkit(WISH, BARE).ask
    assert (ask.packages, ask.needs_key, ask.pin) == (NAMES, True, "")
    assert ask.repository.uri == "https://nvidia.github.io/libnvidia-container/stable/deb/amd64/"
    decision = decide_toolkit(WISH, BARE, answer=ANSWER)
    assert steps(decision)[:3] == [
        f"add_key {REPOSITORY.key_path}",
        f"add_repository {REPOSITORY.source_path}",
        "pin /etc/apt/preferences.d/gpu-fleet-toolkit",
    ]
    assert steps(decision)[3:] == [*(f"install {n}" for n in NAMES), *(f"hold {n}" for n in NAMES)]
    assert decision.version == "1.20.2"


def test_an_unchanged_host_asks_nothing():
    decision = decide_toolkit(WISH, READY)
    assert (decision.ask, steps(decision), decision.version) == (None, [], "1.20.2")


def test_packages_of_two_versions_are_brought_together():
    packages = {**READY.packages, NAMES[0]: replace(READY.packages[NAMES[0]], version="1.18.1-1")}
    assert decide_toolkit(WISH, replace(READY, packages=packages)).ask.packages == NAMES


def test_base_is_one_package():
    assert decide_toolkit(replace(WISH, package_set="base"), BARE).ask.packages == ("nvidia-container-toolkit-base",)


def test_a_version_that_is_not_on_offer():
    decision = decide_toolkit(replace(WISH, version="9.9.9"), BARE, answer=ANSWER)
    assert [f.id for f in decision.work.findings] == ["GPU-PKG-104"]
    assert "toolkit_version 9.9.9" in decision.work.plan.message()
    assert "1.20.2-1, 1.18.1-1" in decision.work.plan.message()


ROCKY = OsRelease("rocky", "9.6", "Rocky Linux 9.6")
RPM = toolkit_repository(WISH, ROCKY, KERNEL)


def test_enterprise_linux_gets_a_repository_whose_index_is_signed_and_that_offers_one_version():
    bare = replace(BARE, os=ROCKY)
    ask = decide_toolkit(WISH, bare).ask
    assert (ask.manager, ask.packages, ask.needs_key) == ("dnf", NAMES, True)
    assert ask.repository.uri == "https://nvidia.github.io/libnvidia-container/stable/rpm/x86_64/"
    # The key is not trusted yet when the question is asked; the installation checks.
    assert "repo_gpgcheck=0" in ask.pin.splitlines()
    work = decide_toolkit(WISH, bare, answer=ANSWER).work
    assert steps(decide_toolkit(WISH, bare, answer=ANSWER)) == [
        f"add_key {RPM.key_path}",
        f"add_repository {RPM.source_path}",
        *(f"install {n}" for n in NAMES),
    ]
    (text,) = [c.args["content"] for c in work.calls if c.args.get("dest") == RPM.source_path]
    assert {"repo_gpgcheck=1", "gpgcheck=0", "priority=90"} <= set(text.splitlines())
    (excludes,) = [line for line in text.splitlines() if line.startswith("excludepkgs=")]
    assert {word.partition("-0:")[0] for word in excludes.partition("=")[2].split()} == set(NAMES)
    assert "libnvidia-container1-0:1.20.[!2]*" in excludes
    (install,) = [c for c in work.calls if c.module == "ansible.builtin.dnf"]
    assert set(install.args["name"]) == {f"{n}-1.20.2-1" for n in NAMES}


def test_enterprise_linux_unchanged_and_removed():
    files = {RPM.key_path: "KEY", RPM.source_path: RPM.render(lock("1.20.2", [f"{n}-0:" for n in NAMES]))}
    owned = (*(f"file:{p}" for p in files), *(f"package:{n}" for n in NAMES))
    packages = {n: Package(n, "1.20.2-1", "x86_64", "installed", held=False) for n in NAMES}
    ready = replace(BARE, os=ROCKY, packages=packages, files=files, key=TOOLKIT_KEY_FINGERPRINT, owned=owned)
    decision = decide_toolkit(WISH, ready)
    assert (decision.ask, steps(decision)) == (None, [])
    gone = decide_toolkit(replace(WISH, state="absent"), ready, answer=Answer(Resolution({}, NAMES), taken=NAMES))
    assert {s.target for s in gone.work.steps} == {*NAMES, *files}


def test_another_section_for_the_repository_is_a_conflict():
    other = DnfSource("/etc/yum.repos.d/nvidia-container-toolkit.repo", "nvidia-container-toolkit", RPM.uri.rstrip("/"))
    found = decide_toolkit(WISH, replace(BARE, os=ROCKY, repositories=(other,))).work.findings
    assert [f.id for f in found] == ["GPU-PKG-001"]


def test_another_system_is_refused():
    decision = decide_toolkit(WISH, replace(BARE, os=OsRelease("arch", "", "Arch Linux")))
    assert [f.id for f in decision.work.findings] == ["GPU-PKG-101"]


def test_removal_takes_what_is_ours_and_forgets():
    absent = replace(WISH, state="absent")
    assert set(decide_toolkit(absent, READY).ask.packages) == set(NAMES)
    decision = decide_toolkit(absent, READY, answer=Answer(Resolution({}, NAMES), taken=NAMES))
    assert {s.target for s in decision.work.steps if s.action == "remove"} == set(NAMES)
    along = Package("libcap2", "1", "", "installed", False)
    more = replace(READY, owned=(*READY.owned, "package:libcap2"), packages={**READY.packages, "libcap2": along})
    left = decide_toolkit(absent, more, answer=Answer(Resolution({}, (*NAMES, "libcap2")), taken=NAMES))
    assert {s.target for s in left.work.steps if s.action == "remove"} == set(NAMES)
    assert [f.remedy for f in left.work.findings] == ["where nothing of yours uses them: apt-get remove libcap2"]
    gone = decide_toolkit(absent, replace(BARE, owned=READY.owned))
    assert (gone.ask, steps(gone), set(gone.work.gone)) == (None, [], set(READY.owned))
    assert steps(decide_toolkit(absent, replace(READY, owned=()))) == []


@pytest.mark.parametrize("version", ["latest", "1.20", "v1.20.2"])
def test_wrong_version(version):
    with pytest.raises(WrongOption, match="wanted a toolkit version such as 1.20.0"):
        toolkit_wish({**PARAMS, "version": version})
