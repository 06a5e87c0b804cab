# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Command lines of the control plane's components, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PORT = 6443
SERVICE_NETWORK, SERVICE_ADDRESS = "10.96.0.0/16", "10.96.0.1"
POD_NETWORK = "10.244.0.0/16"
ETCD, ETCD_PEER = "http://127.0.0.1:2379", "http://127.0.0.1:2380"

Flags = Mapping[str, str | Path | int]


@dataclass(frozen=True)
class Paths:
    """Where a control plane keeps its files, and the address that its API server listens on."""

    folder: Path
    address: str

    @property
    def pki(self) -> Path:
        return self.folder / "pki"

    @property
    def audit_log(self) -> Path:
        return self.folder / "audit.log"


def flags(name: str, paths: Paths) -> Flags:
    """The flags of the component `name`. KeyError for an unknown one."""
    return {
        "etcd": _etcd,
        "kube-apiserver": _apiserver,
        "kube-controller-manager": _controller_manager,
        "kube-scheduler": _scheduler,
    }[name](paths)


def _etcd(paths: Paths) -> Flags:
    return {
        "data-dir": paths.folder / "etcd",
        "unsafe-no-fsync": "true",  # a lab's data does not outlive it
        "listen-client-urls": ETCD,
        "advertise-client-urls": ETCD,
        "listen-peer-urls": ETCD_PEER,
        "initial-advertise-peer-urls": ETCD_PEER,
        "initial-cluster": f"default={ETCD_PEER}",
        "log-level": "warn",
    }


def _apiserver(paths: Paths) -> Flags:
    pki = paths.pki
    return {
        "etcd-servers": ETCD,
        "bind-address": paths.address,
        "advertise-address": paths.address,
        "secure-port": PORT,
        "service-cluster-ip-range": SERVICE_NETWORK,
        "authorization-mode": "Node,RBAC",
        "enable-admission-plugins": "NodeRestriction",
        "allow-privileged": "true",
        "profiling": "false",
        "tls-cert-file": pki / "apiserver.crt",
        "tls-private-key-file": pki / "apiserver.key",
        "client-ca-file": pki / "ca.crt",
        "service-account-issuer": "https://kubernetes.default.svc",
        "service-account-key-file": pki / "service-accounts.pub",
        "service-account-signing-key-file": pki / "service-accounts.key",
        "kubelet-client-certificate": pki / "apiserver-kubelet.crt",
        "kubelet-client-key": pki / "apiserver-kubelet.key",
        "kubelet-certificate-authority": pki / "ca.crt",
        "kubelet-preferred-address-types": "InternalIP",
        "requestheader-client-ca-file": pki / "front-ca.crt",
        "requestheader-allowed-names": "front-client",
        "requestheader-username-headers": "X-Remote-User",
        "requestheader-group-headers": "X-Remote-Group",
        "requestheader-extra-headers-prefix": "X-Remote-Extra-",
        "proxy-client-cert-file": pki / "front-client.crt",
        "proxy-client-key-file": pki / "front-client.key",
        "audit-policy-file": pki / "audit-policy.yaml",
        "audit-log-path": paths.audit_log,
        "audit-log-maxsize": 10_000,  # MB: never rotated, so positions in it stay good
    }


def _controller_manager(paths: Paths) -> Flags:
    return {
        **_controller("kube-controller-manager", paths),
        "use-service-account-credentials": "true",
        "service-account-private-key-file": paths.pki / "service-accounts.key",
        "root-ca-file": paths.pki / "ca.crt",
        "cluster-signing-cert-file": paths.pki / "ca.crt",
        "cluster-signing-key-file": paths.pki / "ca.key",
        "cluster-cidr": POD_NETWORK,
        "cluster-name": "lab",
        # With the defaults (20, 30) the first ServiceAccount waits 4 s behind the start of all controllers.
        "kube-api-qps": 500,
        "kube-api-burst": 1000,
    }


def _scheduler(paths: Paths) -> Flags:
    return _controller("kube-scheduler", paths)


def _controller(name: str, paths: Paths) -> Flags:
    config = paths.pki / f"{name}.kubeconfig"
    return {
        "kubeconfig": config,
        "authentication-kubeconfig": config,
        "authorization-kubeconfig": config,
        "bind-address": "127.0.0.1",
        "leader-elect": "false",
        "profiling": "false",
    }
