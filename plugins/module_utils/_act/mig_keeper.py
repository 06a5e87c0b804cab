# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps a MIG wish for the next boot, and what was there before it, for removal. Private to this collection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .._plan.mig_documents import checkpoint_row
from .._plan.mig_layout import MigGpu
from .._plan.mig_wish import MigWish
from .._plan.model import Step
from .mig_state import MigState
from .ownership import STATE_DIRECTORY, Ownership

SAVE = "save_mig_wish"
FORGET = "remove_mig_wish"


class MigKeeper:
    """The wish and the ownership records below ``directory``."""

    def __init__(self, directory: str = STATE_DIRECTORY) -> None:
        self.state = MigState(directory)
        self._owned = Ownership("mig", directory=directory)

    def steps(self, wish: MigWish) -> tuple[Step, ...]:
        """The step that saves ``wish``, or none where it is saved already."""
        saved = self.state.wish()
        if saved == wish.document():
            return ()
        before = None if saved is None else _name(saved)
        reason = "instances are gone after a reboot; gpu-fleet-mig.service brings back what is saved"
        return (Step(SAVE, self.state.wish_path, before, _name(wish.document()), reason),)

    def keep(self, wish: MigWish, gpus: Sequence[MigGpu]) -> None:
        """Saves ``wish`` and, once for each GPU, the state before."""
        for gpu in gpus:
            if gpu.uuid and gpu.capable:
                self._owned.record(gpu.uuid, before=checkpoint_row(gpu), ours=_name(wish.document()))
        if self.steps(wish):
            self.state.save_wish(wish.document())

    def wish_before(self, uuids: Sequence[str | None], gpu_clients: tuple[str, ...]) -> MigWish:
        """What removal has to bring back for these GPUs; GPUs without a record are left alone."""
        rows = [row["before"] for uuid, row in self._owned.objects.items() if uuid in uuids]
        return MigWish(checkpoint={"version": "v1", "gpus": rows}, gpu_clients=gpu_clients)

    def removal_steps(self) -> tuple[Step, ...]:
        """The step that removes the saved wish, or none."""
        saved = self.state.wish()
        if saved is None and not self._owned.objects:
            return ()
        before = None if saved is None else _name(saved)
        return (Step(FORGET, self.state.wish_path, before, None, "role mig is to be absent"),)

    def forget(self) -> None:
        """Removes the wish and the records."""
        self.state.forget_wish()
        self.state.forget_checkpoint()
        for uuid in list(self._owned.objects):
            self._owned.forget(uuid)


def _name(document: Mapping) -> str:
    """A wish in two words, for people."""
    if document.get("checkpoint") is not None:
        return "a checkpoint"
    config = document.get("config")
    name = document.get("selected_config") or next(iter((config or {}).get("mig-configs", ())), None)
    return f"layout {name}"
