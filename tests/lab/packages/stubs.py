# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shared objects with nothing in them but the right SONAME, for libraries that no lab host calls."""

from __future__ import annotations

import hashlib
from pathlib import Path

from dev.progress import run

# nvidia-ctk calls these when the library is there; "not supported" makes it ask NVML, as with a driver that lacks them.
SANDBOX_UTILITIES = """
#define STUB(name) int name(void) { return 2; }
STUB(nvSandboxUtilsInit) STUB(nvSandboxUtilsShutdown) STUB(nvSandboxUtilsGetDriverVersion)
STUB(nvSandboxUtilsGetGpuResource) STUB(nvSandboxUtilsGetFileContent)
const char *nvSandboxUtilsErrorString(int code) { return "not supported by the simulated driver"; }
"""
SOURCES = {"libnvidia-sandboxutils.so.1": SANDBOX_UTILITIES}
EMPTY = "int gpu_fleet_stub;\n"


def shared_object(soname: str, folder: Path) -> Path:
    """A stub with this SONAME, made in `folder` once. Raises CommandFailed when compiler or linker do."""
    target = folder / soname
    if not target.exists():
        content = _object(SOURCES.get(soname, EMPTY), folder)
        run(["ld", "-shared", "-s", "-soname", soname, "-o", target, content])
    return target


def _object(source: str, folder: Path) -> Path:
    """The compiled source; most stubs are linked from the same."""
    target = folder / f"{hashlib.sha256(source.encode()).hexdigest()[:8]}.o"
    if not target.exists():
        code = target.with_suffix(".c")
        code.write_text(source)
        run(["gcc", "-c", "-fPIC", "-O1", "-o", target, code])
    return target
