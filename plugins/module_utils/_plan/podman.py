# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judges Podman's readiness for CDI. Private to this collection."""

from __future__ import annotations

from collections.abc import Sequence

from .model import Finding, Plan

# CDI came with 4.1.0 (podman-run(1), --device).
FIRST_VERSION = (4, 1)


def judge_podman(version: str | None, hooks: Sequence[str]) -> Plan:
    """``version`` as podman --version says, None where it was not asked.

    ``hooks``: leftover OCI hook files of NVIDIA.
    """
    findings = [_leftover(path) for path in hooks]
    parts = tuple(int(p) for p in (version or "").split(".")[:2] if p.isdigit())
    if version is not None and parts < FIRST_VERSION:
        findings.append(_too_old(version))
    return Plan(findings=tuple(findings))


def _leftover(path: str) -> Finding:
    return Finding(
        id="GPU-CTR-106",
        severity="warning",
        summary="an OCI hook of the toolkit is installed, which injects GPUs a second time beside CDI",
        wanted="no NVIDIA hook where Podman uses CDI",
        found=path,
        remedy=f"rm {path}",
        source="https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/cdi-support.html",
    )


def _too_old(version: str) -> Finding:
    return Finding(
        id="GPU-CTR-107",
        severity="warning",
        summary="this Podman does not know CDI",
        wanted="podman 4.1 or later",
        found=f"podman {version} (podman --version)",
        remedy="update podman",
        source="https://github.com/NVIDIA/nvidia-container-toolkit/issues/63",
    )
