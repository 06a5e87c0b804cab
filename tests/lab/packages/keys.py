# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The signing keys of the lab's repositories, made once a machine: one each for CUDA, toolkit and Debian."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dev.cache import artifact
from dev.progress import output, run

# RSA as NVIDIA's own keys, so that the same code paths of apt and gpg are used.
KINDS = {"cuda": "cudatools", "toolkit": "nvidia-container-toolkit", "debian": "gpu.fleet lab"}
ALGORITHM = "rsa3072"


@dataclass(frozen=True)
class Key:
    """A signing key: `public` is ASCII-armoured, `binary` the same not so, `fingerprint` 40 hex digits."""

    secret: Path
    public: Path
    binary: Path
    fingerprint: str

    @property
    def short_id(self) -> str:
        """The last eight digits, after which NVIDIA names the file in its repository."""
        return self.fingerprint[-8:]


def key(kind: str) -> Key:
    """The key of one repository. Raises KeyError for an unknown `kind`, CommandFailed when gpg does."""
    user = f"{KINDS[kind]} <{kind}@example.org>"
    folder = artifact("packages-key", [user, ALGORITHM], lambda out: _make(user, out))
    fingerprint = (folder / "fingerprint").read_text().strip()
    return Key(folder / "secret.asc", folder / "public.asc", folder / "public.gpg", fingerprint)


def sign(name: Key, release: Path) -> None:
    """Writes InRelease and Release.gpg beside the `Release` file."""
    with _home() as gpg:
        run([*gpg, "--import", name.secret])
        run([*gpg, "--clearsign", "--output", release.with_name("InRelease"), release])
        run([*gpg, "--armor", "--detach-sign", "--output", release.with_name("Release.gpg"), release])


def _make(user: str, out: Path) -> None:
    with _home() as gpg:
        run([*gpg, "--quick-gen-key", user, ALGORITHM, "sign", "never"])
        listing = output([*gpg, "--list-keys", "--with-colons", "--with-fingerprint"])
        fingerprint = next(line.split(":")[9] for line in listing.splitlines() if line.startswith("fpr:"))
        run([*gpg, "--armor", "--output", out / "public.asc", "--export", fingerprint])
        run([*gpg, "--output", out / "public.gpg", "--export", fingerprint])
        run([*gpg, "--armor", "--output", out / "secret.asc", "--export-secret-keys", fingerprint])
        (out / "fingerprint").write_text(fingerprint + "\n")
    (out / "secret.asc").chmod(0o600)


@contextmanager
def _home() -> Iterator[list[str | Path]]:
    """A gpg command with a home of its own; a short path, because the agent's socket lies there."""
    with tempfile.TemporaryDirectory(prefix="gpg-", dir="/tmp") as home:
        try:
            yield ["gpg", "--homedir", home, "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", ""]
        finally:
            run(["gpgconf", "--homedir", home, "--kill", "all"])
