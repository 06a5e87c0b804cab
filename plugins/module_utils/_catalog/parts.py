# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of a playbook that Ansible's tags choose. Private to this collection.

A new role is one row here, one in README.md, and one in the list of tags of playbooks/site.yml and plan.yml.
"""

from __future__ import annotations

from .states import CLUSTER_ROLES, HOST_ROLES

# In the order of site.
ALL = (*HOST_ROLES, *CLUSTER_ROLES)

# tag -> roles
GROUPS = {"gpu_fleet": ALL, "hosts": HOST_ROLES, "cluster": CLUSTER_ROLES}

# tag, which is a role -> the role with what it brings along
PARTS = {
    "prereq": ("prereq",),
    # What the other roles of a host save for the next boot is brought about there by prereq's program.
    "driver": ("prereq", "driver"),
    # The CDI spec, labels and operands show the layout: left as they are, no pod would start any more.
    "mig": ("prereq", "mig", "toolkit", "validation", *CLUSTER_ROLES),
    "toolkit": ("prereq", "toolkit"),
    "validation": ("prereq", "validation"),
    **{role: (role,) for role in CLUSTER_ROLES},
}

# Tags that Ansible itself gives a meaning: everything, or everything that has a tag.
EVERYTHING = ("all", "tagged")
