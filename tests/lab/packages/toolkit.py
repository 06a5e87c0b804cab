# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds the NVIDIA Container Toolkit's packages around its real programs; the units come from its Go module."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from dev.progress import output, run, step
from lab.cluster import programs
from lab.packages import dnf_index, index, pool
from lab.packages.distributions import ARCHITECTURE
from lab.packages.keys import key
from lab.packages.package import Package
from lab.packages.stubs import shared_object
from lab.packages.tables.libraries import LIB64, MULTIARCH
from lab.packages.variables import SERVER, TOOLKIT

MODULE = "github.com/NVIDIA/nvidia-container-toolkit"
VERSION = programs.TOOLKIT_VERSION.lstrip("v")
PACKAGE_VERSION = f"{VERSION}-1"
REPLACED = "nvidia-container-runtime (<= 3.5.0-1), nvidia-container-runtime-hook"
UNITS = "usr/lib/systemd/system"
# Target in the package -> file of the module, as its packaging/debian/*.install lay them.
BASE_FILES = {
    f"{UNITS}/nvidia-cdi-refresh.service": "deployments/systemd/nvidia-cdi-refresh.service",
    f"{UNITS}/nvidia-cdi-refresh.path": "deployments/systemd/nvidia-cdi-refresh.path",
    f"{UNITS}/nvidia-cdi-refresh.service.d/10-container-engines.conf": "deployments/systemd/10-container-engines.conf",
    "usr/lib/udev/rules.d/99-nvidia-cdi-refresh.rules": "deployments/udev/99-nvidia-cdi-refresh.rules",
    "etc/nvidia-container-toolkit/nvidia-cdi-refresh.env": "deployments/systemd/nvidia-cdi-refresh.env",
}
BASE_PROGRAMS = ("nvidia-ctk", "nvidia-cdi-hook", "nvidia-container-runtime")
DEB_ARCHITECTURE = "amd64"
DEB_LIST = f"deb {SERVER}/{TOOLKIT}/stable/deb/$(ARCH) /\n#deb {SERVER}/{TOOLKIT}/experimental/deb/$(ARCH) /\n"
# As NVIDIA's: the metadata is signed, the packages are not checked.
RPM_REPOSITORY = f"""\
[nvidia-container-toolkit]
name=nvidia-container-toolkit
baseurl={SERVER}/{TOOLKIT}/stable/rpm/$basearch
repo_gpgcheck=1
gpgcheck=0
enabled=1
gpgkey={SERVER}/{TOOLKIT}/gpgkey
"""
# The .cdi and .legacy runtimes are in a package (operator-extensions) that NVIDIA's repository does not have.


def build(out: Path) -> None:
    """Lays out the repository below `out`. Raises CommandFailed."""
    signer = key("toolkit")
    with step("building the container toolkit's repository"), tempfile.TemporaryDirectory() as scratch:
        folder = out / "stable/deb" / DEB_ARCHITECTURE
        folder.mkdir(parents=True)
        pool.write_debs(deb_packages(Path(scratch) / "objects"), folder, Path(scratch))
        index.write(folder, "NVIDIA", "NVIDIA container toolkit", signer)
        folder = out / "stable/rpm" / ARCHITECTURE
        folder.mkdir(parents=True)
        pool.write_rpms(rpm_packages(Path(scratch) / "objects"), folder, Path(scratch), signer)
        dnf_index.write(folder, signer)
    shutil.copyfile(signer.public, out / "gpgkey")
    (out / "stable/deb/nvidia-container-toolkit.list").write_text(DEB_LIST)
    (out / "stable/rpm/nvidia-container-toolkit.repo").write_text(RPM_REPOSITORY)


