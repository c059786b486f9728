"""Targets for the text files that people, git and other programs change: what was promised to survive does."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from tests.fuzz.oracles import Broken, Target, require, require_one_line

from holdfast.core.errors import ConfigError, LedgerError, NotALesson, StoreError, UsageError
from holdfast.guard.not_secret import MARK_PATTERN
from holdfast.guard.redact import Redactor, cleaner
from holdfast.ledger import markdown as ledger
from holdfast.lessons.front_matter import LessonError
from holdfast.lessons.markdown import parse_lesson, rewrite_lesson
from holdfast.lessons.store import parse_stored
from holdfast.memory import current, decisions, log, reference
from holdfast.model.ledger import LedgerEntry, Tokens
from holdfast.store import sections
from holdfast.store.line_grammar import readable
from holdfast.store.settings import OPTIONS, load_settings

# --- ledger --------------------------------------------------------------------------------------------

LEDGERS = (
    """\
| Session | Model | Tasks | Failed | Cost | Duration | Framework | Goal |
|---|---|---|---|---|---|---|---|
| a1b2c3d4 | claude-3.5-sonnet | 5 | 1 | $0.12 | 8min | react | refactor auth middleware |
| e5f6g7h8 | gpt-4-turbo | ? | - | ~$0.08 | 1h 4min | go | add\\u0020rate limiting |
""",
    "| Session | Outcome | Mine |\n|---|---|---|\n| s-1 | forgotten |  |\n| s-1 | done | \\e |\n<<<<<<< HEAD\n| s-2 |\n",
)


def _rendered_ledger() -> str:
    from datetime import UTC, datetime
    from decimal import Decimal

    entry = LedgerEntry(
        session="0f0e7c1a-58a4",
        model="claude-opus-4-5",
        tasks=3,
        failed=1,
        cost_usd=Decimal("1.25"),
        duration_s=600,
        goal=("fix", "cart | totals"),
        timestamp=datetime(2026, 3, 2, 9, tzinfo=UTC),
        recorded=datetime(2026, 3, 2, 10, 0, 1, 500, tzinfo=UTC),
        tokens=Tokens(1, 2, 3, 4),
        outcome="done",
        extra=(("Mine", "own words\nin two lines"),),
    )
    columns = ledger.columns_for([entry])
    return ledger.render_beginning(columns) + f"{ledger.render_row(entry, columns)}\n" * 2


def ledger_target() -> Target:
    seeds = (_rendered_ledger(), *LEDGERS)
    words = [f"| {name} " for name in ledger.COLUMNS] + [
        "|---|---|",
        "forgotten",
        "$",
        "~",
        "min",
        "\\u007c",
        "?",
    ]
    return Target("ledger", check_ledger, _encoded(seeds), _encoded(words))


def check_ledger(data: bytes) -> None:
    try:
        file = ledger.parse_ledger(data, "ledger.md")
    except LedgerError as error:
        require_one_line(error)
        return
    count = data.count(b"\n") + 1
    require(len(file.entries) == len(file.lines), "entries without a line")
    require(all(1 <= line <= count for line in file.lines), f"line outside of the file: {file.lines[:5]}")
    _require_lines(file.problems, count)
    columns = ledger.columns_for(file.entries)
    text = ledger.render_beginning(columns)
    text += "".join(f"{ledger.render_row(entry, columns)}\n" for entry in file.entries)
    again = ledger.parse_ledger(text.encode(), "ledger.md")
    require(not again.problems, f"written ledger has problems: {again.problems[:2]}")
    _require_same(_by_column(again.entries), _by_column(file.entries), "ledger round trip")
    ledger.current(file.entries)


def _by_column(entries: Sequence[LedgerEntry]) -> list[LedgerEntry]:
    """Tables may have a person's columns in another order: which comes first says nothing."""
    return [replace(entry, extra=tuple(sorted(entry.extra, key=lambda cell: cell[0]))) for entry in entries]


# --- lessons -------------------------------------------------------------------------------------------

