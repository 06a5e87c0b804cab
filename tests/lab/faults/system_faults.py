# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of packages and services."""

from __future__ import annotations

from ..host import Host
from .fault import Words

HOLDER = "lab-held-lock.service"
# Takes the locks as apt and rpm do (fcntl; lib/apt-pkg/contrib/fileutl.cc, lib/rpmlock.c), under the name of the
# program that is met most.
HOLD = """\
import fcntl, os, time
places = ("/var/lib/dpkg/lock-frontend", "/var/lib/dpkg/lock", "/var/lib/rpm/.rpm.lock")
locks = [open(place, "w") for place in places if os.path.isdir(os.path.dirname(place))]
for lock in locks:
    fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
open("/proc/self/comm", "w").write("unattended-upgr")
print("held", flush=True)
time.sleep(10**6)
"""
CONTROL = """\
Package: {name}
Version: 1.0
Architecture: all
Maintainer: lab <lab@example.org>
Description: fault of a lab host{more}
"""
BUILD = """
folder=$(mktemp -d)
mkdir $folder/DEBIAN
cat > $folder/DEBIAN/control <<'CONTROL'
{control}CONTROL
{scripts}
dpkg-deb --root-owner-group --build $folder /var/lib/lab/{name}.deb >/dev/null
rm -r $folder
"""
# Kills the dpkg that runs it, once: what is left is what a power cut or the OOM killer leaves.
KILLER = """\
cat > $folder/DEBIAN/postinst <<'SCRIPT'
#!/bin/sh
[ -e /var/lib/lab/interrupted ] && exit 0
touch /var/lib/lab/interrupted
kill -KILL $PPID
SCRIPT
chmod 755 $folder/DEBIAN/postinst"""
INTERRUPTED, UNMET = "lab-interrupted", "lab-unmet"
ENGINES = ("containerd", "docker", "crio")
STOPPED = "/var/lib/lab/stopped-engines"
KUBELET = "kubelet.service"


def interrupt_dpkg(host: Host, _words: Words) -> None:
    _build(host, INTERRUPTED, "", KILLER)
    host.shell(f"! dpkg --install /var/lib/lab/{INTERRUPTED}.deb >/dev/null 2>&1")


def finish_dpkg(host: Host, _words: Words) -> None:
    host.shell(
        f"dpkg --configure -a; dpkg --purge {INTERRUPTED}; rm -f /var/lib/lab/{INTERRUPTED}* /var/lib/lab/interrupted"
    )


def break_packages(host: Host, _words: Words) -> None:
    """Installs one whose dependency exists nowhere."""
    _build(host, UNMET, "\nDepends: lab-does-not-exist (>= 2.0)", "")
    host.shell(f"dpkg --force-depends --install /var/lib/lab/{UNMET}.deb >/dev/null 2>&1")


def mend_packages(host: Host, _words: Words) -> None:
    host.shell(f"dpkg --purge {UNMET}; rm -f /var/lib/lab/{UNMET}.deb")


def hold_lock(host: Host, _words: Words) -> None:
    options = ["--quiet", f"--unit={HOLDER}", "--description=Holds the locks of the package manager"]
    host.run(["systemd-run", *options, "python3", "-c", HOLD])
    host.shell("for n in $(seq 50); do grep -qs unattended-upgr /proc/[0-9]*/comm && exit 0; sleep 0.1; done; exit 1")


def release_lock(host: Host, _words: Words) -> None:
    host.run(["systemctl", "stop", HOLDER])


def stop_engine(host: Host, _words: Words) -> None:
    """Stops every engine that runs, and writes down which units ended with it."""
    engines = " ".join(f"{name}.service" for name in ENGINES)
    host.shell(
        "active() { systemctl list-units --plain --no-legend --state=active | cut -d' ' -f1 | sort; }\n"
        f"active > {STOPPED}.before\n"
        f"systemctl list-units --plain --no-legend --state=active {engines} | cut -d' ' -f1 | xargs systemctl stop\n"
        f"active | comm -23 {STOPPED}.before - | grep '[.]service$' > {STOPPED}; rm {STOPPED}.before"
    )


def start_engine(host: Host, _words: Words) -> None:
    host.shell(f"xargs systemctl start < {STOPPED}; rm {STOPPED}")


def stop_kubelet(host: Host, _words: Words) -> None:
    host.run(["systemctl", "stop", KUBELET])


def start_kubelet(host: Host, _words: Words) -> None:
    host.run(["systemctl", "start", KUBELET])


def _build(host: Host, name: str, more: str, scripts: str) -> None:
    host.shell(BUILD.format(name=name, control=CONTROL.format(name=name, more=more), scripts=scripts))
