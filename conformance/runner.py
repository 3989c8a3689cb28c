"""Hold subjects to clauses in worker processes, and write down what came out.

Whatever a subject does to its process (crash, hang, garbage on its streams) costs the case that was in flight and
nothing else. Results are a stream of JSON Lines (docs/results.md); every report is made from that file alone.
"""
from __future__ import annotations

import contextlib
import fnmatch
import json
import math
import os
import re
import selectors
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TextIO

from . import repro, wanted
from .baseline import Baseline
from .clause import CRASHED, DIVERGED, HELD, NOT_RUN, Clause, Verdict
from .subjects import Spelling
from .worker import CHAPTERS, ending, load_chapters, verdict_from_json, verdict_to_json

FORMAT = 1  # of results.jsonl
CRASHES = 5  # in one clause; what is left of it then is not run
START_LIMIT = 180.0
SHRINK_SECONDS = 8.0


@dataclass
class Plan:
    """What to hold against what.

    required: subjects whose absence is an error. chapters, clauses: patterns (fnmatch), none for all. jobs: worker
    processes, 0 for one a core. version: of the specification; None for the subject's. time_limit: in seconds, for one
    case. source: where the chapters come from.
    """

    subjects: Sequence[str] = ("torch",)
    required: Sequence[str] = ("torch",)
    device: str | None = None
    chapters: Sequence[str] = ()
    clauses: Sequence[str] = ()
    profile: str = "standard"
    seed: int = 0
    jobs: int = 0
    out: Path = Path("conform-out")
    version: str | None = None
    time_limit: float = 120.0
    source: str = CHAPTERS
    baseline: Baseline | None = None

    @property
    def workers(self) -> int:
        return self.jobs or os.cpu_count() or 1

    def selected(self) -> dict[str, list[str]]:
        """The clause keys to check, by chapter. For a clause that others cover, these are among them instead."""
        found: dict[str, list[str]] = {}
        for name, chapter in load_chapters(self.source).items():
            if self.chapters and not any(fnmatch.fnmatchcase(name, p) for p in self.chapters):
                continue
            asked = {key for c in chapter.clauses() if self.asks_for(name, c.key)
                     for key in (c.key, *covering(c))}
            keys = [c.key for c in chapter.clauses() if c.check is not None and c.key in asked]
            if keys:
                found[name] = keys
        return found

    def asks_for(self, chapter: str, key: str) -> bool:
        return not self.clauses or any(fnmatch.fnmatchcase(f"{chapter}.{key}", p) or fnmatch.fnmatchcase(key, p)
                                       for p in self.clauses)


def covering(clause: Clause) -> list[str]:
    """Keys of the clauses whose checks check this one."""
    return clause.covered_by.replace(",", " ").split()


# ---- one worker process ----
class WorkerDied(Exception):
    """The process ended, or had to be ended."""


class Worker:
    def __init__(self, start: Mapping[str, Any], log: Path):
        read_commands, self.commands = os.pipe()
        self.events, write_events = os.pipe()
        log.parent.mkdir(parents=True, exist_ok=True)
        self.log = log
        try:
            with open(log, "ab") as stream:
                self.process = subprocess.Popen(
                    [sys.executable, "-m", "conformance.worker", str(read_commands), str(write_events)],
                    pass_fds=(read_commands, write_events), stdin=subprocess.DEVNULL, stdout=stream, stderr=stream,
                    env=worker_environment(), start_new_session=True)
        finally:
            os.close(read_commands)
            os.close(write_events)
        self.buffer = b""
        self.job: Job | None = None
        self.chapter: str | None = None
        self.flight: dict[str, int] = {}
        self.ready = False
        self.limit = START_LIMIT
        self.heard = time.monotonic()
        self.send(**start)

    def send(self, **command: Any) -> None:
        data = (json.dumps(command) + "\n").encode()
        self.heard, self.flight = time.monotonic(), {}
        with contextlib.suppress(BrokenPipeError):  # it is dead; reading from it will tell
            while data:
                data = data[os.write(self.commands, data):]

    def receive(self) -> Iterator[dict[str, Any]]:
        """The events that are there now. Raises WorkerDied at the end of them, or at garbage."""
        data = os.read(self.events, 1 << 20)
        if not data:
            raise WorkerDied
        self.heard = time.monotonic()
        self.buffer += data
        *lines, self.buffer = self.buffer.split(b"\n")
        for line in lines:
            try:
                event = json.loads(line)
                kind = event["event"]
            except (ValueError, TypeError, KeyError) as e:
                raise WorkerDied from e
            if kind == "case":
                self.flight = event
            else:
                yield event

    def overdue(self, now: float) -> bool:
        return now - self.heard > self.limit

    def end(self) -> str:
        """Stop the process, and everything that it started; how it ended, in words."""
        gone = self.process.poll()
        if gone is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                gone = self.process.wait(0.2)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for fd in (self.commands, self.events):
            with contextlib.suppress(OSError):
                os.close(fd)
        return "no answer" if gone is None else ending(gone)

    def tail(self) -> str:
        """What it printed last about an error."""
        with contextlib.suppress(OSError):
            lines = self.log.read_text(errors="replace").strip().splitlines()
            telling = [line for line in lines if "Error" in line or line.startswith("Fatal")]
            return (telling or lines or [""])[-1][:200]
        return ""


