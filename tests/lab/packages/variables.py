# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The product's variables that point a lab host at the lab's repositories."""

from __future__ import annotations

from lab.packages.keys import key

SERVER = "http://198.51.100.1"
CUDA, TOOLKIT = "cuda", "libnvidia-container"
# The toolkit's repository has a folder for each kind of package.
FORMAT = "{{ 'rpm' if ansible_facts.os_family | default('') == 'RedHat' else 'deb' }}"
DEBIAN, UBUNTU, EL = "debian", "ubuntu", "el"
# The CUDA repositories after a change of keys: signed by the next one, and by one that has expired.
CUDA_ROTATED, CUDA_EXPIRED = "cuda-rotated", "cuda-expired"


def product_variables() -> dict[str, str]:
    """Variables of roles `driver` and `toolkit`; `driver_repository_url` is the base of <distro>/<arch>/."""
    cuda, toolkit = key("cuda"), key("toolkit")
    return {
        "driver_repository_url": f"{SERVER}/{CUDA}",
        "driver_repository_key_url": f"{SERVER}/{CUDA}/{cuda.short_id}.pub",
        "driver_repository_key_fingerprint": cuda.fingerprint,
        "toolkit_repository_url": f"{SERVER}/{TOOLKIT}/stable/{FORMAT}",
        "toolkit_repository_key_url": f"{SERVER}/{TOOLKIT}/gpgkey",
        "toolkit_repository_key_fingerprint": toolkit.fingerprint,
    }
