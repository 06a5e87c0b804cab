# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The newest CDI version that engines read: they refuse a file of a later one. Private to this collection.

One row for each engine release with which the answer changed: the library that it was built with decides. An engine
that has no row here is not judged.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reader:
    """``since``: the first release of the engine; ``newest``: the latest CDI version that it knows."""

    engine: str
    since: tuple[int, ...]
    newest: str
    source: str


READERS = (
    Reader("containerd", (1, 7, 0), "0.5.0", "github.com/containerd/containerd/pull/7374, 2022-09"),
    Reader("containerd", (1, 7, 13), "0.6.0", "github.com/containerd/containerd/pull/9685, 2024-01"),
    Reader("containerd", (2, 0, 0), "0.8.0", "containerd 2.0, go.mod: specs-go v0.8.0, 2025-02"),
    Reader("containerd", (2, 3, 0), "1.1.0", "github.com/containerd/containerd/pull/12663, 2025-12"),
    Reader("docker", (25, 0, 0), "0.6.0", "github.com/moby/moby/pull/46774, 2023-11"),
    Reader("docker", (27, 0, 0), "0.7.0", "github.com/moby/moby/pull/47706, 2024-04"),
    Reader("docker", (28, 0, 0), "0.8.0", "github.com/moby/moby/pull/49738 (before it), 2025-04"),
    Reader("docker", (29, 0, 0), "1.0.0", "github.com/moby/moby/pull/49738, 2025-04"),
)
