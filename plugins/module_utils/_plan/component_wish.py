# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a user wants beside the driver: components, their settings, module parameters. Private to this collection."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .._catalog.driver_components import NAMES
from .modules import ORDER
from .wrong_option import WrongOption

AUTO, TRUE, FALSE = "auto", "true", "false"
WORDS = {"true": TRUE, "yes": TRUE, "on": TRUE, "1": TRUE, "false": FALSE, "no": FALSE, "off": FALSE, "0": FALSE}
KEY = re.compile(r"^[A-Za-z][A-Za-z0-9_]*$")
# modprobe.d(5) parts options by white space; a quoted value may hold some, and this collection writes none of those.
VALUE = re.compile(r"^[^\s\"'#]*$")
LINE = re.compile(r"^[^\n\r]*$")
NODE = re.compile(r"^[0-9A-Za-z][0-9A-Za-z.:_-]*$")


@dataclass(frozen=True)
class ComponentWish:
    """The options after the border.

    ``components``: name -> auto, true or false; a name that lacks is auto. ``module_parameters``: module -> parameter
    -> value, None for a default that is not wanted. ``fabric_manager_config``, ``gridd_config``: key -> value.
    ``gridd_token`` is a secret. ``service_timeout``: seconds that a service may take until it does its work.
    """

    components: Mapping[str, str] = field(default_factory=dict)
    module_parameters: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)
    blacklist_nouveau: bool = True
    fabric_manager_config: Mapping[str, str] = field(default_factory=dict)
    imex_nodes: tuple[str, ...] = ()
    gridd_config: Mapping[str, str] = field(default_factory=dict)
    gridd_token: str = field(default="", repr=False)
    service_timeout: int = 180

    def component(self, name: str) -> str:
        """auto, true or false."""
        return self.components.get(name, AUTO)


def component_wish(params: Mapping[str, Any]) -> ComponentWish:
    """The wish in a module's parameters. Raises WrongOption."""
    return ComponentWish(
        components=_components(params["components"] or {}),
        module_parameters=_module_parameters(params["module_parameters"] or {}),
        blacklist_nouveau=params["blacklist_nouveau"],
        fabric_manager_config=_settings("fabric_manager_config", params["fabric_manager_config"] or {}),
        imex_nodes=_nodes(params["imex_nodes"] or []),
        gridd_config=_settings("gridd_config", params["gridd_config"] or {}),
        gridd_token=_token(params["gridd_token"] or ""),
        service_timeout=_timeout(params["service_timeout"]),
    )


def _components(found: Mapping[str, Any]) -> dict[str, str]:
    unknown = sorted(set(found) - set(NAMES))
    if unknown:
        raise WrongOption(f"components has {unknown[0]!r}, wanted some of {', '.join(NAMES)}")
    return {name: _word(name, value) for name, value in found.items()}


def _word(name: str, value: Any) -> str:
    text = str(AUTO if value in (None, "") else value).strip().lower()
    if text == AUTO:
        return AUTO
    if text not in WORDS:
        raise WrongOption(f"components.{name} is {value!r}, wanted auto, true or false")
    return WORDS[text]


def _module_parameters(found: Mapping[str, Any]) -> dict[str, dict[str, str | None]]:
    return {module.replace("-", "_"): _parameters(module, rows) for module, rows in found.items()}


def _parameters(module: str, rows: Any) -> dict[str, str | None]:
    name = module.replace("-", "_")
    if name not in ORDER:
        raise WrongOption(f"module_parameters has {module!r}, wanted modules of the driver: {', '.join(ORDER)}")
    if not isinstance(rows, Mapping):
        raise WrongOption(f"module_parameters.{module} is {rows!r}, wanted a dictionary of parameters and values")
    for key, value in rows.items():
        if not KEY.match(str(key)):
            raise WrongOption(f"module_parameters.{module} has {key!r}, wanted a name such as NVreg_EnableStreamMemOPs")
        if not VALUE.match(_text(value)):
            raise WrongOption(
                f"module_parameters.{module}.{key} is {value!r}, wanted a value without white space, quotes and #"
            )
    return {str(key): None if value in (None, "") else _text(value) for key, value in rows.items()}


def _text(value: Any) -> str:
    """YAML reads yes and true as booleans; kernel parameters take 1 and 0."""
    return str(int(value)) if isinstance(value, bool) else "" if value is None else str(value)


def _settings(option: str, found: Mapping[str, Any]) -> dict[str, str]:
    for key, value in found.items():
        if not KEY.match(str(key)):
            raise WrongOption(f"{option} has {key!r}, wanted a key of letters, digits and underscores")
        if not LINE.match(_text(value)) or isinstance(value, (dict, list)):
            raise WrongOption(f"{option}.{key} is {value!r}, wanted one line of text or a number")
    return {str(key): _text(value) for key, value in found.items()}


def _nodes(found: Sequence[Any]) -> tuple[str, ...]:
    for node in found:
        if not NODE.match(str(node)):
            raise WrongOption(f"imex_nodes has {node!r}, wanted addresses of the nodes of one NVLink domain")
    nodes = tuple(str(n) for n in found)
    if len(set(nodes)) != len(nodes):
        twice = next(n for n in nodes if nodes.count(n) > 1)
        raise WrongOption(f"imex_nodes has {twice!r} twice, wanted every node of the NVLink domain once")
    return nodes


def _token(found: str) -> str:
    """The text of a client configuration token; never shown in a message."""
    text = found.strip()
    if text and (len(text.split()) > 1 or len(text) < 16):
        raise WrongOption("gridd_token is no client configuration token, wanted the whole text of the .tok file")
    return text


def _timeout(found: int) -> int:
    if not 0 <= found <= 3600:
        raise WrongOption(f"service_timeout is {found}, wanted 0 to 3600 seconds")
    return found
