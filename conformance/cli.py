"""The command line. Everything but click is imported by the command that needs it, so that --help is quick."""
from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

    from .report import Report

OUT = "conform-out"
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


@click.group(context_settings=CONTEXT)
@click.version_option(package_name="reftorch")
def main() -> None:
    """Hold implementations of PyTorch's operators against an executable specification.

    \b
    First steps:
      reftorch doctor                     what is installed here, and which subjects can run
      reftorch conform                    hold the installed PyTorch against the specification
      reftorch explain addcdiv.C1         what a clause says, and how it is checked
      reftorch repro 3f2a91c0             show and run the script of a divergence that `conform` found

    A SUBJECT is an implementation (torch, torch-inductor, reftorch, ...), a CHAPTER an operator, a CLAUSE one numbered
    sentence of an operator's contract, written CHAPTER.KEY.
    """


# ---- conform ----
@main.command(context_settings=CONTEXT)
@click.option("--subject", "subjects", multiple=True, metavar="NAME", default=("torch",), show_default=True,
              help="Implementation to check; repeat it for several. 'all': every one that can run here.")
@click.option("--device", metavar="D",
              help="Device for the subject's tensors: cpu, cuda, xpu, mps, ...  [default: its own]")
@click.option("--chapter", "chapters", multiple=True, metavar="X",
              help="Only this operator; patterns like 'add*' work.")
@click.option("--clause", "clauses", multiple=True, metavar="ID",
              help="Only this clause, as addcdiv.C1, or C1 for every chapter; patterns work.")
@click.option("--profile", type=click.Choice(["smoke", "standard", "deep"]), default="standard", show_default=True,
              help="How much is tried.")
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed gives the same cases.")
@click.option("--jobs", type=click.IntRange(0), default=0, metavar="N", help="Worker processes.  [default: one a core]")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=OUT, show_default=True,
              help="Folder for results.jsonl, the reports and the reproduction scripts.")
@click.option("--baseline", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="Known divergences; these do not fail the run.")
@click.option("--update-baseline", is_flag=True, help="Write what this run finds into --baseline FILE. Needs --reason.")
@click.option("--reason", metavar="TEXT", default="", help="With --update-baseline: why new entries are accepted.")
@click.option("--link", metavar="URL", default="", help="With --update-baseline: where it is discussed.")
@click.option("--expires", metavar="DATE", default="",
              help="With --update-baseline: the last day (YYYY-MM-DD) on which new entries count.")
@click.option("--only-for", "restrict", multiple=True, metavar="KEY", default=("cpu_capability", "torch"),
              show_default=True, help="With --update-baseline: what of the environment (see doctor) new entries are "
              "tied to; 'nothing' ties them to nothing.")
