"""Paired timing: the two sides alternate, each round gives one ratio, the median of the ratios is quoted.

Machines are shared and drift; alternating cancels the drift, the median the outliers, the range says how noisy it was.
With one thread the process's CPU time is taken, which other processes disturb least. With several it has to be the
clock on the wall; then the sides wait for each other's threads, which spin for a while after a call, to settle.
"""
from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

SETTLE = 0.03  # seconds


@dataclass(frozen=True)
class Ratio:
    """theirs / ours: above 1, ours is faster. ours, theirs: the median time of one call, in seconds."""

    median: float
    low: float
    high: float
    ours: float
    theirs: float


def compare(ours: Callable[[], object], theirs: Callable[[], object], threads: int = 1, rounds: int = 9,
            seconds: float = 0.03) -> Ratio:
    """Time both, alternately: each sample takes about `seconds`."""
    def timed(function: Callable[[], object], calls: int) -> float:
        if threads > 1:
            time.sleep(SETTLE)
        clock = time.process_time if threads == 1 else time.perf_counter
        start = clock()
        for _ in range(calls):
            function()
        return (clock() - start) / calls

    def calls_for(function: Callable[[], object]) -> int:
        calls, took = 1, 0.0
        while took < seconds / 4:
            calls *= 4
            took = timed(function, calls) * calls
        return max(1, round(calls * seconds / took))

    ours(), theirs()
    sides = [(ours, calls_for(ours)), (theirs, calls_for(theirs))]
    gc.disable()
    try:
        times = [(timed(*sides[0]), timed(*sides[1])) for _ in range(rounds)]
    finally:
        gc.enable()
    ratios = [b / a for a, b in times]
    return Ratio(statistics.median(ratios), min(ratios), max(ratios), statistics.median(a for a, _ in times),
                 statistics.median(b for _, b in times))
