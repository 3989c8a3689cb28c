"""Paired timing: the two sides alternate, each round gives one ratio, the median of the ratios is quoted.

Machines are shared and drift; alternating cancels the drift, the median the outliers. The range says how noisy it was.
"""
from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Ratio:
    """theirs / ours: above 1, ours is faster. ours, theirs: the median time of one call, in seconds."""

    median: float
    low: float
    high: float
    ours: float
    theirs: float


def calls_for(function: Callable[[], object], seconds: float) -> int:
    """How many calls take about `seconds`."""
    calls = 1
    while True:
        start = time.perf_counter()
        for _ in range(calls):
            function()
        took = time.perf_counter() - start
        if took > seconds / 4:
            return max(1, round(calls * seconds / took))
        calls *= 4


def time_of(function: Callable[[], object], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        function()
    return (time.perf_counter() - start) / calls


def compare(ours: Callable[[], object], theirs: Callable[[], object], rounds: int = 9, seconds: float = 0.03) -> Ratio:
    """Time both, alternately."""
    ours(), theirs()
    sides = [(ours, calls_for(ours, seconds)), (theirs, calls_for(theirs, seconds))]
    times: list[tuple[float, float]] = []
    gc.disable()
    try:
        for _ in range(rounds):
            times.append((time_of(*sides[0]), time_of(*sides[1])))
    finally:
        gc.enable()
    ratios = [b / a for a, b in times]
    return Ratio(statistics.median(ratios), min(ratios), max(ratios), statistics.median(a for a, _ in times),
                 statistics.median(b for _, b in times))
