"""What is taken out of a session's own words: decisions, questions, findings, dead ends, open items, facts."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sessions.test_tasks import Story

from holdfast.language.harvest_sentences import decisions_of_person
from holdfast.language.open_items import is_chore
from holdfast.model.events import (
    Asked,
    Began,
    Compaction,
    DistilledSession,
    Event,
    Planned,
    ToolCall,
    ToolResult,
)
from holdfast.model.memory import FactCategory, Harvest
from holdfast.sessions.digest import LINE_LENGTH, MOST_OF_A_KIND, REPORT_LENGTH, Digest
from holdfast.sessions.reducer import Reducer
from holdfast.sessions.session import SessionPart, conclude

SECRET = "sk-ant-api03-abcdefghijklmnop"


class Told(Story):
    """A story with the events that only some hosts have."""

    def asked(self, question: str, answer: str, **options: str) -> Told:
        self.events.append(Asked(self.at, question, tuple(options.items()), answer))
        return self

    def planned(self, plan: str, approved: bool | None) -> Told:
        self.events.append(Planned(self.at, plan, approved))
        return self

    def compacted(self, summary: str) -> Told:
        self.events.append(Compaction(self.at, summary))
        return self

    def look(self, path: str, *, found: bool = True) -> Told:
        call = f"c{len(self.events)}"
        self.events.append(ToolCall(self.at, call, "Read", "read", path, (path,)))
        text = "" if found else "<tool_use_error>File does not exist.</tool_use_error>"
        self.events.append(ToolResult(self.at, call, found, text, own_fault=not found))
        return self


def harvested(told: Story | Digest) -> Harvest:
    digest = told.digest() if isinstance(told, Story) else told
    return conclude("s1", [SessionPart("a.jsonl", digest)], None, None).harvest


def told(*steps: str) -> Told:
    """A request and the report that ends its turn."""
    story = Told()
    story.ask(steps[0] if len(steps) > 1 else "look into it")
    story.say(steps[-1])
    return story


# --- decisions -----------------------------------------------------------------------------------------------


@pytest.mark.promise("C4", "M2")
def test_an_answered_question_is_a_decision_of_the_person_with_the_reason_that_was_offered() -> None:
    story = Told().asked("Where are sessions kept?", "SQLite", SQLite="One file, no server", Redis="Shared")
    (decision,) = harvested(story).decisions
    assert (decision.text, decision.by) == ("Where are sessions kept? SQLite", "user")
    assert decision.rationale == "One file, no server"
    assert decision.session == "s1" and decision.at is not None


@pytest.mark.promise("C4", "M2")
def test_the_title_of_a_plan_is_no_decision() -> None:
    plan = "# Plan: Keep sessions in SQLite\n\n## Context\nRedis is one more server to run.\n\n## Steps\n- drop it"
    approved, declined = harvested(Told().planned(plan, True)), harvested(Told().planned(plan, False))
    assert approved.decisions == declined.decisions == (), "what a plan says is judged: test_passages.py"


@pytest.mark.promise("C4", "M2")
@pytest.mark.parametrize(
    ("words", "text", "why"),
    [
        (
            "no, let's use SQLite instead of Redis because nobody runs a server",
            "let's use SQLite instead of Redis",
            "nobody runs a server",
        ),
        (
            "Never write to the ledger from a hook.",
            "Never write to the ledger from a hook",
            "",
        ),
        ("great. always run `make fmt` before you commit", "always run `make fmt` before you commit", ""),
    ],
)
def test_a_person_s_words_settle_something(words: str, text: str, why: str) -> None:
    (decision,) = harvested(Told().ask(words)).decisions
    assert (decision.text, decision.rationale, decision.by) == (text, why, "user")


@pytest.mark.promise("C4")
@pytest.mark.parametrize(
    "words",
    [
        "don't create a pr, just a commit",
        "let's use this instead of that",
        "should we use SQLite instead of Redis for the sessions?",
        "can you look at the failing test",
        "let's keep going with the review of the branch",
        "we need to fix the login page today",
    ],
)
def test_an_order_of_the_moment_settles_nothing(words: str) -> None:
    assert harvested(Told().ask(words)).decisions == ()


@pytest.mark.promise("C4", "M2")
def test_an_agent_s_choice_counts_with_its_reason() -> None:
    report = (
        "All done.\n\nI chose `msgspec` over pydantic because decoding is on the hot path.\n\n"
        "## Key decisions\n- **Locks**: `flock` on a side file, never on the ledger itself\n- Done!\n"
    )
    first, second = harvested(told(report)).decisions
    assert {first.text, second.text} == {
        "I chose `msgspec` over pydantic",
        "Locks: `flock` on a side file, never on the ledger itself",
    }
    assert {first.by, second.by} == {"agent"}
    assert "decoding is on the hot path." in {first.rationale, second.rationale}


@pytest.mark.promise("C4", "M2")
def test_a_commit_is_kept_by_its_name() -> None:
    command = (
        "git commit -m \"$(cat <<'EOF'\nRetry twice\n\nThree tries hid real outages because they took a minute.\n\n"
        'Co-Authored-By: A <a@b.c>\nEOF\n)"'
    )
    harvest = harvested(Told().run(command, "[main 1a2b3c4] Retry twice\n 1 file changed"))
    assert harvest.decisions == (), "git has it: docs/contributing/git-memory.md"
    assert harvest.commits == ("1a2b3c4 Retry twice",)


# --- questions -----------------------------------------------------------------------------------------------


@pytest.mark.promise("C4", "M4")
def test_a_plain_question_is_answered_by_the_next_words() -> None:
    story = told("Done.\n\nShould `holdfast import` skip archived sessions or read them too?")
    (question,) = harvested(story).questions
    assert question.open
    (question,) = harvested(story.ask("read them too")).questions
    assert (question.answer, question.by) == ("read them too", "user")


@pytest.mark.promise("C4", "M4")
def test_a_question_that_was_passed_over_is_dropped() -> None:
    story = told("Should `holdfast import` skip archived sessions or read them too?")
    assert harvested(story.ask("what does the linter say?")).questions == ()


@pytest.mark.promise("C4", "M4")
@pytest.mark.parametrize(
    "chatter",
    [
        "Would you like me to add tests for `parse_row` too?",
        "Shall I commit the changes in `src/a.py` now?",
        "Does this look right for `parse_row`?",
        "Want me to proceed with `make release`?",
    ],
)
def test_asking_for_leave_is_no_question(chatter: str) -> None:
    assert harvested(told(f"Done.\n\n{chatter}")).questions == ()


@pytest.mark.promise("C4", "M4")
def test_a_question_put_through_the_host_is_kept_with_its_answer() -> None:
    (question,) = harvested(Told().asked("Where are sessions kept?", "in SQLite")).questions
    assert (question.text, question.answer, question.by) == ("Where are sessions kept?", "in SQLite", "user")
    assert harvested(Told().asked("What would you like to do next?", "stop")).questions == ()


# --- findings ------------------------------------------------------------------------------------------------


@pytest.mark.promise("C4", "M2")
def test_findings_are_sentences_that_stand_alone() -> None:
    report = (
        "Perfect! Let me explain.\n\nThe root cause was that `flock` does not work over NFS. It was bad.\n\n"
        "## Findings\n- `ledger.md` is read twice by `status`\n- see above\n\n```\nthe bug is `x`\n```\n"
        "| the issue is | `y` |\n\nNote that `git clean -fdx` removes ignored files as well."
    )
    assert [finding.text for finding in harvested(told(report)).findings] == [
        "The root cause was that `flock` does not work over NFS.",
        "`ledger.md` is read twice by `status`",
        "`git clean -fdx` removes ignored files as well.",
    ]


@pytest.mark.promise("C4")
@pytest.mark.parametrize(
    "chatter",
    [
        "The issue is fixed.",
        "This file was the problem because `x` is 3.",
        "The issue was that I edited `a.py` in the wrong place.",
        "Note that the above works only with `make`.",
        "Let me know if the problem in `a.py` is still there.",
    ],
)
def test_what_only_makes_sense_in_the_session_is_no_finding(chatter: str) -> None:
    assert harvested(told(chatter)).findings == ()


@pytest.mark.promise("C4", "M2")
def test_a_compaction_summary_is_harvested_too() -> None:
    summary = (
        "Summary:\n4. Errors and Fixes:\n   - **Tests of `hooks`**: failed because `git` was not on the PATH\n\n"
        "7. Pending Tasks:\n   - Write the migration for `users.email`\n   - None\n\n8. Current Work:\n   Nothing.\n"
    )
    harvest = harvested(Told().compacted(summary))
    assert [finding.text for finding in harvest.findings] == [
        "Tests of `hooks`: failed because `git` was not on the PATH"
    ]
    assert [item.text for item in harvest.open_items] == ["Write the migration for `users.email`"]


# --- open items ----------------------------------------------------------------------------------------------


@pytest.mark.promise("C4", "M2")
def test_the_last_report_says_what_is_left() -> None:
    report = (
        "Done.\n\n## Next steps\n- Move the `users` table to the new schema\n- [x] Write the docs for `import`\n"
        "- Let me know if you want more\n- Commit the changes\n"
    )
    story = told(report)
    assert [item.text for item in harvested(story).open_items] == ["Move the `users` table to the new schema"]
    story.ask("do it").edit().say("The `users` table has moved.")
    assert harvested(story).open_items == ()


@pytest.mark.promise("C4", "M2")
def test_to_dos_and_failing_checks_are_left_open() -> None:
    story = Told().ask("build it").todo(Write_the_parser="pending", Run_the_tests="pending").edit()
    story.run("pytest -q", "FAILED tests/a.py::test_b - assert 1 == 2\n1 failed in 0.1s", ok=False, code=1)
    items = harvested(story.say("Half of it is there.")).open_items
    assert [item.text for item in items] == [
        "test fails: FAILED tests/a.py::test_b - assert 1 == 2",
        "Write the parser",
    ]
    assert items[0].priority == "high"


# --- dead ends -----------------------------------------------------------------------------------------------


@pytest.mark.promise("C4", "M10", "S2")
def test_a_failing_call_and_the_variant_that_worked_are_a_dead_end() -> None:
    story = Told().run(
        "gh pr diff 88 --stat", "Exit code 1\nunknown flag: --stat\n\nUsage: gh", ok=False, code=1
    )
    (dead_end,) = harvested(story.run("gh pr diff 88 --name-only", "a.py")).dead_ends
    assert (dead_end.tried, dead_end.failed, dead_end.instead) == (
        "gh pr diff 88 --stat",
        "unknown flag: --stat",
        "gh pr diff 88 --name-only",
    )


@pytest.mark.promise("C4", "M10")
@pytest.mark.parametrize(
    ("failed", "output", "steps", "instead"),
    [
        (
            "python -m pytest -q",
            "bash: python: command not found",
            ["python3 -m pytest -q"],
            "python3 -m pytest -q",
        ),
        (
            "cargo build",
            "error: could not find Cargo.toml",
            ["cd rust && cargo build"],
            "cd rust && cargo build",
        ),
        (
            "make lint",
            "a.go is not formatted, run gofmt",
            ["make fmt", "make lint"],
            "make fmt, then make lint",
        ),
    ],
)
def test_other_names_directories_and_steps_before_are_remedies(
    failed: str, output: str, steps: list[str], instead: str
) -> None:
    story = Told().run(failed, output, ok=False, code=1)
    for step in steps:
        story.run(step, "ok")
    (dead_end,) = harvested(story).dead_ends
    assert (dead_end.tried, dead_end.instead) == (failed, instead)


@pytest.mark.promise("C4", "M10")
def test_a_file_that_was_elsewhere_is_a_dead_end() -> None:
    (dead_end,) = harvested(Told().look(".golangci.yml", found=False).look(".golangci.yaml")).dead_ends
    assert (dead_end.tried, dead_end.failed, dead_end.instead) == (
        ".golangci.yml",
        "no such file",
        ".golangci.yaml",
    )


@pytest.mark.promise("C4", "M10")
@pytest.mark.parametrize(
    ("failed", "output", "worked"),
    [
        ("go test ./a", "--- FAIL: TestA\nFAIL", "go test ./b"),
        ("git commit -m x", "fatal: Unable to create '.git/index.lock': File exists.", "git commit -m y"),
        ("git merge main", "CONFLICT (content): Merge conflict in a.py", "git merge main --abort"),
        ("ls src/missing", "ls: src/missing: No such file or directory", "ls src"),
        ("touch /etc/x", "touch: /etc/x: Operation not permitted", "touch x"),
        ("npm test", "npm error Missing script: nope", "ls"),
    ],
)
def test_what_only_looks_learnable_is_no_dead_end(failed: str, output: str, worked: str) -> None:
    story = Told().run(failed, output, ok=False, code=1).run(worked, "done")
    assert harvested(story).dead_ends == ()


@pytest.mark.promise("C4", "M10")
def test_an_edit_in_between_makes_it_a_fix_and_no_dead_end() -> None:
    story = Told().run("make foo", "make: *** No rule to make target 'foo'.", ok=False, code=2)
    assert harvested(story.edit("Makefile").run("make foo2", "ok").digest()).dead_ends == ()


@pytest.mark.promise("C4", "M2")
def test_an_approach_given_up_in_words_is_a_dead_end() -> None:
    report = "I first tried `mmap` for the index, but it failed on network drives, so the file is read whole."
    (dead_end,) = harvested(told(report)).dead_ends
    assert "`mmap`" in dead_end.tried and "network drives" in dead_end.failed
    assert dead_end.instead == "the file is read whole."


# --- facts ---------------------------------------------------------------------------------------------------


@pytest.mark.promise("C4", "M3", "M16")
def test_a_check_that_passed_is_a_fact_with_the_line_that_proves_it() -> None:
    story = Told().run("make fmt && uv run pytest -q 2>&1 | tail -3", "....\n12 passed in 0.4s")
    (fact,) = harvested(story).facts
    assert fact.text == "`uv run pytest -q` runs the tests here"
    assert (fact.category, fact.command, fact.evidence) == (
        FactCategory.TESTING,
        "uv run pytest -q",
        "12 passed in 0.4s",
    )


@pytest.mark.promise("C4", "M3", "M16")
def test_versions_and_endpoints_are_facts() -> None:
    story = (
        Told().run("go version", "go version go1.25.3 linux/amd64").run("gh --version", "gh version 2.92.0")
    )
    story.run("go test ./...", "ok shop 1.2s")
    story.run("curl -s http://localhost:8080/health", '{"ok": true}')
    story.run("curl -sv http://localhost:8080/health", '{"ok": true}')
    facts = {fact.category: fact for fact in harvested(story).facts}
    assert facts[FactCategory.ENDPOINT].text == "http://localhost:8080/health answers here"
    assert facts[FactCategory.ENDPOINT].evidence == '{"ok": true}'
    assert facts[FactCategory.ENVIRONMENT].text == "go is 1.25.3 here", (
        "and not of a tool that checks nothing here"
    )


def test_what_is_of_one_moment_is_no_fact() -> None:
    story = Told().run("gh pr create --fill", "https://github.com/ada/shop/pull/139")
    scratch = "/home/ada/AppData/Local/Temp/claude/shop/6c0a282a-886f-458d-a426-93d95104b4a6/scratchpad"
    story.run(f"ls {scratch}/a", f"{scratch}/a").run(f"ls {scratch}/b", f"{scratch}/b")
    story.run("curl -s 'http://localhost/a?n=1'", '{"n": 1}').run(
        "curl -s 'http://localhost/a?n=2'", '{"n": 2}'
    )
    assert [fact.text for fact in harvested(story).facts] == ["http://localhost/a answers here"]


@pytest.mark.promise("M3")
def test_there_is_no_fact_without_evidence() -> None:
    story = Told().run("pytest -q -k one", "1 passed").run("cd /tmp/x && make test", "1 passed")
    story.run("curl http://localhost/a", "").run("curl -v http://localhost/a", "")
    assert harvested(story).facts == ()


# --- bounds, redaction, growth -------------------------------------------------------------------------------


def rich() -> Told:
    """A session with everything in it, and a secret in every text."""
    story = told(
        f"let's use {SECRET} instead of Redis because of {SECRET}",
        f"The root cause was `{SECRET}` in the settings file.\n\nI chose `a` because {SECRET} is short enough.\n\n"
        f"I tried `{SECRET}` first, but it failed on old disks, so the file is read whole.\n\n"
        f"## Next steps\n- Replace `{SECRET}` in the vault\n\nWhich place should hold `{SECRET}` after that, A or B?",
    )
    story.ask(f"in {SECRET} please")
    story.run(f"gh x --stat {SECRET}", f"unknown flag: --stat {SECRET}", ok=False, code=1)
    story.run(f"gh x --name {SECRET}", "ok")
    story.look(f"a/{SECRET}", found=False)
    story.run(f"make test KEY={SECRET}", f"12 passed {SECRET}")
    story.run(f"curl http://h/{SECRET}", f'{{"hello": "{SECRET}"}}').run(f"curl -v http://h/{SECRET}", "{{}}")
    story.run(f"git commit -m '{SECRET}'", f"[main 1a2b3c4] {SECRET}")
    story.asked(f"Where is {SECRET} kept?", SECRET).planned(
        f"# Plan: use {SECRET} now\n\nAs {SECRET} says so.", True
    )
    story.compacted(f"## Findings\n- the `parser` leaks {SECRET} to logs\n")
    story.run(f"npm run x {SECRET}", f"npm error Missing script: {SECRET}", ok=False, code=1)
    finding = f"shop/till.go:9:2: Error return value of `{SECRET}` is not checked (errcheck)\n\t_ = pay({SECRET})\n\t  ^\n"
    story.run("mise run lint", finding, ok=False, code=1)
    story.say(f"Is `{SECRET}` what the server should use by default?")
    return story


def hidden(text: str) -> str:
    return text.replace(SECRET, "[secret]")


@pytest.mark.promise("C4")
def test_nothing_unredacted_is_left_after_a_seal() -> None:
    digest = rich().digest()
    state = digest.harvest
    assert state.decisions and state.questions and state.findings and state.dead_ends and state.failures
    assert state.open_items and state.working and state.mentions and state.commits and state.report
    assert any(SECRET in stumble.example for stumble in state.stumbles.values())
    assert SECRET in msgspec.json.encode(state).decode()
    digest.seal(hidden)
    assert SECRET not in msgspec.json.encode(digest).decode()
    assert SECRET not in msgspec.json.encode(harvested(digest)).decode()


@pytest.mark.promise("C2", "C4")
@given(st.lists(st.integers(0, 60), max_size=4))
@settings(max_examples=40, deadline=None)
def test_a_session_read_in_parts_gives_what_it_gives_at_once(cuts: list[int]) -> None:
    events: list[Event] = [Began(1.0, session="s1"), *rich().events]
    whole = Digest("claude-code")
    Reducer(whole).take_all(events)
    whole.seal(str)
    data = msgspec.msgpack.encode(Digest("claude-code"))
    marks = sorted({0, *cuts, len(events)})
    for start, end in pairwise(marks):
        part = msgspec.msgpack.decode(data, type=Digest)
        Reducer(part).take_all(events[start:end])
        part.seal(str)
        data = msgspec.msgpack.encode(part)
    assert msgspec.msgpack.decode(data, type=Digest).harvest == whole.harvest


@pytest.mark.promise("C4")
def test_what_is_gathered_is_bounded() -> None:
    story = Told()
    for number in range(400):
        story.ask(f"never touch `file{number}.py` from {'x' * number} the hook number {number}")
        story.run(f"tool{number} run --a {number}", f"unknown flag: --a {'y' * 5000}", ok=False, code=1)
        story.run(f"make test{number}", f"{number} passed {'z' * 5000}")
        story.say(f"The root cause was `cause{number}` in the {number} place.\n" + "word " * 10_000)
    digest = story.digest()
    digest.seal(str)
    state = digest.harvest
    assert len(state.decisions) <= MOST_OF_A_KIND and len(state.findings) <= MOST_OF_A_KIND
    assert len(state.report) <= REPORT_LENGTH
    assert all(len(failure.line) <= LINE_LENGTH for failure in state.failures)
    assert len(msgspec.msgpack.encode(state)) < 120_000
    harvest = harvested(digest)
    assert all(len(getattr(harvest, kind)) <= 6 for kind in ("decisions", "findings", "dead_ends", "facts"))


@pytest.mark.promise("C4")
def test_the_same_in_other_words_is_kept_once() -> None:
    story = told("The root cause was `flock` on the NFS share.")
    story.ask("sure?").say("The root cause was `flock` on the NFS share!")
    assert len(harvested(story).findings) == 1


def test_a_record_of_yesterday_still_decodes() -> None:
    record = conclude("s1", [SessionPart("a", Told().ask("x").digest())], None, None)
    stored = msgspec.json.decode(msgspec.json.encode(record), type=dict)
    del stored["harvest"]
    assert msgspec.convert(stored, DistilledSession).harvest == Harvest()


def test_a_person_who_says_what_was_decided_has_decided_it() -> None:
    said = "We decided to use Redis for the limiter because the in-memory one does not survive restarts."
    (decision,) = decisions_of_person(said, None)
    assert decision.text == "We decided to use Redis for the limiter"
    assert decision.rationale == "the in-memory one does not survive restarts"
    assert not list(decisions_of_person("We decided it is better that way for all of them.", None))


@pytest.mark.parametrize(
    "said, text, why",
    [
        (
            "I chose a sliding window because fixed windows allow bursts at the edges.",
            "I chose a sliding window",
            "fixed windows allow bursts at the edges.",
        ),
        (
            "I chose Redis because the limit must hold across several processes.",
            "I chose Redis",
            "the limit must hold across several processes.",
        ),
        (
            "I kept the nightly job on the old scheduler because of locking.",
            "I kept the nightly job on the old scheduler",
            "locking.",
        ),
    ],
)
def test_a_choice_in_plain_words_is_a_decision_when_it_says_what_and_why(
    said: str, text: str, why: str
) -> None:
    (found,) = harvested(Told().ask("Add a limit").say(said)).decisions
    assert (found.text, found.rationale, found.by) == (text, why, "agent")


@pytest.mark.parametrize(
    "said",
    [
        "I chose this because it is better.",
        "I went with the simpler approach because it is cleaner and easier to maintain.",
        "I decided to keep it because that works well for now.",
        "I used this option since the user wanted something simple.",
    ],
)
def test_a_choice_that_names_nothing_is_no_decision(said: str) -> None:
    assert not harvested(Told().ask("Add a limit").say(said)).decisions


@pytest.mark.parametrize(
    "question",
    [
        "Should the limit apply to internal clients of the billing team too?",
        "Want to go with exact matching, or allow trimmed whitespace as well?",
        "Should I treat only invoices with an explicit currency as valid, or also infer the country?",
    ],
)
def test_a_closing_question_in_plain_words_is_kept(question: str) -> None:
    (found,) = harvested(Told().ask("Add a limit").say(f"The limit is in place. {question}")).questions
    assert found.text == question


@pytest.mark.parametrize(
    "question",
    [
        "Should I continue?",
        "Which approach would be the best option here?",
        "Is there something specific you're working on with payments or invoices?",
        "What do you want the next step to be after this change?",
        "How can I help you with the current implementation today?",
    ],
)
def test_a_closing_question_that_asks_nothing_of_the_matter_is_not_kept(question: str) -> None:
    assert not harvested(Told().ask("Add a limit").say(f"The limit is in place. {question}")).questions


@pytest.mark.parametrize(
    "said",
    [
        "14538 - DNS resolution fails in the cloud VM because of the `resolv.conf` there",
        "(11) ✅ Valid baseline of `parse()`, which only works when the file exists.",
        "The issue might be related to how `retry_decorator` is implemented.",
    ],
)
def test_a_fragment_or_a_guess_is_no_finding(said: str) -> None:
    assert not harvested(Told().ask("Why?").say(f"## Findings\n\n- {said}\n")).findings


@pytest.mark.parametrize(
    ("text", "chore"),
    [
        ("Commit, push, open PR, wait for checks, squash merge", True),
        ("Task 10: Full test suite and live test", True),
        ("Run package install and focused verification", True),
        ("Summarize what was changed in the cart", True),
        ("Task 7: Daemon mail commands", False),
        ("Add tests for the cart", False),
        ("Fix the build", False),
        ("Run the migration of the stations table", False),
    ],
)
def test_what_every_work_ends_with_is_a_chore_and_what_names_anything_else_is_none(
    text: str, chore: bool
) -> None:
    assert is_chore(text) is chore


def test_what_was_seen_to_is_not_left_though_it_stands_among_what_is() -> None:
    report = (
        "## Remaining\n\n- Review of the links confirmed that all of them are signed\n"
        "- Tip: sign them with a key of your own\n- Sign the links of the archive\n"
    )
    assert [item.text for item in harvested(told(report)).open_items] == ["Sign the links of the archive"]
