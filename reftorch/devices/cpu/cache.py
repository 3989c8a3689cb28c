"""Compiled kernels on disk: one `<key>.o` with a `<key>.json` beside it.

The key covers everything the code depends on, so an entry is never stale; it may be deleted at any time. A
directory that cannot be written or read means no cache, and an entry that is not what was written is compiled
again.
"""
from __future__ import annotations

import builtins
import contextlib
import functools
import hashlib
import json
import os
import sys
import tempfile
import types
from collections import ChainMap
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reftorch.numerics.arith import PRIMITIVES

from .native import host, triple


def directory() -> Path:
    """REFTORCH_CACHE_DIR, else reftorch under XDG_CACHE_HOME, else ~/.cache/reftorch."""
    chosen = os.environ.get("REFTORCH_CACHE_DIR")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "reftorch"


def key(*parts: Any) -> str:
    """The name of the entry for code that depends on `parts`, this engine, its tools and this processor."""
    return hashlib.sha256(repr((parts, _surroundings())).encode()).hexdigest()


@functools.cache
def _surroundings() -> tuple[Any, ...]:
    from importlib.metadata import version  # slow to load
    engine = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        engine.update(path.read_bytes())
    return (engine.hexdigest(), version("numba"), version("llvmlite"), sys.version, triple(), host())


def load(name: str) -> bytes | None:
    """The object code stored under `name`, None if there is none or it is damaged."""
    try:
        code = (directory() / f"{name}.o").read_bytes()
        facts = json.loads((directory() / f"{name}.json").read_bytes())
        return code if facts["sha256"] == hashlib.sha256(code).hexdigest() else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def save(name: str, code: bytes, description: str) -> None:
    """Store `code` under `name`. Other processes see both files whole or not at all."""
    facts = {"what": description, "sha256": hashlib.sha256(code).hexdigest()}
    with contextlib.suppress(OSError):
        directory().mkdir(parents=True, exist_ok=True)
        _write(f"{name}.o", code)
        _write(f"{name}.json", json.dumps(facts).encode())


def _write(name: str, data: bytes) -> None:
    handle, temporary = tempfile.mkstemp(dir=directory(), prefix=f"{name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, directory() / name)
    except OSError:
        os.unlink(temporary)
        raise


def meaning(function: Callable[..., Any]) -> tuple[Any, ...]:
    """What a formula computes: its bytecode, and the meaning of every function and number that it names."""
    seen: dict[int, int] = {}

    def of(value: Any) -> Any:
        if isinstance(value, types.FunctionType):
            if PRIMITIVES.get(value.__name__) is value:
                return f"primitive {value.__name__}"
            if id(value) in seen:
                return seen[id(value)]
            seen[id(value)] = len(seen)
            code, cells = value.__code__, value.__closure__ or ()
            scope = ChainMap(value.__globals__, vars(builtins))
            named = {name: scope.get(name) for name in code.co_names}
            named |= {name: cell.cell_contents for name, cell in zip(code.co_freevars, cells)}
            modules = [x for x in named.values() if isinstance(x, types.ModuleType)]
            attributes = [of(getattr(m, name)) for m in modules for name in code.co_names if hasattr(m, name)]
            return (code.co_code, code.co_varnames, code.co_names, tuple(of(c) for c in code.co_consts),
                    tuple((name, of(x)) for name, x in named.items()), tuple(attributes))
        if isinstance(value, types.ModuleType):
            return f"module {value.__name__}"
        return tuple(of(x) for x in value) if isinstance(value, tuple) else repr(value)

    return (of(function),)
