# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads Secure Boot: EFI variables, mokutil's state and its lists of keys. Private to this collection.

Sources: kernel.org efivarfs; mokutil's source (mokutil.c); system76/firmware-open#388, ublue-os/bazzite#373,
lcp/mokutil#45, secureblue#1043.
"""

from __future__ import annotations

import re
from typing import Any

from ..._catalog.module_origins import SIGNERS

ENABLED, DISABLED, UNAVAILABLE, UNKNOWN = "enabled", "disabled", "unavailable", "unknown"

# Offset, then bytes in twos (hexdump -C, od -t x1) or, of xxd with its colon, in fours; then perhaps the characters.
DUMP = re.compile(r"^[0-9a-f]{6,8}(?::(?P<fours>(?: [0-9a-f]{2}(?:[0-9a-f]{2})?\b)+)|(?P<twos>(?:\s+[0-9a-f]{2}\b)+))")
# od -An -t u1
DECIMALS = re.compile(r"^\s*(\d{1,3})\s+(\d{1,3})\s+(\d{1,3})\s+(\d{1,3})\s+(\d{1,3})\s*$")
SB_STATE = re.compile(r"^SecureBoot (?P<state>enabled|disabled)", re.MULTILINE)
KEY = re.compile(r"^\[key (?P<number>\d+)\]")
FINGERPRINT = re.compile(r"^SHA1 Fingerprint: *(?P<fingerprint>[0-9a-fA-F:]+)")
COMMON_NAME = re.compile(r"^\s*Subject:.*?\bCN ?= ?(?P<name>[^,/\n]+)")
KEY_TEST = re.compile(r"^(?P<file>.+?) is (?P<no>not )?(?:already )?enrolled", re.MULTILINE)
SHORT = re.compile(r"^(?P<fingerprint>[0-9a-f]{10}) (?P<name>\S.*?)\s*$")
# No list in the firmware, or the machine was not booted by EFI at all.
NO_EFI = re.compile(r"EFI variables are not supported|This system doesn't support Secure Boot")


def read_efi_variable(text: str) -> dict[str, Any]:
    """A one-byte EFI variable such as SecureBoot or SetupMode: the file's own bytes, or a hex dump of them.

    ``attributes``: eight hex digits, ``value``: 0 or 1; None for a text of another form. ``secure_boot`` (for the
    variable SecureBoot): enabled, disabled or unknown. An absent file means unknown too: some firmware and kernels hide
    it.
    """
    data = _bytes(text)
    value = efi_value(data)
    return {
        "attributes": None if value is None else data[:4].hex(),
        "value": value,
        "secure_boot": {1: ENABLED, 0: DISABLED}.get(value, UNKNOWN) if value is not None else UNKNOWN,
    }


def efi_value(data: bytes) -> int | None:
    """The value of a one-byte EFI variable file: four bytes of attributes stand before it. None for another length."""
    return data[4] if len(data) == 5 else None


def _bytes(text: str) -> bytes:
    rows = [found["fours"] or found["twos"] for found in map(DUMP.match, text.lower().splitlines()) if found]
    decimals = DECIMALS.match(text)
    if rows:
        return bytes.fromhex("".join("".join(row.split()) for row in rows))
    if decimals:
        return bytes(int(number) & 0xFF for number in decimals.groups())
    # A byte that is no text was kept as a surrogate, whose last eight bits it is.
    return bytes(ord(character) & 0xFF for character in text[:64])


def read_sb_state(text: str) -> dict[str, Any]:
    """``mokutil --sb-state``, both streams together.

    ``secure_boot``: enabled, disabled, unavailable (no EFI: never enabled) or unknown (the variable could not be read).
    ``efi``: False without EFI variables. ``setup_mode``: keys are not enrolled in the firmware. ``validation``: False
    when shim does not check signatures, so that modules load although Secure Boot is on. ``lines``: how many there are.
    """
    found = SB_STATE.search(text)
    no_efi = NO_EFI.search(text) is not None
    return {
        "secure_boot": found["state"] if found else UNAVAILABLE if no_efi else UNKNOWN,
        "efi": False if no_efi else True if found else None,
        "setup_mode": "Platform is in Setup Mode" in text,
        "validation": "validation is disabled in shim" not in text if found else None,
        "lines": len([line for line in text.splitlines() if line.strip()]),
    }


def read_enrolled_keys(text: str) -> dict[str, Any]:
    """``mokutil --list-enrolled`` (also ``--list-new``), in the long form and the short one.

    ``keys``: rows of ``name`` (the subject's common name) and ``fingerprint`` (hex without colons, ten digits in the
    short form). ``names``: of all. ``dkms_key``, ``nvidia_key``: names of keys that sign modules of DKMS and of NVIDIA,
    else None. ``efi``: False without EFI variables.
    """
    keys = _long(text) or [found.groupdict() for found in map(SHORT.match, text.splitlines()) if found]
    names = [key["name"] for key in keys]
    return {
        "keys": keys,
        "names": names,
        "dkms_key": _signer(names, "DKMS"),
        "nvidia_key": _signer(names, "NVIDIA"),
        "efi": False if NO_EFI.search(text) else None if not keys and "MokListRT is empty" not in text else True,
    }


def _long(text: str) -> list[dict[str, Any]]:
    """Issuer stands before subject, and both have a common name; extensions follow."""
    keys: list[dict[str, Any]] = []
    for line in text.splitlines():
        fingerprint, name = FINGERPRINT.match(line), COMMON_NAME.match(line)
        if KEY.match(line):
            keys.append({"name": None, "fingerprint": None})
        elif fingerprint and keys:
            keys[-1]["fingerprint"] = fingerprint["fingerprint"].replace(":", "").lower()
        elif name and keys and keys[-1]["name"] is None:
            keys[-1]["name"] = name["name"].strip()
    return keys


def _signer(names: list[str | None], owner: str) -> str | None:
    rows = [row for row in SIGNERS if row.owner.startswith(owner)]
    return next((n for n in names for row in rows if n and re.fullmatch(row.name, n)), None)


def read_key_test(text: str) -> dict[str, Any]:
    """``mokutil --test-key FILE``: ``file``, ``enrolled`` (None: the text does not say)."""
    found = KEY_TEST.search(text)
    return {"file": found["file"] if found else None, "enrolled": None if found is None else not found["no"]}
