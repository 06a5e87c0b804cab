# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Edits that keep comments, order and everything else."""

from __future__ import annotations

import json

import pytest
import tomlkit

from ansible_collections.gpu.fleet.plugins.module_utils._act.toml_file import EditError, edited_json, edited_toml

TEXT = """\
# head
version = 2 # of the file

# about the table
[plugins."a.b"]
  x = 1 # why
  [plugins."a.b".c]
    list = ["p", "q"]

[metrics]
address = "127.0.0.1" # scraped
"""


def changed(text, change):
    document = tomlkit.parse(text).unwrap()
    change(document)
    return edited_toml(text, document, tomlkit)


def test_nothing_to_do_changes_no_byte():
    assert changed(TEXT, lambda d: None) == TEXT


def test_new_setting_at_the_top_parts_no_comment_from_its_table():
    text = changed(TEXT, lambda d: d.update(imports=["/x/*.toml"]))
    assert text == TEXT.replace("# of the file\n", '# of the file\nimports = ["/x/*.toml"]\n')


def test_removed_again_it_is_the_old_text():
    text = changed(TEXT, lambda d: d.update(imports=["/x/*.toml"]))
    assert changed(text, lambda d: d.pop("imports")) == TEXT


CHANGES = {
    "leaf": lambda d: d["plugins"]["a.b"].update(x=2),
    "list": lambda d: d["plugins"]["a.b"]["c"].update(list=["q"]),
    "nested table": lambda d: d["plugins"]["a.b"].update(r={"n": {"t": "v", "o": {"B": "/p"}}}),
    "other plugin": lambda d: d["plugins"].update(z={"k": True}),
    "table gone": lambda d: d.pop("metrics"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_comments_stay(change):
    text = changed(TEXT, change)
    wanted = tomlkit.parse(TEXT).unwrap()
    change(wanted)
    assert tomlkit.parse(text).unwrap() == wanted
    kept = ["# head", "# of the file", "# about the table", "# why"]
    assert [c for c in kept if c not in text] == []


def test_json_keeps_order_indentation_and_large_numbers():
    text = '{\n  "b": 12345678901234567890,\n  "a": {"y": "<&>"}\n}\n'
    after = {"a": {"y": "<&>", "x": 1}, "b": 12345678901234567890}
    assert (
        edited_json(text, after) == '{\n  "b": 12345678901234567890,\n  "a": {\n    "y": "<&>",\n    "x": 1\n  }\n}\n'
    )


def test_json_out_of_nothing():
    assert edited_json("", {"a": 1}) == '{\n    "a": 1\n}\n'


NUMBERS = ["0.10", "1e400", "-1E+2", "12345678901234567890", "1.0", "3"]


@pytest.mark.parametrize("number", NUMBERS)
def test_numbers_of_json_keep_their_spelling(number):
    text = f'{{"a": {number}, "list": [{{"b": {number}}}, {number}], "c": "{number}"}}'
    edited = edited_json(text, {**json.loads(text), "new": 1})
    assert edited.count(number) == 4
    assert f'"c": "{number}"' in edited


def test_a_number_that_changes_is_the_new_one():
    assert json.loads(edited_json('{"a": 0.10}', {"a": 0.2})) == {"a": 0.2}


def test_a_text_that_looks_like_a_number_of_ours_is_refused_and_never_written():
    with pytest.raises(EditError):
        edited_json("", {"a": "\uf8ffx"})
