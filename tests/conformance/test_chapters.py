"""Chapters: one for each operator, every clause of it checked, nothing kept by hand."""
from __future__ import annotations

import re
from pathlib import Path

import pytest

from conformance.chapter import Chapter, chapters, docstring_clauses
from reftorch.dispatch.operator import REGISTRY
from reftorch.dispatch.pointwise import Pointwise

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = chapters()


def files(folder: str, pattern: str) -> set[str]:
    return {m[1] for f in (ROOT / folder).iterdir() if (m := re.fullmatch(pattern, f.name))}


def test_the_sets_are_equal() -> None:
    operators = files("reftorch/ops", r"([a-z]\w*)\.py")
    assert len(operators) >= 20
    assert operators == set(CHAPTERS)
    assert operators == files("conformance/chapters", r"([a-z]\w*)\.py")
    assert operators == files("tests/ops", r"test_([a-z]\w*)\.py")
    assert operators == files("docs/ops", r"([a-z]\w*)\.md")


def test_every_operator_with_a_file_of_its_own_has_a_chapter() -> None:
    """Files with a leading underscore hold operators without one."""
    own = {o.name for o in REGISTRY.values() if isinstance(o, Pointwise) and "._" not in o.module}
    assert own == set(CHAPTERS)


@pytest.mark.parametrize("name", CHAPTERS)
def test_every_clause_has_a_check_or_is_covered(name: str) -> None:
    clauses = CHAPTERS[name].clauses()
    keys = [c.key for c in clauses]
    assert len(keys) == len(set(keys))
    for c in clauses:
        assert c.text and c.source
        assert (c.check is None) == bool(c.covered_by), c.key
        for key in filter(None, c.covered_by.split(", ")):
            assert next(o for o in clauses if o.key == key).check is not None


@pytest.mark.parametrize("name", CHAPTERS)
def test_own_clauses_are_those_of_the_docstring(name: str) -> None:
    chapter = CHAPTERS[name]
    own = docstring_clauses(chapter.op.doc)
    assert own and list(own) == [f"C{i}" for i in range(1, len(own) + 1)]
    assert {c.key: (c.text, c.source) for c in chapter.clauses() if c.key in own} == own


def test_a_chapter_must_name_every_clause() -> None:
    op = CHAPTERS["neg"].op
    with pytest.raises(ValueError, match="differ"):
        Chapter(op)
    keys = dict.fromkeys(docstring_clauses(op.doc), "E1")
    with pytest.raises(ValueError, match="not there"):
        Chapter(op, **{**keys, "C1": "Z9"})


def test_families_follow_from_the_operator() -> None:
    def keys(name: str) -> set[str]:
        return {c.key for c in CHAPTERS[name].clauses()}
    assert "I1" in keys("add") and "I1" not in keys("maximum")
    assert "O1" in keys("where") and "D1" in keys("add") and "I1" not in keys("where")
