# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Galaxy and Automation Hub ask of a collection: its tarball goes through galaxy-importer, its pages are built.

`python -m dev.publish` is one check of `./dev lint`. ansible-lint and ansible-test are checks of their own, so that the
importer leaves them out.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from . import collection
from .machine import CHECKOUT

SECONDS = 300
SETTINGS = """[galaxy-importer]
RUN_ANSIBLE_DOC=True
RUN_ANSIBLE_LINT=False
RUN_ANSIBLE_TEST=False
RUN_FLAKE8=False
CHECK_REQUIRED_TAGS=True
"""
# The importer ends well whatever it has to complain of.
COMPLAINTS = ("ERROR", "WARNING", "Expected")
BUILD = ["ansible-galaxy", "collection", "build", "--output-path"]
PAGES = ["antsibull-docs", "collection", "--use-current", "--squash-hierarchy", "--fail-on-error", "--dest-dir"]


def main() -> int:
    """Says what the importer or antsibull-docs has to complain of; exit status 1 then."""
    with tempfile.TemporaryDirectory(prefix="gpu-fleet-publish-") as folder:
        place = Path(folder)
        said = [*_import(place), *_pages(place)]
    print("\n".join(said))
    return 1 if said else 0


def _import(place: Path) -> list[str]:
    built = _run([*BUILD, folder_of(place, "build"), str(CHECKOUT)])
    if built.returncode:
        return built.stdout.splitlines()
    (tarball,) = (place / "build").glob("*.tar.gz")
    (place / "importer.cfg").write_text(SETTINGS)
    # The importer gives ansible-doc a collections path of its own; what we depend on is found on Python's.
    settings = {"GALAXY_IMPORTER_CONFIG": str(place / "importer.cfg"), "PYTHONPATH": str(collection.dependencies())}
    done = _run([sys.executable, "-m", "galaxy_importer.main", str(tarball)], settings, cwd=place)
    lines = done.stdout.splitlines()
    return lines if done.returncode else [line for line in lines if line.startswith(COMPLAINTS)]


def _pages(place: Path) -> list[str]:
    done = _run([*PAGES, folder_of(place, "pages"), "gpu.fleet"])
    if done.returncode:
        return done.stdout.splitlines()
    missing = [name for name in _documented() if not list((place / "pages").rglob(f"{name}_module.rst"))]
    return [f"antsibull-docs made no page for module {name}" for name in missing]


def _documented() -> list[str]:
    return sorted(path.stem for path in (CHECKOUT / "plugins/modules").glob("*.py"))


def folder_of(place: Path, name: str) -> str:
    """A new folder that only its owner may enter: antsibull-docs refuses others."""
    (place / name).mkdir(mode=0o700)
    return str(place / name)


def _run(
    command: list[str], settings: dict[str, str] | None = None, *, cwd: Path = CHECKOUT
) -> subprocess.CompletedProcess[str]:
    """Output and errors in one text. The importer leaves a file of results where it runs."""
    env = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": collection.search_path(), **(settings or {})}
    pipe, both = subprocess.PIPE, subprocess.STDOUT
    return subprocess.run(command, env=env, cwd=cwd, stdout=pipe, stderr=both, text=True, timeout=SECONDS, check=False)


if __name__ == "__main__":
    sys.exit(main())
