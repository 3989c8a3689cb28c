"""Reports: everything derives from results.jsonl, and says the same in every format."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from rich.console import Console

from conformance import report
from conformance.report import (
    NOTHING_RAN,
    OK,
    REGRESSION,
    STALE_BASELINE,
    Report,
    dtype_classes,
    html,
    junit,
    load,
    markdown,
    short,
    show,
)

DOCS = Path(__file__).parents[2] / "docs" / "results.md"
KNOWN = {"reason": "MKL rounds wrongly", "link": "https://example.org/1", "expires": ""}


def records(**more: Any) -> list[dict[str, Any]]:
    def clause(key: str, status: str, **rest: Any) -> dict[str, Any]:
        return {"type": "clause", "subject": "torch", "chapter": "sqrt", "clause": key, "status": status,
                "partly": key == "C1", "text": f"Clause {key} <says> a|b.", "source": "somewhere", "cases": 10,
                "seconds": 0.25, **rest}

    def verdict(key: str, status: str, **rest: Any) -> dict[str, Any]:
        return {"type": "verdict", "subject": "torch", "chapter": "sqrt", "clause": key, "status": status, "unit": "",
                "fingerprint": "", "reason": "", "formula": None, "distance": None, "expected": "", "got": "",
                "evidence": {}, **rest}
    divergence = {"type": "divergence", "id": "abcd1234", "subject": "torch", "chapter": "sqrt", "clause": "C2",
                  "fingerprint": "one [ulp] low", "status": "diverged", "units": ["float32"], "witnesses": 3,
                  "expected": "1.5", "got": "1.4999999", "distance": 1.0, "evidence": {}, "note": "", "known": None,
                  "script": "out/repro_abcd1234.py", "replay": "reproduced in a clean process", "reproduced": True,
                  "output": "element 0", "case": {}, "wanted": {}}
    return [
        {"type": "run", "format": 1, "subjects": ["torch"], "required": ["torch"], "profile": "standard", "seed": 0,
         "started": 0.0, "out": "out", "chapters": {"sqrt": ["C1", "C2", "C3", "C4"]}},
        {"type": "subject", "subject": "torch", "place": {"device": "cpu", "mode": "eager", "version": "2.13"},
         "environment": {"torch": "2.13.0", "cpu_capability": "AVX512"}},
        verdict("C1", "held", unit="float32", formula="sqrt(x)", distance=0.0),
        verdict("C1", "held", unit="float64", formula="sqrt(x)", distance=0.5),
        verdict("C1", "held", unit="complex64, v == 1", formula="csqrt(x)", distance=2.0),
        verdict("C1", "not run", unit="float16", reason="no such kernel"),
        clause("C1", "held"),
        verdict("C2", "diverged", unit="float32", fingerprint="one [ulp] low", distance="inf"),
        clause("C2", "diverged"),
        verdict("C3", "not applicable", reason="it has no such form"),
        clause("C3", "not applicable"),
        clause("C4", "not run", reason="covered by C9"),
        {**divergence, **more},
        {"type": "end", "seconds": 1.5, "subjects": ["torch"]},
    ]


def made(tmp_path: Path, lines: list[dict[str, Any]]) -> Report:
    path = tmp_path / "results.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return load(path)


def shown(r: Report, **how: Any) -> str:
    console = Console(record=True, width=150, file=open("/dev/null", "w"), **how)
    show(r, console)
    return console.export_text()


class TestExitCodes:
    @staticmethod
    def code(tmp_path: Path, lines: list[dict[str, Any]]) -> int:
        return made(tmp_path, lines).exit_code

    def entry(self, state: str) -> dict[str, Any]:
        return {"type": "baseline", "subject": "torch", "state": state, "id": "ef", "clause": "sqrt.C1",
                "fingerprint": "gone", "reason": "once", "link": "", "expires": "", "environment": {}}

    def test_held(self, tmp_path: Path) -> None:
        assert self.code(tmp_path, [r for r in records() if r["type"] != "divergence"]) == OK

    def test_new_divergence(self, tmp_path: Path) -> None:
        assert self.code(tmp_path, records()) == REGRESSION

    def test_known_divergence(self, tmp_path: Path) -> None:
        assert self.code(tmp_path, records(known=KNOWN)) == OK

    def test_stale_entry(self, tmp_path: Path) -> None:
        assert self.code(tmp_path, [*records(known=KNOWN), self.entry("stale")]) == STALE_BASELINE
        assert self.code(tmp_path, [*records(), self.entry("stale")]) == REGRESSION

    @pytest.mark.parametrize("state", ["not applicable here", "not checked", "matched"])
    def test_other_entries(self, tmp_path: Path, state: str) -> None:
        assert self.code(tmp_path, [*records(known=KNOWN), self.entry(state)]) == OK

    def test_expired_entry(self, tmp_path: Path) -> None:
        assert self.code(tmp_path, [*records(known=KNOWN), self.entry("expired")]) == REGRESSION

    def test_nothing_ran(self, tmp_path: Path) -> None:
        run, _, end = records()[0], 0, records()[-1]
        assert self.code(tmp_path, [run, end]) == NOTHING_RAN
        gone = {"type": "subject", "subject": "torch", "unavailable": "not installed"}
        assert self.code(tmp_path, [run, gone, end]) == NOTHING_RAN

    def test_a_subject_that_was_asked_for_is_missing(self, tmp_path: Path) -> None:
        gone = {"type": "subject", "subject": "torch-xpu", "unavailable": "no such device"}
        lines = [*records(known=KNOWN), gone]
        assert self.code(tmp_path, lines) == OK
        lines[0] = {**lines[0], "required": ["torch", "torch-xpu"]}
        assert self.code(tmp_path, lines) == NOTHING_RAN


def test_a_run_that_was_cut_off_is_incomplete(tmp_path: Path) -> None:
    r = made(tmp_path, records(known=KNOWN)[:-1])
    assert not r.complete and r.exit_code == NOTHING_RAN and "INCOMPLETE" in r.summary()
    path = tmp_path / "results.jsonl"
    path.write_text(path.read_text() + '{"type": "ver')
    assert not load(path).complete
    path.write_text(path.read_text() + '\n{"type": "end", "seconds": 1, "subjects": []}\n')
    with pytest.raises(ValueError):
        load(path)


def test_the_table_row(tmp_path: Path) -> None:
    (row,) = made(tmp_path, records()).subjects[0].rows()
    assert row.cases == 40 and row.partly == 1 and row.worst() == "inf" and row.seconds == 1.0
    assert row.formula() == "sqrt(x) [floats]; csqrt(x) [c64]"
    assert row.statuses == {"held": 1, "diverged": 1, "not applicable": 1, "not run": 1}


def test_the_terminal_shows_what_matters(tmp_path: Path) -> None:
    text = shown(made(tmp_path, records()))
    for words in ("torch 2.13.0 on cpu (eager), specification 2.13; AVX512", "sqrt(x) [floats]", "1*", "one [ulp] low",
                  "[abcd1234]", "Clause C2 <says>", "expected 1.5", "out/repro_abcd1234.py", "reproduced in a clean",
                  "no such kernel: sqrt.C1 (float16)", "covered by C9: sqrt.C4", "1 new and 0 known", "inf"):
        assert words in text, words
    known = shown(made(tmp_path, records(known=KNOWN)))
    assert "1 (1 known)" in known and "MKL rounds wrongly https://example.org/1" in known


def test_junit(tmp_path: Path) -> None:
    root = ET.fromstring(junit(made(tmp_path, records())))
    suite = root.find("testsuite[@name='torch.sqrt']")
    assert suite is not None and (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("4", "1", "2")
    failure = suite.find("testcase[@name='C2']/failure")
    assert failure is not None and failure.get("message") == "one [ulp] low"
    assert "repro_abcd1234" in (failure.text or "")
    known = ET.fromstring(junit(made(tmp_path, records(known=KNOWN))))
    skipped = known.find(".//testcase[@name='C2']/skipped")
    assert skipped is not None and "MKL rounds wrongly" in (skipped.get("message") or "")
    ET.fromstring(junit(made(tmp_path, records(got="a\x00b\x1b"))))  # characters that XML cannot hold


def test_markdown_and_html(tmp_path: Path) -> None:
    r = made(tmp_path, records())
    text, page = markdown(r), html(r)
    assert "| sqrt | 1* | 1 | 0 | 1 | 1 | 40 |" in text and "### sqrt.C2: one [ulp] low [abcd1234]" in text
    assert "Clause C2 &lt;says&gt; a|b." in page and "<says>" not in page
    for form in (text, page):
        assert "reproduced in a clean process" in form and "no such kernel" in form


def test_unavailable_subjects_in_every_format(tmp_path: Path) -> None:
    lines = [records()[0], {"type": "subject", "subject": "torch", "unavailable": "not <installed>"}, records()[-1]]
    r = made(tmp_path, lines)
    assert "not <installed>" in shown(r) and "not <installed>" in markdown(r) and "not &lt;installed&gt;" in html(r)
    assert "not &lt;installed&gt;" in junit(r)


def test_dtype_names() -> None:
    every = ["float32", "float64", "bfloat16", "int8", "int64", "bool", "complex64"]
    assert dtype_classes(["float32", "float64", "bfloat16", "bool"], every) == ["floats", "bool"]
    assert dtype_classes(["float32", "int8", "int64", "complex64"], every) == ["integers", "f32", "c64"]
    assert [short(d) for d in ("bfloat16", "uint8", "int64", "complex128")] == ["bf16", "u8", "i64", "c128"]


def test_every_field_is_documented() -> None:
    text = DOCS.read_text()
    for record in [*records(), {"type": "baseline", "state": "", "environment": {}, "profile": ""}]:
        section = text.split(f"## `{record['type']}`")[1].split("\n## ")[0]
        for name in record:
            assert f"`{name}`" in section or name == "type", f"{name} of {record['type']} is not in docs/results.md"


def test_exit_codes_are_documented() -> None:
    text = DOCS.read_text()
    for code in ("OK", "REGRESSION", "USAGE", "NOTHING_RAN", "STALE_BASELINE"):
        assert f"| {getattr(report, code)} |" in text
