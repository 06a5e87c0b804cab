# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A systemd in a folder, for modules that stop and start units: a file for each unit that runs, and a log."""

from __future__ import annotations

from pathlib import Path

from simulator.module_host import Host

SYSTEMCTL = """\
#!/bin/sh
cd "$(dirname "$0")"/..
verb=$1; shift
case $verb in
is-active) for unit; do if [ -e "running/$unit" ]; then echo active; else echo inactive; fi; done; exit 3 ;;
esac
echo "$verb $1" >> log
if [ -e "kills/$verb-$1" ]; then kill -9 $PPID; exit 1; fi
if [ -e "refuses/$verb-$1" ]; then echo "$1 does not $verb" >&2; exit 1; fi
if [ "$verb" = stop ]; then rm -f "running/$1"; else touch "running/$1"; fi
"""


class Systemd:
    """The units of a machine: ``units`` run at the start."""

    def __init__(self, host: Host, folder: Path, *units: str) -> None:
        self.folder = folder
        for name in ("bin", "running", "refuses", "kills"):
            (folder / name).mkdir(parents=True)
        program = folder / "bin/systemctl"
        program.write_text(SYSTEMCTL)
        program.chmod(0o755)
        for unit in units:
            (folder / "running" / unit).touch()
        host.box.environment["PATH"] = f"{folder / 'bin'}:{host.box.environment['PATH']}"

    def refuse(self, verb: str, unit: str) -> None:
        """This fails from now on."""
        (self.folder / "refuses" / f"{verb}-{unit}").touch()

    def kill(self, verb: str, unit: str) -> None:
        """Whoever asks for this is killed."""
        (self.folder / "kills" / f"{verb}-{unit}").touch()

    def relent(self) -> None:
        """Nothing is refused and nobody is killed any more."""
        for name in ("refuses", "kills"):
            for path in (self.folder / name).iterdir():
                path.unlink()

    @property
    def running(self) -> set[str]:
        """Names of the units that run."""
        return {path.name for path in (self.folder / "running").iterdir()}

    @property
    def log(self) -> list[str]:
        """What was asked for, in order."""
        path = self.folder / "log"
        return path.read_text().splitlines() if path.exists() else []