def deb_packages(objects: Path) -> list[Package]:
    """The packages of this release; stub libraries are compiled into `objects`."""
    objects.mkdir(parents=True, exist_ok=True)
    exact = f"(= {PACKAGE_VERSION})"
    library = shared_object("libnvidia-container.so.1", objects)
    return [
        _package(
            "nvidia-container-toolkit-base",
            "NVIDIA Container Toolkit Base",
            {"Breaks": f"{REPLACED}, nvidia-container-toolkit (<= 1.10.0-1)", "Replaces": REPLACED},
            _programs(BASE_PROGRAMS) | {target: _module() / source for target, source in BASE_FILES.items()},
        ),
        _package(
            "nvidia-container-toolkit",
            "NVIDIA Container toolkit",
            {
                "Depends": f"nvidia-container-toolkit-base {exact}, libnvidia-container-tools {exact}",
                "Breaks": REPLACED,
                "Replaces": REPLACED,
            },
            _programs(("nvidia-container-runtime-hook",)),
        ),
        _package(
            "libnvidia-container-tools",
            "NVIDIA container runtime library (command-line tools)",
            {"Depends": f"libnvidia-container1 (>= {PACKAGE_VERSION})"},
            {},
        ),
        _package(
            "libnvidia-container1",
            "NVIDIA container runtime library",
            {},
            {f"{MULTIARCH}/libnvidia-container.so.{VERSION}": library},
            {f"{MULTIARCH}/libnvidia-container.so.1": f"libnvidia-container.so.{VERSION}"},
        ),
    ]


def rpm_packages(objects: Path) -> list[Package]:
    """The same for dnf, as packaging/rpm of the module splits them: the units are configuration files there."""
    units = {target: source for target, source in BASE_FILES.items() if target.endswith((".service", ".path", ".env"))}
    placed = {target.replace(UNITS, "etc/systemd/system"): _module() / source for target, source in units.items()}
    former = "nvidia-container-runtime <= 3.5.0-1, nvidia-container-runtime-hook <= 1.4.0-2"
    exact, library = f"= {PACKAGE_VERSION}", shared_object("libnvidia-container.so.1", objects)
    runtime = "nvidia-container-runtime"
    return [
        _package(
            "nvidia-container-toolkit-base",
            "NVIDIA Container Toolkit Base",
            {"Obsoletes": former, "Provides": runtime, "Conflicts": "nvidia-container-toolkit <= 1.10.0-1"},
            _programs(BASE_PROGRAMS) | placed,
            architecture=ARCHITECTURE,
        ),
        _package(
            "nvidia-container-toolkit",
            "NVIDIA Container Toolkit",
            {
                "Requires": f"libnvidia-container-tools {exact}, nvidia-container-toolkit-base {exact}",
                "Obsoletes": former,
                "Provides": f"{runtime}, nvidia-container-runtime-hook",
            },
            _programs(("nvidia-container-runtime-hook",)),
            architecture=ARCHITECTURE,
        ),
        _package(
            "libnvidia-container-tools",
            "NVIDIA container runtime library (command-line tools)",
            {"Requires": f"libnvidia-container1(x86-64) >= {PACKAGE_VERSION}"},
            {},
            architecture=ARCHITECTURE,
        ),
        _package(
            "libnvidia-container1",
            "NVIDIA container runtime library",
            {},
            {f"{LIB64}/libnvidia-container.so.{VERSION}": library},
            {f"{LIB64}/libnvidia-container.so.1": f"libnvidia-container.so.{VERSION}"},
            architecture=ARCHITECTURE,
        ),
    ]


def _package(
    name: str,
    summary: str,
    relations: dict[str, str],
    files: dict[str, Path],
    links: dict[str, str] | None = None,
    *,
    architecture: str = DEB_ARCHITECTURE,
) -> Package:
    return Package(
        name,
        PACKAGE_VERSION,
        summary,
        architecture,
        relations,
        trees=(name,),
        tokens={"VERSION": VERSION},
        files=files,
        links=links or {},
    )


def _programs(names: tuple[str, ...]) -> dict[str, Path]:
    return {f"usr/bin/{name}": programs.program(name) for name in names}


def _module() -> Path:
    """The toolkit's Go module as the programs' build pins it. Raises CommandFailed when it cannot be had."""
    folder, environment = programs.GO_MODULES / "toolkit", programs.go_environment()
    run([programs.go(), "mod", "download", MODULE], cwd=folder, env=environment)
    query: list[str | Path] = [programs.go(), "-C", folder, "list", "-m", "-f", "{{.Dir}}", MODULE]
    return Path(output(query, env=environment).strip())
