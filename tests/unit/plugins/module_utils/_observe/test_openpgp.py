# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys: fingerprint, armor, and the refusal of another key."""

from __future__ import annotations

import base64
import hashlib

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._ansible import fetch
from ansible_collections.gpu.fleet.plugins.module_utils._observe.openpgp import NoKey, armor, dearmor, fingerprint
from ansible_collections.gpu.fleet.plugins.module_utils._observe.repository_key import KeyRefused, fetch_key

# A version 4 public key packet: RSA with tiny numbers, enough for a fingerprint (RFC 4880 5.5.2 and 12.2).
BODY = b"\x04" + (1577836800).to_bytes(4, "big") + b"\x01" + b"\x00\x08\xc5" + b"\x00\x02\x03"
OLD_FORM = bytes([0x80 | 6 << 2]) + bytes([len(BODY)]) + BODY
NEW_FORM = bytes([0xC0 | 6]) + bytes([len(BODY)]) + BODY
LONG_FORM = bytes([0x80 | 6 << 2 | 1]) + len(BODY).to_bytes(2, "big") + BODY
PRINT = hashlib.sha1(b"\x99" + len(BODY).to_bytes(2, "big") + BODY).hexdigest().upper()


@pytest.mark.parametrize("data", [OLD_FORM, NEW_FORM, LONG_FORM, armor(OLD_FORM).encode()])
def test_fingerprint(data):
    assert fingerprint(data) == PRINT


def test_armor_goes_both_ways():
    text = armor(NEW_FORM)
    assert text.startswith("-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n")
    assert dearmor(text.encode()) == NEW_FORM
    assert armor(text.encode()) == text


def test_armor_with_headers_and_a_damaged_one():
    text = armor(NEW_FORM).replace("BLOCK-----\n\n", "BLOCK-----\nVersion: GnuPG v2\n\n", 1)
    assert dearmor(text.encode()) == NEW_FORM
    with pytest.raises(NoKey, match="damaged"):
        dearmor(text.replace(base64.b64encode(NEW_FORM).decode()[:8], "!!!!", 1).encode())


@pytest.mark.parametrize("data", [b"", b"<html>404</html>", bytes([0xC0 | 2, 3]) + b"\x04ab", b"\x98\x03\x03ab"])
def test_no_key(data):
    with pytest.raises(NoKey):
        fingerprint(data)


def test_a_key_is_fetched_and_held_against_its_fingerprint(tmp_path):
    (tmp_path / "key.pub").write_bytes(NEW_FORM)
    url = (tmp_path / "key.pub").as_uri()
    assert fetch_key(url, wanted=PRINT.lower(), fetch=fetch, option="repository_key") == armor(NEW_FORM)
    with pytest.raises(KeyRefused) as refused:
        fetch_key(url, wanted="AB" * 20, fetch=fetch, option="repository_key")
    assert PRINT in str(refused.value)
    assert "repository_key_fingerprint" in str(refused.value)


def test_a_key_that_is_not_there_names_the_option(tmp_path):
    with pytest.raises(KeyRefused, match="check repository_key_url"):
        fetch_key((tmp_path / "absent").as_uri(), wanted=PRINT, fetch=fetch, option="repository_key")
    (tmp_path / "page").write_text("<html>")
    with pytest.raises(KeyRefused, match="is no key"):
        fetch_key((tmp_path / "page").as_uri(), wanted=PRINT, fetch=fetch, option="repository_key")