@click.option("--junit", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Also write JUnit XML.")
@click.option("--spec-version", metavar="V", help="Hold it against this PyTorch release.  [default: the subject's own]")
@click.option("--time-limit", type=click.FloatRange(0.1), default=120.0, show_default=True, metavar="S",
              help="Seconds that one case may take before its process is stopped.")
@click.option("--source", default="conformance.chapter:chapters", hidden=True)
def conform(subjects: tuple[str, ...], device: str | None, baseline: Path | None, update_baseline: bool, reason: str,
            link: str, expires: str, restrict: tuple[str, ...], junit: Path | None, spec_version: str | None,
            **options: Any) -> None:
    """Hold a subject against the specification, clause by clause.

    Prints a table of chapters, then each divergence with a script that shows it alone, then what was not run and why.
    Everything is also written to --out: results.jsonl, report.md, report.html, repro_ID.py.

    \b
    Examples:
      reftorch conform                                  PyTorch on this machine's CPU
      reftorch conform --device cuda --chapter 'addc*'  two operators on its GPU
      reftorch conform --subject all --profile smoke    a quick look at everything
      reftorch conform --baseline known.json            for CI: fails only for what is new or gone
      reftorch conform --baseline known.json --update-baseline --reason "MKL's square root"

    \b
    Exit codes:
      0  every clause held, or its divergences are in the baseline
      1  a divergence or crash that is not in the baseline, or an entry past its date
      2  the command was used wrongly
      3  nothing ran, the run was interrupted, or a subject that was asked for is not available here
      4  a baseline entry applies here, its clause ran, and it no longer shows
    """
    from datetime import date

    from .baseline import Baseline
    from .report import load
    from .runner import Plan, Run
    names, required = _subjects(subjects)
    if update_baseline and not (baseline and reason):
        raise click.UsageError("--update-baseline needs --baseline FILE and --reason TEXT")
    if expires:
        try:
            date.fromisoformat(expires)
        except ValueError:
            raise click.UsageError(f"--expires {expires}: not a date like 2026-12-31") from None
    _check_version(spec_version)
    known = None
    if baseline is not None:
        if baseline.exists():
            try:
                known = Baseline.load(baseline)
            except ValueError as e:
                raise click.UsageError(str(e)) from None
        elif not update_baseline:
            raise click.UsageError(f"no baseline file {baseline} (--update-baseline writes one)")
        known = known or Baseline()
    plan = Plan(names, required, device, version=spec_version, baseline=known, **options)
    run = Run(plan)
    if not run.selected:
        raise click.UsageError(f"no clause matches; `reftorch list` shows what there is: {', '.join(run.chapters)}")
    console = _console()
    with contextlib.suppress(ValueError):  # only the main thread may
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # a CI job that is cancelled leaves no workers behind
    with _Progress(console, sum(map(len, run.selected.values())) * len(names)) as progress:
        run.tell = progress
        with contextlib.suppress(KeyboardInterrupt):  # what there is by then is shown, as incomplete
            run.run()
    report = load(plan.out / "results.jsonl")
    code = _write_reports(report, plan.out, junit, console)
    if update_baseline and baseline is not None and known is not None:
        keys = [k for k in restrict if k != "nothing"]
        code = _update_baseline(known, baseline, report, console, reason=reason, link=link, expires=expires,
                                restrict=keys, profile=plan.profile)
    sys.exit(code)


def _subjects(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """The subjects to run, and those of them that must be available. Imports none of them."""
    from .subjects import make_subject, subjects
    every = list(subjects())
    found: list[str] = []
    for name in names:
        if name != "all":
            try:
                make_subject(name)
            except LookupError as e:
                raise click.UsageError(str(e).strip("'\"")) from None
        found += every if name == "all" else [name]
    return list(dict.fromkeys(found)), [n for n in names if n != "all"]


def _check_version(version: str | None) -> None:
    from reftorch.core.spec import check_version
    if version is not None:
        try:
            check_version(version)
        except ValueError as e:
            raise click.UsageError(str(e)) from None


def _write_reports(report: Report, out: Path, junit: Path | None, console: Console) -> int:
    from .report import html, markdown, show
    from .report import junit as to_junit
    (out / "report.md").write_text(markdown(report))
    (out / "report.html").write_text(html(report))
    if junit is not None:
        junit.parent.mkdir(parents=True, exist_ok=True)
        junit.write_text(to_junit(report))
    show(report, console)
    console.print(f"results: {out}/results.jsonl, report: {out}/report.html", soft_wrap=True)
    return report.exit_code


def _update_baseline(known: Any, path: Path, report: Report, console: Console, **how: Any) -> int:
    from .report import NOTHING_RAN, OK
    if not report.complete or not any(s.ran for s in report.subjects):
        console.print("the baseline is unchanged: the run is not complete")
        return NOTHING_RAN
    ran = {s.name: {f"{c['chapter']}.{c['clause']}" for c in s.clauses if c["status"] in ("held", "diverged")}
           for s in report.subjects}
    counts = known.update([d for s in report.subjects for d in s.divergences],
                          {s.name: s.environment for s in report.subjects if s.ran}, ran, **how)
    known.save(path)
    console.print(f"{path}: " + ", ".join(f"{n} {word}" for word, n in counts.items()), soft_wrap=True)
    return OK


def _console() -> Console:
    """Colours and the terminal's width on a terminal; plain lines, wide enough not to break, anywhere else."""
    from rich.console import Console
    if sys.stdout.isatty():
        return Console(highlight=False)
    return Console(highlight=False, width=int(os.environ.get("COLUMNS", 160)))


class _Progress:
    """What is told while a run is going on: a bar on a terminal, a line a chapter elsewhere."""

    def __init__(self, console: Console, clauses: int):
        self.console, self.clauses, self.done = console, clauses, 0
        self.left: dict[tuple[str, str], int] = {}
        self.cases: dict[tuple[str, str], int] = {}
        self.bar: Any = None
        self.chapters: dict[str, list[str]] = {}

    def __enter__(self) -> _Progress:
        if self.console.is_terminal:
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
            self.bar = Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
                                TimeElapsedColumn(), console=self.console, transient=True)
            self.bar.start()
            self.task = self.bar.add_task("starting", total=self.clauses)
        return self

    def __exit__(self, *exc: object) -> None:
        if self.bar:
            self.bar.stop()

    def __call__(self, record: dict[str, Any]) -> None:
        kind = record["type"]
        if kind == "run":
            self.chapters = record["chapters"]
        elif kind == "crash":
            self.console.print(f"{record['clause']}: {record['reason']}", soft_wrap=True, markup=False)
        elif kind == "subject" and not self.bar:
            self.console.print(f"{record['subject']}: " + ("not available" if "unavailable" in record else "running"))
        elif kind == "clause" and record.get("reason") is None:
            self.clause(record)
        elif kind == "phase" and self.bar:
            self.bar.update(self.task, description=record["text"])

    def clause(self, record: dict[str, Any]) -> None:
        key = record["subject"], record["chapter"]
        self.done += 1
        self.left[key] = self.left.get(key, len(self.chapters[record["chapter"]])) - 1
        self.cases[key] = self.cases.get(key, 0) + record["cases"]
        if self.bar:
            self.bar.update(self.task, completed=self.done, description=f"{record['subject']} {record['chapter']}")
        elif not self.left[key]:
            self.console.print(f"  {self.done}/{self.clauses} clauses: {record['chapter']}, {self.cases[key]} cases",
                               markup=False)


# ---- looking at results ----
@main.command(context_settings=CONTEXT)
@click.argument("id")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=OUT, show_default=True,
              help="Where `reftorch conform` wrote its results.")
