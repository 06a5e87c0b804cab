# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts of hosts arrive cut, mixed, wrapped and broken: every reader answers with plain data, never with an error."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from concluded.comparing import read_cases
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.configuration import set_hypothesis_home_dir

from ansible_collections.gpu.fleet.plugins.module_utils._observe.texts.sources import SOURCES, read_output

OWN = Path(__file__).parents[1] / "fixtures" / "outputs"
CASES = list(read_cases(OWN).values())
KINDS = [source.kind for source in SOURCES]

# Its tables of characters stay out of the checkout's own files.
set_hypothesis_home_dir(Path(__file__).parents[3] / ".cache" / "hypothesis")
# Same examples in every run: a failure has to be the change's, not the day's. More of them for a long search.
EXAMPLES = int(os.environ.get("GPU_FLEET_EXAMPLES", "10"))
EVERY_RUN = settings(
    max_examples=EXAMPLES, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
# A reader whose time grows with the square of the length takes minutes for this.
HUGE = 100_000
# Bytes that are no text reach readers as surrogates (PEP 383).
CHARACTERS = st.characters(exclude_categories=()) | st.sampled_from("\t\n\r\x00\x1b :=,()[]'\"|*0123456789abcdef.-/")
ANY_TEXT = st.text(CHARACTERS, max_size=400)


def own_texts(kind: str) -> list[tuple[str, str]]:
    """The command and text of our own cases that a row of SOURCES reads."""
    return [
        (case.source, case.text)
        for case in CASES
        if next(s.kind for s in SOURCES if re.search(s.pattern, case.source)) == kind
    ]


@st.composite
def damaged(draw: st.DrawFn, text: str) -> str:
    """What happens to texts on their way: cut, lines lost, doubled and turned round, other line ends, foreign bytes."""
    lines = text[: draw(st.integers(0, len(text)))].split("\n")
    for _time in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(lines) - 1))
        what = draw(st.sampled_from(["drop", "double", "cut", "insert", "number", "join"]))
        if what == "drop":
            lines[at] = ""
        elif what == "double":
            lines.insert(at, lines[at])
        elif what == "cut":
            lines[at] = lines[at][: draw(st.integers(0, len(lines[at])))]
        elif what == "insert":
            lines[at] += draw(st.text(CHARACTERS, max_size=20))
        elif what == "number":
            lines[at] = re.sub(r"\d+", draw(st.sampled_from(["", "-1", "N/A", "9" * 30, "٣"])), lines[at])
        else:
            lines[at:] = [" ".join(lines[at:])]
    return draw(st.sampled_from(["\n", "\r\n", "\n\n"])).join(draw(st.sampled_from([lines, lines[::-1]])))


def read(source: str, text: str) -> None:
    found = read_output(source, text)
    assert isinstance(found["kind"], str)
    assert json.dumps(found)


@pytest.mark.parametrize("kind", KINDS)
@EVERY_RUN
@given(data=st.data())
def test_a_damaged_text_is_read(kind, data):
    source, text = data.draw(st.sampled_from(own_texts(kind)))
    read(source, data.draw(damaged(text)))


@pytest.mark.parametrize("kind", KINDS)
@EVERY_RUN
@given(text=ANY_TEXT)
def test_any_text_is_read(kind, text):
    read(own_texts(kind)[0][0], text)


@pytest.mark.parametrize("kind", KINDS)
def test_a_huge_text_is_read(kind):
    for source, text in own_texts(kind)[:2]:
        read(source, text * (1 + HUGE // (len(text) + 1)))
        read(source, "x" * HUGE)
        read(source, " " * HUGE + ":" + "(" * 1000)
