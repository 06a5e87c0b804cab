# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter gpu.fleet.operand_image."""

from __future__ import annotations

DOCUMENTATION = r"""
name: operand_image
author: gpu.fleet contributors (!UNKNOWN)
version_added: 0.1.0
short_description: The reference of an operand's container image
description:
  - Gives the reference to pull for an image of the collection's catalog.
positional: _input
options:
  _input:
    description: Name of the image in the catalog.
    type: str
    choices: [k8s-device-plugin, dcgm-exporter]
    required: true
  registry:
    description: Registry, and path, that stands in for the publisher's. Empty keeps it.
    type: str
    default: ''
  version:
    description: Tag or digest (C(sha256:...)) other than the catalog's. Empty keeps it.
    type: str
    default: ''
  pin:
    description: Whether to name the image by the catalog's digest.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Show where the device plugin comes from
  ansible.builtin.debug:
    msg: "{{ 'k8s-device-plugin' | gpu.fleet.operand_image(registry='mirror.example') }}"
"""

RETURN = r"""
_value:
  description: The reference.
  type: str
  sample: nvcr.io/nvidia/k8s-device-plugin:v0.20.0
"""

from typing import Any, Callable

from ansible.errors import AnsibleFilterError

from ansible_collections.gpu.fleet.plugins.module_utils._catalog.images import IMAGES, image_reference


def operand_image(name: str, *, registry: str = "", version: str = "", pin: bool = False) -> str:
    """See DOCUMENTATION."""
    if name not in IMAGES:
        raise AnsibleFilterError(f"operand_image: there is no image {name!r}; there are {', '.join(sorted(IMAGES))}")
    try:
        return image_reference(name, registry=registry, version=version, pin=pin)
    except ValueError as error:
        raise AnsibleFilterError(f"operand_image: {error}") from error


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Name -> filter."""
        return {"operand_image": operand_image}
