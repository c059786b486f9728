"""What is prepared for sessions that start: from records and from the memory's files, bounded, each with its reason."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

import holdfast as package
from holdfast.briefing.changes_since import MOST, RecentChange
from holdfast.briefing.prepare import prepare
from holdfast.briefing.projects import memory_of
from holdfast.briefing.start import MOST_OWNERS, briefings_of
from holdfast.core.tokens import count_tokens
from holdfast.flows.import_sessions import import_into
from holdfast.hooks import trace
from holdfast.hooks.start_lines import ALONE_TOKENS, LEFT_TOKENS, START_TOKENS, STUMBLE_TOKENS
from holdfast.memory.current import Check, Current, NextStep, RecurringFailure
from holdfast.memory.reference import Reference
from holdfast.model.events import DistilledSession, FileTouch, TaskResult
from holdfast.model.memory import Decision, Harvest, OpenItem, Passage, Question
from holdfast.sessions.store import CaptureStore
from holdfast.store.machine import Machine
from holdfast.store.project import Project

DEMO = Path(package.__file__).parent / "demo_sessions"
NOON = 1_794_700_000.0


class Remembered:
    """A project with records that a test makes from one of the demo's."""

    def __init__(self, root: Path) -> None:
        elsewhere = Machine(env={"HOME": str(root / "elsewhere")}, cwd=root)
        import_into(elsewhere, elsewhere.project(), [DEMO])
        store = CaptureStore(elsewhere.project().capture)
        (self.sample,) = store.records(1)
        store.close()
        self.machine = Machine(env={"HOME": str(root / "home")}, cwd=root)
        self.project.prepare()

    @property
    def project(self) -> Project:
        return self.machine.project()

    def put(self, session: str, **more: object) -> DistilledSession:
        plain = {"harvest": Harvest(), "open_items": (), "files": (), "headless": False, "outcome": "unknown"}
        when = {"started": NOON - 60, "ended": NOON, "branch": "main", "goal": f"Goal of {session}"}
        said = {**plain, **when, **more}
        prompts = (str(said["goal"]),)
        record = replace(self.sample, **{"session": session, "tasks": (), "prompts": prompts, **said})
        store = CaptureStore(self.project.capture)
        with store.transaction():
            store.put_record(record)
        store.close()
        return record

    def since(self) -> list[RecentChange]:
        return list(briefings_of(self.machine, self.project).since)

    def told(self) -> list[str]:
        return [one.line.text for one in self.since()]


@pytest.fixture
def remembered(tmp_path: Path) -> Remembered:
    return Remembered(tmp_path)


def test_of_a_session_its_goal_its_outcome_and_the_files_it_changed_are_told(remembered: Remembered) -> None:
    changed = tuple(FileTouch(f"/w/src/{name}.py", edits=1) for name in "abcde")
    others = (FileTouch("/w/read.py", reads=3), FileTouch("/home/me/.claude/plans/x.md", edits=1))
    remembered.put("one", cwd="/w", files=(*others, *changed), outcome="done")
    (one,) = remembered.since()
    assert one.line.text == (
        "Meanwhile (claude-code, main): Goal of one. Outcome: done. Changed: src/a.py, src/b.py and 3 more."
    )
    assert one.line.reason == "session one worked until 2026-11-14 23:46"
    assert (one.at, one.began, one.session, one.branch) == (NOON, NOON - 60, "one", "main")
    assert one.project == remembered.project.title


def test_a_plan_that_was_handed_in_is_told_once(remembered: Remembered) -> None:
    goal = "Implement the following plan:\n\n# Redact secrets before anything is written\n\n## Context\nLong"
    decided = Decision(text="Redact secrets before anything is written", at=NOON)
    remembered.put("one", goal=goal, harvest=Harvest(decisions=(decided,)))
    (told,) = remembered.told()
    assert "Redact secrets before anything is written" in told and "Context" not in told