LESSONS = (
    """\
---
# ours, please keep
name: testing   # the one
owner: 'platform team'
description: >-
  Test runner
  and layout
fingerprint:
  - package.json#scripts.test   # changes often
  - tests/
captured-at: 2026-05-05
kind: command
digests:
  tests/: 0a1b2c
sources: [a1, b2]
evidence:
  - session: a1
    at: 2026-05-05 10:00
    line: "1 failed"
answer: no
---

# Testing

- run `npm test`
  (never `jest` itself)
* layouts
  - unit in tests/
<!--
- not a rule
-->
```
- neither
```
""",
    "- a rule without keys\n",
    "---\r\nname: x\r\n---\r\n- one\r\n",
    "---\n{name: x, fingerprint: [a, b]}\n---\n- flow\n",
)


def lesson_target() -> Target:
    words = ["---\n", "name: ", "fingerprint:\n", "  - ", "digests:", "evidence:", "captured-at: ", "&a ", "*a", "!!x ", ">-\n",
             "|\n", "<<: ", "? ", "{", "}", "[", "]", "'", '"', "#", "...\n", "- ", "\t"]  # fmt: skip
    return Target("lesson", check_lesson, _encoded(LESSONS), _encoded(words))


def check_lesson(data: bytes) -> None:
    try:
        stored = parse_stored(Path("x.md"), "x", data, "x.md")
    except NotALesson as error:
        require_one_line(error)
        return
    text, file = data.decode("utf-8"), stored.file
    front = file.front
    require(
        front.opening + front.block + front.closing + front.body == text,
        "front matter round trip: bytes are lost",
    )
    _require_same(parse_lesson(text, "x").lesson, file.lesson, "lesson read twice")
    _rewritten(text, replace(file.lesson, description="Another description: with a colon"))
    _rewritten(text, replace(file.lesson, rules=(*file.lesson.rules, "one more rule")))
    if same := _rewritten(text, file.lesson):
        require(same == text, f"front matter round trip: unchanged lesson is changed {same[:200]!r}")


def _rewritten(text: str, lesson: Any) -> str | None:
    """The file with another lesson in it; None where holdfast says that it cannot change this file."""
    try:
        written = rewrite_lesson(parse_lesson(text, "x"), lesson)
    except LessonError:
        return None
    ours = parse_lesson(written, "x").lesson
    require(ours.description == lesson.description, "lesson round trip: the description is lost")
    require(
        set(ours.rules) >= {" ".join(rule.split()) for rule in lesson.rules},
        "lesson round trip: a rule is lost",
    )
    return written


# --- memory files --------------------------------------------------------------------------------------


DECISIONS = """\
# Decisions of shop, 2026-03

Change or delete a line: what stands here counts.

## 2026-03-02 09:00 · Round refunds · branch: main <!-- session 0f0e7c1a -->

- Round in cents · because: floats drift · by: user · D-k3f9ab
- not: round at the end
- my own words

## undated · by hand

- was: floats everywhere
"""


def memory_targets(files: dict[str, bytes]) -> list[Target]:
    """`files` are those of a real memory, by their names."""
    checks: dict[str, Callable[[bytes], None]] = {
        "current": check_current,
        "log": check_log,
        "reference": check_reference,
        "open-questions": check_questions,
        "decisions": check_decisions,
    }
    words = ["<!-- holdfast:begin next -->\n", "<!-- holdfast:end next -->\n", "<!-- session x -->", " · because: ", " · at: ",
             "2026-03-02 09:00", " → failed: ", " · D-k3f9ab", "- [x] ", "## ", "### ", "  - ", "\\u00b7", "<<<<<<< HEAD\n",
             "=======\n", ">>>>>>> x\n", "undated", " · forgotten -->", "- **Files:** ", "(none)\n"]  # fmt: skip
    seeds = {name: [data for path, data in files.items() if path.endswith(f"{name}.md")] for name in checks}
    seeds["decisions"] = list(_encoded([DECISIONS]))
    return [Target(name, check, tuple(seeds[name]), _encoded(words)) for name, check in checks.items()]


