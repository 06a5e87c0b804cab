# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads an OpenPGP public key: its fingerprint, and its armored form. Private to this collection.

Only what pinning a key needs (RFC 4880 and RFC 9580: armor, packet headers, version 4 public keys), so that no host
needs gpg for it.
"""

from __future__ import annotations

import base64
import hashlib
import struct
import textwrap

PUBLIC_KEY = 6
BEGIN, END = "-----BEGIN PGP PUBLIC KEY BLOCK-----", "-----END PGP PUBLIC KEY BLOCK-----"


class NoKey(ValueError):
    """Data that is no OpenPGP public key; the message says what is wrong."""


def fingerprint(data: bytes) -> str:
    """The fingerprint of the first public key in ``data`` (armored or binary), 40 upper-case digits. Raises NoKey."""
    tag, body = _first_packet(dearmor(data))
    if tag != PUBLIC_KEY or body[:1] != b"\x04":
        raise NoKey(f"wanted an OpenPGP version 4 public key, found packet {tag} of {len(body)} bytes")
    return hashlib.sha1(b"\x99" + struct.pack(">H", len(body)) + body, usedforsecurity=False).hexdigest().upper()


def dearmor(data: bytes) -> bytes:
    """The binary form of a key that may be armored. Raises NoKey for neither."""
    if data[:1] and data[0] & 0x80:
        return data
    lines = data.decode("ascii", "replace").splitlines()
    if BEGIN not in lines or END not in lines:
        raise NoKey(
            "wanted an OpenPGP public key, found neither its binary form nor -----BEGIN PGP PUBLIC KEY BLOCK-----"
        )
    inner = lines[lines.index(BEGIN) + 1 : lines.index(END)]
    body = inner[inner.index("") + 1 :] if "" in inner else inner
    try:
        return base64.b64decode("".join(line for line in body if not line.startswith("=")), validate=True)
    except ValueError as error:
        raise NoKey(f"the armored key is damaged: {error}") from error


def armor(data: bytes) -> str:
    """The armored form of a key in either form; apt takes it without a checksum (RFC 9580 6.1)."""
    text = base64.b64encode(dearmor(data)).decode()
    return "\n".join([BEGIN, "", *textwrap.wrap(text, 64), f"={_crc24(dearmor(data))}", END, ""])


def _crc24(data: bytes) -> str:
    """The checksum that older gpgv wants (RFC 4880 6.1)."""
    crc = 0xB704CE
    for byte in data:
        crc ^= byte << 16
        for _bit in range(8):
            crc = (crc << 1) ^ (0x1864CFB if crc & 0x800000 else 0)
    return base64.b64encode((crc & 0xFFFFFF).to_bytes(3, "big")).decode()


def _first_packet(data: bytes) -> tuple[int, bytes]:
    """Tag and body of the first packet, old or new header form."""
    if len(data) < 3 or not data[0] & 0x80:
        raise NoKey("the data does not begin with an OpenPGP packet")
    if data[0] & 0x40:
        tag, (start, length) = data[0] & 0x3F, _new_length(data)
    else:
        kind = data[0] & 3
        if kind == 3:
            raise NoKey("the first packet has no length")
        tag, start = (data[0] >> 2) & 0x0F, 1 + (1 << kind)
        length = int.from_bytes(data[1:start], "big")
    return tag, data[start : start + length]


def _new_length(data: bytes) -> tuple[int, int]:
    first = data[1]
    if first < 192:
        return 2, first
    if first < 224:
        return 3, ((first - 192) << 8) + data[2] + 192
    return 6, int.from_bytes(data[2:6], "big")
