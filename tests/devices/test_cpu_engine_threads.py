"""Threads: the same results on any number of them, from any thread, and after a fork."""
from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from reftorch.devices.cpu import engine, threads
from reftorch.devices.cpu.engine import kernel
from reftorch.devices.cpu.threads import get_num_threads, set_num_threads


@pytest.fixture(autouse=True)
def restore():
    before = get_num_threads()
    yield
    set_num_threads(before)


def line(a, b):
    return a * 3 + b


def launcher(n):
    return kernel(line, ["float64"] * 2, "float64", "float64").launcher((n,), [[1]] * 3)


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_every_element_once_on_any_number_of_threads(count):
    set_num_threads(count)
    assert get_num_threads() == count
    for n in (32767, 32768, 32769, 65536 + 63, 100_001, 1_000_003):
        a, b = np.arange(n, dtype="f8"), np.zeros(n)
        launch = launcher(n)
        for _ in range(20):
            launch(b.ctypes.data, a.ctypes.data, b.ctypes.data)  # in place: an element done twice would show
        assert (b == a * 60).all()


def test_strided_work_is_shared_too():
    set_num_threads(3)
    x = np.arange(2 * 300 * 400, dtype="f8").reshape(300, 800)[:, ::2]
    y, out = np.arange(400.0), np.empty((400, 300)).T
    kernel(line, ["float64"] * 2, "float64", "float64").launcher((300, 400), [(1, 300), (800, 2), (0, 1)])(
        out.ctypes.data, x.ctypes.data, y.ctypes.data)
    assert (out == x * 3 + y).all()


def test_kernels_may_be_called_from_several_threads_at_once():
    set_num_threads(2)
    n, wrong = 200_000, []

    def work(seed):
        a, out = np.full(n, float(seed)), np.empty(n)
        launch = launcher(n)
        for _ in range(200):
            launch(out.ctypes.data, a.ctypes.data, a.ctypes.data)
            if not (out[::997] == 4 * seed).all():
                wrong.append(seed)

    callers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not wrong


def test_other_python_threads_run_during_a_large_call():
    set_num_threads(1)
    n = 20_000_000
    a, ticks, done = np.ones(n), [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.0005)

    launch, other = launcher(n), threading.Thread(target=tick)
    other.start()
    begin = time.perf_counter()
    for _ in range(5):
        launch(a.ctypes.data, a.ctypes.data, a.ctypes.data)
    end = time.perf_counter()
    done.set()
    other.join()
    assert sum(begin < t < end for t in ticks) > 5


def test_helpers_end_when_they_are_not_wanted():
    set_num_threads(4)
    threads.start()
    assert sum(t.name.startswith("reftorch-") for t in threading.enumerate()) == 3
    set_num_threads(1)
    assert not any(t.name.startswith("reftorch-") for t in threading.enumerate())


def test_bad_counts():
    for bad in (0, -1):
        with pytest.raises(RuntimeError):
            set_num_threads(bad)
    for bad in (1.0, True, "2", None):
        with pytest.raises(TypeError):
            set_num_threads(bad)


FORK = """
import os
import numpy as np
from reftorch.devices.cpu.engine import kernel
from reftorch.devices.cpu.threads import get_num_threads, set_num_threads

def twice(a):
    return a + a

a, out = np.ones(100000), np.empty(100000)
launch = kernel(twice, ["float64"], "float64", "float64").launcher((100000,), [[1]] * 2)
set_num_threads(2)
launch(out.ctypes.data, a.ctypes.data)
child = os.fork()
if child == 0:
    out[:] = 0
    launch(out.ctypes.data, a.ctypes.data)
    good = (out == 2).all() and get_num_threads() == 1
    set_num_threads(2)
    launch(a.ctypes.data, a.ctypes.data)
    os._exit(0 if good and (a == 2).all() else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_works():
    root = Path(engine.__file__).parents[3]
    command = [sys.executable, "-W", "ignore", "-c", FORK]
    run = subprocess.run(command, capture_output=True, text=True, cwd=root, timeout=60)
    assert run.stdout.strip() == "0" and run.returncode == 0, run.stderr
