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
    """``kind`` is bool, str or list (of texts). ``values``: the only texts that are accepted; empty for any."""

    kind: str
    values: tuple[str, ...] = ()


CLI = "nvidia-container-cli"
RUNTIME = "nvidia-container-runtime"
FEATURES = "features"

SETTINGS = {
    "accept-nvidia-visible-devices-as-volume-mounts": Setting("bool"),
    "accept-nvidia-visible-devices-envvar-when-unprivileged": Setting("bool"),
    "disable-require": Setting("bool"),
    "supported-driver-capabilities": Setting("str"),
    "swarm-resource": Setting("str"),
    f"{CLI}.debug": Setting("str"),
    f"{CLI}.environment": Setting("list"),
    f"{CLI}.ldcache": Setting("str"),
    f"{CLI}.ldconfig": Setting("str"),
    f"{CLI}.load-kmods": Setting("bool"),
    f"{CLI}.no-cgroups": Setting("bool"),
    f"{CLI}.no-pivot": Setting("bool"),
    f"{CLI}.path": Setting("str"),
    f"{CLI}.root": Setting("str"),
    f"{CLI}.user": Setting("str"),
    f"{RUNTIME}.debug": Setting("str"),
    f"{RUNTIME}.log-level": Setting("str", ("error", "warning", "info", "debug", "trace")),
    f"{RUNTIME}.mode": Setting("str", ("auto", "cdi", "csv", "jit-cdi", "legacy")),
    f"{RUNTIME}.runtimes": Setting("list"),
    f"{RUNTIME}.modes.cdi.annotation-prefixes": Setting("list"),
    f"{RUNTIME}.modes.cdi.default-kind": Setting("str"),
    f"{RUNTIME}.modes.cdi.spec-dirs": Setting("list"),
    f"{RUNTIME}.modes.csv.compat-container-root": Setting("str"),
    f"{RUNTIME}.modes.csv.mount-spec-path": Setting("str"),
    f"{RUNTIME}.modes.jit-cdi.nvcdi-disable-hooks": Setting("list"),
    f"{RUNTIME}.modes.jit-cdi.nvcdi-feature-flags": Setting("list"),
    f"{RUNTIME}.modes.legacy.cuda-compat-mode": Setting("str", ("disabled", "hook", "ldconfig", "mount")),
    "nvidia-container-runtime-hook.path": Setting("str"),
    "nvidia-container-runtime-hook.skip-mode-detection": Setting("bool"),
    "nvidia-ctk.path": Setting("str"),
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
