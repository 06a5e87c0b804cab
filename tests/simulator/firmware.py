# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""UEFI firmware of a simulated host: Secure Boot, the keys that its owner has enrolled, and what the kernel trusts.

The variables are files of the form of efivarfs (four bytes of attributes, then the value), which the real mokutil
reads and writes. Keys are EFI signature lists of X.509 certificates (UEFI specification 2.10, section 32.4.1).
"""

from __future__ import annotations

import argparse
import errno
import shutil
import struct
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

from simulator import kernel_log
from simulator.kernel_modules import Information, Refused
from simulator.place import Place

BIOS, UEFI, SECURE_BOOT, SETUP_MODE = "bios", "uefi", "secure-boot", "setup-mode"
# Mode -> values of SecureBoot and SetupMode.
MODES = {UEFI: (0, 0), SECURE_BOOT: (1, 0), SETUP_MODE: (0, 1)}
GLOBAL = "8be4df61-93ca-11d2-aa0d-00e098032b8c"  # EFI_GLOBAL_VARIABLE
SHIM = "605dab50-e046-4300-abb6-3dd810dd8b23"
X509 = uuid.UUID("a5c059a1-94e4-4aa7-87b5-ab155c2bf072").bytes_le  # EFI_CERT_X509_GUID
VISIBLE = struct.pack("<I", 6)  # boot service and runtime access
LASTING = struct.pack("<I", 7)  # non-volatile, too
OWNER_BYTES = 16  # before each certificate


def install(place: Place, mode: str) -> None:
    """Gives the machine, before it boots, a firmware in `mode`; no variables at all where that is `bios`."""
    shutil.rmtree(place.efi_variables, ignore_errors=not place.efi_variables.exists())
    if mode == BIOS:
        return
    secure, setup = MODES[mode]
    place.efi_variables.mkdir(parents=True)
    _write(place, f"SecureBoot-{GLOBAL}", VISIBLE + bytes([secure]))
    _write(place, f"SetupMode-{GLOBAL}", VISIBLE + bytes([setup]))


def boot(place: Place) -> None:
    """What shim and its MokManager do: keys that were confirmed at the console are enrolled, other requests end."""
    new, confirmed = _variable(place, f"MokNew-{SHIM}"), place.efi_console
    if new.exists() and confirmed.exists():
        _enroll(place, new.read_bytes()[len(LASTING) :])
    for name in ("MokNew", "MokAuth"):
        _variable(place, f"{name}-{SHIM}").unlink(missing_ok=True)
    confirmed.unlink(missing_ok=True)


def announce(place: Place) -> None:
    """The kernel's lines on Secure Boot."""
    if place.efi_variables.exists():
        state = "enabled" if is_enforced(place) else "disabled"
        kernel_log.write(place, f"secureboot: Secure boot {state}", level=kernel_log.INFO, seconds=0.0)
    if is_enforced(place):
        text = "Kernel is locked down from EFI Secure Boot; see man kernel_lockdown.7"
        kernel_log.write(place, text, level=kernel_log.NOTICE, seconds=0.0)


def is_enforced(place: Place) -> bool:
    """Whether only modules with a signature of an enrolled key may be loaded."""
    variable = _variable(place, f"SecureBoot-{GLOBAL}")
    return variable.exists() and variable.read_bytes()[len(VISIBLE) :] == b"\1"


def is_trusted(place: Place, information: Information) -> bool:
    """Whether an enrolled certificate is the one that the module's signature names, by issuer and serial number.

    The distribution's own modules are signed by a key in the kernel itself.
    """
    names = [_issuer_and_serial(certificate) for certificate in certificates(_mok_list(place))]
    return information.in_tree or any(name in information.signature for name in names)


def verify(place: Place, information: Information) -> None:
    """Raises Refused(EKEYREJECTED) for a module that may not be loaded; kernel/module/signing.c of Linux."""
    if is_trusted(place, information):
        return
    if is_enforced(place):
        reason = "module with unavailable key" if information.signature else "unsigned module"
        text = f"{information.name}: loading of {reason} is rejected"
        kernel_log.write(place, text, level=kernel_log.NOTICE)
        raise Refused(errno.EKEYREJECTED)


def certificates(lists: bytes) -> Iterator[bytes]:
    """The X.509 certificates (DER) in EFI signature lists."""
    while lists:
        kind = lists[:16]
        size, header, each = struct.unpack_from("<III", lists, 16)
        body = lists[28 + header : size]
        if kind == X509:
            yield from (body[at + OWNER_BYTES : at + each] for at in range(0, len(body), each))
        lists = lists[size:]


def signature_list(certificate: bytes) -> bytes:
    """One certificate as an EFI signature list, owned by shim."""
    each = OWNER_BYTES + len(certificate)
    return X509 + struct.pack("<III", 28 + each, 0, each) + uuid.UUID(SHIM).bytes_le + certificate


def add_verbs(verbs: argparse._SubParsersAction[argparse.ArgumentParser], place: Place) -> None:
    """`simhw mok`: what a person does at the console of the machine."""
    mok = verbs.add_parser("mok", help="Machine Owner Keys: confirm at the next boot what mokutil --import asked for")
    mok.add_argument(
        "action", choices=("confirm", "enroll"), help="enroll: at once, from --certificate, without asking"
    )
    mok.add_argument("--certificate", type=Path, help="DER file")
    mok.set_defaults(run=lambda options: _mok(place, options))


def _mok(place: Place, options: argparse.Namespace) -> None:
    if not place.efi_variables.exists():
        sys.stderr.write("simhw: EFI variables are not supported on this system\n")
        raise Refused(errno.ENODEV)
    if options.action == "confirm":
        place.efi_console.touch()
    elif options.certificate is None:
        sys.stderr.write("simhw: mok enroll needs --certificate\n")
        raise Refused(errno.EINVAL)
    else:
        _enroll(place, signature_list(options.certificate.read_bytes()))


def _enroll(place: Place, lists: bytes) -> None:
    _write(place, f"MokListRT-{SHIM}", VISIBLE + _mok_list(place) + lists)


def _mok_list(place: Place) -> bytes:
    variable = _variable(place, f"MokListRT-{SHIM}")
    return variable.read_bytes()[len(VISIBLE) :] if variable.exists() else b""


def _variable(place: Place, name: str) -> Path:
    return place.efi_variables / name


def _write(place: Place, name: str, value: bytes) -> None:
    _variable(place, name).write_bytes(value)


def _issuer_and_serial(certificate: bytes) -> bytes:
    """IssuerAndSerialNumber of PKCS #7 as it stands in a signature of this certificate's key (RFC 5652, 10.2.4)."""
    _whole, inside, _end = _element(certificate, 0)
    _whole, at, _end = _element(certificate, inside)  # TBSCertificate
    if certificate[at] == 0xA0:  # version
        at = _element(certificate, at)[2]
    serial_begin, serial_end = at, _element(certificate, at)[2]
    issuer_begin = _element(certificate, serial_end)[2]  # past the algorithm
    issuer_end = _element(certificate, issuer_begin)[2]
    return certificate[issuer_begin:issuer_end] + certificate[serial_begin:serial_end]


def _element(data: bytes, at: int) -> tuple[int, int, int]:
    """Where a DER element, its content and the next element begin."""
    length, begin = data[at + 1], at + 2
    if length & 0x80:
        count = length & 0x7F
        length, begin = int.from_bytes(data[begin : begin + count], "big"), begin + count
    return at, begin, begin + length
