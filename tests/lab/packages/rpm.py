# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes rpm packages by rpmbuild: many from one generated spec, each a subpackage with a version of its own.

A package's version is `[epoch:]version-release`. Scripts are files/<tree>/RPM/{pre,post,preun,postun}.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from dev.progress import run
from lab.packages.keys import Key, home
from lab.packages.package import EPOCH, Package, lay, scripts

SCRIPTS = ("pre", "post", "preun", "postun")
# Nothing is stripped, compiled or guessed: what a package needs and provides is in the tables.
HEAD = """\
%global debug_package %{nil}
%global _build_id_links none
%global __os_install_post %{nil}
%global _binary_payload w1.gzdio
%global _buildhost lab
%global use_source_date_epoch_as_buildtime 1
%global clamp_mtime_to_source_date_epoch 1
Name: lab
Version: 1
Release: 1
Summary: Packages of one build
License: simulated
%description
Packages of one build.
"""
FILE_NAME = "%%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm"
CONFIGURATION = "etc/"


def write(packages: Sequence[Package], folder: Path, scratch: Path, signer: Key) -> None:
    """Builds and signs the packages into `folder`. Raises CommandFailed."""
    work = Path(tempfile.mkdtemp(dir=scratch))
    new = work / "rpms"
    new.mkdir()
    with ThreadPoolExecutor(os.cpu_count()) as workers:
        for done in [workers.submit(_build, group, new, work) for group in _groups(packages, work)]:
            done.result()
    with ThreadPoolExecutor(os.cpu_count()) as workers:
        files, share = sorted(new.glob("*.rpm")), os.cpu_count() or 1
        for done in [workers.submit(sign, files[part::share], signer) for part in range(min(share, len(files)))]:
            done.result()
    for path in new.glob("*.rpm"):
        path.rename(folder / path.name)
    shutil.rmtree(work)


def sign(files: Iterable[Path], signer: Key) -> None:
    """Signs packages, also signed ones anew."""
    with home(signer) as gpg:
        macros = {"_gpg_name": signer.fingerprint, "_gpg_path": gpg[2], "__gpg": shutil.which("gpg")}
        options = [word for name, value in macros.items() for word in ("--define", f"{name} {value}")]
        run(["rpmsign", *options, "--addsign", *files])


def file_name(package: Package) -> str:
    """Name of the .rpm; an epoch is not part of it."""
    _epoch, version, release = split(package.version)
    return f"{package.name}-{version}-{release}.{package.architecture}.rpm"


def split(version: str) -> tuple[str, str, str]:
    """Epoch (may be empty), version and release of `[epoch:]version-release`."""
    epoch, _colon, rest = version.rpartition(":")
    number, _dash, release = rest.rpartition("-")
    return epoch, number, release


def _groups(packages: Iterable[Package], work: Path) -> list[list[tuple[Package, Path]]]:
    """The packages with their trees laid out, in as few groups as can share one root without a path twice."""
    groups: list[tuple[set[str], list[tuple[Package, Path]]]] = []
    for package in packages:
        root = Path(tempfile.mkdtemp(dir=work))
        lay(package, root)
        paths, name = set(_files(root)), f"package {package.name}"
        fitting = next((group for group in groups if not group[0] & {*paths, name}), None)
        if fitting is None:
            groups.append(fitting := (set(), []))
        fitting[0].update(paths, [name])
        fitting[1].append((package, root))
    return [rows for _paths, rows in groups]


def _files(root: Path) -> Iterator[str]:
    for path in sorted(root.rglob("*")):
        if path.is_symlink() or not path.is_dir():
            yield str(path.relative_to(root))


def _build(rows: Sequence[tuple[Package, Path]], folder: Path, work: Path) -> None:
    top = Path(tempfile.mkdtemp(dir=work))
    spec = top / "lab.spec"
    install = "".join(f"cp -al {root}/. %{{buildroot}}/\n" for _package, root in rows)
    spec.write_text(HEAD + "".join(_section(*row) for row in rows) + f"%install\n{install}")
    options = [f"_topdir {top}", f"_rpmdir {folder}", f"_rpmfilename {FILE_NAME}"]
    defines = [word for option in options for word in ("--define", option)]
    run(["rpmbuild", "-bb", "--quiet", *defines, spec], env={**EPOCH, "HOME": str(top)})


def _section(package: Package, root: Path) -> str:
    """What a spec says of one subpackage."""
    epoch, version, release = split(package.version)
    tags = {
        "AutoReqProv": "no",
        "Epoch": epoch,
        "Version": version,
        "Release": release,
        "Summary": f"{package.summary} (simulated)",
    }
    tags |= {"BuildArch": "noarch"} if package.architecture == "noarch" else {}
    lines = [f"{name}: {value}" for name, value in {**tags, **package.relations}.items() if value]
    text = "\n".join([f"%package -n {package.name}", *lines, f"%description -n {package.name}", package.summary, ""])
    for name, script in scripts(package, "RPM").items():
        text += f"%{name} -n {package.name}\n{script.partition(chr(10))[2]}"
    return text + f"%files -n {package.name}\n" + "".join(_entry(root, name) for name in _files(root)) + "\n"


def _entry(root: Path, name: str) -> str:
    path = root / name
    mode = "-" if path.is_symlink() else f"{path.stat().st_mode & 0o7777:04o}"
    kept = "%config(noreplace) " if name.startswith(CONFIGURATION) and not path.is_symlink() else ""
    return f'{kept}%attr({mode},root,root) "/{name}"\n'
