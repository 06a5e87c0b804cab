# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What modules share, through Ansible's own ways: programs, downloads, the host's lock. Private to this collection."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.urls import open_url

from ._act.lock import host_lock
from ._observe.command import LOCALE, Run, not_started

TIMEOUT_SECONDS = 30
LARGEST_DOWNLOAD = 1 << 20


def runner(module: AnsibleModule) -> Run:
    """Runs programs by the module's run_command, in the C locale; see Run."""

    def run(args: Sequence[str]) -> tuple[int, str, str]:
        options = {"environ_update": LOCALE, "expand_user_and_vars": False, "handle_exceptions": False}
        try:
            return module.run_command(list(args), errors="replace", **options)
        except OSError as error:
            return not_started(args, error)

    return run


def alone(module: AnsibleModule) -> AbstractContextManager[None]:
    """Keeps other runs away from this host while something is changed. Raises LockedError.

    A check may not even leave a lock file behind; a tree that is no running host has none to keep others out of.
    """
    return nullcontext() if module.check_mode or module.params["host_root"] != "/" else host_lock()


def fetch(url: str) -> bytes:
    """The first MiB of what is at ``url``; proxies come from the environment. Raises OSError or ValueError."""
    return open_url(url, timeout=TIMEOUT_SECONDS).read(LARGEST_DOWNLOAD)
