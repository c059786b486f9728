"""What 0.1.0 answered about a home, the current code answers about it too."""

from __future__ import annotations

from typing import Any

import pytest
from tests.upgrade.world import Machine

TASK = "Implement the refund endpoint: refunds go through the ledger service"
# name -> words, where (a folder of the machine)
QUESTIONS: dict[str, tuple[tuple[str, ...], str]] = {
    "status": (("status",), "shop"),
    "resume": (("resume", "--why"), "shop"),
    "resume-of-a-branch": (("resume", "--branch", "payments"), "shop"),
    "resume-in-a-worktree": (("resume",), "shop-hotfix"),
    "resume-outside-git": (("resume",), "notes"),
    "search": (("search", "refund", "rounding"), "shop"),
    "search-of-a-decision": (("search", "where", "do", "refunds", "go", "through"), "shop"),
    "search-everywhere": (("search", "printer", "--everywhere"), "shop"),
    "recall": (("recall", TASK), "shop"),
    "ledger-list": (("ledger", "list"), "shop"),
    "ledger-list-in-a-worktree": (("ledger", "list"), "shop-hotfix"),
    "ledger-stats": (("ledger", "stats"), "shop"),
    "ledger-stats-by-agent": (("ledger", "stats", "--by", "agent"), "shop"),
    "lessons": (("lessons", "list"), "shop"),
    "lesson": (("lessons", "show", "money"), "shop"),
    "questions": (("questions",), "shop"),
    "log": (("log",), "shop"),
    "know": (("know",), "shop"),
    "why": (("why",), "shop"),
    "facts": (("fact", "list", "--all"), "shop"),
    "facts-outside-git": (("fact", "list"), "notes"),
    "decisions": (("decide", "--list"), "shop"),
    "todos": (("todo", "--all"), "shop"),
    "projects": (("project",), "shop"),
    "history": (("history", "current.md"), "shop"),
    "doctor": (("doctor",), "shop"),
    "doctor-outside-git": (("doctor",), "notes"),
}
# Keys whose values may differ: what takes time, and what is decided by the moment.
MASKED: dict[str, frozenset[str]] = {
    "search": frozenset({"score"}),
    "search-of-a-decision": frozenset({"score"}),
    "search-everywhere": frozenset({"score"}),
    "recall": frozenset({"score"}),
    # Dated and undated ids of one model are one model since 0.1.
    "ledger-stats": frozenset({"claude-opus-4-5-20251101", "claude-haiku-4-5-20251001"}),
    # The check and its level are the answer; the sentence for people may be worded better.
    "doctor": frozenset({"message"}),
    "doctor-outside-git": frozenset({"message"}),
    "ledger-stats-by-agent": frozenset({"claude-opus-4-5-20251101", "claude-haiku-4-5-20251001"}),
}


def held(old: Any, new: Any, masked: frozenset[str], at: str = "") -> list[str]:
    """Where the new answer does not say what the old one said. It may say more: keys that 0.1.0 did not have."""
    if isinstance(old, dict) and isinstance(new, dict):
        return [
            problem
            for key in old
            if key not in masked
            for problem in (
                held(old[key], new[key], masked, f"{at}.{key}") if key in new else [f"{at}.{key} is gone"]
            )
        ]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [
            problem
            for number, (one, other) in enumerate(zip(old, new, strict=True))
            for problem in held(one, other, masked, f"{at}[{number}]")
        ]
    return [] if old == new else [f"{at}: {old!r} has become {new!r}"]


def without_renewals(answer: Any) -> Any:
    """`doctor` also notes that hooks of 0.1.0 can be renewed, that others can look into the home, and new checks.

    The command that adds a scanner is that of the installation.
    """
    if not isinstance(answer, dict) or "findings" not in answer:
        return answer
    return {
        **answer,
        "findings": [
            finding
            for finding in answer["findings"]
            if finding["check"] not in ("project", "trust", "memories")
            and (
                finding["level"] != "note"
                or not (
                    "of an older version" in finding["message"]
                    or finding["check"] in ("permissions", "redaction")
                )
            )
        ],
    }


RANKED = {"search", "search-of-a-decision", "search-everywhere", "recall"}


@pytest.mark.promise("U9")
def test_what_0_1_0_answered_about_a_home_is_answered_still(before: Machine) -> None:
    """All in one, for a home has to be put back between the old code and the current one."""
    machine = before
    with machine.old() as old:
        said = {
            name: old(*words, "--json", cwd=machine.folder / where).json()
            for name, (words, where) in QUESTIONS.items()
        }
    assert [name for name, answer in said.items() if not answer] == [], "two empty answers show nothing"
    assert len(said["ledger-list"]) == 14
    assert {lesson["state"] for lesson in said["lessons"]} >= {"active", "candidate", "muted", "untrusted"}
    assert said["doctor"]["ok"] is True

    machine.put_back()
    machine.upgrade()
    problems = {}
    for name, (words, where) in QUESTIONS.items():
        now = machine.holdfast(*words, "--json", cwd=machine.folder / where, check=None)
        answer = without_renewals(now.json()) if now.out else None
        problems[name] = (
            held(without_renewals(said[name]), answer, MASKED.get(name, frozenset()))
            if now.out
            else [now.err]
        )
        if name in RANKED:  # what is ranked and shown differs since 0.1 (ADR 19); it must still be found
            assert now.code == 0 and now.json(), name
            problems[name] = []
    assert {name: found for name, found in problems.items() if found} == {}


def test_a_difference_between_answers_is_found_wherever_it_is() -> None:
    masked = frozenset({"score"})
    assert held({"a": [1, {"score": 1}]}, {"a": [1, {"score": 2}], "b": 3}, masked) == []
    assert held({"a": [1]}, {"a": [1, 2]}, masked) == [".a: [1] has become [1, 2]"]
    assert held({"a": {"b": 1}}, {"a": {}}, masked) == [".a.b is gone"]
