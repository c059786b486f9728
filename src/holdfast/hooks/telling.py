"""Finds the sessions, commits and documents that a prompt is about, and the lines in them that are worth telling.

A source is found by its words: each weighs what it says in the talk of people and coding agents at large, less if it is
common in this memory. The words of the prompt that stand close together count more than those scattered over a long
session. A fitted model turns that into the probability that the source is what the prompt is about; below the floor
nothing is told. Hooks, `recall` and the search for what a session replaces all use it.
"""

from __future__ import annotations

import math
import os

from holdfast.core.words import without_addresses, words
from holdfast.hooks.start_lines import count_tokens

TYPE_CHECKING = False  # importing it from `typing` would load that module
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Sequence
    from typing import Any

    Row = tuple[Any, ...]

NAME = "told.db"
FORMAT = "1"
USUAL_LENGTHS = {"session": 300.0, "commit": 25.0, "document": 60.0}  # words
IMPACT = 256.0  # impacts are stored as whole numbers
_SATURATION, _LENGTH = 1.2, 0.3  # parameters of BM25
RARE = 9.0  # the weight of a word that neither the background nor this memory knows
_COMMON = 0.02  # share of sources from which on a word says less
_SHORT = 30  # words; a source of fewer shares words with few prompts by chance
_FEW = 40  # sources; fewer say nothing about what is common
_MOST_POSTINGS = 6_000  # sources of one word that are looked at
_CLOSE = 10  # sources of each kind whose turns are looked at
_LONGEST_PROMPT = 3_000
_FEWEST = 3  # content words of a prompt that is no question: "commit and push" is about no commit
_TWO = 2  # small words of another language that show a prompt to be in it

# The model: log-odds that a source is what the prompt is about, against none being it (scripts/train_telling.py).
WEIGHTS = {
    "found": 0.251, "close": 1.215, "rest": 1.114, "close share": -3.267, "share": 2.013, "best": 4.149,
    "words": -0.46, "prompt": -1.819, "session": -2.125, "worth": 1.765, "meaning": 11.445, "sources": -0.064,
    "session length": -0.366, "other length": -1.839,
}  # fmt: skip
NONE = 6.646
# At this floor one in twenty prompts about other repositories gets a line (docs/research/benchmarks.md: the curve).
FLOOR, LATER_FLOOR = 0.45, 0.7
SECOND = 0.25  # share of the best source's probability that another one needs

LONGEST_LINE = 120  # tokens
MARK_TOKENS = 16  # of a line's source
LONGEST_LABEL = 48  # characters of how a session began
_NEW = 0.35  # share of a passage's words that must be new
_DAY = 86_400.0


class Found:
    """A source that may be what a prompt is about, with the words that speak for it."""

    def __init__(self, row: Row, evidence: dict[str, float], shared: list[str]) -> None:
        self.number: int = row[0]
        self.id: str = row[1]
        self.kind: str = row[2]
        self.at: float | None = row[3]
        self.title: str = row[4]
        self.who: str = row[5]
        self.evidence = evidence
        self.shared = shared
        self.chance = 0.0
        self.odds = 0.0


class TellingLine:
    """A line to tell, why, and the ids of the statements in it."""

    def __init__(self, text: str, reason: str, ids: list[str], source: str) -> None:
        self.text = text
        self.reason = reason
        self.ids = ids
        self.source = source


def impact(count: int, length: int, usual: float) -> int:
    """What a word's occurrences in a source add, by BM25, as it is stored."""
    longer = _SATURATION * (1 - _LENGTH + _LENGTH * length / usual)
    return round(IMPACT * count * (_SATURATION + 1) / (count + longer))


def opened(memory: str) -> sqlite3.Connection | None:
    """The index, for reading; None if there is none."""
    path = os.path.join(memory, NAME)
    if not os.path.isfile(path):
        return None
    from holdfast.hooks.prepared import read_only

    db: sqlite3.Connection = read_only(path)
    return db


def noted_by_hand(db: sqlite3.Connection) -> list[Row]:
    """What was decided without a chat: in the register ("decided …"), or shared by others ("note …")."""
    rows: list[Row] = []
    for origin in ("decided", "note"):
        rows += db.execute(
            "SELECT line.id, line.text, line.words, source.at, source.who, source.project FROM source "
            "JOIN line ON line.source = source.number WHERE source.id > ? AND source.id < ? AND line.status = 'agreed'",
            (f"{origin} ", f"{origin}!"),
        ).fetchall()
    return rows


