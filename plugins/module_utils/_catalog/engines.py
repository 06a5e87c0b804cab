# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kubernetes distributions that bring a containerd of their own, and where its settings are.

Private to this collection.

Each writes the file that its containerd reads at every start, so an edit there does not last. One row a distribution.
"""

from __future__ import annotations

from dataclasses import dataclass

K3S, RKE2, K0S, MICROK8S = "k3s", "rke2", "k0s", "microk8s"
# The engine of the system itself; the one that is found.
NONE, AUTO = "none", "auto"


@dataclass(frozen=True)
class Distribution:
    """``home``: a directory that only this distribution has. ``config``: what is read, and with ``in_place`` edited.

    ``drop_ins``: version of the configuration -> the file that gets the handlers; the distribution lays it over its
    own settings key by key. ``program``: its containerd, where that can judge these files, else empty.
    ``units``: the first that is on a host has to be restarted. ``managed``: text (file, words) without which the
    distribution leaves drop-ins alone.
    """

    name: str
    home: str
    config: str
    socket: str
    units: tuple[str, ...]
    source: str
    drop_ins: tuple[tuple[int, str], ...] = ()
    in_place: bool = False
    program: str = ""
    managed: tuple[str, str] | None = None

    def drop_in(self, version: int) -> str:
        """The drop-in of a version of the configuration; empty where the configuration itself is edited."""
        return next((path for v, path in self.drop_ins if v <= version), "")


def _rancher(name: str, program: str, units: tuple[str, ...]) -> Distribution:
    folder = f"/var/lib/rancher/{name}/agent/etc/containerd"
    return Distribution(
        name=name,
        home=f"/var/lib/rancher/{name}",
        config=f"{folder}/config.toml",
        socket="/run/k3s/containerd/containerd.sock",
        units=units,
        source="github.com/k3s-io/k3s/pull/13680, 2026-02; docs.k3s.io, advanced: configuring containerd",
        drop_ins=((3, f"{folder}/config-v3.toml.d/99-nvidia.toml"), (1, f"{folder}/config.toml.d/99-nvidia.toml")),
        program=program,
    )


DISTRIBUTIONS = {
    K3S: _rancher(K3S, "/var/lib/rancher/k3s/data/current/bin/containerd", ("k3s.service", "k3s-agent.service")),
    RKE2: _rancher(RKE2, "/var/lib/rancher/rke2/bin/containerd", ("rke2-server.service", "rke2-agent.service")),
    K0S: Distribution(
        name=K0S,
        home="/var/lib/k0s",
        config="/run/k0s/containerd-cri.toml",
        socket="/run/k0s/containerd.sock",
        units=("k0sworker.service", "k0scontroller.service"),
        source="docs.k0sproject.io, runtime: managed dynamic runtime configuration, 2025",
        drop_ins=((1, "/etc/k0s/containerd.d/nvidia.toml"),),
        managed=("/etc/k0s/containerd.toml", "k0s_managed=true"),
    ),
    MICROK8S: Distribution(
        name=MICROK8S,
        home="/var/snap/microk8s",
        config="/var/snap/microk8s/current/args/containerd-template.toml",
        socket="/var/snap/microk8s/common/run/containerd.sock",
        units=("snap.microk8s.daemon-containerd.service",),
        source="docs.nvidia.com GPU Operator 25.10, getting started: MicroK8s",
        in_place=True,
    ),
}
