# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Both ways to run a program, a module's and the boot-time program's, give the same answers."""

from __future__ import annotations

import pytest
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.testing import patch_module_args

from ansible_collections.gpu.fleet.plugins.module_utils._ansible import runner
from ansible_collections.gpu.fleet.plugins.module_utils._host.command import run as run_at_boot


def run_in_module(args):
    with patch_module_args({}):
        return runner(AnsibleModule(argument_spec={}))(args)


def shell(script):
    return ["sh", "-c", script]


# command -> exit status, standard output, standard error
ANSWERS = {
    "both outputs": (shell("echo out; echo err >&2; exit 3"), (3, "out\n", "err\n")),
    "the C locale": (shell('echo "$LC_ALL $LANGUAGE"'), (0, "C.UTF-8 C\n", "")),
    "arguments as they are": (["printf", "%s", "$HOME ~ *"], (0, "$HOME ~ *", "")),
    "bytes that are no text": (["printf", r"a\377b"], (0, "a\ufffdb", "")),
    "absent": (["/nowhere/nvidia-smi", "-L"], (127, "", "/nowhere/nvidia-smi: not found")),
    "no program": (["/etc/passwd"], (126, "", "/etc/passwd: Permission denied")),
}


@pytest.mark.parametrize("run", [run_in_module, run_at_boot])
@pytest.mark.parametrize(("args", "answer"), ANSWERS.values(), ids=ANSWERS)
def test_answer(run, args, answer):
    assert run(args) == answer


def test_nothing_waits_for_input_at_boot():
    assert run_at_boot(["cat"]) == (0, "", "")