def last_line(text: str) -> str:
    """Of a traceback: the error itself."""
    return (text.strip().splitlines() or [""])[-1]


def worker_environment() -> dict[str, str]:
    """This process's environment, so that the same packages are found without being installed."""
    env = dict(os.environ)
    here = str(Path(__file__).resolve().parent.parent)
    env["PYTHONPATH"] = os.pathsep.join([here, *filter(None, [env.get("PYTHONPATH")])])
    env.setdefault("OMP_WAIT_POLICY", "passive")
    env["PYTHONHASHSEED"] = "0"  # sets have the same order in each worker, so that a case has the same number in each
    return env


# ---- jobs ----
@dataclass
class Job:
    """One command for a worker, and what crashed in it so far."""

    command: dict[str, Any]
    chapter: str = ""
    clause: str = ""
    skip: list[tuple[int, int, str, str]] = field(default_factory=list)  # index and digest of a case, how it ended
    group: Group | None = None

    @property
    def id(self) -> str:
        return f"{self.chapter}.{self.clause}"


class Queue:
    """A worker stays in its chapter, takes one that nobody has begun, and helps where most is left."""

    def __init__(self, jobs: Sequence[Job]):
        self.chapters: dict[str, deque[Job]] = {}
        for job in jobs:
            self.chapters.setdefault(job.chapter, deque()).append(job)
        self.begun: set[str] = set()
        self.again: list[Job] = []

    @property
    def left(self) -> int:
        return sum(map(len, self.chapters.values())) + len(self.again)

    def take(self, chapter: str | None) -> Job | None:
        if self.again:
            return self.again.pop()
        left = [name for name, jobs in self.chapters.items() if jobs]
        if not left:
            return None
        if chapter not in left:
            fresh = [name for name in left if name not in self.begun]
            chapter = max(fresh or left, key=lambda name: len(self.chapters[name]))
        assert chapter is not None
        self.begun.add(chapter)
        return self.chapters[chapter].popleft()


@dataclass
class Group:
    """Verdicts with the same cause: what is reported and reproduced once."""

    subject: str
    chapter: str
    clause: str
    fingerprint: str
    verdicts: list[Verdict] = field(default_factory=list)
    small: Verdict | None = None
    note: str = ""

    @property
    def id(self) -> str:
        return repro.identity(self.subject, self.name, self.fingerprint)

    @property
    def name(self) -> str:
        return f"{self.chapter}.{self.clause}"

    @property
    def smallest(self) -> Verdict:
        def size(v: Verdict) -> int:
            return sum(b.size for b in v.case.buffers) if v.case else 1 << 60
        return min(self.verdicts, key=size)


Listener = Callable[[dict[str, Any]], None]


class Run:
    """One run over all subjects of a plan. tell: is given every record, as it is written."""

    def __init__(self, plan: Plan, tell: Listener = lambda record: None):
        self.plan, self.tell = plan, tell
        self.selected = plan.selected()
        self.chapters = load_chapters(plan.source)

    # ---- records ----
    def write(self, record: dict[str, Any]) -> None:
        json.dump(_finite(record), self.file, default=str, allow_nan=False)
        self.file.write("\n")
        self.file.flush()
        self.tell(record)

    def run(self) -> Path:
        """Do it all; the path of results.jsonl."""
        out = self.plan.out
        out.mkdir(parents=True, exist_ok=True)
        for old in (*out.glob("repro_*.py"), *(out / "logs").glob("*.log")):
            old.unlink()
        path = out / "results.jsonl"
        start = time.time()
        with open(path, "w") as self.file:
            self.write({"type": "run", "format": FORMAT, "subjects": list(self.plan.subjects),
                        "required": list(self.plan.required), "profile": self.plan.profile, "seed": self.plan.seed,
                        "started": start, "out": str(out), "chapters": {k: list(v) for k, v in self.selected.items()}})
            for name in self.plan.subjects:
                Holding(self, name).run()
            self.write({"type": "end", "seconds": round(time.time() - start, 3), "subjects": list(self.plan.subjects)})
        return path

    file: TextIO


