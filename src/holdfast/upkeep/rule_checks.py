"""Checks between rules: what is stated twice, and what contradicts something else, in guides and in our register."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations

from msgspec import Struct

from holdfast.core.likeness import Likeness, Verdict, compare_signatures, signature
from holdfast.upkeep.audited_files import AuditedFile
from holdfast.upkeep.finding import AuditFinding, quoted
from holdfast.upkeep.rules_in_text import StatedRule, rules_in

_MOST_RULES = 4_000
_TOO_COMMON = 200  # rules with a word: a more common one says little, and costs time
_LEAST_SHARED = 0.5  # of the words of two rules, before they are compared
_FEWEST_WORDS = 4  # of a rule that counts as a duplicate: shorter ones are labels
_FEWEST_ELSEWHERE = 12  # of a rule that one file states under two headings: a short step may belong to both
_FEWEST_COPIED = 3  # rules that two files share before that is worth a word
_MOST_OF_A_FILE = 20


class PlacedRule(Struct, frozen=True, kw_only=True):
    """A rule and where it stands. `id` is that of a statement of our memory; '' in a guide."""

    file: AuditedFile
    rule: StatedRule
    id: str = ""

    @property
    def place(self) -> str:
        return f"{self.file.shown}:{self.rule.line}"


def rules_of(files: Sequence[AuditedFile]) -> list[PlacedRule]:
    """The rules of all guides and agents' memories that a session sees together."""
    rules = [
        PlacedRule(file=file, rule=rule)
        for file in files
        if file.area in ("guide", "personal", "agent") and not file.nested
        for rule in rules_in(file.text)
        if rule.is_rule
    ]
    return rules[:_MOST_RULES]


# --- duplicates ------------------------------------------------------------------------------------------


def find_duplicates(files: Sequence[AuditedFile], rules: Sequence[PlacedRule]) -> Iterator[AuditFinding]:
    """Copies of whole files first; what two files share is one finding, not one for each line."""
    copies = _copied_files([file for file in files if file.area in ("guide", "personal") and not file.nested])
    yield from (finding for _, finding in copies)
    copied = {pair for pair, _ in copies}
    by_key: dict[str, list[PlacedRule]] = {}
    for rule in rules:
        words = signature(rule.rule.text)
        if len(words.words | words.hard) >= _FEWEST_WORDS:
            by_key.setdefault(rule.rule.key, []).append(rule)
    shared: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], tuple[PlacedRule, PlacedRule]] = {}
    for same in by_key.values():
        yield from _repeated(same)
        by_file = {rule.file.shown: rule for rule in reversed(same)}
        for pair in combinations(sorted(by_file), 2):
            if pair not in copied:
                shared[pair] += 1
                first.setdefault(pair, (by_file[pair[0]], by_file[pair[1]]))
    for pair, number in shared.items():
        one, other = first[pair]
        if number >= _FEWEST_COPIED or "agent" in (one.file.area, other.file.area):
            yield _shared_rules(one, other, number)


def _repeated(same: Sequence[PlacedRule]) -> Iterator[AuditFinding]:
    """Later copies in one file. Under another heading the same words may be meant twice: that is only said."""
    seen: dict[str, list[PlacedRule]] = {}
    for placed in same:
        before = seen.setdefault(placed.file.shown, [])
        if before:
            twin = next((rule for rule in before if rule.rule.under == placed.rule.under), None)
            words = signature(placed.rule.text)
            if twin is None and len(words.words | words.hard) < _FEWEST_ELSEWHERE:
                before.append(placed)
                continue
            exact = twin is not None and twin.rule.text == placed.rule.text
            removable = exact and placed.rule.bullet and not (placed.rule.numbered or placed.rule.leads)
            yield AuditFinding(
                check="duplicate",
                level="note",
                file=placed.file.shown,
                path=str(placed.file.path),
                line=placed.rule.line,
                what=f"{quoted(placed.rule.text)} is already on line {(twin or before[0]).rule.line}.",
                why="It costs tokens in every session, and the two copies can drift apart.",
                fix="Delete one of them" + ("; holdfast audit --fix does it." if removable else "."),
                also=(twin or before[0]).place,
                fixable=removable,
            )
        before.append(placed)


def _copied_files(files: Sequence[AuditedFile]) -> list[tuple[tuple[str, str], AuditFinding]]:
    found = []
    by_text: dict[str, AuditedFile] = {}
    for file in files:
        text = file.text.strip()
        original = by_text.setdefault(text, file)
        if original is file or len(text) < 200:
            continue
        one, other = sorted(
            (original, file), key=lambda one: (not one.shown.endswith("AGENTS.md"), one.shown)
        )
        finding = AuditFinding(
            check="duplicate",
            level="note",
            file=other.shown,
            path=str(other.path),
            line=1,
            what=f"It is a copy of {one.shown}.",
            why="It is easy to change one and forget the other; agents then follow different rules.",
            fix=_instead_of_copy(one, other),
            also=one.shown,
        )
        found.append((_pair(one.shown, other.shown), finding))
    return found


