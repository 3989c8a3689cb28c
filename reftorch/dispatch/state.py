"""What is switched on in this thread: modes, grad recording, inference."""
from __future__ import annotations

import threading
from typing import Any


class _State(threading.local):
    """special: True if anything makes calls take the long way (a mode, or inference mode). One flag, so that the
    short way pays for one look-up."""

    special = False
    grad_enabled = True
    inference = False
    modes: tuple[Any, ...] = ()

    def refresh(self) -> None:
        self.special = bool(self.modes) or self.inference


state = _State()
