"""python -m conformance.docs DIR: write a page for each chapter, from the operator's file and the kit's clauses.

DIR is docs/ops; the clauses that operators share go into a page beside it, shared-clauses.md.
"""
from __future__ import annotations

import inspect
import sys
import textwrap
from pathlib import Path

from reftorch.dispatch.operator import Formula
from reftorch.dispatch.pointwise import Pointwise

from .chapter import Chapter, chapters
from .clause import Clause
from .faults import faults

SHARED = "shared-clauses.md"


def page(name: str, chapter: Chapter) -> str:
    """The Markdown page of one chapter."""
    op = chapter.op
    title, _, rest = op.doc.partition("\n")
    own = [c for c in chapter.clauses() if c.key.startswith("C")]
    shared = [c for c in chapter.clauses() if not c.key.startswith("C")]
    caught = [(f.name, f.summary, f.caught_by) for f in faults().values() if f.op == name]
    parts = [f"# {name}", title, "## Signatures", fenced("\n".join(map(str, op.schemas)) + "\n" + forms(op), "text"),
             "## Contract", table(own),
             "## Formulas", *(formula(f) for f in distinct(op.formulas)),
             "## Gradient", derivatives(op),
             "## Types", ", ".join(f"`{t}`" for t in op.types)]
    examples = rest[rest.index(">>>"):] if ">>>" in rest else ""
    if examples:
        parts += ["## Examples", fenced(examples, "pycon")]
    parts += ["## Shared clauses", f"[What every operator of the kind must satisfy](../{SHARED}): "
              + ", ".join(c.key for c in shared) + "."]
    if caught:
        parts += ["## Seeded faults", "Deliberate mistakes in this operator that the kit must notice.",
                  "| fault | what is wrong | noticed by |\n|---|---|---|\n" + "\n".join(
                      f"| {n} | {cell(summary)} | {', '.join(keys)} |" for n, summary, keys in caught)]
    return "\n\n".join(parts).rstrip() + "\n"


def shared_page() -> str:
    """The Markdown page of the clauses that operators share, by family."""
    clauses = {c.key: c for chapter in chapters().values() for c in chapter.clauses() if not c.key.startswith("C")}
    return ("# Shared clauses\n\nWhat every operator that has the form in question must satisfy: values (E), promotion (P), "
            "size and strides (S, L), memory (M), in-place forms (I), out= (O), gradients (D), errors (X), devices (V).\n\n"
            + table(list(clauses.values())) + "\n")


def table(clauses: list[Clause]) -> str:
    rows = [f"| {c.key} | {cell(c.text)} | {cell(c.source)} |" for c in clauses]
    return "\n".join(["| clause | | source |", "|---|---|---|", *rows])


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def fenced(text: str, language: str = "python") -> str:
    return f"```{language}\n{text.rstrip()}\n```"


def forms(op: Pointwise) -> str:
    """The Python forms beside the function, as comments."""
    found = [f"# torch.{op.name}(...)" + (", out=" if op.has_out else "")]
    if op.has_method:
        found.append(f"# Tensor.{op.name}(...)")
    if op.has_in_place:
        found.append(f"# Tensor.{op.name}_(...)")
    return "\n".join([*found, *(f"# Tensor.{name}" for name in op.operators)])


def distinct(formulas: list[Formula]) -> list[list[Formula]]:
    """Formulas grouped by function: one may be legal in several places for different types."""
    groups: dict[object, list[Formula]] = {}
    for f in formulas:
        groups.setdefault(f.function, []).append(f)
    return list(groups.values())


def formula(group: list[Formula]) -> str:
    code = textwrap.dedent(inspect.getsource(group[0].function))
    code = code[code.index("def "):]
    places = [f"- {'; '.join(map(str, f.on)) or 'legal nowhere: a mistake worth a name'}"
              f"{kinds(f)}" for f in group]
    return f"### `{group[0].name}`\n\n{fenced(code)}\n\n" + "\n".join(places)


def kinds(f: Formula) -> str:
    names = ("bool", "integers", "floats", "complex")
    limits = [", ".join(names[c] for c in f.categories)] if f.categories is not None else []
    limits += [", ".join(f.dtypes)] if f.dtypes else []
    limits += [f"{k}={v!r}" for k, v in f.when.items()]
    return f" ({'; '.join(limits)})" if limits else ""


def derivatives(op: Pointwise) -> str:
    if not op.derivative_of:
        return "Not differentiable."
    source = inspect.getsource(sys.modules[op.module])
    start = source.index(f"{op.name}.derivatives(")
    depth, end = 0, start
    for end in range(start, len(source)):
        depth += {"(": 1, ")": -1}.get(source[end], 0)
        if source[end] == ")" and depth == 0:
            break
    return fenced(source[start:end + 1])


def write(folder: Path) -> list[Path]:
    """Write every page; pages of chapters that are gone are removed."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {folder / f"{name}.md": page(name, chapter) for name, chapter in chapters().items()}
    for stale in set(folder.glob("*.md")) - set(wanted):
        stale.unlink()
    wanted[folder.parent / SHARED] = shared_page()
    for path, text in wanted.items():
        path.write_text(text, encoding="utf-8")
    return sorted(wanted)


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__, file=sys.stderr)
        sys.exit(0 if "--help" in sys.argv else 2)
    for written in write(Path(sys.argv[1])):
        print(written)
