"""Reports: terminal table, JUnit, Markdown, HTML and the exit code, all from results.jsonl (docs/results.md)."""
from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .clause import CRASHED, DIVERGED, HELD, NOT_APPLICABLE, NOT_RUN

if TYPE_CHECKING:
    from rich.console import Console

# Exit codes of `reftorch conform`.
OK, REGRESSION, USAGE, NOTHING_RAN, STALE_BASELINE = range(5)

FORMULA_WIDTH = 90  # in the terminal

Record = dict[str, Any]


@dataclass
class SubjectResult:
    """What a run says about one subject. Records are those of results.jsonl."""

    name: str
    place: Record = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    unavailable: str = ""
    clauses: list[Record] = field(default_factory=list)
    verdicts: list[Record] = field(default_factory=list)
    divergences: list[Record] = field(default_factory=list)
    baseline: list[Record] = field(default_factory=list)

    @property
    def chapters(self) -> list[str]:
        return list(dict.fromkeys(sorted(c["chapter"] for c in self.clauses)))

    def rows(self) -> list[Row]:
        return [Row.of(self, chapter) for chapter in self.chapters]

    @property
    def ran(self) -> bool:
        return any(c["status"] in (HELD, DIVERGED, CRASHED) for c in self.clauses)

    @property
    def regressions(self) -> list[Record]:
        return [d for d in self.divergences if not d["known"]]

    def entries(self, state: str) -> list[Record]:
        return [e for e in self.baseline if e["state"] == state]

    def headline(self) -> str:
        place, env = self.place, self.environment
        shown = [env[k] for k in ("cpu_capability", "processor", "git") if env.get(k)]
        version = env.get("torch") or env.get("reftorch") or ""
        return (f"{self.name} {version} on {place.get('device')} ({place.get('mode')}), "
                f"specification {place.get('version')}" + (f"; {', '.join(shown)}" if shown else ""))

    def not_run(self) -> list[tuple[str, list[str]]]:
        """Reasons, with the clauses (and units) that were not run for them."""
        found: dict[str, dict[str, None]] = {}
        for v in self.verdicts:
            if v["status"] == NOT_RUN:
                where = f"{v['chapter']}.{v['clause']}" + (f" ({v['unit']})" if v["unit"] else "")
                found.setdefault(v["reason"] or "no reason was given", {})[where] = None
        for c in self.clauses:
            if c["status"] == NOT_RUN and c.get("reason"):
                found.setdefault(c["reason"], {})[f"{c['chapter']}.{c['clause']}"] = None
        return [(reason, list(where)) for reason, where in found.items()]


@dataclass
class Row:
    """One chapter: clauses by status, cases, formulas, worst distance, seconds."""

    chapter: str
    statuses: Counter[str]
    partly: int
    known: int
    cases: int
    formulas: dict[str, list[str]]
    distance: float | None
    seconds: float

    @staticmethod
    def of(subject: SubjectResult, chapter: str) -> Row:
        clauses = [c for c in subject.clauses if c["chapter"] == chapter]
        verdicts = [v for v in subject.verdicts if v["chapter"] == chapter]
        formulas: dict[str, list[str]] = {}
        for v in sorted(verdicts, key=lambda v: v["status"] != HELD):
            if v["formula"]:
                dtype = v["unit"].replace(",", " ").split()[0] if v["unit"] else ""
                if dtype not in formulas.setdefault(v["formula"], []):
                    formulas[v["formula"]].append(dtype)
        bad = {d["clause"]: d["known"] for d in subject.divergences if d["chapter"] == chapter}
        new = {d["clause"] for d in subject.divergences if d["chapter"] == chapter and not d["known"]}
        return Row(chapter, Counter(c["status"] for c in clauses), sum(c["partly"] for c in clauses),
                   len(set(bad) - new), sum(c["cases"] for c in clauses), formulas,
                   max((float(v["distance"]) for v in verdicts if v["distance"] is not None), default=None),
                   sum(c["seconds"] for c in clauses))

    def formula(self, width: int = 1 << 30) -> str:
        """The formulas found, each with the dtypes it was found for; the first ones only if it would get wide."""
        every = {d for dtypes in self.formulas.values() for d in dtypes}
        if len(self.formulas) == 1:
            return next(iter(self.formulas))
        parts = [f"{name} [{', '.join(dtype_classes(dtypes, every))}]" for name, dtypes in self.formulas.items()]
        shown = parts[:1]
        for part in parts[1:]:
            if sum(map(len, shown)) + len(part) <= width:
                shown.append(part)
        return "; ".join(shown) + (f"; and {len(parts) - len(shown)} more" if len(shown) < len(parts) else "")

    def worst(self) -> str:
        return "" if self.distance is None else f"{self.distance:.4g}"


