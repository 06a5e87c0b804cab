# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Secure Boot: the real mokutil reads the firmware, and the kernel takes only modules whose key is enrolled."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lab.asked import say
from lab.driven import with_hardware
from lab.host import Host

KEY = "/var/lib/dkms/mok.pub"
VARIABLE = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
# Writes the driver's module without its signature: 12 bytes and 28 letters end it (struct module_signature of Linux).
STRIP = """python3 -c '
import glob, struct
image = open(glob.glob("/lib/modules/*/updates/dkms/nvidia.ko")[0], "rb").read()
size = struct.unpack(">I", image[-32:-28])[0]
open("/root/nvidia.ko", "wb").write(image[: -size - 40])
'"""
STATES = {
    "h100x2": (1, "EFI variables are not supported on this system"),
    "h100x2+uefi": (0, "SecureBoot disabled"),
    "h100x2+secure-boot": (0, "SecureBoot enabled"),
    "h100x2+setup-mode": (0, "SecureBoot disabled\nPlatform is in Setup Mode"),
}


@pytest.fixture(scope="module")
def signed(equipped: Host) -> Host:
    """The host with a driver that dkms has signed, and mokutil, as snapshot `signed`."""
    equipped.restore("driver")
    equipped.run(["apt-get", "--quiet", "--yes", "install", "mokutil"])
    equipped.snapshot("signed")
    return equipped


@pytest.mark.parametrize("profile", STATES)
def test_state(signed: Host, profile: str) -> None:
    with_hardware(signed, profile, "signed")
    status, text = say(signed, "mokutil --sb-state")
    wanted = STATES[profile]
    assert (int(status != 0), text.strip()) == wanted
    assert signed.succeeds(f"test -e {VARIABLE}") == (wanted[0] == 0)
    assert signed.succeeds("nvidia-smi -L") == (profile != "h100x2+secure-boot")


def test_module_is_refused_until_its_key_is_enrolled(signed: Host) -> None:
    with_hardware(signed, "h100x2+secure-boot", "signed")
    status, text = say(signed, "modprobe nvidia")
    assert status != 0
    assert "could not insert 'nvidia': Key was rejected by service" in text
    assert "nvidia: loading of module with unavailable key is rejected" in signed.run(["dmesg"])
    assert "is not enrolled" in say(signed, f"mokutil --test-key {KEY}")[1]
    signed.shell(f"mokutil --generate-hash=secret > /root/hash; mokutil --import {KEY} --hash-file /root/hash")
    assert "DKMS module signing key" in signed.run(["mokutil", "--list-new"])
    signed.run(["/usr/lib/simhw/simhw", "mok", "confirm"])
    signed.reboot_and_wait()
    assert "DKMS module signing key" in signed.run(["mokutil", "--list-enrolled"])
    assert "is already enrolled" in say(signed, f"mokutil --test-key {KEY}")[1]
    assert signed.succeeds("nvidia-smi -L")


def test_unconfirmed_request_ends_with_the_next_boot(signed: Host) -> None:
    with_hardware(signed, "h100x2+secure-boot", "signed")
    signed.shell(f"mokutil --generate-hash=secret > /root/hash; mokutil --import {KEY} --hash-file /root/hash")
    signed.reboot_and_wait()
    assert "DKMS" not in say(signed, "mokutil --list-new; mokutil --list-enrolled")[1]
    assert not signed.succeeds("modprobe nvidia")


def test_unsigned_module_is_refused(signed: Host) -> None:
    with_hardware(signed, "h100x2+secure-boot", "signed")
    status, text = say(signed, f"{STRIP}; insmod /root/nvidia.ko")
    assert status != 0
    assert "Key was rejected by service" in text
    assert "nvidia: loading of unsigned module is rejected" in signed.run(["dmesg"])


def driver_facts(host: Host) -> dict[str, Any]:
    """``driver`` of gpu_info."""
    folder = host.lab.folder / "gpu-info-driver"
    arguments = ["--args=gather_subset=driver", f"--tree={folder}"]
    host.lab.run(["ansible", host.name, "--module-name=gpu.fleet.gpu_info", *arguments], env=host.lab.ansible_env())
    found: dict[str, Any] = json.loads((folder / host.name).read_text())["driver"]
    return found


def test_gpu_info_tells_whose_modules_the_kernel_takes(signed: Host) -> None:
    with_hardware(signed, "h100x2+secure-boot", "signed")
    found = driver_facts(signed)
    assert (found["secure_boot"], found["loaded"], found["signer"]) == (True, None, "DKMS module signing key")
    assert {"path": KEY, "enrolled": False} in found["module_trust"]["dkms_keys"]
    signed.shell(f"mokutil --generate-hash=secret > /root/hash; mokutil --import {KEY} --hash-file /root/hash")
    assert driver_facts(signed)["module_trust"]["pending_keys"] == ["DKMS module signing key"]
    signed.run(["/usr/lib/simhw/simhw", "mok", "confirm"])
    signed.reboot_and_wait()
    found = driver_facts(signed)
    assert "DKMS module signing key" in found["module_trust"]["enrolled_keys"]
    assert {"path": KEY, "enrolled": True} in found["module_trust"]["dkms_keys"]
    assert found["loaded"]["signer"] == "DKMS module signing key"