class Telling:
    """One prompt, asked of one memory."""

    def __init__(
        self, db: sqlite3.Connection, prompt: str, branch: str | None, project: str, now: float
    ) -> None:
        self._db = db
        self._branch, self._project, self._now = branch, project, now
        meta = dict(
            db.execute(
                "SELECT key, value FROM meta WHERE key IN ('sources', 'empty', 'languages')"
            ).fetchall()
        )
        self._sources = int(meta["sources"])
        self._prompt = prompt[:_LONGEST_PROMPT]
        self._meaning: list[float] | None = None
        self._postings: dict[str, bytes] = {}
        self.weights: dict[str, float] = {}
        self._weigh(set(_words(without_addresses(self._prompt), meta)))

    def _weigh(self, asked: set[str]) -> None:
        wanted = sorted(asked)
        known = {}
        for start in range(0, len(wanted), 500):
            part = wanted[start : start + 500]
            marks = ", ".join("?" * len(part))
            for word, weight, sources in self._db.execute(
                f"SELECT word, weight, sources FROM word WHERE word IN ({marks})", part
            ).fetchall():
                known[word] = weight
                self._postings[word] = sources
        for word in wanted:
            weight = known.get(word, RARE)
            often = len(self._postings.get(word, b"")) // 8
            if self._sources > _FEW and often > _COMMON * self._sources:
                weight *= (math.log(1 + self._sources / often) / math.log(1 + 1 / _COMMON)) ** 2
            self.weights[word] = weight

    def found(self) -> list[Found]:
        """The sources that the prompt may be about, the likeliest first, each with its chance."""
        total = sum(self.weights.values())
        if not self._sources or not total:
            return []
        found = self._close(self._scores(), total)
        top = max((one.odds for one in found), default=0.0)
        none = math.exp(NONE - top)
        everything = none + sum(math.exp(one.odds - top) for one in found)
        for one in found:
            one.chance = math.exp(one.odds - top) / everything
        return sorted(found, key=lambda one: -one.chance)

    def _scores(self) -> dict[int, float]:
        scores: dict[int, float] = {}
        for word, blob in self._postings.items():
            flat = memoryview(blob).cast("I")[-2 * _MOST_POSTINGS :].tolist()
            weight = self.weights[word] / IMPACT
            for number, count in zip(flat[::2], flat[1::2]):  # noqa: B905 (a hook; both are as long)
                scores[number] = scores.get(number, 0.0) + weight * count
        return scores

    def nearest(self, kind: str, most: int) -> list[int]:
        """The numbers of the sources of a kind that share most with the text."""
        scores = self._scores()
        ordered = sorted(scores, key=lambda number: -scores[number])[: 12 * most]
        marks = ", ".join("?" * len(ordered))
        rows = self._db.execute(
            f"SELECT number FROM source WHERE kind = ? AND number IN ({marks})", (kind, *ordered)
        )
        known = {number for (number,) in rows.fetchall()}
        return [number for number in ordered if number in known][:most]

    def _close(self, scores: dict[int, float], total: float) -> list[Found]:
        """The best sources of each kind, with how close together the words of the prompt stand in them."""
        from holdfast.hooks.meaning import vector_of

        found: list[Found] = []
        self._meaning = vector_of(without_addresses(self._prompt))
        looked = {"session": 0, "commit": 0, "document": 0}
        ordered = sorted(scores, key=lambda number: -scores[number])
        for start in range(0, len(ordered), 50):
            part = ordered[start : start + 50]
            marks = ", ".join("?" * len(part))
            rows = {
                row[0]: row
                for row in self._db.execute(
                    "SELECT number, id, kind, at, title, who, project, branches, everywhere, turns, worth, vector "
                    f"FROM source WHERE number IN ({marks})",
                    part,
                ).fetchall()
            }
            for number in part:
                row = rows.get(number)
                if row is None or looked[row[2]] >= _CLOSE or not self._counts(*row[6:9]):
                    continue
                looked[row[2]] += 1
                found.append(self._weighed(row, scores[number], total))
            if all(seen >= _CLOSE for seen in looked.values()) or start > 400:
                break
        return found

    def _counts(self, project: str, branches: str, everywhere: float | None) -> bool:
        """Whether a source counts in this project and on this branch."""
        if project and self._project and project != self._project:
            return False
        if not branches or self._branch is None or self._branch in branches.split("\n"):
            return True
        return everywhere is not None and everywhere <= self._now

    def _weighed(self, row: Row, score: float, total: float) -> Found:
        from holdfast.hooks.meaning import cosine

        asked = self.weights
        turns = [asked.keys() & turn.split(" ") for turn in row[9].split("\n")]
        close = 0.0
        for at in range(len(turns)):
            near = turns[at].union(*turns[max(0, at - 1) : at + 2])
            close = max(close, sum(asked[word] for word in near))
        shared = sorted(set().union(*turns), key=lambda word: -asked[word])
        whole = sum(asked[word] for word in shared)
        best = asked[shared[0]] if shared else 0.0
        worth: float = row[10]
        length = math.log(max(2 + row[9].count(" "), _SHORT) / _SHORT)
        evidence = {
            "found": math.sqrt(score),
            "close": math.sqrt(close),
            "rest": math.sqrt(max(whole - best, 0.0)),
            "close share": close / total,
            "share": whole / total,
            "best": best / RARE,
            "words": float(len(shared)),
            "prompt": math.log(1 + total),
            "session": float(row[2] == "session"),
            "worth": math.log(1 + worth),
            "meaning": 0.0 if self._meaning is None else cosine(self._meaning, row[11]),
            # A large memory, and a long source in it, shares words with any prompt.
            "sources": math.log(1 + self._sources),
            "session length": length if row[2] == "session" else 0.0,
            "other length": 0.0 if row[2] == "session" else length,
        }
        one = Found(row[:6], evidence, shared)
        one.odds = sum(WEIGHTS[name] * value for name, value in evidence.items()) if worth else -99.0
        return one

    # --- lines ---------------------------------------------------------------------------------------------

    def told(
        self, budget: int, heard: Collection[str], most_lines: int = 8, floor: float = FLOOR
    ) -> tuple[list[TellingLine], str]:
        """The lines for the prompt, and otherwise why there are none. `heard` are ids that the session knows."""
        if len(self.weights) < _FEWEST and "?" not in self._prompt:
            return [], "the prompt says too little to be about anything that was decided"
        everything = self.found()
        if not everything:
            return [], "nothing in the memory shares a word with the prompt"
        found = [one for one in everything if not self._was_told(one, heard)]
        sure = sum(one.chance for one in found)
        if sure < floor:
            likely = sum(one.chance for one in everything)
            if likely >= floor:
                return [], "what was decided about this was told already"
            return [], f"no decision is likely enough to be about this ({likely:.0%})"
        chosen = self._latest([one for one in found if one.chance >= SECOND * found[0].chance][:3], found)
        whole = sum(one.chance for one in chosen)
        lines: list[TellingLine] = []
        for place, one in enumerate(chosen):
            share = budget if place == len(chosen) - 1 else round(budget * one.chance / whole)
            new = self._lines(one, min(share, budget), heard, most_lines - len(lines))
            budget -= sum(count_tokens(line.text) for line in new)
            lines += new
        return lines, "" if lines else "nothing that was decided says enough about this"

    def _was_told(self, found: Found, heard: Collection[str]) -> bool:
        """Whether the session heard of this source: a line shows the id of its first statement, or the commit."""
        if not heard:
            return False
        if found.kind == "commit":
            return found.id[4:12] in heard
        rows = self._db.execute("SELECT id FROM line WHERE source = ?", (found.number,)).fetchall()
        return any(id in heard for (id,) in rows)

    def _latest(self, chosen: list[Found], found: list[Found]) -> list[Found]:
        """The chosen sources, each replaced by the latest one on its subject: that one amends it or goes on with it."""
        numbers = [one.number for one in chosen]
        marks = ", ".join("?" * len(numbers))
        rows = self._db.execute(
            f"SELECT earlier, later FROM follows WHERE earlier IN ({marks})", numbers
        ).fetchall()
        if not rows:
            return chosen
        at = {one.number: one for one in found}
        latest: dict[int, Found] = {}
        for one in chosen:
            candidates = [at[later] for earlier, later in rows if earlier == one.number and later in at]
            last = max([one, *candidates], key=lambda each: each.at or 0.0)
            last.chance = max(last.chance, one.chance)
            latest.setdefault(last.number, last)
        return list(latest.values())

    def _lines(self, found: Found, budget: int, heard: Collection[str], most: int) -> list[TellingLine]:
        rows = self._db.execute(
            "SELECT position, id, status, worth, text, tokens, words FROM line WHERE source = ? ORDER BY position",
            (found.number,),
        ).fetchall()
        chosen = self._passages(rows, found, budget, heard)
        date = date_of(found.at, self._now)
        source = f"{found.kind} {found.id[:12]}"
        if found.kind == "document" and found.id[:4] != "doc:":
            source = "decided by hand"  # or shared by a teammate: the line says who
        reason = f"{source}; {', '.join(found.shared[:4])}; {found.chance:.0%} likely"
        lines: list[TellingLine] = []
        for part in _packed(chosen):
            who = found.who or ("you" if found.kind == "session" else found.id[4:].partition("#")[0])
            mark = f"git {found.id[4:12]}" if found.kind == "commit" else part[0][1]
            texts = [bare(row[4]) for row in part]
            said = "; ".join(texts)
            label = "" if lines or said.startswith(bare(found.title)) else f"{_label(found)}: "
            text = f"{label}{said} ({who}, {date}, {mark})"
            lines.append(TellingLine(text, reason, [row[1] for row in part], found.id))
        return lines[:most]

    def _is_close(self, said: set[str]) -> bool:
        """Whether a line has words of the prompt that say something: two, or a rare one."""
        shared = [self.weights[word] for word in said & self.weights.keys()]
        return sum(shared) >= RARE

    def _passages(self, rows: Sequence[Row], found: Found, budget: int, heard: Collection[str]) -> list[Row]:
        """The passages that say most for their tokens, in the order in which they were said."""
        left = [(row, set(row[6].split(" "))) for row in rows if row[2] == "agreed" and row[1] not in heard]
        if found.kind == "document":  # its lines are about many things: a version's changes, say
            left = [one for one in left if self._is_close(one[1])]
        size = len(rows)
        known: set[str] = set()
        chosen: list[Row] = []
        used, room = 0, budget - MARK_TOKENS
        room -= count_tokens(_label(found)) + 1
        while left:
            best, value = None, 0.0
            for one in left:
                row, said = one
                new = len(said - known)
                if new < _NEW * len(said):
                    continue
                gain = row[3] ** 2 * new * (1 + 0.5 * row[0] / size) / (row[5] + 4)
                if gain > value:
                    best, value = one, gain
            if best is None:
                break
            left.remove(best)
            row, said = best
            cost = row[5] + 1
            if used + cost + MARK_TOKENS * ((used + cost) // LONGEST_LINE) > room:
                continue
            known |= said
            used += cost
            chosen.append(row)
        return sorted(chosen)


def _packed(rows: Sequence[Row]) -> list[list[Row]]:
    lines: list[list[Row]] = []
    used = 0
    for row in rows:
        cost = row[5] + 1
        if not lines or used + cost > LONGEST_LINE:
            lines.append([])
            used = 0
        lines[-1].append(row)
        used += cost
    return lines


def _label(found: Found) -> str:
    """What a source is about: the subject of a commit, the heading of a document, how a session's work began."""
    title = bare(found.title)
    if found.kind != "session":
        return title
    if len(title) > LONGEST_LABEL:
        title = title[:LONGEST_LABEL].rpartition(" ")[0] or title[:LONGEST_LABEL]
        title = f"{bare(title)} …"
    return f'on "{title}"'


def bare(text: str) -> str:
    return text.strip().rstrip(".;,:。 ")


def _words(text: str, meta: dict[str, str]) -> list[str]:
    """The content words of a prompt, without the small words of its language."""
    empty = frozenset(meta["empty"].split())
    found = words(text, empty)
    plain = set(text.lower().split())
    if len(plain & empty) < _TWO or not text.isascii():
        for listed in meta["languages"].split("\n"):
            small = set(listed.split(" "))
            if len(plain & small) >= _TWO:
                small_stems = {stem for word in small for stem in words(word, frozenset())}
                found = [word for word in found if word not in small_stems]
    return found


def date_of(at: float | None, now: float) -> str:
    if at is None:
        return "undated"
    import time

    moment = time.gmtime(at)
    form = "%m-%d" if now - at < 300 * _DAY else "%Y-%m-%d"
    return time.strftime(form, moment)