_CLASSES = {"floats": ("float16", "bfloat16", "float32", "float64"), "complex": ("complex64", "complex128"),
            "integers": ("uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64")}


def dtype_classes(dtypes: Iterable[str], every: Iterable[str]) -> list[str]:
    """Names of dtypes, with whole classes said in one word. every: the dtypes that there are."""
    left, out = list(dtypes), []
    for word, members in _CLASSES.items():
        present = [d for d in every if d in members]
        if len(present) > 1 and set(present) <= set(left):
            out.append(word)
            left = [d for d in left if d not in members]
    return out + [short(d) for d in left]


def short(dtype: str) -> str:
    for word, letter in (("bfloat", "bf"), ("float", "f"), ("complex", "c"), ("uint", "u"), ("int", "i")):
        if dtype.startswith(word) and dtype[len(word):].isdigit():
            return letter + dtype[len(word):]
    return dtype


@dataclass
class Report:
    run: Record
    subjects: list[SubjectResult]
    seconds: float
    complete: bool

    @property
    def exit_code(self) -> int:
        """See docs/results.md: regressions first, then nothing ran, then the baseline."""
        if any(s.regressions or s.entries("expired") for s in self.subjects):
            return REGRESSION
        required = self.run.get("required", [])
        if not self.complete or not any(s.ran for s in self.subjects) or any(
                s.unavailable and s.name in required for s in self.subjects):
            return NOTHING_RAN
        return STALE_BASELINE if any(s.entries("stale") for s in self.subjects) else OK

    def summary(self) -> str:
        count = Counter(c["status"] for s in self.subjects for c in s.clauses)
        new = sum(len(s.regressions) for s in self.subjects)
        known = sum(len(s.divergences) for s in self.subjects) - new
        text = f"{count[HELD]} clauses held, {count[DIVERGED]} diverged"
        text += f", {count[CRASHED]} crashed" if count[CRASHED] else ""
        text += f", {count[NOT_APPLICABLE]} not applicable, {count[NOT_RUN]} not run"
        text += f"; {new} new and {known} known divergences in {self.seconds:.0f} s."
        return text if self.complete else "INCOMPLETE: the run was interrupted. " + text

    def reasons(self) -> list[str]:
        """Why the exit code is not 0."""
        out = []
        for s in self.subjects:
            if s.unavailable:
                out.append(f"{s.name} is not available: {s.unavailable}")
            if s.regressions:
                out.append(f"{s.name}: {len(s.regressions)} divergences or crashes are not in the baseline")
            out += [f"{s.name}: baseline entry {e['id']} ({e['clause']}) expired on {e['expires']}: {e['reason']}"
                    for e in s.entries("expired")]
            out += [f"{s.name}: baseline entry {e['id']} ({e['clause']}, {e['fingerprint']}) no longer shows here; "
                    "run again with --update-baseline" for e in s.entries("stale")]
        if not any(s.ran for s in self.subjects):
            out.append("nothing ran")
        return out


def load(path: Path) -> Report:
    """Read results.jsonl. A last line that was cut off is dropped: the run is incomplete then."""
    run: Record = {}
    subjects: dict[str, SubjectResult] = {}
    seconds, complete = 0.0, False
    for record in _records(path):
        kind = record["type"]
        if kind == "run":
            run = record
        elif kind == "end":
            seconds, complete = record["seconds"], True
        else:
            subject = subjects.setdefault(record["subject"], SubjectResult(record["subject"]))
            if kind == "subject":
                subject.place, subject.environment = record.get("place", {}), record.get("environment", {})
                subject.unavailable = record.get("unavailable", "")
            else:
                getattr(subject, {"clause": "clauses", "verdict": "verdicts", "divergence": "divergences",
                                  "baseline": "baseline"}[kind]).append(record)
    return Report(run, list(subjects.values()), seconds, complete)


def _records(path: Path) -> Iterator[Record]:
    with open(path) as f:
        for line in f:
            try:
                yield json.loads(line)
            except ValueError:
                if line.endswith("\n"):
                    raise
                return


