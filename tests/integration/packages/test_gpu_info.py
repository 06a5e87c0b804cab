# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""gpu_info on hosts whose driver came by the system's own programs, from every source and on every system."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from lab.host import Host
from lab.packages.keys import key
from lab.packages.versions import newest

from .conftest import READY, Maker

APT = "DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get --quiet --yes"
DNF = "LC_ALL=C dnf --assumeyes"
INSTALL_SECONDS = 500
V580, V595 = newest(580).version, newest(595).version


@dataclass(frozen=True)
class Case:
    """A way to install, and what gpu_info says then: dotted keys of ``driver``."""

    suite: str
    script: str
    found: dict[str, Any] = field(default_factory=dict)


CUDA = {
    "source": "cuda_repo",
    "sources.0.packager": "nvidia",
    "flavour": "open",
    "mixed_versions": {},
    "unfinished": {},
}
CASES = {
    "Debian, CUDA repository, pinned and held": Case(
        "bookworm",
        f"{APT} install linux-headers-$(uname -r) nvidia-driver-pinning-580\n"
        f"{APT} install nvidia-driver-cuda nvidia-kernel-open-dkms\n"
        "apt-mark hold nvidia-driver-cuda; modprobe nvidia-uvm",
        {
            **CUDA,
            "loaded_version": V580,
            "library_version": V580,
            "sources.0.modules": "dkms",
            "module_kind": "dkms",
            "kernels.0.dkms": "installed",
            "kernels.0.module_flavour": "open",
            "held": ["nvidia-driver-cuda"],
            "loaded.flavour": "open",
            "branch.number": 580,
            "branch.state": "ltsb",
        },
    ),
    "Debian, no headers": Case(
        "bookworm",
        f"{APT} install nvidia-driver-cuda nvidia-kernel-open-dkms",
        {"source": "cuda_repo", "installed_version": None, "loaded": None, "kernels.0.dkms": "added"},
    ),
    "Ubuntu, compiled by Canonical": Case(
        "ubuntu2404",
        f"{APT} install linux-modules-nvidia-580-server-open-generic nvidia-utils-580-server\nmodprobe nvidia",
        {
            "source": "distro",
            "sources.0.packager": "ubuntu",
            "sources.0.modules": "precompiled",
            "module_kind": "precompiled",
            "loaded_version": V580,
            "loaded.signer": "Canonical Ltd. Kernel Module Signing",
            "kernels.0.flavour": "generic",
            "kernels.0.dkms": None,
        },
    ),
    "Ubuntu, CUDA repository": Case(
        "ubuntu2404",
        f"{APT} install linux-headers-generic nvidia-driver-pinning-595\n"
        f"{APT} install nvidia-headless-no-dkms-open nvidia-dkms-open",
        {**CUDA, "installed_version": V595, "library_version": V595, "kernels.0.dkms": "installed"},
    ),
    "EL 9, stream": Case(
        "rhel9",
        f"{DNF} module enable nvidia-driver:580-open && {DNF} install nvidia-driver-cuda kmod-nvidia-open-dkms",
        {
            **CUDA,
            "installed_version": V580,
            "library_version": V580,
            "streams.0.stream": "580-open",
            "streams.0.state": "enabled",
            "packages.kmod-nvidia-open-dkms": f"3:{V580}-1.el9",
        },
    ),
    "EL 9, compiled by NVIDIA": Case(
        "rhel9",
        f"{DNF} module install nvidia-driver:580",
        {
            "source": "cuda_repo",
            "sources.0.modules": "precompiled",
            "flavour": "proprietary",
            "signer": "NVIDIA Corporation: Linux driver module key",
            "sources.0.version": V580,
        },
    ),
    "EL 10, locked": Case(
        "rhel10",
        rf"{DNF} versionlock '*nvidia*{V580}*' && {DNF} install nvidia-driver-cuda",
        {
            **CUDA,
            "installed_version": V580,
            "streams": [],
            # dnf writes a line for each package that the pattern names.
            "locks.0.kind": "versionlock",
            "locks.0.where": "/etc/dnf/plugins/versionlock.list",
            "held.0": "kmod-nvidia-open-dkms",
        },
    ),
}
SUITES = tuple(dict.fromkeys(case.suite for case in CASES.values()))


@pytest.fixture(scope="module")
def host(make: Maker, request: pytest.FixtureRequest) -> Host:
    """The host of a suite; the one before it goes."""
    return make(request.param)


def driver(host: Host) -> dict[str, Any]:
    """``driver`` of gpu_info."""
    folder = host.lab.folder / "gpu-info-driver"
    arguments = ["--args=gather_subset=driver", f"--tree={folder}"]
    host.lab.run(["ansible", host.name, "--module-name=gpu.fleet.gpu_info", *arguments], env=host.lab.ansible_env())
    found: dict[str, Any] = json.loads((folder / host.name).read_text())["driver"]
    return found


def at(facts: Any, path: str) -> Any:
    for word in path.split(".") if path not in facts else (path,):
        facts = facts[int(word)] if word.isdigit() else facts[word]
    return facts


@pytest.mark.parametrize("host", SUITES, indirect=True)
def test_nothing_installed(host: Host) -> None:
    host.restore(READY)
    found = driver(host)
    assert (found["source"], found["sources"], found["packages"], found["loaded"]) == ("none", [], {}, None)
    cuda = next(row for row in found["repositories"] if row["kind"] == "cuda")
    kind = "cuda-rpm" if host.suite.startswith("rhel") else "cuda"
    prints = [k["fingerprint"] for k in cuda["signing_keys"]]
    # dnf fetches the key when it first needs it; the lab's is none that NVIDIA has.
    assert prints == [None if kind == "cuda-rpm" else key(kind).fingerprint]
    nulls = {name for name, value in found.items() if value is None}
    assert nulls <= set(found["unknown"])


@pytest.mark.parametrize(("host", "name"), [(c.suite, n) for n, c in CASES.items()], indirect=["host"])
def test_driver_that_somebody_else_installed(host: Host, name: str) -> None:
    case = CASES[name]
    host.restore(READY)
    host.shell(case.script, timeout=INSTALL_SECONDS)
    found = driver(host)
    assert {path: at(found, path) for path in case.found} == case.found
    assert {n for n, value in found.items() if value is None} <= set(found["unknown"])
