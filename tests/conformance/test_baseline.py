"""The baseline: known divergences match where they are meant to, and nowhere else."""
from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from conformance.baseline import Baseline, Entry

HERE = {"cpu_capability": "AVX512", "torch": "2.13.0+cpu"}
THERE = {"cpu_capability": "AVX2", "torch": "2.13.0+cpu"}


def entry(**more: Any) -> Entry:
    return Entry(**{"id": "abcd", "subject": "torch", "clause": "sqrt.C1", "fingerprint": "one ulp low",
                    "reason": "MKL", **more})


def divergence(**more: Any) -> dict[str, Any]:
    return {"id": "abcd", "subject": "torch", "chapter": "sqrt", "clause": "C1", "fingerprint": "one ulp low", **more}


def state(e: Entry, environment: dict[str, str], found: bool, ran: bool = True, profile: str = "standard") -> str:
    (only,) = Baseline([e]).verdicts("torch", environment, {"abcd"} if found else set(), {"sqrt.C1"} if ran else set(),
                                     profile)
    return str(only["state"])


class TestMatching:
    def test_an_entry_without_restrictions_matches_everywhere(self) -> None:
        baseline = Baseline([entry()])
        assert baseline.match("abcd", HERE) and baseline.match("abcd", THERE) and not baseline.match("ef01", HERE)

    def test_an_entry_matches_in_its_environments_only(self) -> None:
        baseline = Baseline([entry(environment={"cpu_capability": ["AVX512"], "torch": ["2.13.0"]})])
        assert baseline.match("abcd", HERE)
        assert baseline.match("abcd", HERE | {"torch": "2.13.0+cu126"})
        assert not baseline.match("abcd", THERE) and not baseline.match("abcd", {"torch": "2.13.0"})

    def test_an_expired_entry_matches_nothing(self) -> None:
        assert not Baseline([entry(expires="2020-01-01")]).match("abcd", HERE)
        assert not entry(expires="2026-05-01").expired(date(2026, 5, 1))
        assert entry(expires="2026-05-01").expired(date(2026, 5, 2))


class TestStates:
    def test_found_and_gone(self) -> None:
        assert state(entry(), HERE, found=True) == "matched"
        assert state(entry(), HERE, found=False) == "stale"

    def test_not_stale_if_its_clause_did_not_run(self) -> None:
        assert state(entry(), HERE, found=False, ran=False) == "not checked"

    def test_not_stale_if_less_was_tried(self) -> None:
        assert state(entry(profile="deep"), HERE, found=False) == "not checked"
        assert state(entry(profile="smoke"), HERE, found=False) == "stale"

    def test_other_environments_neither_fail_nor_hide(self) -> None:
        only_here = entry(environment={"cpu_capability": ["AVX512"]})
        assert state(only_here, THERE, found=False) == state(only_here, THERE, found=True) == "not applicable here"

    def test_expired(self) -> None:
        assert state(entry(expires="2020-01-01"), HERE, found=True) == "expired"

    def test_other_subjects_are_left_out(self) -> None:
        assert Baseline([entry(subject="torch-inductor")]).verdicts("torch", HERE, set(), {"sqrt.C1"}) == []


class TestUpdate:
    @staticmethod
    def update(baseline: Baseline, found: list[dict[str, Any]], environment: dict[str, str], ran: bool = True,
               **more: Any) -> dict[str, int]:
        return baseline.update(found, {"torch": environment}, {"torch": {"sqrt.C1"} if ran else set()}, "MKL", **more)

    def test_new_entries_are_tied_to_where_they_were_seen(self) -> None:
        baseline = Baseline()
        assert self.update(baseline, [divergence()], HERE, link="https://example.org/1") == {
            "added": 1, "widened": 0, "dropped": 0}
        assert baseline.entries == [entry(link="https://example.org/1", environment={
            "cpu_capability": ["AVX512"], "torch": ["2.13.0"]})]

    def test_or_to_nothing(self) -> None:
        baseline = Baseline()
        self.update(baseline, [divergence()], HERE, restrict=())
        assert baseline.entries == [entry()]

    def test_what_is_known_stays_as_it_is(self) -> None:
        baseline = Baseline([entry(reason="an older reason")])
        assert sum(self.update(baseline, [divergence()], HERE).values()) == 0
        assert baseline.entries == [entry(reason="an older reason")]

    def test_a_second_environment_makes_the_entry_wider(self) -> None:
        baseline = Baseline()
        self.update(baseline, [divergence()], HERE)
        assert self.update(baseline, [divergence()], THERE)["widened"] == 1
        (only,) = baseline.entries
        assert only.environment["cpu_capability"] == ["AVX2", "AVX512"]
        assert baseline.match("abcd", HERE) and baseline.match("abcd", THERE)

    def test_environments_that_differ_in_two_things_get_two_entries(self) -> None:
        baseline = Baseline()
        self.update(baseline, [divergence()], HERE)
        self.update(baseline, [divergence()], {"cpu_capability": "AVX2", "torch": "2.12.0"})
        assert len(baseline.entries) == 2 and not baseline.match("abcd", THERE)

    def test_what_is_gone_is_dropped_or_narrowed(self) -> None:
        baseline = Baseline([entry()])
        assert self.update(baseline, [], HERE)["dropped"] == 1 and not baseline.entries
        baseline = Baseline([entry(environment={"cpu_capability": ["AVX2", "AVX512"]})])
        self.update(baseline, [], HERE)
        assert baseline.entries == [entry(environment={"cpu_capability": ["AVX2"]})]

    def test_what_did_not_run_is_kept(self) -> None:
        baseline = Baseline([entry(), entry(id="ef01", subject="torch-inductor")])
        self.update(baseline, [], HERE, ran=False)
        assert len(baseline.entries) == 2

    def test_an_expired_entry_is_renewed(self) -> None:
        baseline = Baseline([entry(expires="2020-01-01")])
        self.update(baseline, [divergence()], HERE, restrict=())
        assert baseline.entries == [entry()]


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "known.json"
    entries = [entry(environment={"torch": ["2.13.0"]}), entry(id="0001", clause="abs.C1", expires="2030-01-01")]
    Baseline(entries).save(path)
    assert Baseline.load(path).entries == entries[::-1]  # sorted by clause
    first = path.read_text()
    Baseline.load(path).save(path)
    assert path.read_text() == first


@pytest.mark.parametrize("text", ["", "[]", '{"entries": [{}]}', '{"format": 1, "entries": [{"id": 1, "wrong": 2}]}',
                                  '{"format": 99, "entries": []}', '{"entries": 3}'])
def test_files_that_are_no_baseline(tmp_path: Path, text: str) -> None:
    path = tmp_path / "known.json"
    path.write_text(text)
    with pytest.raises(ValueError, match="known.json"):
        Baseline.load(path)
