# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Views of what readers of GPU tools, fabric, containers and cluster found."""

from __future__ import annotations

from .host import View

VIEWS: dict[str, View] = {}

# kind -> key -> why no reader can conclude it from the text.
BEYOND_THE_TEXT: dict[str, dict[str, str]] = {}

# file -> key -> why what is written about it is not what it says.
NOT_IN_THE_TEXT: dict[str, dict[str, str]] = {}
