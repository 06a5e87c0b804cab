# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks variables against the argument specs of roles, by Ansible's own validator. Private to this collection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleError
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ansible_collections.gpu.fleet.plugins.module_utils._plan.wrong_variables import misunderstood, wrong_text

# Errors of the validator about the value itself; all others are about a part of it.
WHOLE = ("ArgumentTypeError", "ArgumentValueError")


def check_variable(name: str, spec: Mapping[str, Any], value: Any) -> str:
    """What is wrong about one variable, in one sentence; empty where nothing is."""
    plain = {key: item for key, item in spec.items() if key not in ("description", "required", "version_added")}
    given = str(value).lower() if isinstance(value, bool) and plain.get("type", "str") == "str" else value
    if misunderstood(plain, given):
        return wrong_text(name, plain, given)
    try:
        errors = ArgumentSpecValidator({name: plain}).validate({name: given}).errors.errors
    except (AnsibleError, TypeError, ValueError) as error:
        return wrong_text(name, plain, given, str(error))
    if not errors:
        return ""
    parts = [error.msg.rstrip(".") for error in errors if type(error).__name__ not in WHOLE]
    return wrong_text(name, plain, given, ", ".join(parts))


def check_variables(
    values: Mapping[str, Any], specs: Mapping[str, Mapping[str, Any]], shared: Mapping[str, Any]
) -> dict[str, list[str]]:
    """Role -> what is wrong about its variables. ``specs``: role -> its options; what roles share comes as ``prereq``,
    the first one, and an empty text stands for: not set.
    """
    found: dict[str, list[str]] = {}
    for name, value in values.items():
        if name in shared:
            told = "" if value == "" else check_variable(name, shared[name], value)
            found.setdefault("prereq", []).extend([f"{told} (shared by the roles, see README.md)"] if told else [])
        for role, options in specs.items():
            if name in options:
                told = check_variable(name, options[name], value)
                found.setdefault(role, []).extend([f"{told} (role {role})"] if told else [])
    return {role: told for role, told in found.items() if told}
