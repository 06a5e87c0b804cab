# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The operands' container images. Private to this collection.

A new operand or release is one row here and one row in its test. The registry is the part before the first slash.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

CHART = "GPU Operator chart v26.7.0 (values.yaml) and its OLM bundle"
DATE = "2026-08"


@dataclass(frozen=True)
class Image:
    """An image as its publisher names it. ``digest`` (``sha256:...``) pins it; None where none is published."""

    repository: str
    version: str
    digest: str | None
    source: str = CHART
    date: str = DATE


IMAGES = MappingProxyType(
    {
        # Device plugin, GPU Feature Discovery and the wait for the barrier files share one image: it has a shell.
        "k8s-device-plugin": Image(
            "nvcr.io/nvidia/k8s-device-plugin",
            "v0.20.0",
            "sha256:a61ba9fd8efb82f3a79f877f7580e02c1e8e7593f62473644bc9c79e315c3312",
        ),
        # Distroless: it has no shell.
        "dcgm-exporter": Image(
            "nvcr.io/nvidia/k8s/dcgm-exporter",
            "4.6.0-4.8.3-distroless",
            "sha256:613ab03c11d442fd960ff515f547e9921537454a712d08160bc8f677f89f1c35",
        ),
    }
)


def image_reference(name: str, *, registry: str = "", version: str = "", pin: bool = False) -> str:
    """The reference to pull: ``repository:version``, or ``repository@digest`` with ``pin``.

    ``registry`` replaces the publisher's registry and keeps the path (``mirror.example/x`` gives
    ``mirror.example/x/nvidia/k8s-device-plugin``); a ``version`` that starts with ``sha256:`` is a digest.
    Raises KeyError for an unknown name, ValueError where ``pin`` is wanted and no digest is known.
    """
    image = IMAGES[name]
    repository = image.repository
    if registry:
        repository = f"{registry.rstrip('/')}/{repository.split('/', 1)[1]}"
    if version.startswith("sha256:"):
        return f"{repository}@{version}"
    if pin and not version:
        if image.digest is None:
            raise ValueError(f"no digest of {image.repository}:{image.version} is known; do not pin it")
        return f"{repository}@{image.digest}"
    return f"{repository}:{version or image.version}"
