# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`./dev sanity`: ansible-test sanity on the oldest and the newest ansible-core."""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path

from . import cache, collection, progress, venvs
from .tally import Tally

SANITY_SECONDS = 1800
# ansible-test fetches get-pip of a fixed version from a host of its own; this does the same from pip's own index.
# ensurepip is a process of its own: inside this one it would switch pip's configuration off.
GET_PIP = """\
import os, subprocess, sys
args = [a for a in sys.argv[1:] if a not in ("--no-setuptools", "--no-wheel")]
env = {k: v for k, v in os.environ.items() if k != "GET_PIP"}
rc = subprocess.call([sys.executable, "-m", "ensurepip"], env=env, stdout=subprocess.DEVNULL)
sys.exit(rc or subprocess.call([sys.executable, "-m", "pip", "install", "-q"] + args, env=env))
"""
GET_PIP_NAMES = ("get_pip_24_2.py", "get_pip_25_2.py")
# A test whose program is missing says so in its next line; it tested nothing, so it counts as nothing.
_STARTED = re.compile(
    r'^Running sanity test "([\w-]+)"(?: on Python ([\d.]+))?\n(?!WARNING: Required program)', re.MULTILINE
)
_FAILED = re.compile(r"^FATAL: The \d+ sanity test\(s\) listed below[^\n]*\n(.*)", re.MULTILINE | re.DOTALL)


def run(_options: argparse.Namespace) -> int:
    return check().report()


def check() -> Tally:
    """Runs every sanity test on every leg; each one that ran counts."""
    tally = Tally()
    for leg in venvs.legs():
        with cache.locked(cache.root() / "ansible-test" / f"{leg.core}.lock"):  # it does not lock its own environments
            tally.add(_check(leg))
    return tally


def count(text: str, status: int, title: str) -> Tally:
    """Counts the tests of one run from what ansible-test printed."""
    started = {f"{name} --python {python}" if python else name for name, python in _STARTED.findall(text)}
    listed = _FAILED.search(text)
    failed = [line.strip() for line in listed.group(1).splitlines() if line.strip()] if listed else []
    tally = Tally(len(started - set(failed)), [f"{title}: {name}" for name in failed])
    if not started or (status != 0 and not failed):
        tally.failures.append(f"{title}: ansible-test ended with status {status}")
    return tally


def _check(leg: venvs.Leg) -> Tally:
    title = f"sanity tests, {leg.title}"
    environment, tree = venvs.environment(leg), collection.copy_for_ansible_test(leg.core)
    log = progress.log_path().with_name(f"sanity-{leg.core}.log")
    settings = {
        "HOME": str(_home()),
        "PATH": f"{environment}/bin:{_interpreters()}:{os.environ['PATH']}",
        "ANSIBLE_COLLECTIONS_PATH": str(tree.parents[2]),
    }
    command = [str(environment / "bin/ansible-test"), "sanity", "--local", "--color", "no"]
    with progress.step(title):
        status = progress.run(command, log=log, cwd=tree, env=settings, timeout=SANITY_SECONDS, check=False)
    tally = count(log.read_text(errors="replace"), status, title)
    if tally.failures:
        progress.say(f"{title} failed:\n{progress.tail(log)}\nWhole log: {log}")
    return tally


def _home() -> Path:
    """A home of ansible-test's own: the user's is left alone, pip's settings in it stay in force."""
    home = cache.root() / "ansible-test" / "home"
    (home / ".ansible/test/cache").mkdir(parents=True, exist_ok=True)
    for name in GET_PIP_NAMES:
        (home / ".ansible/test/cache" / name).write_text(GET_PIP)
    for settings in (".config/pip", ".pip"):
        if (Path.home() / settings).exists() and not (home / settings).is_symlink():
            (home / settings).parent.mkdir(exist_ok=True)
            (home / settings).symlink_to(Path.home() / settings)
    return home


def _interpreters() -> Path:
    """A folder with every Python of this machine by name, as ansible-test looks for them on PATH."""
    folder = cache.root() / "ansible-test" / "pythons"
    folder.mkdir(parents=True, exist_ok=True)
    for version, path in venvs.interpreters().items():
        link = folder / f"python{version}"
        if not link.is_symlink() or link.readlink() != path:
            link.unlink(missing_ok=True)
            link.symlink_to(path)
    return folder
