"""Which PyTorch release the specification speaks for.

Legal formulas differ between releases. The version is a parameter of everything that chooses a formula; this holds
its default, `REFTORCH_SPEC_VERSION` in the environment or the newest.
"""
from __future__ import annotations

import os
from collections.abc import Callable

SPEC_VERSIONS = ("2.11", "2.12", "2.13")

_listeners: list[Callable[[], None]] = []


def check_version(version: str) -> str:
    """`version`, if the specification covers it. Raises ValueError if not."""
    if version not in SPEC_VERSIONS:
        raise ValueError(f"no specification for PyTorch {version!r}: there are {', '.join(SPEC_VERSIONS)}")
    return version


_version = check_version(os.environ.get("REFTORCH_SPEC_VERSION", SPEC_VERSIONS[-1]))


def spec_version() -> str:
    return _version


def set_spec_version(version: str) -> None:
    """Make every later call follow this release. Raises ValueError for a release that is not covered."""
    global _version
    _version = check_version(version)
    for forget in _listeners:
        forget()


def on_version_change(forget: Callable[[], None]) -> None:
    """Have `forget` called when the version changes (plans remember the formula they chose)."""
    _listeners.append(forget)
