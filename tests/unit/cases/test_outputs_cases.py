# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recorded texts of GPU hosts: every reader concludes what a person concluded.

The project's own texts are always read, those below GPU_FLEET_CASES where it is set.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from concluded import host, tools
from concluded.comparing import Case, agrees, read_cases

from ansible_collections.gpu.fleet.plugins.module_utils._catalog.package_errors import APT_ERRORS, DNF_ERRORS
from ansible_collections.gpu.fleet.plugins.module_utils._observe.texts.kernel_log import MESSAGES
from ansible_collections.gpu.fleet.plugins.module_utils._observe.texts.sources import SOURCES, read_output

OWN = Path(__file__).parents[1] / "fixtures" / "outputs"
VIEWS = {**host.VIEWS, **tools.VIEWS}
BEYOND_THE_TEXT = {**host.BEYOND_THE_TEXT, **tools.BEYOND_THE_TEXT}
NOT_IN_THE_TEXT = {**host.NOT_IN_THE_TEXT, **tools.NOT_IN_THE_TEXT}


def folders() -> list[Path]:
    given = os.environ.get("GPU_FLEET_CASES")
    return [OWN, *([Path(given) / "outputs"] if given else [])]


CASES = {f"{folder.parent.name}-{name}": case for folder in folders() for name, case in read_cases(folder).items()}


def concluded(case: Case) -> dict[str, object]:
    found = read_output(case.source, case.text)
    # A message in place of an answer has a kind of its own.
    source = next(s.kind for s in SOURCES if re.search(s.pattern, case.source))
    view = VIEWS.get(found["kind"]) or VIEWS.get(source)
    return {**found, **(view(found, case) if view else {})}


@pytest.mark.parametrize("name", CASES)
def test_reader_concludes_what_a_person_did(name):
    case = CASES[name]
    found = concluded(case)
    beyond = {**BEYOND_THE_TEXT.get(str(found["kind"]), {}), **NOT_IN_THE_TEXT.get(case.file.name, {})}
    wrong = {
        key: (value, found.get(key, "no such key"))
        for key, value in case.conclude.items()
        if key not in beyond and not (key in found and agrees(value, found[key]))
    }
    assert wrong == {}


def test_every_kind_has_a_text_of_our_own():
    sources = [case.source for case in read_cases(OWN).values()]
    read = {next(s.kind for s in SOURCES if re.search(s.pattern, source)) for source in sources}
    assert {s.kind for s in SOURCES} - read == set()


def test_every_message_of_a_log_and_error_of_a_package_manager_has_a_text_of_our_own():
    found = [read_output(case.source, case.text) for case in read_cases(OWN).values()]
    events = {event["event"] for f in found for event in f.get("events", ()) if isinstance(event, dict)}
    refused = [f for f in found if f["kind"] in ("apt_error", "dnf_error", "module_streams")]
    errors = {error["error"] for f in refused for error in (f, *f.get("errors", ()))}
    assert {message.event for message in MESSAGES} - events == set()
    assert {row.error for row in (*APT_ERRORS, *DNF_ERRORS)} - errors == set()


def test_every_text_of_our_own_is_listed():
    listed = {"INDEX.tsv", *read_cases(OWN)}
    assert {path.name for path in OWN.iterdir()} == listed


@pytest.mark.parametrize("source", ["", "cat /etc/hostname", "ls /tmp"])
def test_unknown_source_is_named(source):
    with pytest.raises(ValueError, match=re.escape(repr(source))):
        read_output(source, "text")


@pytest.mark.parametrize(
    ("expected", "found", "same"),
    [
        ("true", True, True),
        ("true", False, False),
        ("absent", None, True),
        ("absent (1)", None, True),
        ("3", ["a", "b", "c"], True),
        ("a,b", ["a", "b"], True),
        ("a,b", ["b", "a"], False),
        ("none", [], True),
        ("79", 79, True),
        ("79", 80, False),
        ("610.57 (KMD version)", "610.57", True),
        ("present", "some text", True),
        ("empty", "", True),
        ("open", "proprietary", False),
    ],
)
def test_comparing(expected, found, same):
    assert agrees(expected, found) is same
