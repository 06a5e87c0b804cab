# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The error for an option that cannot be meant. Private to this collection."""

from __future__ import annotations


class WrongOption(ValueError):
    """One sentence: the option, what was found, what was wanted."""
