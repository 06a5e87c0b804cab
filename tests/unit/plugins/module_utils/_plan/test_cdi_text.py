# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CDI specs as text."""

from __future__ import annotations

import pytest
import yaml

from ansible_collections.gpu.fleet.plugins.module_utils._plan.cdi_text import spec_text

WORDS = [
    "0", "0:1", "1:0", "12:34:56", "yes", "No", "null", "~", "", "on", "0x1", "1e3", ".5", ".inf", "a: b",
    "a #b", "- a", "--link", "*", "&a", "!x", "{}", "[]", "%", "@a", "a:", "GPU-1",
    "../card0::/dev/dri/by-path/pci-0000:07:00.0-card", "A=b", "é", "2026-01-01",
]  # fmt: skip


@pytest.mark.parametrize("word", WORDS)
def test_texts_stay_texts(word):
    spec = {"kind": word, "devices": [{"name": word, "containerEdits": {"env": [word]}}], "containerEdits": {}}
    assert yaml.safe_load(spec_text(spec, "yaml")) == spec
    assert yaml.safe_load(spec_text(spec, "json")) == spec


def test_numbers_and_order_stay():
    spec = {"b": 1, "a": [{"minor": 0, "path": "/dev/x"}, {"list": [1, 2]}], "c": True, "d": []}
    text = spec_text(spec, "yaml")
    assert yaml.safe_load(text) == spec
    assert text.startswith("---\nb: 1\na:\n  - minor: 0\n    path: /dev/x\n")
