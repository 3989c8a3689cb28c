"""What is here, and what works."""
from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .runner import Worker, WorkerDied, last_line, worker_environment
from .worker import CHAPTERS

PACKAGES = ("reftorch", "numpy", "numba", "llvmlite", "scipy", "torch", "click", "rich", "jinja2")
SECONDS = 180

# Compiles one formula, and sees to it that its multiply and add are one rounding: 1 + 2**-12 squared needs more bits.
KERNEL = """
import time
start = time.perf_counter()
import numpy as np, reftorch
x = reftorch.from_numpy(np.full(64, 1 + 2.0**-12, np.float32))
r = reftorch.addcmul(-x, x, x).numpy()
right = np.float32((1 + 2.0**-12)**2 - (1 + 2.0**-12))
print("one rounding" if (r == right).all() else f"WRONG: {r[0]!r} instead of {right!r}", end=", ")
print(f"{time.perf_counter() - start:.1f} s")
"""


def examine(echo: Callable[[str], Any]) -> bool:
    """Print it all; whether reftorch itself works."""
    echo(f"python      {platform.python_version()} ({sys.executable})")
    echo(f"system      {platform.system()} {platform.machine()}, {os.cpu_count()} cores")
    for name in PACKAGES:
        try:
            echo(f"{name:11} {version(name)}")
        except PackageNotFoundError:
            echo(f"{name:11} not installed")
    compilers = {name: shutil.which(name) for name in (os.environ.get("CXX"), "g++", "clang++", "nvcc") if name}
    echo("compilers   " + (", ".join(f"{k} ({v})" for k, v in compilers.items() if v) or "none"))
    echo("caches      " + ", ".join(f"{k}={v}" for k, v in _caches().items()))
    kernel = subprocess.run([sys.executable, "-c", KERNEL], capture_output=True, text=True, timeout=SECONDS,
                            env=worker_environment())
    works = kernel.returncode == 0 and kernel.stdout.startswith("one rounding")
    last = (kernel.stderr.strip().splitlines() or [""])[-1]
    echo("kernels     " + (f"numba compiles and runs a formula: {kernel.stdout.strip()}" if not kernel.returncode
                           else f"BROKEN: {last}"))
    from .subjects import machine, subjects
    here = machine()
    echo("environment " + ", ".join(f"{k}={v}" for k, v in here.items()))
    echo("subjects")
    with ThreadPoolExecutor(2) as pool:
        for name, event in pool.map(lambda n: (n, _introduce(n)), subjects()):
            if event["event"] == "ready":
                place = event["place"]
                echo(f"  {name:18} {place['device']} {place['mode']}, specification {place['version']}")
                own = {k: v for k, v in event["environment"].items() if here.get(k) != v}
                echo(f"{'':21}" + ", ".join(f"{k}={v}" for k, v in own.items()))
            else:
                echo(f"  {name:18} not available: {event.get('reason') or last_line(event.get('text', ''))}")
    return works


def _caches() -> dict[str, str]:
    inductor = os.environ.get("TORCHINDUCTOR_CACHE_DIR") or str(
        Path(tempfile.gettempdir()) / f"torchinductor_{os.environ.get('USER', 'root')}")
    return {"numba": os.environ.get("NUMBA_CACHE_DIR", "__pycache__ beside the sources"), "inductor": inductor}


def _introduce(name: str) -> dict[str, Any]:
    """What a worker says about a subject when it starts."""
    with tempfile.TemporaryDirectory() as folder:
        worker = Worker({"do": "start", "subject": name, "device": None, "version": None, "profile": "smoke", "seed": 0,
                         "chapters": CHAPTERS}, Path(folder) / "log")
        try:
            for event in worker.receive():
                return event
        except WorkerDied:
            pass
        finally:
            how = worker.end()
        return {"event": "died", "reason": f"its process {how}: {worker.tail()}"}
