# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""MIG geometry of known models, for plans that are made before NVML can answer. Private to this collection.

On a running host NVML decides about profiles and placements; a row here stands in for it only where it cannot be asked,
and the result then says ``source: catalog``. A model without a row is unknown: nothing is derived from its neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MigProfile:
    """A GPU instance profile as NVML describes it.

    ``starts`` are the legal first memory units and ``size`` the units it takes; ``count`` is how many fit at once.
    ``engines`` is (decoders, encoders, JPEG, OFA); ``memory_mib`` is None where no source gave it.
    """

    name: str
    id: int
    slices: int
    count: int
    starts: tuple[int, ...]
    size: int
    engines: tuple[int, int, int, int] = (0, 0, 0, 0)
    memory_mib: int | None = None


@dataclass(frozen=True)
class MigModel:
    """One row: PCI device ids (vendor 10DE, four hex digits), architecture, profiles, and where it was read.

    ``assumed`` names what no source gave and was taken over from the board beside it: ``starts``, or ``profiles`` as a
    whole for boards with the same chip and memory as another. Sizes that nobody published are None.
    """

    name: str
    device_ids: tuple[str, ...]
    architecture: str
    profiles: tuple[MigProfile, ...]
    source: str
    date: str
    assumed: tuple[str, ...] = ()


# Widths of compute instances that NVML offers in a GPU instance of so many slices (NVML compute instance profiles 0-4).
COMPUTE_WIDTHS = {1: (1,), 2: (1, 2), 3: (1, 2, 3), 4: (1, 2, 4), 7: (1, 2, 3, 4, 7)}

# Width of a compute instance -> first slices that it may have in its GPU instance, as far as it fits there. No public
# output shows more than whole and one-slice ones; the others follow the counts that NVML publishes (7 slices: 3 x 2c,
# 2 x 3c, 1 x 4c).
COMPUTE_STARTS = {1: (0, 1, 2, 3, 4, 5, 6), 2: (0, 2, 4), 3: (0, 4), 4: (0,), 7: (0,)}

# kind -> (profile id, slices, count, starts, size), from nvidia-smi mig -lgip and -lgipp of A100, H100 and H100 NVL
SEVEN_SLICES = {
    "1g": (19, 1, 7, (0, 1, 2, 3, 4, 5, 6), 1),
    "1g+me": (20, 1, 1, (0, 1, 2, 3, 4, 5, 6), 1),
    "1g double": (15, 1, 4, (0, 2, 4, 6), 2),
    "2g": (14, 2, 3, (0, 2, 4), 2),
    "3g": (9, 3, 2, (0, 4), 4),
    "4g": (5, 4, 1, (0,), 4),
    "7g": (0, 7, 1, (0,), 8),
}
FOUR_SLICES = {
    "1g": (14, 1, 4, (0, 1, 2, 3), 1),
    "1g+me": (21, 1, 1, (0, 1, 2, 3), 1),
    "2g": (5, 2, 2, (0, 2), 2),
    "2g+me": (6, 2, 1, (0, 2), 2),
    "4g": (0, 4, 1, (0,), 4),
}
RTX_PRO = {
    "1g": (14, 1, 4, (0, 3, 6, 9), 3),
    "1g+me": (21, 1, 1, (0, 3, 6, 9), 3),
    "1g+gfx": (47, 1, 4, (0, 3, 6, 9), 3),
    "1g+me.all": (65, 1, 1, (0, 3, 6, 9), 3),
    "1g-me": (67, 1, 4, (0, 3, 6, 9), 3),
    "2g": (5, 2, 2, (0, 6), 6),
    "2g+gfx": (35, 2, 2, (0, 6), 6),
    "2g+me.all": (64, 2, 1, (0, 6), 6),
    "2g-me": (66, 2, 2, (0, 6), 6),
    "4g": (0, 4, 1, (0,), 12),
    "4g+gfx": (32, 4, 1, (0,), 12),
}