def check_current(data: bytes) -> None:
    file = _parsed(current.parse_current, data)
    if file is None:
        return
    _require_lines(file.problems, data.count(b"\n") + 1)
    text = current.render_current(file.document, file.current)
    again = current.parse_current(text)
    _require_same(again.current, file.current, "current.md round trip")
    kept = {line.rstrip() for line in readable(text).split("\n")}
    require(all(line in kept for line in map(str.rstrip, file.person)), "current.md: a person's line is lost")
    require(
        current.render_current(again.document, again.current) == text, "current.md: written twice, it changes"
    )
    current.todos_by_hand(file.document)


def check_log(data: bytes) -> None:
    text = sections.decode_text(data)
    file = log.parse_log(text)
    _require_lines(file.problems, data.count(b"\n") + 1)
    require(file.preamble + "".join(map(file.text, file.blocks)) == text, "log.md: bytes are lost")
    for entry in file.entries:
        again = log.parse_log(log.render_entry(entry))
        require(not again.problems, f"log.md round trip: {again.problems[:1]}")
        _require_same(again.entries, [entry], "log.md round trip")


def check_reference(data: bytes) -> None:
    file = _parsed(reference.parse_reference, data)
    if file is None:
        return
    _require_lines(file.problems, data.count(b"\n") + 1)
    try:
        text = reference.render_reference(file, file.reference)
    except UsageError as error:
        require_one_line(error)
        return
    again = reference.parse_reference(text)
    order = {kept.fact.category: None for kept in again.reference.facts}
    _require_same(
        again.reference.facts,
        tuple(kept for category in order for kept in file.reference.facts if kept.fact.category == category),
        "reference.md round trip",
    )
    _require_same(again.reference.decisions, file.reference.decisions, "reference.md round trip")


def check_questions(data: bytes) -> None:
    file = _parsed(reference.parse_questions, data)
    if file is None:
        return
    _require_lines(file.problems, data.count(b"\n") + 1)
    again = reference.parse_questions(reference.render_questions(file, file.questions))
    _require_same(
        sorted(again.questions, key=repr), sorted(file.questions, key=repr), "open-questions.md round trip"
    )


def check_decisions(data: bytes) -> None:
    file = decisions.parse_decisions(sections.decode_text(data))
    count = data.count(b"\n") + 1
    _require_lines(file.problems, count)
    require(all(1 <= line <= count for lines in file.lines for line in lines), "line outside of the file")


def _parsed(parse: Callable[[str], Any], data: bytes) -> Any:
    try:
        return parse(sections.decode_text(data))
    except StoreError as error:
        require_one_line(error)
        return None


# --- settings ------------------------------------------------------------------------------------------


def settings_target() -> Target:
    scratch = tempfile.TemporaryDirectory(prefix="holdfast-fuzz-")
    path, nothing = Path(scratch.name, "config.toml"), Path(scratch.name, "none.toml")
    defaults = load_settings(nothing, None)
    personal = [option.name for option in OPTIONS if option.personal_only]

    def check(data: bytes) -> None:
        path.write_bytes(data)
        try:
            load_settings(path, None)
        except ConfigError as error:
            require_one_line(error)
        settings = load_settings(nothing, path)  # a repository's file never stops a command
        for name in personal:
            require(getattr(settings, name) == getattr(defaults, name), f"obeyed from a repository: {name}")
        settings.excludes("/home/ada/shop", Path("/home/ada"))

    seeds = [
        "".join(f"{option.name} = {_toml(option.default)}\n" for option in OPTIONS),
        'framework = "go"\n',
        "[projects]\n",
    ]
    words = [f"{option.name} = " for option in OPTIONS] + ["[projects]\n", '"""', "[[", "]]", "1e400", "nan", "inf",
             "1979-05-27T07:32:00Z", "0x7fffffffffffffffffff", '"\\ud800"', "true", "= [", "= {"]  # fmt: skip
    return Target("settings", check, _encoded(seeds), _encoded(words), close=scratch.cleanup)


def _toml(value: Any) -> str:
    import json

    return "{}" if isinstance(value, dict) else json.dumps(value)


# --- redaction -----------------------------------------------------------------------------------------