def test_a_headless_run_is_listed_with_its_tag_and_is_not_next(remembered: Remembered) -> None:
    remembered.put("robot", headless=True)
    briefings = briefings_of(remembered.machine, remembered.project)
    assert [one.line.text for one in briefings.since] == [
        "Meanwhile (claude-code, main, headless): Goal of robot."
    ]
    assert briefings.digests == {}


def test_the_newest_come_first_and_there_is_an_end_to_them(remembered: Remembered) -> None:
    for number in range(MOST + 10):
        remembered.put(f"s{number}", started=NOON + number, ended=NOON + number)
    since = remembered.since()
    assert len(since) == MOST
    assert [one.session for one in since[:2]] == [f"s{MOST + 9}", f"s{MOST + 8}"]


def test_a_session_without_a_time_or_a_goal_is_not_told_of(remembered: Remembered) -> None:
    remembered.put("timeless", started=None, ended=None)
    remembered.put("aimless", goal="")
    assert remembered.told() == []


def test_decisions_and_answers_of_sessions_are_told_once(remembered: Remembered) -> None:
    decision = Decision(text="Use short links", rationale="the proxy cuts long ones", at=NOON + 5)
    question = Question(text="Which database?", answer="PostgreSQL", at=NOON + 6, answered_at=NOON + 7)
    unanswered = Question(text="Which cache?", at=NOON + 6)
    harvest = Harvest(decisions=(decision,), questions=(question, unanswered))
    remembered.put("one", harvest=harvest)
    later = replace(decision, at=NOON + 100)
    remembered.put("two", goal="", harvest=Harvest(decisions=(later,)))
    told = {one.line.text: one for one in remembered.since() if one.session == "one"}
    assert told["Meanwhile decided: Use short links, because the proxy cuts long ones"].at == NOON + 5
    assert told["Meanwhile answered: Which database? → PostgreSQL"].at == NOON + 7
    assert len(remembered.told()) == 3


def test_what_was_written_by_hand_is_told_as_the_files_have_it(remembered: Remembered) -> None:
    memory = memory_of(remembered.machine, remembered.project)
    decision = Decision(text="Use short links", at=NOON)
    handed = NextStep(text="finish the refund", branch="main", by="user", at=NOON + 2)
    derived = NextStep(text="derived", branch="main", at=NOON + 3)
    memory.change_facts(lambda _: Reference(decisions=(decision,)))
    memory.change_questions(lambda _: [Question(text="Which?", answer="This", at=NOON, answered_at=NOON + 1)])
    memory.change_current(lambda _: Current(next=(handed, derived)))
    remembered.put("one", goal="", harvest=Harvest(decisions=(replace(decision, at=NOON - 9),)))
    assert remembered.told() == [
        "Meanwhile handed over (main): finish the refund",
        "Meanwhile answered: Which? → This",
        "Meanwhile decided: Use short links",
    ]
    assert {one.session for one in remembered.since()} == {""}


