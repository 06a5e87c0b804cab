# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which certificates and kubeconfigs a lab cluster has, and where."""

from __future__ import annotations

import shutil
from pathlib import Path

from lab.cluster import audit, certs
from lab.cluster.components import PORT, SERVICE_ADDRESS, Paths

API_NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")


def make(paths: Paths, kubeconfig: Path) -> None:
    """All of the control plane's, and the administrator's `kubeconfig`."""
    pki = paths.pki
    pki.mkdir(parents=True, exist_ok=True)
    ca, front = certs.authority("lab-ca"), certs.authority("lab-front-proxy-ca")
    ca.write(pki, "ca")
    front.write(pki, "front-ca")
    certs.server(ca, "kube-apiserver", [paths.address, "127.0.0.1", SERVICE_ADDRESS], API_NAMES).write(pki, "apiserver")
    certs.client(ca, "apiserver-kubelet", group=certs.MASTERS).write(pki, "apiserver-kubelet")
    certs.client(front, "front-client").write(pki, "front-client")
    certs.write_signing_key(pki, "service-accounts")
    for name in ("kube-controller-manager", "kube-scheduler"):
        write_kubeconfig(paths, pki / f"{name}.kubeconfig", f"system:{name}")
    (pki / "audit-policy.yaml").write_text(audit.POLICY)
    write_kubeconfig(paths, kubeconfig, "admin", group=certs.MASTERS)


def make_node(paths: Paths, node: str, address: str) -> Path:
    """Folder `pki/<node>`: ca.crt, kubelet.conf, kube-proxy.conf, and kubelet.crt and .key for serving."""
    folder = paths.pki / node
    folder.mkdir(exist_ok=True)
    user = f"system:node:{node}"
    # Without its address in it, `kubectl logs` and `exec` fail.
    certs.server(certs.Pair.read(paths.pki, "ca"), user, [address, "127.0.0.1"], [node]).write(folder, "kubelet")
    shutil.copyfile(paths.pki / "ca.crt", folder / "ca.crt")
    write_kubeconfig(paths, folder / "kubelet.conf", user, group="system:nodes")
    write_kubeconfig(paths, folder / "kube-proxy.conf", "system:kube-proxy")
    return folder


def write_kubeconfig(paths: Paths, path: Path, user: str, *, group: str = "", port: int = PORT) -> None:
    """A kubeconfig with a new client certificate of `user`; `port`: the API server's, or that of a proxy before it."""
    ca = certs.Pair.read(paths.pki, "ca")
    content = certs.kubeconfig(f"https://{paths.address}:{port}", ca, certs.client(ca, user, group=group))
    certs.write_private(path, content.encode())
