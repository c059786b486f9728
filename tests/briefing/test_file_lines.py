"""Which statements are about which file: those that name it, or a symbol of it; anything vaguer gives no line."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

import holdfast as package
from holdfast.briefing.file_lines import words_of_files
from holdfast.briefing.moments import Moment
from holdfast.briefing.prepare import prepare
from holdfast.briefing.projects import memory_of
from holdfast.core.tokens import count_tokens
from holdfast.flows.hosts import Plan, install
from holdfast.flows.import_sessions import import_into
from holdfast.flows.questions import decide
from holdfast.hooks.host_protocol import READ
from holdfast.hooks.prepared import Prepared
from holdfast.memory.decisions import SessionPassages
from holdfast.model.events import FileTouch
from holdfast.model.memory import Passage
from holdfast.sessions.store import CaptureStore
from holdfast.store.machine import Machine

pytestmark = pytest.mark.promise("M10")

DEMO = Path(package.__file__).parent / "demo_sessions"
AT = 1_794_700_000.0  # 2026-11-14


class Repository:
    """A repository with files, sessions and what they settled."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.machine = Machine(cwd=root)
        install(self.machine, self.machine.project(), Plan(agent="claude-code", changes=()))
        elsewhere = Machine(env={"HOME": str(root.parent / "elsewhere")}, cwd=root)
        import_into(elsewhere, elsewhere.project(), [DEMO])
        self.sample = CaptureStore.glimpse(elsewhere.project().capture, lambda store: store.records(1), [])[0]

    def has(self, path: str, text: str = "x\n") -> None:
        whole = self.root / path
        whole.parent.mkdir(parents=True, exist_ok=True)
        whole.write_text(text, encoding="utf-8")
        self.git("add", path)

    def git(self, *words: str) -> None:
        subprocess.run(["git", "-C", str(self.root), *words], check=True, capture_output=True)

    def settled(self, *passages: str | Passage, session: str = "s1", branch: str = "", days: int = 0) -> None:
        said = [
            one if isinstance(one, Passage) else Passage(text=one, by="user", worth=80) for one in passages
        ]
        section = SessionPassages(
            session=session, title="Refunds", at=AT + 86_400 * days, branch=branch, passages=tuple(said)
        )
        memory_of(self.machine, self.machine.project()).record_passages([section])

    def worked(self, session: str, *paths: str) -> None:
        store = CaptureStore(self.machine.project().capture)
        touched = tuple(FileTouch(path, 1, 1) for path in paths)
        store.put_record(
            replace(self.sample, session=session, cwd=str(self.root), files=touched, commands=())
        )
        store.close()

    def lines(self, path: str) -> list[str]:
        project = self.machine.project()
        prepare(self.machine, project)
        return [row["text"] for row in Prepared(str(project.memory)).moments(READ, path, None)]


@pytest.fixture
def shop(repo: Path) -> Repository:
    shop = Repository(repo)
    for path in ("src/refunds.py", "src/export/client.py", "src/mail/client.py", "README.md"):
        shop.has(path)
    return shop


@pytest.mark.promise("W4")
def test_a_decision_that_names_a_file_is_prepared_for_it_with_its_date_and_id(shop: Repository) -> None:
    passage = Passage(text="In src/refunds.py amounts are whole cents, never floats.", by="user", worth=80)
    shop.settled(passage)
    assert shop.lines("src/refunds.py") == [
        f"In src/refunds.py amounts are whole cents, never floats (you, 11-14, {passage.id})"
    ]
    assert shop.lines("README.md") == []


@pytest.mark.parametrize(
    "written", ["refunds.py", "./src/refunds.py", "`src/refunds.py`", "(src/refunds.py)"]
)
def test_a_file_is_known_by_any_name_that_only_it_has(shop: Repository, written: str) -> None:
    shop.settled(f"Amounts in {written} are whole cents.")
    assert len(shop.lines("src/refunds.py")) == 1


def test_a_name_that_two_files_have_means_neither_and_a_longer_path_means_one(shop: Repository) -> None:
    shop.settled("client.py tries at most five times.", "export/client.py waits two seconds first.")
    assert shop.lines("src/mail/client.py") == []
    (line,) = shop.lines("src/export/client.py")
    assert line.startswith("export/client.py waits two seconds first (")


def test_the_question_counts_and_stands_before_its_answer(shop: Repository) -> None:
    shop.settled(
        Passage(text="Whole cents.", question="How does refunds.py keep amounts?", by="user", worth=80)
    )
    (line,) = shop.lines("src/refunds.py")
    assert line.startswith("How does refunds.py keep amounts? → Whole cents (")


@pytest.mark.promise("W4")
@pytest.mark.parametrize(
    "passage",
    [
        Passage(text="Amounts in refunds.py are floats.", status="rejected", worth=80),
        Passage(text="Amounts in refunds.py could be floats.", status="proposed", worth=80),
        Passage(text="refunds.py takes 3 ms.", kind="measurement", worth=80),
        Passage(text="Maybe look into refunds.py.", worth=31),
        Passage(text="The rounding in refunds.py:12 loses cents.", by="user", worth=80),
        Passage(text="Added a test to refunds.py.", by="agent", worth=80),
        Passage(text="Look at refunds.py, README.md, export/client.py and mail/client.py.", worth=80),
        Passage(text="Refunds are paid in whole cents.", worth=80),
        Passage(text="Use refunds.pyx and src/refund.py for that.", worth=80),
    ],
)
def test_what_does_not_hold_or_is_not_about_the_file_gives_no_line(
    shop: Repository, passage: Passage
) -> None:
    shop.settled(passage)
    assert shop.lines("src/refunds.py") == []


