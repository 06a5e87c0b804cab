# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors of package managers, from the text to the remedy: one recorded text of our own for every row of advice."""

from __future__ import annotations

from pathlib import Path

import pytest
from concluded.comparing import read_cases

from ansible_collections.gpu.fleet.plugins.module_utils._catalog.package_advice import PACKAGE_ADVICE
from ansible_collections.gpu.fleet.plugins.module_utils._observe.texts.sources import read_output
from ansible_collections.gpu.fleet.plugins.module_utils._plan.package_failure import advice_of, explain, find_failure

CASES = read_cases(Path(__file__).parents[3] / "fixtures" / "outputs")

EXPECTED = {
    "apt-error-signed-by-two-files.txt": ("GPU-PKG-001", "grep -rl https://developer.download.nvidia.com/compute/cuda"),
    "apt-error-no-pubkey-below-err.txt": ("GPU-PKG-002", "key DDCAE044F796ECB0 of https://nvidia.github.io"),
    "apt-error-file-missing.txt": ("GPU-PKG-004", "apt-get update"),
    "apt-error-unmet-mixed-german.txt": ("GPU-PKG-006", "apt-cache policy nvidia-kernel-common-570"),
    "apt-error-unmet-ubuntu-libc.txt": ("GPU-PKG-113", "need libc 2.38, and this host has 2.35"),
    "apt-error-lock-waiting.txt": ("GPU-PKG-010", "unattended-upgr (process 2214) holds /var/lib/dpkg/lock-frontend"),
    "apt-error-lock-old.txt": ("GPU-PKG-010", "another package manager is at work"),
    "apt-error-not-root.txt": ("GPU-ANS-101", "become: true"),
    "apt-error-virtual-german.txt": ("GPU-PKG-114", "ask for nvidia-imex"),
    "dpkg-configure-ubuntu-dkms-failed.txt": ("GPU-KRN-019", "tail /var/lib/dkms/nvidia/570.86.15/build/make.log"),
    "dpkg-configure-no-headers.txt": ("GPU-KRN-020", "no headers of kernel 6.12.48+deb13-amd64"),
    "dpkg-file-conflict.txt": ("GPU-PKG-006", "apt-get remove nvidia-kernel-support"),
    "apt-error-interrupted.txt": ("GPU-PKG-115", "dpkg --configure -a"),
    "apt-error-no-space.txt": ("GPU-PKG-116", "df -h"),
    "dnf-error-numbered-problems.txt": ("GPU-PKG-012", "dnf module list nvidia-driver"),
    "dnf-error-conflict.txt": ("GPU-PKG-015", "dnf remove akmod-nvidia-3:580.95.05-1.fc42.x86_64"),
    "dnf-error-no-provider.txt": ("GPU-PKG-016", "no repository has nvidia-kmod 3:570.86.15"),
}


def failure(name: str):
    return read_output(CASES[name].source, CASES[name].text)


@pytest.mark.parametrize("name", EXPECTED)
def test_text_to_remedy(name):
    finding, words = EXPECTED[name]
    row = advice_of(failure(name))
    assert row is not None
    assert row.finding == finding
    assert words in explain(failure(name))


def test_every_advice_has_a_text():
    assert {advice_of(failure(name)) for name in EXPECTED} == set(PACKAGE_ADVICE)


@pytest.mark.parametrize("name", ["apt-no-error.txt", "apt-error-held-german.txt", "apt-error-network.txt"])
def test_nothing_is_said_about_what_is_not_known(name):
    assert explain(failure(name)) == ""
    assert find_failure(failure(name), wanted="a", found="b") is None


def test_finding():
    found = find_failure(failure("apt-error-lock-waiting.txt"), wanted="nvidia-open", found="E: Could not get lock")
    assert found is not None
    assert (found.id, found.severity, found.wanted) == ("GPU-PKG-010", "error", "nvidia-open")
    assert found.remedy == "wait until it ends, and run again: ps -p 2214"
