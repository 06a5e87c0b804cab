# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads files of sections with name = value, as dnf writes them. Private to this collection."""

from __future__ import annotations

import configparser


def parse_ini(text: str) -> dict[str, dict[str, str]]:
    """Section -> name in lower case -> value; lines that continue a value are joined by newlines.

    A text of another form has no sections: dnf refuses such a file as a whole, too.
    """
    parser = configparser.ConfigParser(interpolation=None, strict=False, allow_no_value=True)
    try:
        parser.read_string(text)
    except configparser.Error:
        return {}
    return {name: {key: value or "" for key, value in parser[name].items()} for name in parser.sections()}