def test_what_an_agent_said_counts_beside_what_the_person_said_about_the_same_file(shop: Repository) -> None:
    recap = Passage(
        text="Agreed: refunds.py keeps whole cents and rounds half to even.", by="agent", worth=90
    )
    shop.settled("Use cents in refunds.py.", recap)
    assert [line.partition(" (")[0] for line in shop.lines("src/refunds.py")] == [
        "Agreed: refunds.py keeps whole cents and rounds half to even",
        "Use cents in refunds.py",
    ]


def test_a_later_session_on_the_subject_replaces_what_an_earlier_one_said_about_the_file(
    shop: Repository,
) -> None:
    shop.settled("Refund amounts in refunds.py are whole cents and rounded half up for the tax office.")
    shop.settled(
        "Refund amounts in refunds.py are whole cents and rounded half to even for the tax office.",
        session="s2",
        days=3,
    )
    assert [line.partition(" (")[0] for line in shop.lines("src/refunds.py")] == [
        "Refund amounts in refunds.py are whole cents and rounded half to even for the tax office"
    ]


def test_a_symbol_means_the_file_of_the_session_that_defines_it(shop: Repository) -> None:
    shop.has("src/limits.py", "def at_most_five(call):\n    return total_of(call)\n")
    shop.has("src/totals.py", "def total_of(call):\n    return 1\n\n\nclass ExportClient:\n    pass\n")
    shop.worked("s1", "src/limits.py", "src/totals.py")
    shop.settled("`at_most_five` stays strict.", "ExportClient never retries a 429.", "other_name is fine.")
    assert [line.partition(" (")[0] for line in shop.lines("src/limits.py")] == [
        "`at_most_five` stays strict"
    ]
    assert [line.partition(" (")[0] for line in shop.lines("src/totals.py")] == [
        "ExportClient never retries a 429"
    ]


def test_a_symbol_that_the_session_never_came_near_means_nothing(shop: Repository) -> None:
    shop.has("src/limits.py", "def at_most_five(call):\n    return 1\n")
    shop.worked("s1", "src/refunds.py")
    shop.settled("`at_most_five` stays strict.")
    assert shop.lines("src/limits.py") == []


def test_a_long_passage_is_told_by_the_sentence_that_names_the_file_and_what_fits_beside_it(
    shop: Repository,
) -> None:
    rest = "It was a long discussion about money and about what people expect to see on their bills at month's end."
    shop.settled(f"{rest} In refunds.py amounts are whole cents. {rest}")
    (line,) = shop.lines("src/refunds.py")
    assert "In refunds.py amounts are whole cents" in line
    assert count_tokens(line) <= 60


def test_a_sentence_that_does_not_fit_is_not_cut(shop: Repository) -> None:
    shop.settled(f"In refunds.py {'very ' * 70}whole cents are used.")
    assert shop.lines("src/refunds.py") == []


def test_what_an_instruction_file_says_is_not_repeated(shop: Repository) -> None:
    shop.settled("In refunds.py amounts are whole cents.")
    shop.has("CLAUDE.md", "# Rules\n\n- In refunds.py amounts are whole cents.\n")
    assert shop.lines("src/refunds.py") == []


def test_a_decision_of_the_register_counts_unless_only_an_agent_made_it(shop: Repository) -> None:
    decide(shop.machine, "refunds.py keeps whole cents", by="user")
    decide(shop.machine, "export/client.py tries five times", by="agent")
    assert [line.partition(" (")[0] for line in shop.lines("src/refunds.py")] == [
        "refunds.py keeps whole cents"
    ]
    assert shop.lines("src/export/client.py") == []


def test_the_reason_of_a_commit_that_changed_one_file_is_quoted_with_its_author(shop: Repository) -> None:
    shop.git("commit", "-m", "Begin")
    shop.has("src/refunds.py", "CENTS = 1\n")
    body = "Amounts are whole cents because floats lost a cent in one bill of a hundred."
    shop.git("commit", "-m", "Keep refunds in cents", "-m", body)
    shop.worked("s1", "src/refunds.py")
    shop.lines("src/refunds.py")  # takes the commits in; the next one finds them
    (line,) = shop.lines("src/refunds.py")
    assert body.rstrip(".") in line and "(Ada Example, " in line and "git " in line


def test_words_for_the_prefilter_name_each_file_with_its_folder(shop: Repository) -> None:
    moments = [
        Moment(tool=READ, key=key, rule="file", text="x", reason="")
        for key in ("src/a.py", "b.py", "src/deep/c.py")
    ]
    assert words_of_files(moments) == b"//b.py\n/deep/c.py\n/src/a.py"