# ---- terminal ----
def show(report: Report, console: Console) -> None:
    from rich.markup import escape
    for subject in report.subjects:
        console.print()
        if subject.unavailable:
            console.print(f"[bold]{escape(subject.name)}[/] not run: {escape(subject.unavailable)}")
            continue
        console.print(f"[bold]{escape(subject.headline())}[/]")
        if "note" in subject.environment:
            console.print(f"[yellow]{escape(subject.environment['note'])}[/]")
        _show_table(subject, console)
        _show_divergences(subject, console)
        _show_not_run(subject, console)
        _show_baseline(subject, console)
    console.print()
    code = report.exit_code
    console.print(f"[bold {'green' if code == OK else 'red'}]{escape(report.summary())}[/]")
    for reason in report.reasons():
        console.print(f"  {escape(reason)}")


def _show_table(subject: SubjectResult, console: Console) -> None:
    from rich import box
    from rich.markup import escape
    from rich.table import Table
    rows = subject.rows()
    crashed = any(r.statuses[CRASHED] for r in rows)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_footer=True)
    total = sum((r.statuses for r in rows), Counter[str]())
    numbers = [("held", HELD, "green"), ("diverged", DIVERGED, "red"), *([("crashed", CRASHED, "red")] * crashed),
               ("n/a", NOT_APPLICABLE, ""), ("not run", NOT_RUN, "yellow")]
    table.add_column("chapter", footer="total", no_wrap=True)
    for title, status, _ in numbers:
        table.add_column(title, justify="right", footer=str(total[status]), no_wrap=True)
    table.add_column("cases", justify="right", footer=str(sum(r.cases for r in rows)), no_wrap=True)
    table.add_column("formula found")
    table.add_column("worst ulp", justify="right", no_wrap=True)
    table.add_column("s", justify="right", footer=f"{sum(r.seconds for r in rows):.1f}", no_wrap=True)
    for r in rows:
        cells = []
        for _, status, colour in numbers:
            n = r.statuses[status]
            text = str(n) if n else "·"
            if status == HELD and r.partly:
                text += "*"
            if status == DIVERGED and r.known:
                text += f" ({r.known} known)"
            cells.append(f"[{colour}]{text}[/]" if n and colour else text)
        table.add_row(r.chapter, *cells, str(r.cases), escape(r.formula(FORMULA_WIDTH)), r.worst(), f"{r.seconds:.1f}")
    console.print(table)
    if any(r.partly for r in rows):
        console.print("* held in part: some units were not run, see below")


def _show_divergences(subject: SubjectResult, console: Console) -> None:
    from rich.markup import escape
    texts = {(c["chapter"], c["clause"]): c["text"] for c in subject.clauses}
    last = None
    for d in subject.divergences:
        name = f"{d['chapter']}.{d['clause']}"
        if name != last:
            console.print(f"\n[bold]{escape(name)}[/]  {escape(texts.get((d['chapter'], d['clause']), ''))}")
            last = name
        what = "known" if d["known"] else "CRASHED" if d["status"] == CRASHED else "DIVERGED"
        colour = "yellow" if d["known"] else "red"
        units = "; ".join(u for u in d["units"] if u)
        console.print(f"  [{colour}]{what}[/] {escape(d['fingerprint'])}  \\[{d['id']}]")
        lines = [("in", f"{units} ({d['witnesses']} witness{'es' if d['witnesses'] > 1 else ''})" if units else ""),
                 ("expected", d["expected"]), ("got", d["got"]),
                 ("known", d["known"] and " ".join(filter(None, (d["known"]["reason"], d["known"]["link"])))),
                 ("script", d["script"] and f"{d['script']}  ({d['replay']})"), ("note", d["note"])]
        for word, text in lines:
            if text:
                console.print(f"    {word:9}{escape(str(text))}", soft_wrap=True)


def _show_not_run(subject: SubjectResult, console: Console) -> None:
    from rich.markup import escape
    reasons = subject.not_run()
    if reasons:
        console.print("\n[bold]Not run[/]")
    for reason, where in reasons:
        more = f" and {len(where) - 4} more" if len(where) > 4 else ""
        console.print(f"  {escape(reason)}: {escape(', '.join(where[:4]))}{more}", soft_wrap=True)