@click.option("--show", is_flag=True, help="Only print the script.")
def repro(id: str, out: Path, show: bool) -> None:  # noqa: A002
    """Show the script of divergence ID, and run it.

    ID is what `reftorch conform` prints in brackets; its first characters are enough.

    \b
    Exit codes are the script's: 1 it still diverges, 0 it no longer does, 77 it cannot run here; 2 no such script.
    """
    from .repro import CANNOT_RUN, replay
    from .runner import worker_environment
    found = sorted(out.glob(f"repro_{id}*.py"))
    if len(found) != 1:
        there = ", ".join(p.stem.removeprefix("repro_") for p in found or sorted(out.glob("repro_*.py")))
        raise click.UsageError(f"{len(found)} scripts in {out} match {id!r}; there: {there or 'none'}")
    click.echo(found[0].read_text())
    if show:
        return
    result = replay(found[0], env=worker_environment())
    click.echo(f"$ python {found[0]}\n{result.output}\n=> {result}")
    sys.exit(result.code if result.code in (0, 1, CANNOT_RUN) else 1)


@main.command(context_settings=CONTEXT)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=OUT, show_default=True,
              help="Where `reftorch conform` wrote its results.")
@click.option("--junit", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Also write JUnit XML.")
def report(out: Path, junit: Path | None) -> None:
    """Print the tables of the last run again, and write its reports anew. Exits as that run did."""
    from .report import load
    results = out / "results.jsonl"
    if not results.exists():
        raise click.UsageError(f"there is no {results}; run `reftorch conform` first")
    sys.exit(_write_reports(load(results), out, junit, _console()))


# ---- looking at the specification ----
@main.command("list", context_settings=CONTEXT)
@click.argument("what", type=click.Choice(["chapters", "clauses", "subjects"]), default="chapters")
def list_(what: str) -> None:
    """List what there is: chapters, clauses or subjects.

    \b
    Examples:
      reftorch list               every operator, with the number of its clauses
      reftorch list clauses       every clause, with its text
      reftorch list subjects      every implementation that `conform --subject` takes
    """
    if what == "subjects":
        from .subjects import subjects
        for name in subjects():
            click.echo(name)
        return
    from .worker import load_chapters
    for name, chapter in load_chapters().items():
        clauses = chapter.clauses()
        if what == "clauses":
            for c in clauses:
                click.echo(f"{name}.{c.key:4} {c.text}")
        else:
            click.echo(f"{name:12} {len(clauses):3} clauses   {_first_line(chapter.op.doc)}")


@main.command(context_settings=CONTEXT)
@click.argument("clause")
def explain(clause: str) -> None:
    """Explain a CLAUSE (addcdiv.C1), or a whole chapter (addcdiv).

    Its text and source, the legal formulas and where each is legal, how it is checked, and which seeded faults it
    catches.
    """
    from .worker import load_chapters
    chapters = load_chapters()
    name, dot, key = clause.partition(".")
    if name not in chapters:
        raise click.UsageError(f"no chapter {name!r}: there are {', '.join(chapters)}")
    chapter = chapters[name]
    clauses = {c.key: c for c in chapter.clauses()}
    if dot and key not in clauses:
        raise click.UsageError(f"no clause {clause}: {name} has {', '.join(clauses)}")
    if not dot:
        click.echo(chapter.op.doc + "\n")
        for s in chapter.op.schemas:
            click.echo(f"    {s}")
    for c in [clauses[key]] if dot else clauses.values():
        click.echo(f"\n{name}.{c.key}  {c.text}\n  source: {c.source or 'the operator itself'}")
        if c.check is None:
            click.echo(f"  checked by: {c.covered_by or 'nothing'}")
        for k in (c.covered_by.replace(",", " ").split() or [c.key]) if dot else ():
            for line in _how_checked(clauses[k]):
                click.echo(line)
    if not dot or "formula" in clauses[key].text.lower():
        click.echo("\nFormulas, and where each is legal:")
        for f in chapter.op.formulas:
            click.echo(f"  {f.name}{_for_what(f)}")
            for on in f.on:
                click.echo(f"      {on}")
    keys = [key, *clauses[key].covered_by.replace(",", " ").split()] if dot else list(clauses)
    for fault in _faults_caught_by(name, keys):
        click.echo(fault)


def _how_checked(c: Any) -> list[str]:
    import inspect
    if c.check is None:
        return []
    check = getattr(c.check, "func", c.check)
    doc = inspect.getdoc(check) or inspect.getdoc(getattr(check, "make", None)) or check.__name__
    where = inspect.getsourcefile(check) or ""
    return ["  checked:  " + " ".join(doc.split()), f"  in:       {os.path.relpath(where)}" if where else ""]


def _for_what(formula: Any) -> str:
    words = {0: "bool", 1: "integers", 2: "floats", 3: "complex"}
    what = [words[c] for c in formula.categories or ()] + list(formula.dtypes or ())
    what += [f"{k}={v!r}" for k, v in formula.when.items()]
    return f"   ({', '.join(what)})" if what else ""


def _first_line(doc: str) -> str:
    return (doc.splitlines() or [""])[0]


@main.command(context_settings=CONTEXT)
@click.argument("old")
@click.argument("new")
@click.option("--chapter", "only", multiple=True, metavar="X", help="Only this operator.")
def changes(old: str, new: str, only: tuple[str, ...]) -> None:
    """List what the specification changed between two PyTorch releases.

    \b
    Example:
      reftorch changes 2.11 2.12
    """
    from .changes import changed_formulas
    from .worker import load_chapters
    for v in (old, new):
        _check_version(v)
    chapters = {k: c for k, c in load_chapters().items() if not only or k in only}
    if not chapters:
        raise click.UsageError(f"no chapter {', '.join(only)}")
    found = 0
    for name, chapter in chapters.items():
        changed = changed_formulas(chapter.op, old, new)
        if not changed:
            continue
        keys = [f"{name}.{c.key}" for c in chapter.clauses() if "formula" in c.text.lower()]
        click.echo(f"{', '.join(keys) or name}")
        for change in changed:
            found += 1
            click.echo("\n".join(f"  {where}" for where in change.where)
                       + f"\n    {old}: {change.before}\n    {new}: {change.after}")
    if not found:
        click.echo(f"nothing changed from {old} to {new}")


# ---- health ----
@main.command(context_settings=CONTEXT)
def doctor() -> None:
    """Say what is installed here, what results depend on, and which subjects can run.

    Exits with 1 if reftorch's own kernels do not work.
    """
    from .doctor import examine
    sys.exit(0 if examine(click.echo) else 1)


@main.command(context_settings=CONTEXT)
@click.option("--fault", "names", multiple=True, metavar="NAME", help="Only this fault; patterns like 'out-*' work.")
@click.option("--jobs", type=click.IntRange(0), default=0, metavar="N", help="Worker processes.  [default: one a core]")
def faults(names: tuple[str, ...], jobs: int) -> None:
    """Let the kit find seeded faults: right subjects with one thing wrong.

    Prints each fault with the clauses that caught it, and the kill score.

    \b
    Exit codes:
      0  every fault was caught by a clause that is meant to
      1  a fault survives
      2  no such fault
    """
    from .faults import run
    try:
        caught = run(names, jobs=jobs, echo=click.echo)
    except LookupError as e:
        raise click.UsageError(str(e).strip("'\"")) from None
    sys.exit(0 if caught else 1)


def _faults_caught_by(chapter: str, keys: Sequence[str]) -> list[str]:
    """Lines about the seeded faults in this operator that these clauses are meant to catch."""
    from .faults import faults as seeded
    found = [f for f in seeded().values() if f.op == chapter and not set(keys).isdisjoint(f.caught_by)]
    return ["\nSeeded faults (reftorch faults):"] * bool(found) + [f"  {f.name}: {f.summary}" for f in found]


if __name__ == "__main__":
    main()
