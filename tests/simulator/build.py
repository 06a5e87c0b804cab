# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compiles the simulator: the NVML library, the stub libraries of a driver, the preload shim and the programs."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from dev.cache import artifact
from simulator.c_table import health_header, model_table, stub_table
from simulator.models import MODELS, Model

HERE = Path(__file__).resolve().parent
NVML = "libnvidia-ml.so.1"
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
# Program -> folders of its sources; nvidia-smi opens the library at run time, as the real one does.
PROGRAMS = {
    "nvidia-smi": ("programs/nvidia-smi", "programs/common"),
    "nvidia-modprobe": ("programs/nvidia-modprobe", "programs/common"),
    "nvidia-persistenced": ("programs/nvidia-persistenced", "nvml"),
}
INCLUDES = (f"-I{HERE / 'nvml'}", f"-I{HERE / 'programs/common'}")
MODULE_INFORMATION = '#define INFORMATION __attribute__((section(".modinfo"), used, aligned(1)))'
LAZY = ("-Wl,--export-dynamic", "-Wl,--unresolved-symbols=ignore-in-object-files", "-Wl,-z,lazy")


@cache
def artifact_dir() -> Path:
    """The cached build: `lib/`, `bin/`, and `nvml/` with the NVML of each driver branch. `lib/` has the newest one.

    `simulated.txt` names the functions that do more than to answer NOT_SUPPORTED, `functions.txt` those that can fail.
    It is made anew when a source file, a model or the symbol list changes.
    """
    return artifact("simulator", _sources_of_everything(), build)


def nvml_folder(branch: int) -> Path:
    """The folder with the libnvidia-ml.so.1 that has the functions which NVML had in that driver branch."""
    since = max(known for known in _boundaries() if known <= branch)
    return artifact_dir() / "nvml" / str(since)


def nvml_with(models: Iterable[Model]) -> Path:
    """The folder with an NVML that knows these boards, too."""
    table = model_table([*MODELS.values(), *models])

    def make(out: Path) -> None:
        with tempfile.TemporaryDirectory() as folder:
            _write_tables(Path(folder), table)
            _build_nvml(Path(folder), out)

    return artifact("simulator-models", [*_sources_of_everything(), table], make) / "lib"


def build(out: Path) -> None:
    """Fills `out` with lib/ and bin/. Raises RuntimeError with the compiler's message when a source is wrong."""
    (out / "lib").mkdir(parents=True, exist_ok=True)
    (out / "bin").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        _write_tables(work, model_table(MODELS.values()))
        _build_nvml(work, out)
        (out / "functions.txt").write_text("".join(f"{name}\n" for name in _faultable(work, out / "lib")))
        _build_stub_libraries(work, out / "lib")
        _link(_sources("shim"), out / "lib" / "libsimhw.so", "-shared")
        for program, folders in PROGRAMS.items():
            _build_program(work, out / "bin" / program, folders)


def _sources_of_everything() -> list[Path]:
    names = ("build.py", "c_table.py", "health.py", "mig_geometry.py", "model.py", "nvml", "programs", "shim")
    return [*(HERE / name for name in names), *sorted(HERE.glob("boards_*.py"))]


def _write_tables(work: Path, models: str) -> None:
    (work / "model_table.c").write_text(models)
    (work / "health_values.h").write_text(health_header())


def kernel_module(module: Path, release: str) -> None:
    """Writes an in-tree module of the kernel `release` that consists of its module information."""
    texts = (
        f"name={module.stem}",
        "license=GPL",
        "intree=Y",
        f"vermagic={release} SMP preempt mod_unload modversions ",
    )
    rows = [f'INFORMATION static const char text{number}[] = "{text}";' for number, text in enumerate(texts)]
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "module.c"
        source.write_text("\n".join([MODULE_INFORMATION, *rows, ""]))
        _output("gcc", "-c", "-o", str(module), str(source))


def _build_nvml(work: Path, out: Path) -> None:
    objects = _compile([*_sources("nvml"), work / "model_table.c"], work)
    _link(objects, work / "first.so", "-shared")
    simulated = defined_symbols(work / "first.so")
    (out / "simulated.txt").write_text("".join(f"{name}\n" for name in sorted(simulated & set(wanted_symbols()))))
    (work / "stubs.c").write_text(stub_table(wanted_symbols(), simulated))
    objects += _compile([work / "stubs.c"], work)
    _link_nvml(objects, out / "lib" / NVML)
    for branch in _boundaries():
        _link_nvml(objects, out / "nvml" / str(branch) / NVML, _version_script(work, branch))


def _link_nvml(objects: list[Path], library: Path, *options: str) -> None:
    library.parent.mkdir(parents=True, exist_ok=True)
    _link(objects, library, "-shared", f"-Wl,-soname,{NVML}", *options)


def _version_script(work: Path, branch: int) -> str:
    """Keeps what is younger than the branch out of the library's symbols, so that programs do not find it there."""
    younger = "; ".join(name for name, since in wanted_symbols().items() if since > branch)
    script = work / f"{branch}.map"
    script.write_text(f"{{ global: nvml*; simhw*; local: {younger or 'nothing'}; }};\n")
    return f"-Wl,--version-script={script}"


def _boundaries() -> list[int]:
    """Driver branches in which functions were added; 0 stands for all that are older."""
    return sorted({0, *wanted_symbols().values()})


def _faultable(work: Path, libraries: Path) -> list[str]:
    """Names by which the library's functions ask for a fault: the texts in it that look like one."""
    section = work / "rodata"
    only = ("--only-section=.rodata*", "--output-target=binary")
    _output("objcopy", *only, str(libraries / NVML), str(section))
    texts = section.read_bytes().decode("utf-8", "replace").split("\0")
    return sorted({text for text in texts if re.fullmatch(r"nvml[A-Z]\w+", text)})


def _build_program(work: Path, program: Path, folders: tuple[str, ...]) -> None:
    """`text.c` goes into all programs; one that uses NVML's insides gets all of it."""
    sources = [source for folder in folders for source in _sources(folder)]
    sources.append(work / "model_table.c" if "nvml" in folders else HERE / "nvml/text.c")
    _link(sources, program, *INCLUDES, f"-I{work}", *(LAZY if program.name == "nvidia-smi" else ()))


def _sources(folder: str) -> list[Path]:
    return sorted((HERE / folder).glob("*.c"))


@cache
def wanted_symbols() -> dict[str, int]:
    """The committed list: function -> first driver branch whose NVML has it, 0 for the oldest ones."""
    lines = (HERE / "nvml" / "symbols.txt").read_text().splitlines()
    rows = [line.split() for line in lines if not line.startswith("#")]
    return {name: int(since[0]) if since else 0 for name, *since in rows}


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


def _compile(sources: list[Path], work: Path) -> list[Path]:
    objects = []
    for source in sources:
        objects.append(work / f"{source.stem}.o")
        _output("gcc", *CFLAGS, *INCLUDES, f"-I{work}", "-c", "-o", str(objects[-1]), str(source))
    return objects


def _link(sources: list[Path], out: Path, *options: str) -> None:
    _output("gcc", *CFLAGS, *options, "-o", str(out), *map(str, sources), "-lpthread", "-ldl")


def _output(*command: str) -> str:
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise RuntimeError(f"{command[0]} failed with code {result.returncode}: {result.stderr.strip()}")
    return result.stdout
