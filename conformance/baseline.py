"""Known divergences: a JSON file that the kit writes, so that a CI job fails for what is new and for what is gone.

An entry names one divergence (id: subject, clause and fingerprint), why it is accepted, and the environments it was
seen in. It matches a divergence of the same id in one of these environments. An entry that applies here and whose
clause ran without showing it is stale; one that is meant for other environments is listed and does nothing else; one
that is past its date fails the run.
"""
from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from .clause import PROFILES

FORMAT = 1
MATCHED, STALE, EXPIRED, ELSEWHERE, NOT_CHECKED = "matched", "stale", "expired", "not applicable here", "not checked"
ORDER = tuple(PROFILES)
RESTRICTIONS = ("cpu_capability", "torch")  # what a new entry is tied to, as far as the subject tells it


@dataclass
class Entry:
    """One accepted divergence.

    environment: key -> the values it is meant for; an empty dict means everywhere. profile: the profile it was found
    with; a smaller one may try too little to show it.
    """

    id: str
    subject: str
    clause: str
    fingerprint: str
    reason: str
    link: str = ""
    expires: str = ""
    environment: dict[str, list[str]] = field(default_factory=dict)
    profile: str = "standard"

    def applies(self, environment: Mapping[str, str]) -> bool:
        return all(plain(key, environment.get(key, "")) in values for key, values in self.environment.items())

    def expired(self, today: date | None = None) -> bool:
        return bool(self.expires) and date.fromisoformat(self.expires) < (today or date.today())

    def summary(self) -> dict[str, str]:
        return {"reason": self.reason, "link": self.link, "expires": self.expires}


def plain(key: str, value: str) -> str:
    """A value as entries hold it: '2.13.0+cpu' and '2.13.0+cu126' are the same torch."""
    return value.partition("+")[0] if key == "torch" else value


class Baseline:
    def __init__(self, entries: Iterable[Entry] = ()):
        self.entries = list(entries)

    @classmethod
    def load(cls, path: Path) -> Baseline:
        """Raises ValueError, saying what is wrong, for a file that is no baseline."""
        try:
            data = json.loads(path.read_text())
            entries = []
            for item in data["entries"]:
                where = {k: [v] if isinstance(v, str) else list(v) for k, v in item.get("environment", {}).items()}
                entries.append(Entry(**{**item, "environment": where}))
                if entries[-1].expires:
                    date.fromisoformat(entries[-1].expires)
        except (ValueError, KeyError, TypeError, AttributeError) as e:
            raise ValueError(f"{path} is not a baseline: {type(e).__name__}: {e}") from e
        if data.get("format") != FORMAT:
            raise ValueError(f"{path} has format {data.get('format')!r}, this version reads {FORMAT}")
        return cls(entries)

    def save(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        entries = sorted(self.entries, key=lambda e: (e.subject, e.clause, e.fingerprint, e.id))
        note = "Written by `reftorch conform --update-baseline`; do not edit it by hand."
        data = {"format": FORMAT, "note": note, "entries": [asdict(e) for e in entries]}
        path.write_text(json.dumps(data, indent=1) + "\n")

    def match(self, id: str, environment: Mapping[str, str]) -> Entry | None:  # noqa: A002
        """The entry that makes this divergence a known one here."""
        return next((e for e in self.entries if e.id == id and e.applies(environment) and not e.expired()), None)

    def verdicts(self, subject: str, environment: Mapping[str, str], found: set[str], ran: set[str],
                 profile: str = "standard") -> list[dict[str, Any]]:
        """What became of each of the subject's entries, given the divergences found and the clauses that ran."""
        return [{"state": _state(e, environment, found, ran, profile), **asdict(e)}
                for e in self.entries if e.subject == subject]

    def update(self, divergences: Sequence[Mapping[str, Any]], environments: Mapping[str, Mapping[str, str]],
               ran: Mapping[str, set[str]], reason: str, link: str = "", expires: str = "",
               restrict: Sequence[str] = RESTRICTIONS, profile: str = "standard") -> dict[str, int]:
        """Take over what a run found. Gives the numbers of entries added, widened and dropped.

        environments, ran: by subject. Entries of other subjects, other environments and clauses that did not run stay
        as they are. A divergence that is known from another environment makes its entry wider by this one.
        """
        counts = {"added": 0, "widened": 0, "dropped": 0}
        found = {d["id"] for d in divergences}
        for e in list(self.entries):
            here = environments.get(e.subject)
            if here is not None and _state(e, here, found, ran.get(e.subject, set()), profile) == STALE:
                self._narrow(e, here)
                counts["dropped"] += 1
        for d in divergences:
            here = environments[d["subject"]]
            same = [e for e in self.entries if e.id == d["id"]]
            if any(e.applies(here) and not e.expired() for e in same):
                continue
            self.entries = [e for e in self.entries if e not in same or not e.expired()]
            where = {key: [plain(key, here[key])] for key in restrict if key in here}
            wider = next((e for e in same if not e.expired() and _differ_in_one(e.environment, where)), None)
            if wider is not None:
                for key, values in where.items():
                    wider.environment[key] = sorted({*wider.environment[key], *values})
                counts["widened"] += 1
                continue
            self.entries.append(Entry(d["id"], d["subject"], f"{d['chapter']}.{d['clause']}", d["fingerprint"], reason,
                                      link, expires, where, profile))
            counts["added"] += 1
        return counts

    def _narrow(self, e: Entry, here: Mapping[str, str]) -> None:
        """Take this environment out of an entry; the entry itself if nothing is left of it."""
        key = next((k for k, values in e.environment.items() if len(values) > 1), None)
        if key is None or sum(len(v) > 1 for v in e.environment.values()) > 1:
            self.entries.remove(e)
        else:
            e.environment[key].remove(plain(key, here[key]))


def _state(e: Entry, environment: Mapping[str, str], found: set[str], ran: set[str], profile: str) -> str:
    if not e.applies(environment):
        return ELSEWHERE
    if e.expired():
        return EXPIRED
    checked = e.clause in ran and ORDER.index(profile) >= ORDER.index(e.profile)
    return MATCHED if e.id in found else STALE if checked else NOT_CHECKED


def _differ_in_one(a: Mapping[str, list[str]], b: Mapping[str, list[str]]) -> bool:
    """Whether their union, key by key, covers nothing that neither of them covers."""
    return a.keys() == b.keys() and sum(not set(b[k]) <= set(a[k]) for k in a) == 1