def _show_baseline(subject: SubjectResult, console: Console) -> None:
    from rich.markup import escape
    for state in ("stale", "expired", "not applicable here", "not checked"):
        entries = subject.entries(state)
        if entries:
            console.print(f"\n[bold]Baseline entries: {state}[/]")
        for e in entries:
            where = "; ".join(f"{k} {' or '.join(v)}" for k, v in e["environment"].items())
            console.print(f"  {e['id']} {escape(e['clause'])} {escape(e['fingerprint'])}"
                          + (f" \\[for {escape(where)}]" if where else ""), soft_wrap=True)


# ---- files ----
def junit(report: Report) -> str:
    """JUnit XML: a test suite a chapter, a test case a clause. Known divergences are skipped, with their reason."""
    from xml.etree import ElementTree as ET
    root = ET.Element("testsuites", name="reftorch conform", time=f"{report.seconds:.3f}")
    for subject in report.subjects:
        if subject.unavailable:
            suite = ET.SubElement(root, "testsuite", name=subject.name, tests="1", failures="0", errors="0",
                                  skipped="1")
            case = ET.SubElement(suite, "testcase", classname=subject.name, name="available")
            ET.SubElement(case, "skipped", message=subject.unavailable)
        for chapter in subject.chapters:
            clauses = [c for c in subject.clauses if c["chapter"] == chapter]
            seconds = sum(c["seconds"] for c in clauses)  # of work, not of the clock
            suite = ET.SubElement(root, "testsuite", name=f"{subject.name}.{chapter}", tests=str(len(clauses)),
                                  time=f"{seconds:.3f}")
            properties = ET.SubElement(suite, "properties")
            for key, value in subject.environment.items():
                ET.SubElement(properties, "property", name=key, value=value)
            for c in clauses:
                _junit_case(ET, suite, subject, c)
            for kind in ("failure", "error", "skipped"):
                plural = {"failure": "failures", "error": "errors"}.get(kind, kind)
                suite.set(plural, str(len(suite.findall(f"testcase/{kind}"))))
    ET.indent(root)
    text: str = ET.tostring(root, encoding="unicode", xml_declaration=True)
    return "".join(c for c in text if c in "\n\t" or c >= " ") + "\n"


def _junit_case(ET: Any, suite: Any, subject: SubjectResult, c: Record) -> None:
    case = ET.SubElement(suite, "testcase", classname=f"{subject.name}.{c['chapter']}", name=c["clause"],
                         time=f"{c['seconds']:.3f}")
    found = [d for d in subject.divergences if (d["chapter"], d["clause"]) == (c["chapter"], c["clause"])]
    new = [d for d in found if not d["known"]]
    if new:
        kind = "error" if any(d["status"] == CRASHED for d in new) else "failure"
        element = ET.SubElement(case, kind, message="; ".join(d["fingerprint"] for d in new))
        element.text = "\n\n".join(f"[{d['id']}] {d['fingerprint']}\n{c['text']}\nexpected {d['expected']}\n"
                                   f"got {d['got']}\nscript {d['script']}" for d in new)
    elif found:
        ET.SubElement(case, "skipped", message="known: " + "; ".join(d["known"]["reason"] for d in found))
    elif c["status"] in (NOT_APPLICABLE, NOT_RUN):
        reasons = {v["reason"] for v in subject.verdicts if (v["chapter"], v["clause"]) == (c["chapter"], c["clause"])}
        ET.SubElement(case, "skipped", message=f"{c['status']}: {'; '.join(sorted(reasons)) or c.get('reason', '')}")


def markdown(report: Report) -> str:
    return _render("report.md", report)


def html(report: Report) -> str:
    return _render("report.html", report)


def _render(name: str, report: Report) -> str:
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
    environment = Environment(loader=PackageLoader("conformance"), undefined=StrictUndefined, trim_blocks=True,
                              lstrip_blocks=True, autoescape=select_autoescape(["html"]))
    environment.filters["cell"] = lambda text: str(text).replace("|", "\\|").replace("\n", " ")
    return environment.get_template(name).render(
        report=report, HELD=HELD, DIVERGED=DIVERGED, CRASHED=CRASHED, NOT_APPLICABLE=NOT_APPLICABLE, NOT_RUN=NOT_RUN,
        texts={(c["chapter"], c["clause"]): c["text"] for s in report.subjects for c in s.clauses})
