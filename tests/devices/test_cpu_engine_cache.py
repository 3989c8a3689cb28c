"""Kernels on disk: found again without the compiler, never stale, never needed."""
from __future__ import annotations

import json
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from reftorch.devices.cpu import cache, engine, threads
from reftorch.numerics.arith import absolute, fma

SCRIPT = """
import sys
import numpy as np
from reftorch.devices.cpu.engine import kernel
from reftorch.numerics.arith import fma

def formula(a, b, c):
    return fma(a, b, c) * 3

a, out = np.arange(40000, dtype="f4"), np.empty(40000, "f4")
launch = kernel(formula, ["float32"] * 3, "float32", "float32").launcher((40000,), [[1]] * 4)
launch(*(x.ctypes.data for x in (out, a, a, a)))
assert (out == (a.astype("f8") * a + a).astype("f4") * 3).all()
print("numba" in sys.modules)
"""


@pytest.fixture
def directory(tmp_path, monkeypatch):
    threads.start()  # their code is cached too, elsewhere
    monkeypatch.setenv("REFTORCH_CACHE_DIR", str(tmp_path / "kernels"))
    monkeypatch.setattr(engine, "_kernels", {})
    return tmp_path / "kernels"


def square_plus(a):
    return a * a + 0.25


def result(t="float32"):
    """What the kernel of square_plus makes of 3, built as in a new process."""
    engine._kernels.clear()
    a = np.full(5, 3, t)
    engine.kernel(square_plus, [t], t, t).launcher((5,), [[1]] * 2)(a.ctypes.data, a.ctypes.data)
    return a.tolist()


def test_a_second_process_does_not_import_numba(directory):
    root = Path(engine.__file__).parents[3]
    command = [sys.executable, "-c", SCRIPT]
    runs = [subprocess.run(command, capture_output=True, text=True, cwd=root, timeout=120) for _ in range(2)]
    assert [r.stdout.strip() for r in runs] == ["True", "False"], [r.stderr for r in runs]


def test_entries_are_written_once_and_described(directory):
    assert result() == [9.25] * 5
    objects = sorted(directory.glob("*.o"))
    facts = json.loads(objects[0].with_suffix(".json").read_text())
    assert len(objects) == 1 and "square_plus" in facts["what"] and not list(directory.glob("*tmp*"))
    before = objects[0].stat().st_mtime_ns
    assert result() == [9.25] * 5
    assert objects[0].stat().st_mtime_ns == before
    result("float64")
    assert len(list(directory.glob("*.o"))) == 2


@pytest.mark.parametrize("damage", [
    lambda path: path.write_bytes(path.read_bytes()[:100]),
    lambda path: path.write_bytes(b""),
    lambda path: path.write_bytes(path.read_bytes()[:-1] + b"?"),
    lambda path: path.unlink(),
    lambda path: path.with_suffix(".json").write_text("{"),
    lambda path: path.with_suffix(".json").write_text("[]"),
    lambda path: path.with_suffix(".json").unlink(),
])
def test_a_damaged_entry_is_compiled_again(directory, damage):
    assert result() == [9.25] * 5
    [path] = directory.glob("*.o")
    good = path.read_bytes()
    damage(path)
    assert result() == [9.25] * 5
    assert path.read_bytes() == good and cache.load(path.stem) == good


def test_no_cache_where_nothing_can_be_written(directory):
    directory.write_text("a file, not a directory")
    assert result() == [9.25] * 5


def test_the_directory_is_chosen_by_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("REFTORCH_CACHE_DIR", str(tmp_path))
    assert cache.directory() == tmp_path
    monkeypatch.delenv("REFTORCH_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.directory() == tmp_path / "reftorch"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache.directory() == Path.home() / ".cache" / "reftorch"


def _formula(source, **names):
    scope = {"fma": fma, "absolute": absolute, **names}
    exec(f"def formula(a, b): return {source}", scope)
    return scope["formula"]


def _module(**names):
    module = types.ModuleType("module")
    vars(module).update(names)
    return module


def test_the_meaning_of_a_formula_is_what_it_computes():
    base = cache.meaning(_formula("fma(a, b, K)", K=1.0))
    assert base == cache.meaning(_formula("fma(a,  b, (K))", K=1.0, unused=3))
    helper, other = _formula("a + b"), _formula("a - b")
    different = [
        _formula("fma(b, a, K)", K=1.0),
        _formula("fma(a, b, K)", K=2.0),
        _formula("fma(a, b, K)", K=-0.0),
        _formula("fma(a, b, K)", K=0.0),
        _formula("fma(a, b, 1.0)"),
        _formula("fma(a, b, K)", K=1.0, fma=helper),
        _formula("fma(a, b, K)", K=1.0, fma=other),
        _formula("absolute(a) + absolute(b)"),
        _formula("module.K * a * b", module=_module(K=1.0)),
        _formula("module.K * a * b", module=_module(K=2.0)),
    ]
    meanings = [base, *(cache.meaning(f) for f in different)]
    assert len({repr(m) for m in meanings}) == len(meanings)


def test_closures_are_told_apart():
    def times(k):
        return lambda a: a * k

    a, out = np.ones(3), np.empty(3)
    for k in (2.0, 3.0):
        engine.kernel(times(k), ["float64"], "float64", "float64").launcher((3,), [[1]] * 2)(
            out.ctypes.data, a.ctypes.data)
        assert out.tolist() == [k] * 3
