# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys that sign kernel modules, made once a machine. Their names are what `modinfo -F signer` shows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dev.cache import artifact
from dev.progress import run

SIGNERS = {"canonical": "Canonical Ltd. Kernel Module Signing", "nvidia": "NVIDIA Corporation: Linux driver module key"}


@dataclass(frozen=True)
class ModuleKey:
    """`certificate` is in DER form, as firmware and mokutil take it."""

    secret: Path
    certificate: Path


def module_key(kind: str) -> ModuleKey:
    """One of SIGNERS. Raises KeyError for another, CommandFailed when openssl does."""
    name = SIGNERS[kind]
    folder = artifact("packages-module-key", [name], lambda out: _make(name, out))
    return ModuleKey(folder / "secret.pem", folder / "certificate.der")


def _make(name: str, out: Path) -> None:
    secret = out / "secret.pem"
    command = ["openssl", "req", "-new", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "36500", "-utf8"]
    run([*command, "-subj", f"/CN={name}", "-keyout", secret, "-outform", "DER", "-out", out / "certificate.der"])
    secret.chmod(0o600)
