# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import errno
import subprocess
from dataclasses import replace

import pytest

from simulator import firmware
from simulator.kernel_modules import Information, Refused
from simulator.place import Place

UNSIGNED = Information("nvidia", "580.65.06", "NVIDIA", "6.1.0", (), "")


@pytest.fixture(scope="module")
def signing(tmp_path_factory):
    """A key's certificate (DER), and a detached signature by it as the kernel's sign-file makes one."""
    folder = tmp_path_factory.mktemp("key")
    subject = ["-subj", "/CN=DKMS module signing key/", "-days", "9"]
    made = ["-newkey", "rsa:2048", "-nodes", "-keyout", "key", "-out", "pem"]
    run(folder, "req", "-new", "-x509", *subject, *made)
    run(folder, "x509", "-in", "pem", "-outform", "DER", "-out", "der")
    (folder / "module").write_bytes(b"module")
    options = ["-binary", "-noattr", "-nocerts", "-outform", "DER"]
    run(folder, "cms", "-sign", "-in", "module", "-signer", "pem", "-inkey", "key", "-out", "signature", *options)
    return (folder / "der").read_bytes(), (folder / "signature").read_bytes()


def run(folder, *arguments):
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


@pytest.mark.parametrize(
    ("mode", "signed", "enrolled", "refused"),
    [
        (firmware.BIOS, False, False, False),
        (firmware.UEFI, False, False, False),
        (firmware.SETUP_MODE, True, False, False),
        (firmware.SECURE_BOOT, False, False, True),
        (firmware.SECURE_BOOT, True, False, True),
        (firmware.SECURE_BOOT, False, True, True),
        (firmware.SECURE_BOOT, True, True, False),
    ],
)
def test_only_secure_boot_refuses_and_only_what_no_enrolled_key_has_signed(
    tmp_path, signing, mode, signed, enrolled, refused
):
    place, (certificate, signature) = Place(tmp_path), signing
    firmware.install(place, mode)
    if enrolled:
        request(place, certificate)
        place.efi_console.touch()
        firmware.boot(place)
    module = replace(UNSIGNED, signature=signature if signed else b"")
    if refused:
        with pytest.raises(Refused) as caught:
            firmware.verify(place, module)
        assert caught.value.number == errno.EKEYREJECTED
    else:
        firmware.verify(place, module)


def test_keys_are_enrolled_only_when_somebody_confirms(tmp_path, signing):
    place = Place(tmp_path)
    firmware.install(place, firmware.SECURE_BOOT)
    request(place, signing[0])
    firmware.boot(place)
    assert sorted(path.name.partition("-")[0] for path in place.efi_variables.iterdir()) == ["SecureBoot", "SetupMode"]


def test_another_key_does_not_help(tmp_path, signing):
    place = Place(tmp_path)
    firmware.install(place, firmware.SECURE_BOOT)
    assert not firmware.is_trusted(place, replace(UNSIGNED, signature=signing[1]))
    assert firmware.is_trusted(place, replace(UNSIGNED, in_tree=True))


def test_signature_lists_are_read_back():
    lists = firmware.signature_list(b"one") + firmware.signature_list(b"two")
    assert list(firmware.certificates(lists)) == [b"one", b"two"]


def request(place, certificate):
    """What mokutil --import leaves."""
    path = place.efi_variables / f"MokNew-{firmware.SHIM}"
    path.write_bytes(firmware.LASTING + firmware.signature_list(certificate))
