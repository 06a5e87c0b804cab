# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The signing keys of the lab's repositories, made once a machine; two of them for a change of keys."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dev.cache import artifact
from dev.progress import output, run

ALGORITHM = "rsa3072"  # RSA as NVIDIA's own keys, so that the same code paths of apt, rpm and gpg are used.


@dataclass(frozen=True)
class Kind:
    """What a key is for. `expired`: the day at which its public part says that it ended; it signs all the same."""

    user: str
    expired: str = ""


# The clock when a key is made that has expired by now, and when its end is set.
BORN, LIMITED = (["--faked-system-time", f"{day}T000000!"] for day in ("20160624", "20160625"))
KINDS = {
    "cuda": Kind("cudatools <cuda@example.org>"),
    "cuda-rpm": Kind("cudatools <cuda-rpm@example.org>"),
    "cuda-next": Kind("cudatools <cuda-next@example.org>"),
    "cuda-retired": Kind("cudatools <cuda-retired@example.org>", expired="2022-04-27"),
    "toolkit": Kind("nvidia-container-toolkit <toolkit@example.org>"),
    "debian": Kind("gpu.fleet lab <debian@example.org>"),
    "ubuntu": Kind("gpu.fleet lab <ubuntu@example.org>"),
    "el": Kind("gpu.fleet lab <el@example.org>"),
}


@dataclass(frozen=True)
class Key:
    """A signing key: `public` is ASCII-armoured, `binary` the same not so, `fingerprint` 40 hex digits."""

    kind: str
    secret: Path
    public: Path
    binary: Path
    fingerprint: str

    @property
    def short_id(self) -> str:
        """The last eight digits, after which NVIDIA names the file in its repository."""
        return self.fingerprint[-8:]

    @property
    def long_id(self) -> str:
        """The last sixteen digits, which apt names in its messages."""
        return self.fingerprint[-16:]


def key(kind: str) -> Key:
    """One of KINDS. Raises KeyError for an unknown `kind`, CommandFailed when gpg does."""
    row = KINDS[kind]
    inputs = [row.user, ALGORITHM, *([row.expired] if row.expired else [])]
    folder = artifact("packages-key", inputs, lambda out: _make(row, out))
    fingerprint = (folder / "fingerprint").read_text().strip()
    return Key(kind, folder / "secret.asc", folder / "public.asc", folder / "public.gpg", fingerprint)


def sign(name: Key, release: Path) -> None:
    """Writes InRelease and Release.gpg beside the `Release` file of an apt repository."""
    with home(name) as gpg:
        run([*gpg, "--clearsign", "--output", release.with_name("InRelease"), release])
        run([*gpg, "--armor", "--detach-sign", "--output", release.with_name("Release.gpg"), release])


def sign_metadata(name: Key, repomd: Path) -> None:
    """Writes the signature of a dnf repository's repomd.xml, and the key beside it."""
    with home(name) as gpg:
        run([*gpg, "--armor", "--detach-sign", "--output", repomd.with_name("repomd.xml.asc"), repomd])
    repomd.with_name("repomd.xml.key").write_bytes(name.public.read_bytes())


@contextmanager
def home(name: Key | None = None) -> Iterator[list[str | Path]]:
    """A gpg command with a home of its own, where `name` can sign; removed afterwards.

    The path is short, because the agent's socket lies there. It is the command's third word.
    """
    with tempfile.TemporaryDirectory(prefix="gpg-", dir="/tmp") as folder:
        try:
            gpg: list[str | Path] = ["gpg", "--homedir", folder, "--batch", "--quiet"]
            gpg += ["--pinentry-mode", "loopback", "--passphrase", ""]
            if name:
                run([*gpg, "--import", name.secret])
            yield gpg
        finally:
            run(["gpgconf", "--homedir", folder, "--kill", "all"])


def _make(row: Kind, out: Path) -> None:
    with home() as gpg:
        run([*gpg, *(BORN if row.expired else []), "--quick-gen-key", row.user, ALGORITHM, "sign", "never"])
        listing = output([*gpg, "--list-keys", "--with-colons", "--with-fingerprint"])
        fingerprint = next(line.split(":")[9] for line in listing.splitlines() if line.startswith("fpr:"))
        run([*gpg, "--armor", "--output", out / "secret.asc", "--export-secret-keys", fingerprint])
        if row.expired:
            run([*gpg, *LIMITED, "--quick-set-expire", fingerprint, row.expired])
        run([*gpg, "--armor", "--output", out / "public.asc", "--export", fingerprint])
        run([*gpg, "--output", out / "public.gpg", "--export", fingerprint])
        (out / "fingerprint").write_text(fingerprint + "\n")
    (out / "secret.asc").chmod(0o600)