class Holding:
    """One subject held to all selected clauses."""

    def __init__(self, run: Run, subject: str):
        self.run_, self.plan, self.subject = run, run.plan, subject
        self.name = subject
        self.ready: dict[str, Any] | None = None
        self.groups: dict[tuple[str, str, str], Group] = {}
        self.ran: set[str] = set()
        self.workers: list[Worker] = []
        self.status: dict[str, str] = {}
        self.count = self.failed_starts = 0
        self.refused = ""

    # ---- the life of workers ----
    def start(self) -> Worker:
        self.count += 1
        command = {"do": "start", "subject": self.subject, "device": self.plan.device, "version": self.plan.version,
                   "profile": self.plan.profile, "seed": self.plan.seed, "chapters": self.plan.source,
                   "asked": bool(self.plan.clauses)}
        name = re.sub(r"[^A-Za-z0-9-]", "_", self.subject)
        return Worker(command, self.plan.out / "logs" / f"{name}_{self.count}.log")

    def work(self, jobs: Sequence[Job], done: Callable[[Job, dict[str, Any]], None],
             died: Callable[[Job, dict[str, int], str], bool], lost: Callable[[Job], None] = lambda job: None) -> None:
        """Have workers do the jobs.

        done: given a job's answer. died: given what was in flight when a job's process ended, says whether to go on
        with the job in another one. lost: given a job that no worker could be started for.
        """
        queue = Queue(jobs)
        with selectors.DefaultSelector() as selector:
            for worker in self.workers:
                selector.register(worker.events, selectors.EVENT_READ, worker)
            while queue.left or any(w.job for w in self.workers):
                for worker in self.workers:
                    if worker.ready and worker.job is None:
                        self.give(worker, queue.take(worker.chapter))
                starting = sum(not w.ready for w in self.workers)
                # The first worker tells whether others make sense.
                if queue.left > starting and len(self.workers) < (self.plan.workers if self.ready else 1) \
                        and self.failed_starts < 3 and not (self.failed_starts and self.ready is None):
                    self.workers.append(self.start())
                    selector.register(self.workers[-1].events, selectors.EVENT_READ, self.workers[-1])
                if not self.workers:
                    while (job := queue.take(None)) is not None:
                        lost(job)
                    return
                for key, _ in selector.select(0.25):
                    self.hear(key.data, selector, queue, done, died)
                for worker in [w for w in self.workers if (w.job or not w.ready) and w.overdue(time.monotonic())]:
                    self.bury(worker, selector, queue, died, f"no answer within {worker.limit:g} s")
                self.run_.tell({"type": "tick"})

    def stop(self) -> None:
        while self.workers:
            self.workers.pop().end()

    def give(self, worker: Worker, job: Job | None) -> None:
        if job is not None:
            worker.job, worker.chapter = job, job.chapter
            worker.send(**job.command, **({"skip": job.skip} if job.command["do"] == "clause" else {}))

    def hear(self, worker: Worker, selector: selectors.BaseSelector, queue: Queue, done: Any, died: Any) -> None:
        try:
            for event in worker.receive():
                if event["event"] == "ready":
                    worker.ready, worker.limit = True, self.plan.time_limit
                    self.introduce(event)
                elif worker.job is None:
                    text = last_line(event.get("text", ""))
                    self.refused = event.get("reason") or f"it failed while it started: {text}"
                    raise WorkerDied
                else:
                    job, worker.job = worker.job, None
                    done(job, event)
        except WorkerDied:
            self.bury(worker, selector, queue, died, None)

    def bury(self, worker: Worker, selector: selectors.BaseSelector, queue: Queue, died: Any, why: str | None) -> None:
        selector.unregister(worker.events)
        self.workers.remove(worker)
        how = worker.end()
        if worker.job is not None:
            if died(worker.job, worker.flight, why or how):
                queue.again.append(worker.job)
        elif not worker.ready:
            self.failed_starts += 1
            self.refused = self.refused or f"its process died while it started ({why or how}): {worker.tail()}"

    def introduce(self, event: dict[str, Any]) -> None:
        if self.ready is not None:
            return
        self.ready, self.name = event, event["name"]
        self.run_.write({"type": "subject", "subject": self.name, "place": event["place"],
                         "environment": event["environment"]})

    # ---- the run ----
    def run(self) -> None:
        jobs = [Job({"do": "clause", "chapter": chapter, "clause": key}, chapter, key)
                for chapter, keys in self.run_.selected.items() for key in keys]
        try:
            self.work(jobs, self.clause_done, self.clause_died, self.clause_lost)
            if self.ready is None:
                return self.unavailable(self.refused or "there is nothing to run")
            self.covered()
            self.shrink()
        finally:
            self.stop()
        self.divergences()

    def unavailable(self, reason: str) -> None:
        self.run_.write({"type": "subject", "subject": self.name, "unavailable": reason})

    def clause_done(self, job: Job, event: dict[str, Any]) -> None:
        if event["event"] == "failed":
            reason = f"the kit failed, not the subject: {last_line(event['text'])}"
            verdict = Verdict(CRASHED, fingerprint="the kit failed", reason=reason,
                              evidence={"kit": event["text"]})
            return self.finish(job, [verdict], 0, 0.0)
        self.finish(job, [verdict_from_json(v) for v in event["verdicts"]], event["cases"], event["seconds"])

    def clause_died(self, job: Job, flight: dict[str, int], reason: str) -> bool:
        if "run" not in flight:
            what = "the kit died while it judged a case" if flight else "the kit died between cases"
            verdict = Verdict(CRASHED, fingerprint="the kit failed", reason=f"{what}: {reason}",
                              evidence={"kit": reason})
            self.finish(job, [verdict], 0, 0.0)
            return False
        hangs = reason.startswith("no answer")
        job.skip.append((flight["run"], flight["digest"], "hangs" if hangs else f"crashes: {reason}",
                         f"the call gave {reason}" if hangs else f"the process ended in the call: {reason}"))
        self.run_.tell({"type": "crash", "clause": job.id, "reason": job.skip[-1][3]})
        if len(job.skip) < CRASHES:
            return True
        verdicts = [Verdict(CRASHED, fingerprint=kind, reason=why, got=why) for _, _, kind, why in job.skip]
        verdicts.append(Verdict(NOT_RUN, reason=f"given up after {CRASHES} crashes"))
        self.finish(job, verdicts, 0, 0.0)
        return False

    def clause_lost(self, job: Job) -> None:
        if self.ready is not None:
            self.finish(job, [Verdict(NOT_RUN, reason=f"no worker could be started: {self.refused}")], 0, 0.0)

    def finish(self, job: Job, verdicts: list[Verdict], cases: int, seconds: float) -> None:
        clause = next(c for c in self.run_.chapters[job.chapter].clauses() if c.key == job.clause)
        for v in verdicts:
            data = verdict_to_json(v)
            data.pop("case", None)
            data.pop("wanted", None)
            self.run_.write({"type": "verdict", "subject": self.name, "chapter": job.chapter, "clause": job.clause,
                             **data})
            if v.status in (DIVERGED, CRASHED):
                key = job.chapter, job.clause, v.fingerprint
                self.groups.setdefault(key, Group(self.name, *key)).verdicts.append(v)
        status = clause_status(v.status for v in verdicts)
        if status in (HELD, DIVERGED):
            self.ran.add(job.id)
        self.run_.write({"type": "clause", "subject": self.name, "chapter": job.chapter, "clause": job.clause,
                         "status": status, "partly": status == HELD and any(v.status == NOT_RUN for v in verdicts),
                         "text": clause.text, "source": clause.source, "cases": cases, "seconds": round(seconds, 3)})
        self.status[job.id] = status

    def covered(self) -> None:
        """Clauses without a check of their own have the status of those whose checks cover them."""
        for chapter, keys in self.run_.selected.items():
            for clause in self.run_.chapters[chapter].clauses():
                by = covering(clause)
                if clause.check is not None or self.plan.clauses and not (by and set(by) <= set(keys)):
                    continue
                status = clause_status(self.status.get(f"{chapter}.{k}", NOT_RUN) for k in by)
                reason = f"covered by {', '.join(by)}" if by else "no check covers it"
                self.run_.write({"type": "clause", "subject": self.name, "chapter": chapter, "clause": clause.key,
                                 "status": status, "partly": False, "text": clause.text, "source": clause.source,
                                 "cases": 0, "seconds": 0.0, "reason": reason})

    # ---- divergences ----
    def shrink(self) -> None:
        """Find a small witness for each divergence."""
        jobs = [Job({"do": "shrink", "chapter": group.chapter, "clause": group.clause,
                     "verdict": verdict_to_json(group.smallest), "seconds": SHRINK_SECONDS},
                    group.chapter, group.clause, group=group)
                for group in self.groups.values() if group.smallest.case]
        self.run_.tell({"type": "phase", "text": f"making {len(jobs)} witnesses small"})
        crashes = [job for job in jobs if job.group and job.group.smallest.status == CRASHED]

        def done(job: Job, event: dict[str, Any]) -> None:
            assert job.group is not None
            job.group.note = event.get("note", "")
            if event["event"] == "shrunk":
                job.group.small = verdict_from_json(event["verdict"])
            else:
                job.group.note = f"not shrunk: {last_line(event.get('text', ''))}"

        def died(job: Job, flight: dict[str, int], reason: str) -> bool:
            assert job.group is not None
            job.group.note = f"not shrunk: {reason}"
            return False
        self.work([job for job in jobs if job not in crashes], done, died)
        if crashes:  # these try every case in a fork, and a process that has run threads is no good for that
            self.stop()
            self.work(crashes, done, died)

    def divergences(self) -> None:
        assert self.ready is not None
        self.run_.tell({"type": "phase", "text": f"trying {len(self.groups)} reproduction scripts"})
        with ThreadPoolExecutor(self.plan.workers) as pool:
            records = list(pool.map(self.divergence, self.groups.values()))
        for record in sorted(records, key=lambda r: (r["chapter"], r["clause"], r["fingerprint"])):
            self.run_.write(record)
        if self.plan.baseline is not None:
            environment = self.ready["environment"]
            for entry in self.plan.baseline.verdicts(self.name, environment, {r["id"] for r in records}, self.ran,
                                                      self.plan.profile):
                self.run_.write({"type": "baseline", "subject": self.name, **entry})

    def divergence(self, group: Group) -> dict[str, Any]:
        """The record of a divergence, with its script, written and tried out."""
        assert self.ready is not None
        verdict = group.small or group.smallest
        record: dict[str, Any] = {
            "type": "divergence", "id": group.id, "subject": self.name, "chapter": group.chapter,
            "clause": group.clause, "fingerprint": group.fingerprint, "status": verdict.status,
            "units": sorted({v.unit for v in group.verdicts}), "witnesses": len(group.verdicts),
            "expected": verdict.expected, "got": verdict.got or verdict.reason,
            "distance": max((v.distance for v in group.verdicts if v.distance is not None), default=None),
            "evidence": verdict.evidence, "note": group.note, "script": None, "replay": None, "reproduced": False,
            "output": "", "case": None, "wanted": {}}
        entry = None
        if self.plan.baseline is not None:
            entry = self.plan.baseline.match(group.id, self.ready["environment"])
        record["known"] = entry.summary() if entry else None
        if verdict.case is None:
            record["note"] = group.note or "there is no single case that a script could show"
            return record
        record["case"], record["wanted"] = verdict.case.to_json(), wanted.to_json(verdict.wanted)
        path = self.plan.out / f"repro_{group.id}.py"
        result = self.write_script(path, verdict, group)
        original = group.smallest
        if result.code == 0 and group.small is not None and original.case is not None:
            # Shrinking may have kept what only the check's process shows; the case as it was found is the other chance.
            other = replace(original, wanted=original.wanted or verdict.wanted)
            second = self.write_script(path, other, group)
            if second.reproduced:
                result, record["case"], record["wanted"] = second, original.case.to_json(), wanted.to_json(other.wanted)
            else:
                result = self.write_script(path, verdict, group)
        record["script"], record["replay"], record["reproduced"] = str(path), str(result), result.reproduced
        record["output"] = result.output[-2000:]
        return record

    def write_script(self, path: Path, verdict: Verdict, group: Group) -> repro.Replay:
        assert self.ready is not None
        clause = next(c for c in self.run_.chapters[group.chapter].clauses() if c.key == group.clause)
        told = self.ready["spelling"]
        environment = self.ready["environment"]
        seen = ", ".join(f"{k} {environment[k]}" for k in ("torch", "cpu_capability", "processor") if k in environment)
        spelling = Spelling(**(told | {"setup": tuple(told["setup"])})) if told else Spelling()
        path.write_text(repro.script(verdict, self.name, group.name, clause.text, spelling, self.ready["device"],
                                     group.id, seen))
        return repro.replay(path, env=worker_environment())


def _finite(value: Any) -> Any:
    """JSON has no infinities and NaNs: they are written as strings, which float() reads."""
    if isinstance(value, dict):
        return {k: _finite(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(v) for v in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


_ORDER = (CRASHED, DIVERGED, HELD, NOT_RUN, "not applicable")


def clause_status(statuses: Any) -> str:
    """One status for a clause: the gravest; held if some of it held and the rest is not applicable or not run."""
    found = set(statuses)
    return next((s for s in _ORDER if s in found), NOT_RUN)