def _instead_of_copy(one: AuditedFile, other: AuditedFile) -> str:
    if other.shown.endswith(("CLAUDE.md", "GEMINI.md")) and "/" not in f"{one.shown}{other.shown}":
        return f"Replace {other.shown} with one line, @{one.shown}, which imports it."
    return "Keep one, and make the other a link to it."


def _shared_rules(one: PlacedRule, other: PlacedRule, number: int) -> AuditFinding:
    # An agent's own memory is the copy: the guide is what people maintain.
    kept, copy = (other, one) if one.file.area == "agent" else (one, other)
    rules = f"{number} rules" if number > 1 else "a rule"
    return AuditFinding(
        check="duplicate",
        level="note",
        file=copy.file.shown,
        path=str(copy.file.path),
        line=copy.rule.line,
        what=f"It repeats {rules} of {kept.file.shown}, the first: {quoted(copy.rule.text, 70)}.",
        why="They cost tokens twice when an agent reads both, and they can drift apart.",
        fix=f"Keep them in {kept.file.shown} and delete them here, or import the file.",
        also=kept.place,
    )


def _pair(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one < other else (other, one)


# --- contradictions --------------------------------------------------------------------------------------


def find_contradictions(rules: Sequence[PlacedRule]) -> Iterator[AuditFinding]:
    """Pairs about one thing of which only one can hold."""
    told: Counter[str] = Counter()
    said: set[tuple[str, str]] = set()
    for one, other, verdict in near_pairs(rules):
        keys = _pair(one.rule.key, other.rule.key)
        if verdict.likeness is not Likeness.CLASH or not verdict.sure or keys in said:
            continue
        if not _may_clash(one, other) or told[one.file.shown] >= _MOST_OF_A_FILE:
            continue
        said.add(keys)  # CLAUDE.md and its copy AGENTS.md say it once
        told[one.file.shown] += 1
        yield AuditFinding(
            check="contradiction",
            level="problem",
            file=other.file.shown,
            path=str(other.file.path),
            line=other.rule.line,
            what=f"{quoted(other.rule.text)} contradicts {quoted(one.rule.text)}.",
            why="An agent that reads both follows one of them, and you cannot know which.",
            fix=_settle(one, other),
            also=one.place,
        )


def _settle(one: PlacedRule, other: PlacedRule) -> str:
    ours = [rule for rule in (one, other) if rule.id]
    if not ours:
        return "Keep the one that applies, and delete the other."
    verb = {"F": "note fact retire", "D": "note decision retire"}.get(ours[0].id[:1])
    command = f"holdfast {verb} {ours[0].id}" if verb else f"holdfast lessons rm {ours[0].id}"
    rest = other if ours[0] is one else one
    return f"If {ours[0].place} no longer holds: {command}. Otherwise change {rest.place}."


def _may_clash(one: PlacedRule, other: PlacedRule) -> bool:
    """Whether two rules that clash by their words are about one thing.

    In one file, different headings are different subjects: `use tabs` of Go, `use spaces` of Python. Items of one list
    that differ in a number or a path are a list. What only says what there is may be the one or the other, unless it
    has another number than a statement of ours, which was verified or decided.
    """
    if one.id and other.id:
        return True
    if (one.id or other.id) and _differ_in_number(one, other):
        return True
    if not one.rule.prescribes or not other.rule.prescribes:
        return False
    first, second = signature(one.rule.text), signature(other.rule.text)
    if one.file.shown == other.file.shown:
        return one.rule.under == other.rule.under and first.hard == second.hard
    return first.hard == second.hard or not any(map(_names_place, first.hard ^ second.hard))


def _differ_in_number(one: PlacedRule, other: PlacedRule) -> bool:
    first, second = signature(one.rule.text), signature(other.rule.text)
    return first.words == second.words and not any(map(_names_place, first.hard ^ second.hard))


def _names_place(token: str) -> bool:
    return not token.replace(".", "").replace("%", "").isdigit()


def near_pairs(rules: Sequence[PlacedRule]) -> Iterator[tuple[PlacedRule, PlacedRule, Verdict]]:
    """Every pair of rules with enough words in common, the earlier one first, and how they relate."""
    postings: dict[str, list[int]] = {}
    for number, placed in enumerate(rules):
        words = signature(placed.rule.text)
        tokens = words.words | words.hard
        near: Counter[int] = Counter()
        for token in tokens:
            where = postings.setdefault(token, [])
            if len(where) <= _TOO_COMMON:
                near.update(where)
            where.append(number)
        for earlier, shared in near.items():
            others = signature(rules[earlier].rule.text)
            total = len(tokens) + len(others.words | others.hard)
            if 2 * shared >= _LEAST_SHARED * total:
                yield rules[earlier], placed, compare_signatures(others, words)