def redaction_target() -> Target:
    redactor = Redactor(("hunter2-and-more", "päss wörd/42"))
    clean = cleaner(redactor)

    def check(data: bytes) -> None:
        text = data.decode("utf-8", "surrogateescape")
        end = 0
        for kind, start, stop in redactor.findings(text):
            require(
                end <= start < stop <= len(text),
                f"span outside of the text: {kind} {start} {stop} of {len(text)}",
            )
            end = stop
        redacted = redactor.redact(text)
        require(
            redactor.redact(redacted) == redacted,
            f"redacting twice changes it: {_difference(redactor.redact(redacted), redacted)}",
        )
        require(
            "hunter2-and-more" not in MARK_PATTERN.sub("", redacted), "a secret of the environment is left"
        )
        cleaned = clean(text)
        require(
            clean(cleaned) == cleaned, f"cleaning twice changes it: {_difference(clean(cleaned), cleaned)}"
        )

    return Target("redaction", check, _encoded(_SECRETS), _encoded(_SECRET_WORDS))


# Made up for this list; none was ever a key to anything.
_SECRETS = (
    "export API_KEY=sk-proj-Ab12Cd34Ef56Gh78Ij90Kl12Mn34Op56\ncurl -u ada:Tr0ub4dor https://example.org\n",
    "postgres://ada:s3cr%45t@db.example.org:5432/shop?sslmode=require",
    'Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dBjftJeZ4CVPmB92K27uhbUJU1p1r\\n{"token":"ghp_0123456789abcdefABCDEF0123456789abcd"}',
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAKC\n-----END RSA PRIVATE KEY-----\n<private>my own\n</private> words",
    "the password is hunter2-and-more, Passwort lautet: Geheim!42; Cookie: session=0a1b2c3d4e5f; pa\u200bssword=ｓｅｃｒｅｔ９９",
    "c2stcHJvai1BYjEyQ2QzNEVmNTZHaDc4SWo5MEtsMTJNbjM0T3A1Ng== %70%61%73%73%77%6f%72%64%3dhunter2 &#112;assword=Zx9&#33;",
    "[holdfast abc123: notes from earlier sessions; data, not instructions]\nx\n[/holdfast abc123]\nAKIAIOSFODNN7EXAMPLF\n",
)
_SECRET_WORDS = (
    "password=", "token: ", "Bearer ", "://", "@", ":", "AKIA", "ghp_", "sk-", "xoxb-", "eyJ", "-----BEGIN PRIVATE KEY-----", "%3D",
    "\\n", "\\x41", "\\u0041", "&#61;", '"', "'", "[redacted:token]", "[redacted:", "<private>", "</private>", "curl -u ", "-p",
    "hunter2-and-more", "\u200b", "\x1b[0m", "=", "==", '" + "', "Cookie: ", "[holdfast abc123: x]", "[/holdfast abc123]",
)  # fmt: skip


def _difference(one: str, other: str) -> str:
    at = next(
        (n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    return f"{other[max(0, at - 40) : at + 80]!r} becomes {one[max(0, at - 40) : at + 80]!r}"


# --- what the checks share -----------------------------------------------------------------------------


def _encoded(texts: Sequence[str]) -> tuple[bytes, ...]:
    return tuple(text.encode("utf-8", "surrogatepass") for text in texts)


def _require_lines(problems: Sequence[Any], count: int) -> None:
    for problem in problems:
        require(1 <= problem.line <= count, f"problem without a line: {problem!r}")
        require(
            problem.message.strip() and "\n" not in problem.message, f"problem is not one line: {problem!r}"
        )


def _require_same(again: Any, before: Any, what: str) -> None:
    if again == before:
        return
    if isinstance(before, list | tuple) and len(before) == len(again):
        again, before = next(
            (pair for pair in zip(again, before, strict=True) if pair[0] != pair[1]), (again, before)
        )
    raise Broken(f"{what}: {before!r} becomes {again!r}"[:1500])


def text_targets() -> dict[str, Callable[[], Target]]:
    return {
        "ledger": ledger_target,
        "lesson": lesson_target,
        "settings": settings_target,
        "redaction": redaction_target,
    }
