# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Certificates and kubeconfigs of one lab cluster: made anew for each lab, never used outside it."""

from __future__ import annotations

import base64
import ipaddress
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

VALIDITY = timedelta(days=30)
# A test may turn the clock of a host back a little.
BACKDATED = timedelta(days=1)
MASTERS = "system:masters"


@dataclass(frozen=True)
class Pair:
    """A certificate and its private key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def certificate_pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        return key_pem(self.key)

    @classmethod
    def read(cls, folder: Path, name: str) -> Pair:
        """The pair that `write` left below `folder`."""
        key = serialization.load_pem_private_key((folder / f"{name}.key").read_bytes(), password=None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise TypeError(f"{folder / name}.key is no elliptic-curve key")
        return cls(x509.load_pem_x509_certificate((folder / f"{name}.crt").read_bytes()), key)

    def write(self, folder: Path, name: str) -> None:
        """Writes `<name>.crt` and `<name>.key` (0600) below `folder`."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.crt").write_bytes(self.certificate_pem)
        write_private(folder / f"{name}.key", self.key_pem)


def authority(name: str) -> Pair:
    """A certificate authority of its own."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    usage = _key_usage(digital_signature=True, certificate_signing=True)
    builder = _builder(subject, subject, key).add_extension(
        x509.BasicConstraints(ca=True, path_length=None), critical=True
    )
    builder = _key_identifiers(builder.add_extension(usage, critical=True), key, key)
    return Pair(builder.sign(key, hashes.SHA256()), key)


def client(issuer: Pair, user: str, *, group: str = "") -> Pair:
    """A client certificate for the Kubernetes user `user`, in the group `group`."""
    return _leaf(issuer, user, group, ExtendedKeyUsageOID.CLIENT_AUTH, [])


def server(issuer: Pair, name: str, addresses: Sequence[str], names: Sequence[str] = ()) -> Pair:
    """A server certificate for IP addresses and DNS names."""
    alternatives: list[x509.GeneralName] = [x509.IPAddress(ipaddress.ip_address(address)) for address in addresses]
    return _leaf(issuer, name, "", ExtendedKeyUsageOID.SERVER_AUTH, [*alternatives, *map(x509.DNSName, names)])


def kubeconfig(url: str, issuer: Pair, user: Pair) -> str:
    """A kubeconfig with everything inside, as JSON, which is YAML."""
    cluster = {"server": url, "certificate-authority-data": _encoded(issuer.certificate_pem)}
    credentials = {"client-certificate-data": _encoded(user.certificate_pem), "client-key-data": _encoded(user.key_pem)}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "lab", "cluster": cluster}],
        "users": [{"name": "user", "user": credentials}],
        "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "user"}}],
        "current-context": "lab",
    }
    return json.dumps(config, indent=2) + "\n"


def write_private(path: Path, content: bytes) -> None:
    """Writes a file that only its owner may read."""
    path.touch(mode=0o600)
    path.chmod(0o600)
    path.write_bytes(content)


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """The private key as unencrypted PEM."""
    kind = serialization.PrivateFormat.TraditionalOpenSSL
    return key.private_bytes(serialization.Encoding.PEM, kind, serialization.NoEncryption())


def write_signing_key(folder: Path, name: str) -> None:
    """A key pair that signs ServiceAccount tokens: `<name>.key` and `<name>.pub`."""
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    write_private(folder / f"{name}.key", key_pem(key))
    (folder / f"{name}.pub").write_bytes(public)


def _leaf(
    issuer: Pair, name: str, group: str, usage: x509.ObjectIdentifier, alternatives: list[x509.GeneralName]
) -> Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group)] if group else []
    subject = x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = _builder(subject, issuer.certificate.subject, key)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(_key_usage(digital_signature=True, certificate_signing=False), critical=True)
    builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
    builder = _key_identifiers(builder, key, issuer.key)
    if alternatives:
        builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
    return Pair(builder.sign(issuer.key, hashes.SHA256()), key)


def _key_identifiers(
    builder: x509.CertificateBuilder, key: ec.EllipticCurvePrivateKey, issuer: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    """RFC 5280 4.2.1.1-2 ask for both; Python 3.13 refuses a certificate without the authority's."""
    own = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    authoritys = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.public_key())
    return builder.add_extension(own, critical=False).add_extension(authoritys, critical=False)


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.now(timezone.utc)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATED)
        .not_valid_after(now + VALIDITY)
    )


def _key_usage(*, digital_signature: bool, certificate_signing: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=digital_signature,
        key_cert_sign=certificate_signing,
        crl_sign=certificate_signing,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()