def test_files_tell_the_minute_and_the_session_the_moment(remembered: Remembered) -> None:
    memory = memory_of(remembered.machine, remembered.project)
    exact = Decision(text="Use short links", at=NOON + 5)
    memory.change_facts(lambda _: Reference(decisions=(replace(exact, at=NOON // 60 * 60, session="one"),)))
    remembered.put("one", goal="", harvest=Harvest(decisions=(exact,)))
    (told,) = remembered.since()
    assert (told.at, told.session, told.branch) == (NOON + 5, "one", "main")


def test_what_a_person_took_out_is_not_told(remembered: Remembered) -> None:
    decision, item = Decision(text="Use short links", at=NOON), OpenItem(text="wire the refund")
    remembered.put("one", goal="", harvest=Harvest(decisions=(decision,), open_items=(item,)))
    memory = memory_of(remembered.machine, remembered.project)
    memory.change_facts(lambda _: Reference(decisions=(decision,)))
    memory.dismiss(decision.id, item.id)
    briefings = briefings_of(remembered.machine, remembered.project)
    assert briefings.since == () and briefings.own == {}


@pytest.mark.parametrize("broken", ["reference.md", "open-questions.md", "current.md", "projects.json"])
def test_a_file_that_cannot_be_read_keeps_nothing_else_from_being_told(
    remembered: Remembered, broken: str
) -> None:
    memory = memory_of(remembered.machine, remembered.project)
    memory.change_facts(lambda _: Reference(decisions=(Decision(text="a", at=NOON),)))
    memory.change_questions(lambda _: [Question(text="b", answer="c", at=NOON)])
    memory.change_current(lambda _: Current(next=(NextStep(text="d", by="user", at=NOON),)))
    root = remembered.project.memory
    path = root / broken if broken[0] in "cp" else memory.log_file.with_name(broken)
    path.write_text("<<<<<<< HEAD\n<!-- holdfast:begin next -->\n", encoding="utf-8")
    (root / "projects" / "..odd\x1b name").mkdir()
    remembered.put("one")
    told = remembered.told()
    assert "Meanwhile (claude-code, main): Goal of one." in told
    assert len(told) == (4 if broken == "projects.json" else 3)


def test_a_time_that_no_clock_has_is_passed_over(remembered: Remembered) -> None:
    memory = memory_of(remembered.machine, remembered.project)
    nowhen = [Decision(text="x", at=float("nan")), Decision(text="y", at=float("inf"))]
    memory.change_facts(lambda _: Reference(decisions=tuple(nowhen)))
    assert remembered.told() == []
    prepare(remembered.machine, remembered.project)


def test_a_session_has_its_own_open_items_once_each(remembered: Remembered) -> None:
    harvest = Harvest(open_items=(OpenItem(text="wire the refund."), OpenItem(text="lint", why="3 failed")))
    failed = TaskResult(title="Wire the refund", status="failed", reason="test_failure")
    remembered.put("one", tasks=(failed,), harvest=harvest)
    own = briefings_of(remembered.machine, remembered.project).own
    assert [(line.text, line.reason) for line in own["one"]] == [
        ("Open in this session: wire the refund.", "named as a next step"),
        ("Open in this session: lint", "3 failed"),
    ]


def test_a_session_has_what_it_settled_before_what_it_left_open(remembered: Remembered) -> None:
    passages = (
        Passage(text="Use short links.", by="user", worth=80),
        Passage(text="PostgreSQL", question="Which database?", kind="answer", by="user", worth=90),
        Passage(text="Maybe a cache", status="proposed", worth=99),
        Passage(text="The proxy cuts long links", kind="cause", worth=99),
    )
    left = Harvest(open_items=(OpenItem(text="send the receipt"),))
    remembered.put("mine", passages=passages, harvest=left)
    own = briefings_of(remembered.machine, remembered.project).own["mine"]
    assert [line.text.partition(" [D-")[0] for line in own] == [
        "Decided in this session: Use short links",
        "Decided in this session: Which database? → PostgreSQL",
        "Open in this session: send the receipt",
    ]
    assert own[0].reason == "said by the user"


def test_a_start_has_its_budget_for_each_part_and_names_what_a_person_wrote_and_does_not_fit(
    remembered: Remembered,
) -> None:
    memory = memory_of(remembered.machine, remembered.project)
    now = remembered.machine.now().timestamp()
    steps = tuple(
        NextStep(text=f"step {n} " + "word " * 25, branch="main", by="user", at=now - n) for n in range(5)
    )
    failures = tuple(
        RecurringFailure(tried=f"make t{n} " + "x " * 8, sessions=3, instead=f"make check{n}")
        for n in range(5)
    )
    memory.change_current(lambda _: Current(next=steps, stumbles=failures))
    digests = briefings_of(remembered.machine, remembered.project).digests
    lines = digests["startup", "main"]

    def spent(*kinds: str) -> int:
        return sum(count_tokens(line.text) for line in lines if not kinds or line.kind in kinds)

    assert 0 < spent("next") <= LEFT_TOKENS and 0 < spent("stumble") <= STUMBLE_TOKENS
    assert spent() <= START_TOKENS
    told = sum(line.kind == "next" for line in lines)
    assert lines[-1].text == f"Load from .holdfast/local/current.md: {5 - told} more lines for this session"
    alone = digests["alone", "main"]
    assert sum(line.kind == "next" for line in alone) == 5
    assert sum(count_tokens(line.text) for line in alone) <= ALONE_TOKENS


def test_own_items_are_bounded_and_a_session_that_goes_on_is_always_among_them(
    remembered: Remembered,
) -> None:
    left = Harvest(open_items=(OpenItem(text="wire the refund"),))
    remembered.put("old", started=1.0, harvest=left)
    for number in range(110):
        remembered.put(f"s{number}", harvest=left)
    own = briefings_of(remembered.machine, remembered.project).own
    assert len(own) == MOST_OWNERS and "old" not in own
    trace.post(str(remembered.project.memory), {"host": "claude-code", "event": "Stop", "session": "old"})
    own = briefings_of(remembered.machine, remembered.project).own
    assert len(own) == MOST_OWNERS and "old" in own


def test_a_new_session_hears_of_its_branch_and_every_session_of_what_keeps_failing(
    remembered: Remembered,
) -> None:
    memory = memory_of(remembered.machine, remembered.project)
    now = remembered.machine.now().timestamp()
    stumble = RecurringFailure(tried="make tests", failed="no rule", instead="make test", sessions=2, at=now)
    steps = (NextStep(text="the cart", branch="main", at=now), NextStep(text="the api", branch="api", at=now))
    memory.change_current(lambda _: Current(next=steps, stumbles=(stumble,)))
    briefings = briefings_of(remembered.machine, remembered.project)
    fails = "`make tests` fails here (no rule) → `make test` worked"
    assert [line.text for line in briefings.stumbles] == [fails]
    told = {branch: [line.text for line in lines] for (_, branch), lines in briefings.digests.items()}
    assert told["main"][:2] == ["Next: the cart", fails] and told["api"][:2] == ["Next: the api", fails]
    assert set(told) == {"", "main", "api"}


def test_a_check_that_passed_is_told_where_nobody_says_it_and_it_is_not_what_anybody_would_call(
    remembered: Remembered,
) -> None:
    memory = memory_of(remembered.machine, remembered.project)
    checks = (
        Check(command="make check", kind="lint", at=NOON),
        Check(command="go build ./...", kind="build", at=NOON),
        Check(command="go test ./...", kind="test", at=NOON),
        Check(command="npm run types", kind="types", at=NOON),
    )
    memory.change_current(lambda _: Current(checks=checks))
    (remembered.project.root / "AGENTS.md").write_text("Always run `make check` first.\n", encoding="utf-8")
    lines = briefings_of(remembered.machine, remembered.project).digests["startup", ""]
    assert [line.text for line in lines] == [
        "Test passed with: go test ./...",
        "Types passed with: npm run types",
    ]


def test_who_comes_back_is_not_told_of_plans_and_of_answers_for_the_moment(remembered: Remembered) -> None:
    decisions = (
        Decision(text="Plan approved: Sign the links", by="user", session="one", at=NOON),
        Decision(text="Keep totals in cents", by="user", session="one", at=NOON),
    )
    asked = Question(text="Shall we look at this one now?", answer="yes", by="user", session="one", at=NOON)
    remembered.put("one", harvest=Harvest(decisions=decisions, questions=(asked,)))
    settled = [text for text in remembered.told() if not text.startswith("Meanwhile (")]
    assert settled == ["Meanwhile decided: Keep totals in cents"]
