# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab's container images: one archive that containerd imports, made without any registry.

Images of operands carry the names of the collection's own catalog, so that manifests need no change for the lab. In
them are NVIDIA's own device plugin, GFD and config-manager, built from their module at
`programs.DEVICE_PLUGIN_VERSION`, and a stand-in for dcgm-exporter, which calls itself so.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from dataclasses import dataclass, field
from pathlib import Path

from dev.cache import artifact
from dev.progress import run, step
from lab.cluster import catalog
from lab.cluster.layers import LIBC, SHELL, Layer, debian_layer, file_layer
from lab.cluster.programs import program
from lab.rootfs import rootfs

HERE = Path(__file__).resolve().parent
PAUSE, SAMPLE = "registry.lab/pause:1", "registry.lab/cuda-sample:1"
COUNTERS = HERE / "default-counters.csv"
# Both are in NVIDIA's image; the stand-in serves the same series for both.
COUNTER_FILES = ("default-counters.csv", "dcp-metrics-included.csv")
PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# As NVIDIA's Dockerfiles say.
NVIDIA = (
    PATH,
    "NVIDIA_VISIBLE_DEVICES=all",
    "NVIDIA_DRIVER_CAPABILITIES=compute,utility",
    "NVIDIA_DISABLE_REQUIRE=true",
)
DEVICE_PLUGIN_PROGRAMS = ("nvidia-device-plugin", "gpu-feature-discovery", "config-manager")


@dataclass(frozen=True)
class Image:
    """One image: `names` with tags, `layers` bottom up, the rest as in a Dockerfile."""

    names: tuple[str, ...]
    layers: tuple[Layer, ...]
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    environment: tuple[str, ...] = field(default=(PATH,))
    user: str = ""

    def config(self) -> bytes:
        """The image's configuration (OCI image-spec, config.md)."""
        settings = {"Entrypoint": self.entrypoint, "Cmd": self.command, "Env": self.environment, "User": self.user}
        content = {
            "architecture": "amd64",
            "os": "linux",
            "config": {name: value for name, value in settings.items() if value},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer.digest}" for layer in self.layers]},
        }
        return json.dumps(content, sort_keys=True).encode()


def images_tar() -> Path:
    """The archive with all images, from the cache where nothing changed."""
    return _artifact() / "images.tar"


def names() -> list[str]:
    """Names of all images in the archive."""
    return json.loads((_artifact() / "names.json").read_text())


def _artifact() -> Path:
    programs = [program(name) for name in (*DEVICE_PLUGIN_PROGRAMS, "exporter-stand-in")]
    sources = [HERE / name for name in ("images.py", "layers.py", "pause.c")]
    keys = [*map(str, programs), str(rootfs("bookworm")), repr(sorted(catalog.operand_images().items()))]
    return artifact("images", [*keys, *sources, COUNTERS, *COUNTER_FILES], _build)


def _build(out: Path) -> None:
    with step("building the container images"):
        images = _images(out)
        write_archive(out / "images.tar", images)
        (out / "names.json").write_text(json.dumps([name for image in images for name in image.names]))
        (out / "pause").unlink()


def _images(out: Path) -> list[Image]:
    run(["gcc", "-Os", "-static", "-s", "-o", out / "pause", HERE / "pause.c"])
    base, libc = (debian_layer(rootfs("bookworm"), packages) for packages in (SHELL, LIBC))
    operands = catalog.operand_images()
    plugin = file_layer({f"usr/bin/{name}": program(name) for name in DEVICE_PLUGIN_PROGRAMS})
    exporter = {
        "usr/bin/dcgm-exporter": program("exporter-stand-in"),
        **{f"etc/dcgm-exporter/{name}": COUNTERS for name in COUNTER_FILES},
    }
    return [
        Image((PAUSE,), (file_layer({"pause": out / "pause"}),), entrypoint=("/pause",), user="65535:65535"),
        Image((SAMPLE,), (base,), command=("/bin/sh",)),
        Image(
            (operands["k8s-device-plugin"],), (base, plugin), entrypoint=("nvidia-device-plugin",), environment=NVIDIA
        ),
        Image(
            (operands["dcgm-exporter"],),
            (libc, file_layer(exporter)),
            entrypoint=("/usr/bin/dcgm-exporter",),
            environment=NVIDIA,
        ),
    ]


def write_archive(path: Path, images: list[Image]) -> None:
    """Writes a docker-archive; a layer that several images have is written once."""
    manifest: list[dict[str, object]] = []
    written: set[str] = set()
    with tarfile.open(path, "w") as archive:
        for image in images:
            config = image.config()
            entries = {f"{hashlib.sha256(config).hexdigest()}.json": config}
            entries |= {f"{layer.digest}/layer.tar": layer.content for layer in image.layers}
            for name in entries.keys() - written:
                _add(archive, name, entries[name])
            written |= entries.keys()
            manifest.append({"Config": next(iter(entries)), "RepoTags": image.names, "Layers": list(entries)[1:]})
        _add(archive, "manifest.json", json.dumps(manifest).encode())


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))
