# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Says what is wrong about the value of a variable, and how it is written. Private to this collection.

What is checked here beyond Ansible's own check are values that it converts in a way nobody means: a text for a list
falls apart at its commas, or into letters; a list for a text becomes its Python form; null becomes the text None.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Spec = Mapping[str, Any]
LONGEST = 60
TEXTS = ("str", "path")
WORDS = {
    "str": "text",
    "path": "a path",
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "dict": "a mapping",
    "list": "a list",
}
EXAMPLES = {"str": "text", "path": "/path", "bool": True, "int": 3, "float": 1.5, "dict": {"key": "value"}}


def misunderstood(spec: Spec, value: Any) -> bool:
    """Whether Ansible would convert the value into what nobody means."""
    kind = spec.get("type", "str")
    if value is None:
        return True
    if kind == "list":
        return isinstance(value, str) and bool(value.strip())
    return kind in TEXTS and isinstance(value, (list, dict))


def wrong_text(name: str, spec: Spec, value: Any, said: str = "") -> str:
    """One sentence: the variable, what it is, what is wanted, and an example. ``said``: Ansible's words about a part of
    the value, empty where the value as a whole is of a wrong type or none of the choices.
    """
    found = "hidden here" if spec.get("no_log") else _flow(value)
    found = found if len(found) <= LONGEST else f"{found[: LONGEST - 3]}..."
    if said:
        # Ansible quotes values, also those that nobody may read.
        return (
            f"{name} is wrong{'' if spec.get('no_log') else f' ({said})'}, wanted {_wanted(spec)}{_example(name, spec)}"
        )
    if spec.get("choices"):
        return f"{name} is {found}, wanted one of {', '.join(map(_flow, spec['choices']))}"
    return f"{name} is {found} ({_kind(value)}), wanted {_wanted(spec)}{_example(name, spec)}"


def _kind(value: Any) -> str:
    names = {bool: "true or false", str: "text", int: "a number", float: "a number", list: "a list", dict: "a mapping"}
    return "no value" if value is None else next((word for kind, word in names.items() if isinstance(value, kind)), "")


def _wanted(spec: Spec) -> str:
    kind, elements = spec.get("type", "str"), spec.get("elements")
    if kind == "list" and elements == "dict" and spec.get("options"):
        return f"a list of mappings with {', '.join(spec['options'])}"
    plural = {"str": "texts", "path": "paths", "dict": "mappings", "int": "whole numbers"}
    return f"a list of {plural[elements]}" if kind == "list" and elements in plural else WORDS.get(kind, str(kind))


def _example(name: str, spec: Spec) -> str:
    return f", as in {name}: {_flow(spec.get('default') or _made_up(spec))}"


def _made_up(spec: Spec) -> Any:
    if spec.get("choices"):
        return spec["choices"][0]
    if spec.get("type") == "list":
        element = {"type": spec.get("elements", "str"), "options": spec.get("options")}
        return [_made_up(element)]
    if spec.get("options"):
        return {name: _made_up(option) for name, option in spec["options"].items()}
    return EXAMPLES.get(spec.get("type", "str"), "text")


def _flow(value: Any) -> str:
    """A value as YAML on one line, as far as it is needed here."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {_flow(item)}' for key, item in value.items())}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_flow, value))}]"
    return str(value) if str(value) else "''"
