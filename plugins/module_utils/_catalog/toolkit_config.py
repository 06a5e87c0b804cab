# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys of the toolkit's config.toml. Private to this collection.

Source: NVIDIA Container Toolkit 1.20.0 (2026-08), nvidia-ctk config default. One row a key.
"""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT_PATH = "/etc/nvidia-container-runtime/config.toml"


@dataclass(frozen=True)
class Setting:
    """``kind`` is bool, str or list (of texts). ``values``: the only texts that are accepted; empty for any.

    ``default``: what a new file gets; None for a key that it does not get.
    """

    kind: str
    values: tuple[str, ...] = ()
    default: bool | str | tuple[str, ...] | None = None


CLI = "nvidia-container-cli"
RUNTIME = "nvidia-container-runtime"
FEATURES = "features"

SETTINGS = {
    "accept-nvidia-visible-devices-as-volume-mounts": Setting("bool"),
    "accept-nvidia-visible-devices-envvar-when-unprivileged": Setting("bool"),
    "disable-require": Setting("bool", default=False),
    "supported-driver-capabilities": Setting("str", default="compat32,compute,display,graphics,ngx,utility,video"),
    "swarm-resource": Setting("str"),
    f"{CLI}.debug": Setting("str"),
    f"{CLI}.environment": Setting("list", default=()),
    f"{CLI}.ldcache": Setting("str"),
    f"{CLI}.ldconfig": Setting("str"),
    f"{CLI}.load-kmods": Setting("bool", default=True),
    f"{CLI}.no-cgroups": Setting("bool"),
    f"{CLI}.no-pivot": Setting("bool"),
    f"{CLI}.path": Setting("str"),
    f"{CLI}.root": Setting("str"),
    f"{CLI}.user": Setting("str"),
    f"{RUNTIME}.debug": Setting("str"),
    f"{RUNTIME}.log-level": Setting("str", ("error", "warning", "info", "debug", "trace"), default="info"),
    f"{RUNTIME}.mode": Setting("str", ("auto", "cdi", "csv", "jit-cdi", "legacy"), default="auto"),
    f"{RUNTIME}.runtimes": Setting("list", default=("runc", "crun")),
    f"{RUNTIME}.modes.cdi.annotation-prefixes": Setting("list", default=("cdi.k8s.io/",)),
    f"{RUNTIME}.modes.cdi.default-kind": Setting("str", default="nvidia.com/gpu"),
    f"{RUNTIME}.modes.cdi.spec-dirs": Setting("list", default=("/etc/cdi", "/var/run/cdi")),
    f"{RUNTIME}.modes.csv.compat-container-root": Setting("str"),
    f"{RUNTIME}.modes.csv.mount-spec-path": Setting(
        "str", default="/etc/nvidia-container-runtime/host-files-for-container.d"
    ),
    f"{RUNTIME}.modes.jit-cdi.nvcdi-disable-hooks": Setting("list"),
    f"{RUNTIME}.modes.jit-cdi.nvcdi-feature-flags": Setting("list"),
    f"{RUNTIME}.modes.legacy.cuda-compat-mode": Setting(
        "str", ("disabled", "hook", "ldconfig", "mount"), default="ldconfig"
    ),
    "nvidia-container-runtime-hook.path": Setting("str", default="nvidia-container-runtime-hook"),
    "nvidia-container-runtime-hook.skip-mode-detection": Setting("bool", default=False),
    "nvidia-ctk.path": Setting("str", default="nvidia-ctk"),
    f"{FEATURES}.allow-cuda-compat-libs-from-container": Setting("bool"),
    f"{FEATURES}.allow-ldconfig-from-container": Setting("bool"),
    f"{FEATURES}.allow-unknown-oci-spec-fields": Setting("bool"),
    f"{FEATURES}.disable-cuda-compat-lib-hook": Setting("bool"),
    f"{FEATURES}.disable-imex-channel-creation": Setting("bool"),
    f"{FEATURES}.ignore-imex-channel-requests": Setting("bool"),
    f"{FEATURES}.no-additional-gids-for-device-nodes": Setting("bool"),
}

LDCONFIG = f"{CLI}.ldconfig"
FREE_LDCONFIG = f"{FEATURES}.allow-ldconfig-from-container"

# Debian wraps ldconfig; the program behind the wrapper is the one that a container's root can be given to.
REAL_LDCONFIG = "/sbin/ldconfig.real"
PLAIN_LDCONFIG = "/sbin/ldconfig"

# SUSE lets members of group video open the device nodes, and nobody else.
USER = f"{CLI}.user"
SUSE_USER = "root:video"
SUSE = ("suse", "opensuse")
