# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program gpu-fleet-host: what has to work on a host without Ansible. Private to this collection."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence

# verb -> (module of this package whose run() does it, help text)
VERBS = {
    "devices": ("devices", "load the driver, make device nodes and /dev/char links"),
    "mig": ("mig", "bring the GPUs to the saved MIG layout (/var/lib/gpu-fleet/mig/wish.yaml)"),
    "cdi": ("cdi", "write the CDI specs with the saved options (/var/lib/gpu-fleet/cdi/wish.yaml)"),
    "validation": ("validation", "prove the GPU stack and write the barrier files (/run/nvidia/validations)"),
    "status": ("status", "print what this host has, as JSON"),
}

DESCRIPTION = "What a GPU host does without Ansible, at boot and by hand."
EPILOG = (
    "Exit status: 0 done or nothing to do; 1 failed, the reason is on standard error; 2 wrong usage; "
    "75 the driver is not loaded yet."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one verb; its exit status. Every verb's ``run()`` prints one line a step."""
    verb = _parser().parse_args(arguments).verb
    return int(importlib.import_module(f"{__package__}.{VERBS[verb][0]}").run())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gpu-fleet-host", description=DESCRIPTION, epilog=EPILOG)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for verb, (_module, text) in VERBS.items():
        verbs.add_parser(verb, help=text, description=text)
    return parser
