# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads ``modinfo nvidia``. Private to this collection.

Sources: modinfo(8); aikitoria/open-gpu-kernel-modules#15, Frogging-Family/nvidia-all#394, dkms README.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..._catalog.module_origins import MODULE_PLACES, mok_needed

# Licence text -> flavour (open-gpu-kernel-modules and the proprietary nv.c, MODULE_LICENSE).
LICENSES = {"Dual MIT/GPL": "open", "NVIDIA": "proprietary"}
FIELD = re.compile(r"^(?P<name>[a-z_]+):\s*(?P<value>.*)$")
TREE = re.compile(r"/lib/modules/(?P<kernel>[^/]+)/(?P<place>.*/)?[^/]+?\.ko(?:\.(?P<compressed>xz|zst|gz))?$")
ONE_FIELD = re.compile(r"\bmodinfo\b[^;|]* (?:-F ?|--field[ =])(?P<field>\w+)")
NOT_FOUND = re.compile(r"Module (?P<module>\S+) not found", re.IGNORECASE)


def read_modinfo(text: str, source: str = "") -> dict[str, Any]:
    """One module file; of ``modinfo -F FIELD``, as ``source`` says, the one field.

    ``filename``, ``version``, ``license``, ``flavour`` (open, proprietary), ``description``, ``signer``,
    ``srcversion``, ``vermagic``, ``kernel`` (of the path, else of vermagic), ``path_kind`` (dkms, precompiled, kmod,
    runfile) and ``compressed`` (xz, zst, gz): None where the text lacks them. ``signed``: None where the text ends
    before it would be told. ``mok_needed``: whether Secure Boot needs the signer's key enrolled; None: unsigned, or an
    unknown key. ``firmware``, ``aliases``, ``parameters``, ``import_ns``: lists. ``module``: the name. ``module_file``:
    False where modinfo found no such module, and then ``error`` is ``not_found``.
    """
    one = ONE_FIELD.search(source)
    fields = {one["field"]: text.split("\n")} if one and not NOT_FOUND.search(text) else _fields(text)
    missing = NOT_FOUND.search(text)
    filename = _first(fields, "filename")
    place = TREE.search(filename or "")
    vermagic = _first(fields, "vermagic")
    return {
        "module": missing["module"] if missing else _name(fields, filename),
        "module_file": missing is None,
        "error": "not_found" if missing else None,
        "filename": filename,
        **{name: _first(fields, name) for name in ("version", "license", "description", "srcversion", "signer")},
        "vermagic": vermagic,
        "flavour": LICENSES.get(_first(fields, "license") or ""),
        "kernel": place["kernel"] if place else vermagic.split()[0] if vermagic else None,
        "path_kind": _path_kind((place["place"] or "") if place else ""),
        "compressed": place["compressed"] if place else None,
        **_signature(fields),
        "firmware": fields.get("firmware", []),
        "aliases": fields.get("alias", []),
        "import_ns": fields.get("import_ns", []),
        "parameters": [value.split(":")[0] for value in fields.get("parm", [])],
    }


def _fields(text: str) -> dict[str, list[str]]:
    """Name -> its values in order: alias, firmware, parm and import_ns repeat. Signature bytes go on over lines."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        match = FIELD.match(line)
        if match:
            found.setdefault(match["name"], []).append(match["value"].strip())
    return found


def _first(fields: Mapping[str, Sequence[str]], name: str) -> str | None:
    return next((value for value in fields.get(name, ()) if value), None)


def _name(fields: Mapping[str, Sequence[str]], filename: str | None) -> str | None:
    base = (filename or "").rsplit("/", 1)[-1].split(".ko")[0]
    return _first(fields, "name") or base.replace("-", "_") or None


def _path_kind(place: str) -> str | None:
    return next((row.kind for row in MODULE_PLACES if re.match(row.path, place)), None)


def _signature(fields: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """The signature stands between vermagic and the parameters, so a text with parameters would have told it."""
    signer = _first(fields, "signer")
    told = "sig_id" in fields or signer is not None
    return {
        "signed": True if told else False if "parm" in fields else None,
        "mok_needed": mok_needed(signer),
    }
