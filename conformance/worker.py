"""The process in which a subject runs. It may die; the runner (runner.py) then knows which case was in flight.

Started as `python -m conformance.worker READ WRITE`, two file descriptors of pipes. Commands come in as JSON lines,
events go out as JSON lines; standard output and error are the subject's to soil. The commands and their answers:

    {"do": "start", "subject", "device", "version", "profile", "seed", "chapters", "asked"}    ready, or unavailable
    {"do": "clause", "chapter", "clause", "skip": [[index, digest, fingerprint, reason], ...]}    clause
    {"do": "shrink", "chapter", "clause", "verdict", "seconds"}                       shrunk

The event {"event": "case", "run": i, "digest"} says that the subject is about to run case number i, {"event": "case",
"judge": i} that it came back. {"event": "failed"} answers a command in which the kit itself failed.
"""
from __future__ import annotations

import faulthandler
import importlib
import json
import os
import signal
import sys
import time
import traceback
import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from random import Random
from typing import Any

from reftorch.core.spec import set_spec_version

from . import wanted
from .case import Case, Outcome
from .clause import (
    AFFORDABLE,
    CRASHED,
    DIVERGED,
    HELD,
    NOT_APPLICABLE,
    NOT_RUN,
    PROFILES,
    Budget,
    Clause,
    Place,
    Subject,
    Verdict,
)
from .subjects import make_subject

CHAPTERS = "conformance.chapter:chapters"
Say = Callable[..., None]

# What of an outcome does not depend on where in memory the arguments lie.
_WITHOUT_LAYOUT = {"bits", "between", "dtype", "size", "error", "grads", "grad_dtypes", "requires_grad", "warning"}


def load_chapters(where: str = CHAPTERS) -> Mapping[str, Any]:
    module, _, name = where.partition(":")
    return getattr(importlib.import_module(module), name)()  # type: ignore[no-any-return]


def hold(clause: Clause, op: Any, subject: Subject, place: Place, budget: Budget, rng: Random,
         skip: Mapping[int, tuple[int, str, str]] | None = None, say: Say = lambda **_: None) -> tuple[list[Verdict], int]:
    """Hold a subject to one clause: the verdicts, and how many cases ran.

    skip: cases that are not run any more because they crashed, with digest, fingerprint and reason. say: told before
    and after a case.
    What the subject cannot express is never held: it gives a verdict 'not run' with the reason.
    """
    assert clause.check is not None
    skip = skip or {}
    check = clause.check(op, place)
    verdicts: list[Verdict] = []
    seen: Counter[str] = Counter()
    missed: Counter[tuple[str, str]] = Counter()
    for i, case in enumerate(check.cases(rng, budget)):
        name = digest(case)
        if i in skip:
            crashed, kind, how = skip[i]
            if crashed != name:
                raise RuntimeError(f"case {i} is not the one that crashed: the check makes other cases every time")
            verdicts.append(Verdict(CRASHED, case.unit, kind, how, case=case, expected="an answer", got=how))
            continue
        say(event="case", run=i, digest=name)
        try:
            outcome = subject.run(case)
        except NotImplementedError as e:
            missed[case.unit, str(e)] += 1
            say(event="case", judge=i)
            continue
        except Exception as e:  # what the call raises is in the outcome: this is the subject's own mistake
            how = f"the subject raised {type(e).__name__}: {e}"
            verdicts.append(Verdict(CRASHED, case.unit, f"the subject raised {type(e).__name__}", how, got=how,
                                    evidence={"traceback": traceback.format_exc()}))
            say(event="case", judge=i)
            continue
        say(event="case", judge=i)
        seen[case.unit] += 1
        verdicts += [_with_dtypes(v, outcome) for v in check.see(case, outcome)]
    units_missed = {unit for unit, _ in missed} - set(seen)
    verdicts += [v for v in check.conclude() if v.status != HELD or seen and v.unit not in units_missed]
    verdicts += [Verdict(NOT_RUN, unit, reason=reason, evidence={"cases": n}) for (unit, reason), n in missed.items()]
    if not verdicts:
        verdicts.append(Verdict(HELD) if seen else Verdict(NOT_RUN, reason="the check made no case"))
    return verdicts, sum(seen.values())


