# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packs the controller's own copies of the Python packages that hosts may lack. Private to this collection.

Only pure Python travels: nvidia-ml-py (one file), tomlkit and PyYAML (without its C part). Python imports them out of
the archive (zipimport), so nothing has to be unpacked on the host.
"""

from __future__ import annotations

import importlib.util
import io
import os
import zipfile

# import name -> the name to install on the controller
PACKAGES = {"pynvml": "nvidia-ml-py", "tomlkit": "tomlkit", "yaml": "PyYAML"}

# Same input, same archive: zip's earliest date.
EPOCH = (1980, 1, 1, 0, 0, 0)


class HelperMissing(Exception):
    """The controller itself lacks a package; the message says what to install."""


def helper_files(name: str) -> dict[str, bytes]:
    """Path in the archive -> content, for the import name ``name``. Raises HelperMissing."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        fix = f"run: pip install {PACKAGES.get(name, name)}"
        raise HelperMissing(f"the controller's Python lacks {name!r}, which the host lacks too; {fix}")
    if not spec.submodule_search_locations:
        return {os.path.basename(spec.origin): _read(spec.origin)}
    top = os.path.dirname(spec.origin)
    found = {}
    for folder, _folders, files in os.walk(top):
        for file in files:
            if file.endswith(".py"):
                path = os.path.join(folder, file)
                found[f"{name}/{os.path.relpath(path, top)}"] = _read(path)
    return found


def pack(files: dict[str, bytes]) -> bytes:
    """A zip archive of ``files`` (path -> content), byte for byte the same for the same input."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(files):
            info = zipfile.ZipInfo(path, date_time=EPOCH)
            info.external_attr = 0o644 << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, files[path])
    return buffer.getvalue()


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
