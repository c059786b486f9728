"""What a prompt is told by the hook: files of like sessions and facts, once, within bounds, or nothing at all."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.hooks.enabled import SESSION, Answer, Enabled, everything_below

import holdfast as package
from holdfast.briefing.explain import Injection, injections
from holdfast.briefing.file_pointers import pointers_for
from holdfast.briefing.prepare import prepare
from holdfast.briefing.prompt import as_prompt
from holdfast.core.tokens import count_tokens
from holdfast.flows.facts import add_fact
from holdfast.flows.import_sessions import import_into
from holdfast.flows.questions import decide
from holdfast.hooks.offers import BAR, HEADING
from holdfast.hooks.prompt import MOST_IN_SESSION, MOST_LATER, MOST_TOKENS, Heard
from holdfast.model.events import FileTouch
from holdfast.model.lesson import Ran
from holdfast.sessions.store import CaptureStore
from holdfast.store.machine import Machine
from holdfast.store.switches import switch


def git(root: Path, *words: str) -> None:
    who = ("-c", "user.name=x", "-c", "user.email=x@example.com")
    subprocess.run(["git", "-C", str(root), *who, *words], check=True, capture_output=True)


DEMO = Path(package.__file__).parent / "demo_sessions"
VOUCHER = "Fix the refund: its total ignores the voucher"


class Prompted(Enabled):
    """An enabled project in which sessions worked before."""

    def __init__(self, root: Path, tmp_path: Path) -> None:
        super().__init__(root)
        elsewhere = Machine(env={"HOME": str(tmp_path / "elsewhere")}, cwd=root)
        import_into(elsewhere, elsewhere.project(), [DEMO])
        self.sample = CaptureStore.glimpse(elsewhere.project().capture, lambda store: store.records(1), [])[0]
        self.worked("s1", "The refund total ignores the voucher", "shop/refunds.py", "tests/test_refunds.py")
        self.worked("s2", "Send the newsletter in the reader's language", "mail/newsletter.py")
        self.worked("s3", "Invoices show the wrong currency sign", "shop/invoices.py")
        self.made_ready()

    def worked(self, session: str, prompt: str, *edited: str, there: bool = True) -> None:
        for path in edited if there else ():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text("x\n", encoding="utf-8")
        store = CaptureStore(self.project.capture)
        at = 1_700_000_000.0 + len(store.all_records()) * 86_400
        touched = tuple(FileTouch(path, 1, 1) for path in edited)
        prompts = (prompt,)
        record = replace(self.sample, session=session, started=at, cwd=str(self.root), files=touched)
        store.put_record(replace(record, prompts=prompts, goal=prompt, final_message="", commands=()))
        store.close()

    def ran(self, session: str, *commands: Ran) -> None:
        store = CaptureStore(self.project.capture)
        record = next(record for record in store.all_records() if record.session == session)
        store.put_record(replace(record, experience=replace(record.experience, commands=commands)))
        store.close()

    def made_ready(self) -> None:
        prepare(Machine(cwd=self.root), self.project)

    def ask(self, prompt: object, **more: object) -> Answer:
        return self.hook("UserPromptSubmit", prompt=prompt, hook_event_name="UserPromptSubmit", **more)

    def last(self) -> Injection:
        return injections(self.project)[-1]

    def asked(self, prompt: str, **more: object) -> list[str]:
        """The lines between the fences."""
        return self.ask(prompt, **more).context.split("\n")[1:-1]


@pytest.fixture
def shop(repo: Path, tmp_path: Path) -> Prompted:
    return Prompted(repo, tmp_path)


@pytest.mark.promise("R8")
def test_a_prompt_is_told_the_files_of_the_session_that_was_asked_alike(shop: Prompted) -> None:
    answer = shop.ask(VOUCHER)
    assert answer.context.split("\n")[1:-1] == [HEADING, "shop/refunds.py", "tests/test_refunds.py"]
    assert json.loads(answer.printed)["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"


@pytest.mark.promise("M6")
@pytest.mark.parametrize(
    "prompt",
    ["thanks!", "ok", "", "   ", "/compact", "/refund the voucher total", "what is the capital of France?"],
)
def test_small_talk_commands_and_questions_are_told_nothing(shop: Prompted, prompt: str) -> None:
    assert shop.ask(prompt).printed == b""


@pytest.mark.promise("R8")
def test_a_question_about_this_repository_is_told_files_and_no_lesson_and_another_is_told_nothing(
    shop: Prompted,
) -> None:
    told = shop.asked("does the refund total have tests that name the voucher?")
    assert told[0] == HEADING and "shop/refunds.py" in told
    assert shop.asked("write a haiku about the currency of the rain in Kyoto", session_id="another") == []


@pytest.mark.promise("R8", "W11")
def test_a_prompt_that_says_nothing_specific_is_told_what_its_branch_changes(shop: Prompted) -> None:
    git(shop.root, "add", "--all")
    git(shop.root, "commit", "--quiet", "-m", "All of it")
    git(shop.root, "switch", "--quiet", "-c", "fix/refunds")
    for path, text in (("shop/refunds.py", "committed\n"), ("mail/newsletter.py", "not committed\n")):
        (shop.root / path).write_text(text, encoding="utf-8")
        if text == "committed\n":
            git(shop.root, "commit", "--quiet", "--all", "-m", "Refunds")
    shop.made_ready()
    assert shop.asked("review the changes of this branch") == [
        HEADING,
        "mail/newsletter.py",
        "shop/refunds.py",
    ]
    assert "changed on this branch" in shop.last().lines[1].reason


def test_files_of_holdfast_itself_are_never_among_the_likely_ones(shop: Prompted) -> None:
    ledger = shop.root / ".holdfast/ledger.md"
    ledger.parent.mkdir(exist_ok=True)
    ledger.write_text("# Ledger\n", encoding="utf-8")
    git(shop.root, "add", "--all", "--force")
    git(shop.root, "commit", "--quiet", "-m", "All of it")
    git(shop.root, "switch", "--quiet", "-c", "fix/refunds")
    for path in (ledger, shop.root / "shop/refunds.py"):
        path.write_text("changed\n", encoding="utf-8")
    shop.made_ready()
    assert shop.asked("review the changes of this branch") == [HEADING, "shop/refunds.py"]
    assert shop.asked("write a haiku about cherry blossoms in Kyoto", session_id="another") == []


@pytest.mark.promise("R8", "W11")
def test_a_prompt_that_names_the_number_of_a_change_is_told_its_files(shop: Prompted) -> None:
    for number, path in ((12, "shop/refunds.py"), (13, "mail/newsletter.py")):
        git(shop.root, "add", path)
        git(shop.root, "commit", "--quiet", "-m", f"Change something (#{number})")
    shop.worked("s4", "Commit it")  # what did not change since the last session is not worked out again
    shop.made_ready()
    assert shop.asked("review PR #13 again") == [HEADING, "mail/newsletter.py"]
    assert "#13" in shop.last().lines[1].reason


@pytest.mark.promise("R8")
def test_a_command_that_sessions_were_given_before_is_told_what_they_worked_on(shop: Prompted) -> None:
    assert shop.asked("/shop:next-story", session_id="before") == []
    shop.worked("s4", "/shop:next-story", "plan/stories.md", "plan/status.yaml")
    shop.worked("s5", "/shop:next-story 7", "plan/stories.md")
    shop.made_ready()
    told = shop.asked("/shop:next-story", session_id="after")
    assert told[0] == HEADING and any(line.endswith("stories.md") for line in told)
    assert shop.asked("/shop:retro", session_id="another command") == []


def test_our_own_text_is_no_prompt(shop: Prompted) -> None:
    told = shop.ask(VOUCHER).context
    assert shop.ask(told, session_id="another").printed == b""


@pytest.mark.promise("H7")
def test_a_file_is_named_once_until_the_session_is_compacted(shop: Prompted) -> None:
    assert shop.asked(VOUCHER)
    assert shop.ask(VOUCHER).printed == b""
    assert shop.asked(VOUCHER, session_id="another"), "which has heard nothing"
    shop.hook("SessionStart", source="compact")
    assert shop.asked(VOUCHER)


@pytest.mark.promise("R8")
def test_only_files_that_exist_here_are_named(shop: Prompted) -> None:
    (shop.root / "tests/test_refunds.py").unlink()
    assert shop.asked(VOUCHER) == [HEADING, "shop/refunds.py"]


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_link_that_leads_out_of_the_checkout_is_no_file_of_it(shop: Prompted, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x", encoding="utf-8")
    (shop.root / "tests/test_refunds.py").unlink()
    (shop.root / "tests/test_refunds.py").symlink_to(tmp_path / "secret")
    assert shop.asked(VOUCHER) == [HEADING, "shop/refunds.py"]


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_folder_that_is_a_link_out_of_the_checkout_holds_no_file_of_it(
    shop: Prompted, tmp_path: Path
) -> None:
    (shop.root / "tests").rename(tmp_path / "tests elsewhere")
    (shop.root / "tests").symlink_to(tmp_path / "tests elsewhere")
    assert shop.asked(VOUCHER) == [HEADING, "shop/refunds.py"]


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_folder_that_is_a_link_within_the_checkout_holds_files_of_it(shop: Prompted) -> None:
    (shop.root / "tests").rename(shop.root / "checks")
    (shop.root / "tests").symlink_to("checks")
    assert shop.asked(VOUCHER) == [HEADING, "shop/refunds.py", "tests/test_refunds.py"]


def test_what_the_prompt_names_itself_is_not_repeated(shop: Prompted) -> None:
    assert "shop/refunds.py" not in shop.asked(VOUCHER + ", see shop/refunds.py")


def test_a_file_that_is_named_by_less_than_its_path_is_told_first_unless_it_can_be_opened_so(
    shop: Prompted,
) -> None:
    typo = "there is a typo in newsletter.py, fix it"
    assert shop.asked(typo, session_id="at the top")[:2] == [HEADING, "mail/newsletter.py"]
    beside = shop.asked(typo, session_id="beside it", cwd=str(shop.root / "mail"))
    assert "mail/newsletter.py" not in beside


def test_what_the_session_has_touched_itself_it_knows(shop: Prompted) -> None:
    shop.worked(SESSION, "Fix the refund", "shop/refunds.py")
    shop.made_ready()
    assert shop.asked(VOUCHER) == [HEADING, "tests/test_refunds.py"]


def test_a_later_prompt_is_told_files_only_when_it_moves_to_another_topic(shop: Prompted) -> None:
    shop.worked(SESSION, "Invoices show the wrong currency sign")
    shop.made_ready()
    assert shop.asked("and now the sign of the currency on the other invoices") == []
    assert "goes on" in shop.last().nothing
    assert "shop/refunds.py" in shop.asked("The refund total ignores the voucher")


def test_a_first_prompt_costs_225_tokens_at_most_a_later_one_120_and_a_session_800(shop: Prompted) -> None:
    for number in range(20):
        words = f"voucher{number // 4} refund total"
        names = [f"shop/deep/er/folder{number // 4}/a_rather_long_name_{n}.py" for n in range(40)]
        shop.worked(f"many{number}", words, *names)
    shop.made_ready()
    spent = 0
    for number in range(40):
        told = shop.asked(f"Fix voucher{number % 5} refund total again")
        tokens = sum(count_tokens(line) for line in told)
        assert tokens <= (MOST_LATER if number else MOST_TOKENS)
        spent += tokens
    assert 0 < spent <= MOST_IN_SESSION
    nothing = shop.last().nothing
    assert any(reason in nothing for reason in ("the maximum", "likely enough", "told already"))


def test_facts_that_the_prompt_speaks_of_come_first_and_only_for_work_on_code(shop: Prompted) -> None:
    for text in ("Payments run against sandbox.example:8443", "The linter is called with make lint"):
        add_fact(Machine(cwd=shop.root), text, "seen")
    shop.made_ready()
    told = shop.asked("Fix the payments: they run against the wrong sandbox example")
    assert told[0] == "Payments run against sandbox.example:8443"
    assert "The linter is called with make lint" not in told
    assert shop.ask("Where do payments run against the sandbox example?").printed == b""


@pytest.mark.promise("H2")
def test_a_decision_that_the_prompt_speaks_of_is_told_with_its_reason(shop: Prompted) -> None:
    decide(Machine(cwd=shop.root), "Refunds go through the ledger service", because="audits need one place")
    decide(Machine(cwd=shop.root), "Vouchers expire at midnight", because="so " * 60)
    shop.made_ready()
    told = shop.asked("Implement the refunds: they should go through the ledger service")
    assert told[0].startswith("Refunds go through the ledger service (because audits need one place) (you, ")
    assert not any("Vouchers" in line for line in told)
    assert any(
        "Vouchers expire at midnight" in line
        for line in shop.asked("Implement that vouchers expire at midnight")
    )
    assert shop.ask("Where do refunds go through the ledger service?").printed == b"", (
        "said in this session already"
    )


def test_a_fact_that_the_instructions_say_already_is_not_told(shop: Prompted) -> None:
    add_fact(Machine(cwd=shop.root), "Payments run against sandbox.example:8443", "seen")
    (shop.root / "CLAUDE.md").write_text(
        "# x\n- Payments run\n  against sandbox.example:8443\n", encoding="utf-8"
    )
    shop.made_ready()
    assert shop.ask("Fix the payments: they run against the wrong sandbox example").printed == b""


def test_the_words_after_a_command_for_work_on_code_are_a_prompt_and_a_path_is_no_command(
    shop: Prompted,
) -> None:
    assert "shop/refunds.py" in shop.asked("/fix the voucher that is missing from the refund total")
    assert shop.ask("/fix").printed == b"" and "without words" in shop.last().nothing
    assert shop.ask("/model voucher refund total").printed == b""
    shop.worked("other", "Fix the invoice header of the annual report", "shop/invoices.py")
    shop.made_ready()
    (shop.root / "shop" / "invoices.py").write_text("x\n", encoding="utf-8")
    broken = "/srv/shop/app.log shows a traceback: fix the invoice header of the annual report"
    assert "shop/invoices.py" in shop.asked(broken)


def test_a_fact_does_not_repeat_a_command_that_the_session_was_told_in_other_words(shop: Prompted) -> None:
    add_fact(Machine(cwd=shop.root), "`make check` runs the payments tests", "seen")
    prompt = "Fix the payments tests, the run of the check fails"
    for line, told in {
        "Test passed with: make check": False,
        "tests: `make check` [L-aaaaaa]": False,
        "Test passed with: make check-all": True,
    }.items():
        heard = Heard()
        heard.lines.add(line)
        said = as_prompt(shop.machine, shop.project, prompt, heard=heard)
        assert any("runs the payments tests" in text for text, _ in said.lines) is told, line


def test_why_shows_what_a_prompt_was_told_and_why_another_was_told_nothing(shop: Prompted) -> None:
    shop.ask(VOUCHER)
    told = shop.last()
    assert told.event == "UserPromptSubmit" and told.tokens > 0
    assert [line.text for line in told.lines][1] == "shop/refunds.py"
    assert "edited in 1 of 3 sessions" in told.lines[1].reason and "refund" in told.lines[1].reason
    shop.ask("thanks!")
    assert "shares a word" in shop.last().nothing
    shop.ask("Fix the haiku about the total of the autumn rain in Kyoto", session_id="another")
    assert "something else" in shop.last().nothing


@pytest.mark.promise("H3")
def test_whatever_is_broken_the_prompt_goes_on(shop: Prompted) -> None:
    with sqlite3.connect(shop.memory / "hot.db") as db:
        db.execute("DROP TABLE word")
    assert shop.ask(VOUCHER).printed == b""
    assert "UserPromptSubmit" in shop.log() and "word" in shop.log()
    assert "hook.log says why" in shop.last().nothing


@pytest.mark.parametrize(
    "prompt", [None, 7, ["x"], "\ud800 fix the voucher refund", "fix " + "voucher " * 200_000]
)
def test_a_prompt_may_be_anything(shop: Prompted, prompt: object) -> None:
    shop.ask(prompt)
    assert "Traceback" not in shop.log()


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=300))
def test_any_text_is_answered_or_passed_over(shop: Prompted, text: str) -> None:
    as_prompt(shop.machine, shop.project, "fix " + text)


def test_switched_off_nothing_is_said_or_written(shop: Prompted) -> None:
    switch(shop.project, shop.root, capture=None, inject=False)
    shop.made_ready()
    before = everything_below(shop.memory)
    assert shop.ask(VOUCHER).printed == b""
    assert shop.ask(VOUCHER, env={"HOLDFAST": "off"}).printed == b""
    assert everything_below(shop.memory) == before


def test_a_prompt_leaves_no_envelope_and_no_word_of_itself(shop: Prompted) -> None:
    shop.ask("Fix the refund voucher with hunter2secretword")
    assert shop.inbox() == []
    assert "hunter2secretword" not in (shop.memory / "why.jsonl").read_text(encoding="utf-8")


def test_the_hook_the_command_and_the_application_rank_alike(shop: Prompted) -> None:
    hook = shop.asked(VOUCHER)[1:]
    assert as_prompt(shop.machine, shop.project, VOUCHER).files == hook
    ranked = pointers_for(shop.machine, shop.project, VOUCHER, least=BAR)
    assert [pointer.path for pointer in ranked] == hook


def test_what_did_not_change_is_not_worked_out_again(shop: Prompted) -> None:
    first = (shop.memory / "hot.db").read_bytes()
    shop.made_ready()
    with sqlite3.connect(shop.memory / "hot.db") as db:
        db.execute("UPDATE asked SET session = 'copied' WHERE session = 's2'")
    shop.made_ready()
    with sqlite3.connect(shop.memory / "hot.db") as db:
        assert db.execute("SELECT count(*) FROM asked WHERE session = 'copied'").fetchall() == [(1,)]
    shop.worked("s4", "anything", "shop/refunds.py")
    shop.made_ready()
    with sqlite3.connect(shop.memory / "hot.db") as db:
        assert db.execute("SELECT count(*) FROM asked WHERE session = 'copied'").fetchall() == [(0,)]
    assert first


def test_a_prompt_loads_nothing_but_the_standard_library_and_hot(shop: Prompted) -> None:
    script = (
        "import sys, os, io\nsys.path.append(sys.argv[1])\nfrom holdfast.hooks import hook\n"
        "hook.main(['claude-code', 'UserPromptSubmit'], sys.stdin.buffer, io.BytesIO(), dict(os.environ))\n"
        "print(*sys.modules)"
    )
    source = str(Path(package.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script, source],
        input=json.dumps(shop.payload(prompt=VOUCHER)).encode(),
        capture_output=True,
        check=True,
    )
    loaded = {name for name in done.stdout.decode().split() if name.startswith("holdfast.")}
    assert "holdfast.hooks.ranking" in loaded
    assert {name for name in loaded if not name.startswith(("holdfast.hooks", "holdfast.core"))} == set()
    assert not {"dataclasses", "typing", "inspect", "pathlib", "msgspec"} & set(done.stdout.decode().split())


@pytest.mark.promise("R8")
def test_a_first_prompt_is_told_the_commands_that_sessions_here_run_in_one_line(shop: Prompted) -> None:
    ran = (
        Ran(command="make check", purpose="test", worked=1),
        Ran(command="make docs", purpose="build", worked=1),
    )
    for session in ("s1", "s2", "s3"):
        shop.ran(session, *ran)
    shop.made_ready()
    told = shop.asked(VOUCHER)
    assert told[0] == "Commands here: `make check` · `make docs`" and told[1] == HEADING
    assert "3 of 3 sessions" in shop.last().lines[0].reason
    assert shop.asked(f"{VOUCHER}, `make check` fails", session_id="named")[0] == "Commands here: `make docs`"
    assert shop.asked("write a haiku about the rain in Kyoto", session_id="another") == []
    (shop.root / "CLAUDE.md").write_text("Run `make check` and `make docs`.\n", encoding="utf-8")
    shop.made_ready()
    assert shop.asked(VOUCHER, session_id="guided")[0] == HEADING
