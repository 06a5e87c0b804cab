# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Streams of the module nvidia-driver: which there are, and which packages each has."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from lab.packages.cuda_dnf import kinds_of
from lab.packages.modules_yaml import BINARY, OPEN, PRECOMPILED, Artifact, documents, render, streams

KINDS = {570: (BINARY, OPEN), 580: (PRECOMPILED, BINARY, OPEN), 620: (OPEN,)}
NAMES = (
    "nvidia-driver nvidia-open cuda-drivers nvidia-fabricmanager nvidia-kmod-source nvidia-kmod-headers "
    "kmod-nvidia-open-dkms kmod-nvidia-latest-dkms kmod-nvidia-580.142-5.14.0-1"
)


def artifact(name: str, branch: int = 580, version: str = "580.142", *, newest: bool = True) -> Artifact:
    return Artifact(name, f"{name}-3:{version}-1.el9.x86_64", branch, newest)


def stream(name: str) -> dict[str, Any]:
    rows = [artifact(name) for name in NAMES.split()]
    rows += [artifact("nvidia-driver", version="580.65.06", newest=False), artifact("nvidia-driver", 570, "570.172.08")]
    found = {
        row["data"].get("stream"): row["data"] for row in documents(rows, KINDS, ".el9") if "artifacts" in row["data"]
    }
    data: dict[str, Any] = found[name]
    return data


def names(data: dict[str, Any]) -> set[str]:
    return {row.partition("-3:")[0] for row in data["artifacts"]["rpms"]}


def test_streams_and_what_the_moving_ones_follow() -> None:
    assert {row.name: row.branch for row in streams(KINDS)} == {
        "570-dkms": 570,
        "570-open": 570,
        "580": 580,
        "580-dkms": 580,
        "580-open": 580,
        "620-open": 620,
        "latest": 580,
        "latest-dkms": 580,
        "open-dkms": 620,
    }


@pytest.mark.parametrize(
    ("branch", "kinds"), [(570, (BINARY, OPEN)), (595, (PRECOMPILED, BINARY, OPEN)), (620, (OPEN,))]
)
def test_kinds_of_branches(branch: int, kinds: tuple[str, ...]) -> None:
    assert kinds_of(branch) == kinds


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("580-open", {"nvidia-open", "kmod-nvidia-open-dkms", "nvidia-kmod-source"}),
        ("580-dkms", {"cuda-drivers", "kmod-nvidia-latest-dkms", "nvidia-kmod-headers"}),
        ("580", {"cuda-drivers", "kmod-nvidia-580.142-5.14.0-1", "nvidia-kmod-headers"}),
    ],
)
def test_a_stream_has_the_kernel_packages_of_its_kind(name: str, own: set[str]) -> None:
    assert names(stream(name)) == {"nvidia-driver", "nvidia-fabricmanager", *own}


def test_a_stream_has_all_releases_of_its_branch() -> None:
    rows = [row for row in stream("580-open")["artifacts"]["rpms"] if row.startswith("nvidia-driver-")]
    assert rows == ["nvidia-driver-3:580.142-1.el9.x86_64", "nvidia-driver-3:580.65.06-1.el9.x86_64"]


def test_profiles() -> None:
    profiles = {name: set(row["rpms"]) for name, row in stream("580-open")["profiles"].items()}
    whole = {"nvidia-driver", "nvidia-open", "kmod-nvidia-open-dkms"}
    assert profiles == {
        "default": whole,
        "fm": whole | {"nvidia-fabricmanager"},
        "ks": whole - {"nvidia-open"},
        "src": {"nvidia-kmod-source"},
    }
    compiled = stream("580")["profiles"]["default"]["rpms"]
    assert compiled == ["cuda-drivers", "nvidia-driver"]


def test_stream_names_stay_texts_and_defaults_name_all_streams() -> None:
    found = list(yaml.safe_load_all(render(documents([artifact("nvidia-driver")], KINDS, ".el9"))))
    assert {type(row["data"]["stream"]) for row in found} == {str}
    assert found[-1]["document"] == "modulemd-defaults"
    assert found[-1]["data"]["stream"] == "open-dkms"
    assert set(found[-1]["data"]["profiles"]) == {row["data"]["stream"] for row in found[:-1]}