def shows(clause: Clause, op: Any, subject: Subject, place: Place, case: Case, fingerprint: str) -> Verdict | None:
    """The divergence with this fingerprint that the case alone shows, if it does."""
    assert clause.check is not None
    try:
        check = clause.check(op, place)
        outcome = subject.run(case)
        verdicts = [_with_dtypes(v, outcome) for v in (*check.see(case, outcome), *check.conclude())]
    except Exception:  # a case that the check or the subject cannot take shows nothing
        return None
    same = (v for v in verdicts if v.status == DIVERGED and v.fingerprint == fingerprint)
    return next((v if v.case is not None and _elements(v.case) < _elements(case) else replace(v, case=case)
                 for v in same), None)


def digest(case: Case) -> int:
    """A number for the whole case, to know it again."""
    found = zlib.crc32(repr((case.form, case.args, case.out, case.grad)).encode())
    for buffer in case.buffers:
        found = zlib.crc32(buffer.data, found)
    return found


def ending(code: int) -> str:
    """How a process ended, in words."""
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"


def _elements(case: Case) -> int:
    return sum(v.numel for v in case.views().values())


def _with_dtypes(v: Verdict, outcome: Outcome) -> Verdict:
    """A divergence remembers the dtypes that were seen: bits alone do not tell bfloat16 from uint16."""
    if v.status == DIVERGED:
        v.evidence.setdefault("shown", {"dtype": outcome.dtype, "grad_dtypes": outcome.grad_dtypes})
    return v


def verdict_to_json(v: Verdict) -> dict[str, Any]:
    data: dict[str, Any] = {
        "status": v.status, "unit": v.unit, "fingerprint": v.fingerprint, "reason": v.reason, "formula": v.formula,
        "distance": None if v.distance is None else float(v.distance), "expected": v.expected, "got": v.got,
        "evidence": v.evidence}
    if v.status not in (HELD, NOT_RUN, NOT_APPLICABLE):
        data |= {"case": v.case and v.case.to_json(), "wanted": wanted.to_json(v.wanted)}
    return data


def verdict_from_json(data: dict[str, Any]) -> Verdict:
    case, want = data.get("case"), data.get("wanted") or {}
    known = {k: data[k] for k in ("status", "unit", "fingerprint", "reason", "formula", "distance", "expected", "got",
                                  "evidence")}
    return Verdict(**known, case=case and Case.from_json(case), wanted=wanted.from_json(want))


