# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What to do about errors of apt, dpkg, DKMS and dnf, by the names that _catalog/package_errors gives them.

Private to this collection. A new advice is one row.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PackageAdvice:
    """``summary`` and ``remedy`` take fields of the error in braces; a row counts only where the error has them all.

    ``cause``: the row is about errors with this cause alone. ``finding``: the id.
    """

    error: str
    cause: str
    finding: str
    summary: str
    remedy: str
    source: str
    as_of: str


# The first row that fits counts.
PACKAGE_ADVICE = (
    PackageAdvice(
        "signed_by_conflict",
        "",
        "GPU-PKG-001",
        "two files give {source} different keys, so apt reads no source at all",
        "keep one of the files that name it: grep -rl {source} /etc/apt/sources.list /etc/apt/sources.list.d",
        "github.com/NVIDIA/libnvidia-container#194",
        "2026-11-30",
    ),
    PackageAdvice(
        "key_missing",
        "",
        "GPU-PKG-002",
        "this host lacks the key {key} of {url} ({repository})",
        "put the key where Signed-By of that source says, or remove the source: grep -rl {url} /etc/apt",
        "github.com/NVIDIA/nvidia-docker#1631",
        "2026-11-30",
    ),
    PackageAdvice(
        "file_missing",
        "",
        "GPU-PKG-004",
        "the index has {url}, and the repository no longer does",
        "read the index again and run again: apt-get update",
        "github.com/NVIDIA/ansible-role-nvidia-driver#72",
        "2026-11-30",
    ),
    PackageAdvice(
        "unmet_dependencies",
        "mixed sources",
        "GPU-PKG-006",
        "two repositories mix: {blocking_package} is {cuda_version} of NVIDIA and {ubuntu_version} of Ubuntu",
        "see which source wins: apt-cache policy {blocking_package}; then remove the other, or pin it away",
        "github.com/aws-samples/aws-deep-learning-ami-ubuntu-dcv-desktop#18",
        "2026-11-30",
    ),
    PackageAdvice(
        "unmet_dependencies",
        "repository of another distribution",
        "GPU-PKG-113",
        "the packages are of another distribution: they need libc {libc_needed}, and this host has {libc_have}",
        "find the source that is not of this host: grep -r ^deb /etc/apt/sources.list /etc/apt/sources.list.d",
        "github.com/k4yt3x/video2x#1029",
        "2026-11-30",
    ),
    PackageAdvice(
        "lock_held",
        "",
        "GPU-PKG-010",
        "{holder} (process {pid}) holds {lock}",
        "wait until it ends, and run again: ps -p {pid}",
        "github.com/ansible/ansible#51663",
        "2026-11-30",
    ),
    PackageAdvice(
        "lock_held",
        "",
        "GPU-PKG-010",
        "another package manager is at work",
        "wait until it ends, and run again",
        "github.com/ansible/ansible#51663",
        "2026-11-30",
    ),
    PackageAdvice(
        "not_permitted",
        "",
        "GPU-ANS-101",
        "the task is not root, so {lock} cannot be taken",
        "become: true",
        "apt-get(8)",
        "2026-11-30",
    ),
    PackageAdvice(
        "version_not_found",
        "",
        "GPU-PKG-114",
        "{virtual} is only another name of {real}, and has no versions of its own",
        "ask for {real}",
        "github.com/NVIDIA/gpu-driver-container#451",
        "2026-11-30",
    ),
    PackageAdvice(
        "dkms_build_failed",
        "",
        "GPU-KRN-019",
        "DKMS could not build {module} for kernel {kernel}",
        "see why: tail {log}",
        "github.com/NVIDIA/nvidia-container-toolkit#361",
        "2026-11-30",
    ),
    PackageAdvice(
        "dkms_build_failed",
        "",
        "GPU-KRN-020",
        "DKMS found no headers of kernel {kernel}",
        "install the headers of that kernel, then: dpkg --configure -a",
        "github.com/NVIDIA/ansible-role-nvidia-driver#18",
        "2026-11-30",
    ),
    PackageAdvice(
        "file_conflict",
        "",
        "GPU-PKG-006",
        "{path} belongs to {other_package}, so packages of two sources mix",
        "remove the other one first: apt-get remove {other_package}",
        "github.com/canonical/tdx#370",
        "2026-11-30",
    ),
    PackageAdvice(
        "dpkg_interrupted",
        "",
        "GPU-PKG-115",
        "an earlier run of dpkg was interrupted",
        "dpkg --configure -a",
        "dpkg(1)",
        "2026-11-30",
    ),
    PackageAdvice(
        "no_space",
        "",
        "GPU-PKG-116",
        "a file system is full",
        "see which: df -h /var /boot /usr; packages that were fetched can go: apt-get clean",
        "apt-get(8)",
        "2026-11-30",
    ),
    PackageAdvice(
        "unresolvable",
        "filtered",
        "GPU-PKG-012",
        "an enabled module stream or an exclude hides the packages that {wanted} needs",
        "see what is enabled: dnf module list nvidia-driver; then dnf module reset nvidia-driver",
        "github.com/NVIDIA/ansible-role-nvidia-driver#75",
        "2026-11-30",
    ),
    PackageAdvice(
        "unresolvable",
        "",
        "GPU-PKG-015",
        "{wanted} and {conflict} exclude each other",
        "remove the other one first: dnf remove {conflict}",
        "github.com/NVIDIA/yum-packaging-precompiled-kmod#50",
        "2026-11-30",
    ),
    PackageAdvice(
        "unresolvable",
        "",
        "GPU-PKG-016",
        "no repository has {missing}, which {wanted} needs",
        "see what is there: dnf repoquery --whatprovides '{missing}'",
        "github.com/NVIDIA/yum-packaging-precompiled-kmod#50",
        "2026-11-30",
    ),
)
