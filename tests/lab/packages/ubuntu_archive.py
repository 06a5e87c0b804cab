# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A stand-in for Ubuntu's archive: headers of its kernel, Canonical's driver packages, Debian's packages as base."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from dev.progress import step
from lab.packages import apt_suite, driver, headers, pool
from lab.packages.debian import KERNEL_FILE
from lab.packages.distributions import Distribution
from lab.packages.driver import DEB_RELATIONS, Packaging
from lab.packages.kernel_modules import MODULES, Build, compiled, parts
from lab.packages.keys import key
from lab.packages.links import link
from lab.packages.package import Package
from lab.packages.packagings import DEB_ARCHITECTURES
from lab.packages.tables.archive import LINES, Line, line_rows, transitional_rows
from lab.packages.tables.component import LICENSES, Component
from lab.packages.tables.libraries import MULTIARCH

CODENAME, RELEASE = "noble", "24.04"
UPDATES = f"{CODENAME}-updates"
REVISION = f"-0ubuntu0.{RELEASE}.1"
BASE, RESTRICTED = "main", "restricted"
HEADERS = "Linux kernel headers"


def build(distribution: Distribution, debs: Path, out: Path) -> None:
    """Lays out the archive in `out`; `debs` is the Debian repository of the distribution's suite."""
    with step("building the stand-in for Ubuntu's archive"), tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        base = apt_suite.pool(out, CODENAME, BASE)
        for path in debs.glob("*.deb"):
            link(str(path), str(base / path.name))
        pool.write_debs(kernel_packages(distribution, debs, scratch), base, scratch)
        restricted = apt_suite.pool(out, UPDATES, RESTRICTED)
        pool.write_debs(_driver_packages(scratch / "objects"), restricted, scratch)
        pool.write_debs(module_packages(distribution, debs), restricted, scratch)
        apt_suite.pool(out, CODENAME, RESTRICTED)
        apt_suite.pool(out, UPDATES, BASE)
        settings = {"Origin": "Ubuntu", "Label": "Ubuntu", "Version": RELEASE, "Codename": CODENAME}
        for suite in (CODENAME, UPDATES):
            apt_suite.write(out, suite, (BASE, RESTRICTED), settings, key("ubuntu"))


def kernel_version(kernel: str) -> str:
    """Version of the packages of a kernel: 6.8.0-149.149 for 6.8.0-149-generic."""
    number = kernel.rpartition("-")[0]
    return f"{number}.{number.rpartition('-')[2]}"


def kernel_packages(distribution: Distribution, debs: Path, scratch: Path) -> list[Package]:
    """Headers, the meta packages of the flavour, and an empty image, which hosts run already."""
    kernel, version = distribution.kernel, kernel_version(distribution.kernel)
    number, _dash, flavour = kernel.rpartition("-")
    debian = (debs / KERNEL_FILE).read_text().strip()
    tree = Path(tempfile.mkdtemp(dir=scratch))
    headers.lay(debs, kernel, f"usr/src/linux-headers-{kernel}", tree)
    metas = {
        f"linux-headers-{flavour}": f"linux-headers-{kernel}",
        f"linux-image-{flavour}": f"linux-image-{kernel}",
        f"linux-{flavour}": f"linux-image-{flavour}, linux-headers-{flavour}",
    }
    return [
        # What is common to all flavours comes from Debian's headers.
        Package(f"linux-headers-{number}", version, HEADERS, "all", {"Depends": f"linux-headers-{debian}"}),
        Package(
            f"linux-headers-{kernel}",
            version,
            HEADERS,
            relations={"Depends": f"linux-headers-{number}"},
            folders={"usr": tree / "usr"},
        ),
        Package(f"linux-image-{kernel}", version, "Signed kernel image"),
        *(Package(name, version, "Newest kernel", relations={"Depends": needs}) for name, needs in metas.items()),
    ]


def _driver_packages(objects: Path) -> Iterator[Package]:
    for line in LINES:
        yield from driver.packages(line.driver, _packaging(line, line_rows(line)), objects)
        if line.with_modules:
            yield from driver.packages(line.driver, _packaging(line, transitional_rows(line)), objects)


def _packaging(line: Line, rows: tuple[Component, ...]) -> Packaging:
    return Packaging(rows, DEB_RELATIONS, REVISION, REVISION, MULTIARCH, DEB_ARCHITECTURES, dkms_name=line.dkms_name)


def module_packages(distribution: Distribution, debs: Path) -> Iterator[Package]:
    """Compiled modules of each line and flavour: objects, signatures, and packages that make modules of them."""
    lines = [line for line in LINES if line.with_modules]
    builds = {(line, flavour): Build(line.driver, flavour) for line in lines for flavour in LICENSES}
    folder = compiled(distribution, debs, list(dict.fromkeys(builds.values())), "canonical")
    kernel, signatures = distribution.kernel, {}
    for (line, flavour), row in builds.items():
        for module in MODULES:
            place = f"usr/lib/modules/{kernel}/signatures/{line.folder}{flavour}"
            signatures[f"{place}/{module}.ko.sig"] = folder / row.name / f"{module}.ko.sig"
        yield from _line_modules(kernel, line, flavour, folder / row.name)
    name, version = f"linux-signatures-nvidia-{kernel}", kernel_version(kernel)
    yield Package(name, version, "Signatures of the nvidia modules", files=signatures)


def _line_modules(kernel: str, line: Line, flavour: str, built: Path) -> Iterator[Package]:
    name, version = f"{line.name}{flavour}", kernel_version(kernel)
    where, exact = f"usr/lib/modules/{kernel}/kernel/{line.folder}{flavour}/bits", f"(= {version})"
    objects = [part for part in parts() if not part.endswith(".sig")]
    common = f"nvidia-kernel-common-{line.name}"
    # As of 5.15.0-56 and 5.15.0-106: open modules fit one release only.
    fitting = [f"{common} (<= {line.driver.version}-1)"] if flavour else []
    image = f"linux-image-{kernel} | linux-image-unsigned-{kernel}"
    needs = [image, f"linux-signatures-nvidia-{kernel} {exact}", f"linux-objects-nvidia-{name}-{kernel} {exact}"]
    yield Package(
        f"linux-objects-nvidia-{name}-{kernel}",
        version,
        f"Linux kernel nvidia modules for {kernel} (objects)",
        relations={"Depends": "binutils"},
        files={f"{where}/{part}": built / part for part in objects},
    )
    yield Package(
        f"linux-modules-nvidia-{name}-{kernel}",
        version,
        f"Linux kernel nvidia modules for {kernel}",
        relations={"Depends": ", ".join([*needs, *fitting, f"{common} (>= {line.driver.version})"])},
        trees=("linux-modules-nvidia",),
        tokens={"KERNEL": kernel, "FOLDER": f"{line.folder}{flavour}", "MODULES": " ".join(MODULES)},
    )
    kind = kernel.rpartition("-")[2]
    modules = f"linux-modules-nvidia-{name}-{kernel} {exact}"
    yield Package(
        f"linux-modules-nvidia-{name}-{kind}",
        version,
        f"Extra drivers for nvidia-{name} for the {kind} flavour",
        relations={"Depends": f"{modules}, {common} (>= {line.driver.version})"},
    )