# kind -> (decoders, encoders, JPEG, OFA)
AMPERE = {
    "1g": (0, 0, 0, 0),
    "1g+me": (1, 0, 1, 1),
    "1g double": (1, 0, 0, 0),
    "2g": (1, 0, 0, 0),
    "3g": (2, 0, 0, 0),
    "4g": (2, 0, 0, 0),
    "7g": (5, 0, 1, 1),
}
HOPPER = {
    "1g": (1, 0, 1, 0),
    "1g+me": (1, 0, 1, 1),
    "1g double": (1, 0, 1, 0),
    "2g": (2, 0, 2, 0),
    "3g": (3, 0, 3, 0),
    "4g": (4, 0, 4, 0),
    "7g": (7, 0, 7, 1),
}
A30 = {
    "1g": (1, 0, 0, 0),
    "1g+me": (1, 0, 1, 1),
    "2g": (2, 0, 0, 0),
    "2g+me": (2, 0, 1, 1),
    "4g": (4, 0, 1, 1),
}
RTX_PRO_ENGINES = {
    "1g": (1, 1, 1, 0),
    "1g+me": (1, 1, 1, 1),
    "1g+gfx": (1, 1, 1, 0),
    "1g+me.all": (4, 4, 4, 1),
    "1g-me": (0, 0, 0, 0),
    "2g": (2, 2, 2, 0),
    "2g+gfx": (2, 2, 2, 0),
    "2g+me.all": (4, 4, 4, 1),
    "2g-me": (0, 0, 0, 0),
    "4g": (4, 4, 4, 1),
    "4g+gfx": (4, 4, 4, 1),
}

USER_GUIDE = "NVIDIA MIG User Guide (docs.nvidia.com/datacenter/tesla/mig-user-guide)"
PCI_IDS = "PCI ID database 2026.08.22"
MIG_PARTED = "NVIDIA/mig-parted default configuration and issues"
STARTS = ("starts",)
PROFILES = ("profiles",)


def _profiles(geometry: dict, engines: dict, names: str, memory: str = "") -> tuple[MigProfile, ...]:
    """Profiles out of ``names`` (``1g.5gb 1g.5gb+me ...``) and sizes in MiB, both in the geometry's order."""
    sizes: list[int | None] = [*map(int, memory.split())] or [None] * len(geometry)
    rows = zip(geometry.items(), names.split(), sizes)
    return tuple(
        MigProfile(name, number, slices, count, starts, size, engines[kind], mib)
        for (kind, (number, slices, count, starts, size)), name, mib in rows
    )


