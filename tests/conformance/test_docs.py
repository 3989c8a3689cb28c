"""The committed pages are what the operators' files say."""
from __future__ import annotations

from pathlib import Path

from conformance import docs

COMMITTED = Path(__file__).parents[2] / "docs"


def test_pages_are_up_to_date(tmp_path):
    written = docs.write(tmp_path / "ops")
    assert len(written) > 20
    for path in written:
        kept = COMMITTED / path.relative_to(tmp_path)
        assert kept.read_text(encoding="utf-8") == path.read_text(encoding="utf-8"), (
            f"{kept.name} is stale: run python -m conformance.docs docs/ops")
    assert {p.name for p in (COMMITTED / "ops").iterdir()} == {p.name for p in (tmp_path / "ops").iterdir()}
