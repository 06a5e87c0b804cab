# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compiles the simulator: the NVML library, the stub libraries of a driver, the preload shim and the programs."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from dev.cache import artifact

from simulator.c_table import model_table, stub_table
from simulator.models import MODELS

HERE = Path(__file__).resolve().parent
CFLAGS = ("-std=gnu11", "-O1", "-fPIC", "-Wall", "-Wextra", "-Werror", "-fvisibility=hidden")
STUB_LIBRARIES = (
    "libcuda.so.1",
    "libcudadebugger.so.1",
    "libnvidia-cfg.so.1",
    "libnvidia-gpucomp.so",
    "libnvidia-nvvm.so.4",
    "libnvidia-opencl.so.1",
    "libnvidia-pkcs11-openssl3.so",
    "libnvidia-ptxjitcompiler.so.1",
)
PROGRAMS = ("nvidia-smi", "nvidia-modprobe", "nvidia-persistenced")


def artifact_dir() -> Path:
    """The cached build: `lib/` and `bin/`. It is made anew when a source file, a model or the symbol list changes."""
    sources = [HERE / name for name in ("build.py", "c_table.py", "models.py", "nvml", "programs", "shim")]
    return artifact("simulator", sources, build)


def build(out: Path) -> None:
    """Fills `out` with lib/ and bin/. Raises CalledProcessError with the compiler's message when a source is wrong."""
    (out / "lib").mkdir(parents=True, exist_ok=True)
    (out / "bin").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        _build_nvml(Path(work), out / "lib" / "libnvidia-ml.so.1")
        _build_stub_libraries(Path(work), out / "lib")
    if (HERE / "shim" / "libsimhw.c").exists():
        _link(sorted((HERE / "shim").glob("*.c")), out / "lib" / "libsimhw.so", "-shared")
    for program in PROGRAMS:
        sources = sorted((HERE / "programs" / program).glob("*.c"))
        if sources:
            _link([*sources, *sorted((HERE / "programs").glob("*.c"))], out / "bin" / program)


def _build_nvml(work: Path, library: Path) -> None:
    (work / "model_table.c").write_text(model_table(MODELS.values()))
    sources = [*sorted((HERE / "nvml").glob("*.c")), work / "model_table.c"]
    first = work / "first.so"
    include = f"-I{HERE / 'nvml'}"
    _link(sources, first, "-shared", include)
    (work / "stubs.c").write_text(stub_table(wanted_symbols(), defined_symbols(first)))
    _link([*sources, work / "stubs.c"], library, "-shared", include, f"-Wl,-soname,{library.name}")


def wanted_symbols() -> list[str]:
    """The committed list: every function that nvml.h, go-nvml or nvidia-ml-py names."""
    return (HERE / "nvml" / "symbols.txt").read_text().split()


def defined_symbols(library: Path) -> set[str]:
    """Names of the functions that the library exports."""
    text = _output("nm", "--dynamic", "--defined-only", str(library))
    return {line.split()[-1] for line in text.splitlines()}


def _build_stub_libraries(work: Path, folder: Path) -> None:
    source = work / "stub.c"
    for name in STUB_LIBRARIES:
        symbol = "".join(letter if letter.isalnum() else "_" for letter in name)
        source.write_text(f'__attribute__((visibility("default"))) int {symbol}_is_simulated(void) {{ return 1; }}\n')
        _link([source], folder / name, "-shared", f"-Wl,-soname,{name}")


def _link(sources: list[Path], out: Path, *options: str) -> None:
    _output("gcc", *CFLAGS, *options, "-o", str(out), *map(str, sources), "-lpthread", "-ldl")


def _output(*command: str) -> str:
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise RuntimeError(f"{command[0]} failed with code {result.returncode}: {result.stderr.strip()}")
    return result.stdout
