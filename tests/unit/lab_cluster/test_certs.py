# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Certificates that Kubernetes' own rules accept."""

from __future__ import annotations

import base64
import json
from pathlib import Path

from cryptography import x509
from cryptography.x509.oid import NameOID

from lab.cluster import certs, pki
from lab.cluster.components import Paths


def test_a_client_is_a_user_in_a_group() -> None:
    made = certs.client(certs.authority("ca"), "system:node:gpu1", group="system:nodes").certificate
    (name,) = made.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    (group,) = made.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    assert (name.value, group.value) == ("system:node:gpu1", "system:nodes")


def test_a_server_certificate_is_signed_by_its_authority_and_names_the_addresses() -> None:
    ca = certs.authority("ca")
    made = certs.server(ca, "kube-apiserver", ["198.51.100.1"], ["kubernetes"]).certificate
    made.verify_directly_issued_by(ca.certificate)
    names = made.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(a) for a in names.get_values_for_type(x509.IPAddress)] == ["198.51.100.1"]
    assert names.get_values_for_type(x509.DNSName) == ["kubernetes"]


def test_a_pair_is_read_as_it_was_written(tmp_path: Path) -> None:
    made = certs.authority("ca")
    made.write(tmp_path, "ca")
    read = certs.Pair.read(tmp_path, "ca")
    assert (read.certificate_pem, read.key_pem) == (made.certificate_pem, made.key_pem)
    assert (tmp_path / "ca.key").stat().st_mode & 0o777 == 0o600


def test_a_node_can_serve_at_its_address_and_call_as_itself(tmp_path: Path) -> None:
    paths = Paths(tmp_path, "198.51.100.1")
    pki.make(paths, tmp_path / "admin.kubeconfig")
    folder = pki.make_node(paths, "gpu1", "198.51.100.11")
    serving = x509.load_pem_x509_certificate((folder / "kubelet.crt").read_bytes())
    names = serving.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "198.51.100.11" in [str(a) for a in names.get_values_for_type(x509.IPAddress)]
    config = json.loads((folder / "kubelet.conf").read_text())
    assert config["clusters"][0]["cluster"]["server"] == "https://198.51.100.1:6443"
    client = x509.load_pem_x509_certificate(base64.b64decode(config["users"][0]["user"]["client-certificate-data"]))
    client.verify_directly_issued_by(certs.Pair.read(paths.pki, "ca").certificate)
