"""What a process pays before the first result. Goals: import under 0.3 s; one kernel, from a warm cache, under 1 s."""
from __future__ import annotations

import statistics
import subprocess
import sys
import time

PROGRAMS = {
    "import reftorch": ("import reftorch", 0.3),
    "one kernel, warm cache": ("import reftorch as t; x = t.ones(8); (x + x).tolist()", 1.0),
    "import torch": ("import torch", None),
    "one kernel of torch": ("import torch as t; x = t.ones(8); (x + x).tolist()", None),
    "python alone": ("pass", None),
}


def seconds(program: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True)
    return time.perf_counter() - start


def main() -> None:
    print(f"{'whole process':30}{'median s':>12}{'range':>15}")
    for name, (program, goal) in PROGRAMS.items():
        seconds(program)
        times = [seconds(program) for _ in range(7)]
        median = statistics.median(times)
        missed = f"   above the goal of {goal:g} s" if goal and median > goal else ""
        print(f"{name:30}{median:>12.3f}{f'{min(times):.2f}-{max(times):.2f}':>15}{missed}", flush=True)