def _plain(value: Any) -> Any:
    """For what JSON does not know: NumPy scalars and arrays, sets."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    return str(value)


class Worker:
    def __init__(self, commands: Any, events: int):
        self.commands, self.events = commands, events

    def say(self, **event: Any) -> None:
        data = (json.dumps(event, default=_plain) + "\n").encode()
        while data:
            data = data[os.write(self.events, data):]

    def loop(self) -> None:
        for line in self.commands:
            command = json.loads(line)
            try:
                getattr(self, "do_" + command.pop("do"))(**command)
            except Exception:  # the kit's own failure: the runner reports it as such
                self.say(event="failed", text=traceback.format_exc())

    def do_start(self, subject: str, device: str | None, version: str | None, profile: str, seed: int,
                 chapters: str, asked: bool = True) -> None:
        self.subject = make_subject(subject, device)
        reason = self.subject.unavailable()
        if reason:
            return self.say(event="unavailable", reason=reason)
        place = self.subject.place()
        self.place = replace(place, version=version) if version else place
        set_spec_version(self.place.version)
        self.budget, self.seed, self.source, self.asked = PROFILES[profile], seed, chapters, asked
        spelling = getattr(self.subject, "spelling", None)
        self.say(event="ready", name=self.subject.name, place=vars(self.place), environment=self.subject.environment(),
                 device=getattr(self.subject, "device", self.place.device),
                 spelling=vars(spelling) if spelling else None)

    @cached_property
    def chapters(self) -> Mapping[str, Any]:
        return load_chapters(self.source)

    def clause(self, chapter: str, key: str) -> tuple[Any, Clause]:
        found = self.chapters[chapter]
        return found.op, next(c for c in found.clauses() if c.key == key)

    def do_clause(self, chapter: str, clause: str, skip: list[Any]) -> None:
        start = time.perf_counter()
        if self.place.costly and not self.asked and clause not in AFFORDABLE:
            reason = "each call has to be compiled, which takes seconds: ask for the clause with --clause"
            return self.say(event="clause", chapter=chapter, clause=clause, cases=0, seconds=0.0,
                            verdicts=[verdict_to_json(Verdict(NOT_RUN, reason=reason))])
        op, found = self.clause(chapter, clause)
        rng = Random(f"{self.seed} {chapter}.{clause}")
        verdicts, cases = hold(found, op, self.subject, self.place, self.budget, rng,
                               {i: tuple(rest) for i, *rest in skip}, self.say)
        self.say(event="clause", chapter=chapter, clause=clause, cases=cases, seconds=time.perf_counter() - start,
                 verdicts=[verdict_to_json(v) for v in verdicts])

    def do_shrink(self, chapter: str, clause: str, verdict: dict[str, Any], seconds: float) -> None:
        """Answer with a small witness of the divergence, and with what is wanted of it."""
        from .shrink import by_element, packed, shrink
        op, found = self.clause(chapter, clause)
        large = verdict_from_json(verdict)
        assert large.case is not None
        if large.status == CRASHED:
            def crash(c: Case) -> Verdict | None:
                return replace(large, case=c) if self.dies(c, large.fingerprint) else None
            small = shrink(large.case, crash, op, seconds)
            note = "" if small else "not shrunk: it does not crash in a fork"
            return self.say(event="shrunk", verdict=verdict_to_json(small or large), note=note)

        def judge(candidate: Case) -> Verdict | None:
            self.say(event="case", run=-1)
            return shows(found, op, self.subject, self.place, candidate, large.fingerprint)
        best, note = shrink(large.case, judge, op, seconds), ""
        if best is None and (judge_elements := by_element(large, self.subject.run)):
            best = shrink(large.case, judge_elements, op, seconds)
        if best is None:
            best, note = large, "not shrunk further: the check judges the case only with others"
            if set(large.wanted) & {"bits", "between", "error"} and set(large.wanted) <= _WITHOUT_LAYOUT:
                plain = packed(large.case)
                if wanted.differences(large.wanted, plain, self.subject.run(plain)):
                    best = replace(large, case=plain)
        self.complete(best)
        self.say(event="shrunk", verdict=verdict_to_json(best), note=note)

    def dies(self, case: Case, fingerprint: str) -> bool:
        """Whether a copy of this process dies of the case, in the same way."""
        self.say(event="case", run=-1)
        child = os.fork()
        if not child:
            faulthandler.disable()
            try:
                self.subject.run(case)
            finally:
                os._exit(0)
        for _ in range(200):
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                code = os.waitstatus_to_exitcode(status)
                return code != 0 and ending(code) in fingerprint
            time.sleep(0.01)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return False

    def complete(self, v: Verdict) -> None:
        """Add what the reproduction script needs: dtypes, and what is wanted if the check did not say.

        That is then what differs from reftorch's own outcome or, where nothing does, any other result than this one.
        """
        assert v.case is not None
        got = self.subject.run(v.case)
        _with_dtypes(v, got)
        if not v.wanted:
            import reftorch

            from .execute import execute
            right = execute(reftorch, v.case)
            right.device = got.device
            v.wanted = wanted.from_outcomes(right, got, v.case) or ({} if got.bits is None else {"unlike": got.bits})


def main() -> None:
    faulthandler.enable()
    read, write = int(sys.argv[1]), int(sys.argv[2])
    os.set_inheritable(read, False)  # compilers that the subject starts must not hold the pipes
    os.set_inheritable(write, False)
    with os.fdopen(read) as commands:
        Worker(commands, write).loop()


if __name__ == "__main__":
    main()