MODELS = (
    MigModel(
        "A100 40GB",
        ("20B0", "20B1", "20F1", "20F6"),
        "ampere",
        _profiles(
            SEVEN_SLICES,
            AMPERE,
            "1g.5gb 1g.5gb+me 1g.10gb 2g.10gb 3g.20gb 4g.20gb 7g.40gb",
            "4864 4864 9856 9856 19968 19968 40192",
        ),
        USER_GUIDE,
        "2026-11-30",
    ),
    MigModel(
        "A100 80GB",
        ("20B2", "20B5", "20F3", "20F5"),
        "ampere",
        _profiles(
            SEVEN_SLICES,
            AMPERE,
            "1g.10gb 1g.10gb+me 1g.20gb 2g.20gb 3g.40gb 4g.40gb 7g.80gb",
            "9728 9728 19968 19968 40192 40192 80896",
        ),
        USER_GUIDE,
        "2026-11-30",
    ),
    MigModel(
        "A30",
        ("20B7",),
        "ampere",
        _profiles(FOUR_SLICES, A30, "1g.6gb 1g.6gb+me 2g.12gb 2g.12gb+me 4g.24gb", "5952 5952 11968 11968 24000"),
        USER_GUIDE,
        "2026-11-30",
    ),
    MigModel(
        "H100 80GB, H800",
        ("2322", "2324", "2330", "2331"),
        "hopper",
        _profiles(
            SEVEN_SLICES,
            HOPPER,
            "1g.10gb 1g.10gb+me 1g.20gb 2g.20gb 3g.40gb 4g.40gb 7g.80gb",
            "9984 9984 20096 20096 40448 40448 81152",
        ),
        USER_GUIDE,
        "2026-11-30",
    ),
    MigModel(
        "H100 NVL",
        ("2321", "233A"),
        "hopper",
        _profiles(
            SEVEN_SLICES,
            HOPPER,
            "1g.12gb 1g.12gb+me 1g.24gb 2g.24gb 3g.47gb 4g.47gb 7g.94gb",
            "11008 11008 22144 22144 47488 47488 95360",
        ),
        "nvidia-smi mig -lgip and -lgipp outputs in public repositories",
        "2026-11-30",
    ),
    MigModel(
        "H100 96GB, GH200 96GB, H20",
        ("2329", "233D", "2342"),
        "hopper",
        _profiles(SEVEN_SLICES, HOPPER, "1g.12gb 1g.12gb+me 1g.24gb 2g.24gb 3g.48gb 4g.48gb 7g.96gb"),
        USER_GUIDE,
        "2026-11-30",
        STARTS,
    ),
    MigModel(
        "H200",
        ("2335", "233B"),
        "hopper",
        _profiles(
            SEVEN_SLICES,
            HOPPER,
            "1g.18gb 1g.18gb+me 1g.35gb 2g.35gb 3g.71gb 4g.71gb 7g.141gb",
            "16384 16384 33024 33024 71168 71168 143104",
        ),
        "https://github.com/NVIDIA/mig-parted/issues/120",
        "2026-11-30",
        STARTS,
    ),
    MigModel(
        "GH200 144GB",
        ("2348",),
        "hopper",
        _profiles(
            SEVEN_SLICES,
            HOPPER,
            "1g.18gb 1g.18gb+me 1g.36gb 2g.36gb 3g.72gb 4g.72gb 7g.144gb",
            "17920 17920 36096 36096 72448 72448 146560",
        ),
        "https://github.com/NVIDIA/mig-parted/issues/139",
        "2026-11-30",
        STARTS,
    ),
    MigModel(
        "B200",
        ("2901",),
        "blackwell",
        _profiles(
            SEVEN_SLICES,
            HOPPER,
            "1g.23gb 1g.23gb+me 1g.45gb 2g.45gb 3g.90gb 4g.90gb 7g.180gb",
            "20992 20992 45312 45312 90880 90880 182400",
        ),
        "https://github.com/NVIDIA/mig-parted/issues/166",
        "2026-11-30",
        STARTS,
    ),
    MigModel(
        "GB200",
        ("2941",),
        "blackwell",
        _profiles(
            SEVEN_SLICES,
            HOPPER,
            "1g.23gb 1g.23gb+me 1g.47gb 2g.47gb 3g.93gb 4g.93gb 7g.186gb",
            "22528 22528 46592 46592 94208 94208 188800",
        ),
        "https://github.com/NVIDIA/mig-parted/issues/227",
        "2026-11-30",
        STARTS,
    ),
    MigModel(
        "B300",
        ("3182",),
        "blackwell",
        _profiles(SEVEN_SLICES, HOPPER, "1g.34gb 1g.34gb+me 1g.67gb 2g.67gb 3g.135gb 4g.135gb 7g.269gb"),
        MIG_PARTED,
        "2026-11-30",
        STARTS,
    ),
    MigModel(
        "GB300",
        ("31C2",),
        "blackwell",
        _profiles(SEVEN_SLICES, HOPPER, "1g.35gb 1g.35gb+me 1g.70gb 2g.70gb 3g.139gb 4g.139gb 7g.278gb"),
        MIG_PARTED,
        "2026-11-30",
        STARTS,
    ),
    MigModel(
        "RTX PRO 6000",
        ("2BB5",),
        "blackwell",
        _profiles(
            RTX_PRO,
            RTX_PRO_ENGINES,
            "1g.24gb 1g.24gb+me 1g.24gb+gfx 1g.24gb+me.all 1g.24gb-me "
            "2g.48gb 2g.48gb+gfx 2g.48gb+me.all 2g.48gb-me 4g.96gb 4g.96gb+gfx",
            "24192 24192 24192 24192 24192 48512 48512 48512 48512 97408 97408",
        ),
        "https://github.com/bottlerocket-os/bottlerocket-kernel-kit/issues/300",
        "2026-11-30",
    ),
    MigModel(
        "A800 40GB SXM4",
        ("20BD",),
        "ampere",
        _profiles(
            SEVEN_SLICES,
            AMPERE,
            "1g.5gb 1g.5gb+me 1g.10gb 2g.10gb 3g.20gb 4g.20gb 7g.40gb",
            "4864 4864 9856 9856 19968 19968 40192",
        ),
        PCI_IDS,
        "2026-12-01",
        PROFILES,
    ),
    MigModel(
        "A100X",
        ("20B8",),
        "ampere",
        _profiles(
            SEVEN_SLICES,
            AMPERE,
            "1g.10gb 1g.10gb+me 1g.20gb 2g.20gb 3g.40gb 4g.40gb 7g.80gb",
            "9728 9728 19968 19968 40192 40192 80896",
        ),
        PCI_IDS,
        "2026-12-01",
        PROFILES,
    ),
    MigModel(
        "A30X",
        ("20B9",),
        "ampere",
        _profiles(FOUR_SLICES, A30, "1g.6gb 1g.6gb+me 2g.12gb 2g.12gb+me 4g.24gb", "5952 5952 11968 11968 24000"),
        PCI_IDS,
        "2026-12-01",
        PROFILES,
    ),
    MigModel(
        "PG506-232 96GB",
        ("20B6",),
        "ampere",
        _profiles(SEVEN_SLICES, AMPERE, "1g.12gb 1g.12gb+me 1g.24gb 2g.24gb 3g.48gb 4g.48gb 7g.96gb"),
        MIG_PARTED,
        "2026-12-01",
        STARTS,
    ),
    MigModel(
        "H100 64GB",
        ("2337",),
        "hopper",
        _profiles(SEVEN_SLICES, HOPPER, "1g.8gb 1g.8gb+me 1g.16gb 2g.16gb 3g.32gb 4g.32gb 7g.64gb"),
        USER_GUIDE,
        "2026-12-01",
        STARTS,
    ),
    MigModel(
        "RTX PRO 6000 Workstation, Max-Q",
        ("2BB1", "2BB4"),
        "blackwell",
        _profiles(
            RTX_PRO,
            RTX_PRO_ENGINES,
            "1g.24gb 1g.24gb+me 1g.24gb+gfx 1g.24gb+me.all 1g.24gb-me "
            "2g.48gb 2g.48gb+gfx 2g.48gb+me.all 2g.48gb-me 4g.96gb 4g.96gb+gfx",
            "24192 24192 24192 24192 24192 48512 48512 48512 48512 97408 97408",
        ),
        USER_GUIDE,
        "2026-12-01",
        PROFILES,
    ),
    MigModel(
        "GB300, other ids",
        ("31A1", "31C3"),
        "blackwell",
        _profiles(SEVEN_SLICES, HOPPER, "1g.35gb 1g.35gb+me 1g.70gb 2g.70gb 3g.139gb 4g.139gb 7g.278gb"),
        PCI_IDS,
        "2026-12-01",
        PROFILES,
    ),
)

# Boards with MIG whose geometry no source gave, and why nothing is taken over for them: there only NVML can say.
WITHOUT_GEOMETRY = {
    "20B3": "A100 with 64 GB: no list of its profiles is public",
    "2339": "H100 SXM5 with 94 or 96 GB under one id: the names differ",
    "230E": "H20 NVL16: no list of its profiles is public",
    "232C": "H20-3e: no list of its profiles is public",
    "2336": "H100 of a pilot series: no list of its profiles is public",
    "2920": "B100: never published",
}


def find_model(device_id: str) -> MigModel | None:
    """The row of a PCI device id (four hex digits, any case), or None for an unknown model."""
    return next((m for m in MODELS if device_id.upper() in m.device_ids), None)
