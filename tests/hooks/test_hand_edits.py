"""What a person writes into the memory counts at the next prompt, and costs nothing while nobody writes."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from tests.hooks.enabled import Enabled
from tests.hooks.test_file_moment import told

from holdfast.briefing.prepare import prepare
from holdfast.briefing.recall import recall_as_prompt
from holdfast.core import files
from holdfast.hooks import rebuild
from holdfast.store.machine import Machine

CODING = "Implement the refund endpoint of the shop with its amounts"
RULE = "refund amounts are whole cents, never floats"


class Written(Enabled):
    """An enabled project whose memory a person edits."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        prepare(self.machine, self.project)
        self.prepared_at = self._stamp()

    def _stamp(self) -> int:
        return (self.memory / "hot.db").stat().st_mtime_ns

    def asked(self, prompt: str = CODING, session: str = "one") -> str:
        return self.hook("UserPromptSubmit", prompt=prompt, session_id=session).context

    def was_prepared(self) -> bool:
        before, self.prepared_at = self.prepared_at, self._stamp()
        return before != self.prepared_at


@pytest.fixture
def shop(repo: Path) -> Written:
    return Written(repo)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.mark.promise("S6")
@pytest.mark.parametrize("place", ["local", "personal"])
def test_a_lesson_written_by_hand_is_told_at_the_next_prompt_as_recall_shows_it(
    shop: Written, home: Path, place: str
) -> None:
    assert RULE not in shop.asked()
    folder = shop.memory if place == "local" else home / ".holdfast"
    write(folder / "lessons" / "money.md", f"---\nkind: correction\n---\n- {RULE}\n")
    shown = recall_as_prompt(Machine(cwd=shop.root), shop.project, CODING).text
    assert RULE in shown
    assert RULE in shop.asked(session="two")
    write(folder / "lessons" / "money.md", "---\nkind: correction\n---\n- refund amounts are floats\n")
    assert RULE not in shop.asked(session="three")
    (folder / "lessons" / "money.md").unlink()
    assert "refund amounts" not in shop.asked(session="four")


def test_a_decision_written_by_hand_is_told_at_the_next_prompt(shop: Written) -> None:
    question = "Export client: how many attempts at most, and is a 429 retried only with Retry-After?"
    assert shop.asked(question) == ""
    month = shop.memory / "projects" / shop.project.title / "decisions" / "2026-11.md"
    text = "The export client makes five attempts at most and a 429 is retried only with Retry-After"
    write(
        month,
        f"# Decisions of shop, 2026-11\n\n## 2026-11-14 10:00 · Export client attempts and the 429\n\n- {text}\n",
    )
    assert text in shop.asked(question, "two")
    month.write_text(month.read_text(encoding="utf-8").replace("five", "seven"), encoding="utf-8")
    assert "seven attempts" in shop.asked(question, "three")


def test_a_decision_about_a_file_written_by_hand_is_told_at_that_file(shop: Written) -> None:
    write(shop.root / "src" / "refunds.py", "x\n")
    os.system(f"git -C '{shop.root}' add src/refunds.py")
    month = shop.memory / "projects" / shop.project.title / "decisions" / "2026-11.md"
    write(month, "## 2026-11-14 10:00 · Cents\n\n- src/refunds.py keeps whole cents\n")
    shop.asked("hello there")
    answer = shop.hook(
        "PreToolUse", tool_name="Read", tool_input={"file_path": str(shop.root / "src" / "refunds.py")}
    )
    assert told(answer)[0].startswith("src/refunds.py keeps whole cents (you, ")


def test_current_md_edited_in_a_session_counts_at_its_next_start(shop: Written) -> None:
    shop.hook("SessionStart")
    current = shop.memory / "current.md"
    before = current.read_text(encoding="utf-8") if current.exists() else ""
    write(current, before + "\nAsk Ada before you touch the ledger.\n")
    assert "Ask Ada before you touch the ledger." in shop.hook("SessionStart", session_id="two").context


def test_nothing_is_prepared_while_nothing_changed(shop: Written) -> None:
    shop.asked()
    shop.asked(session="two")
    assert not shop.was_prepared()
    write(shop.memory / "lessons" / "money.md", f"---\nkind: correction\n---\n- {RULE}\n")
    shop.asked(session="three")
    assert shop.was_prepared()
    shop.asked(session="four")
    assert not shop.was_prepared()


def test_what_cannot_be_prepared_delays_one_prompt_only(
    shop: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[float] = []

    def never(*_: object) -> bool:
        tried.append(time.monotonic())
        return False

    monkeypatch.setattr(rebuild, "prepare_now", never)
    write(shop.memory / "lessons" / "money.md", f"---\nkind: correction\n---\n- {RULE}\n")
    shop.asked()
    shop.asked(session="two")
    assert len(tried) == 1


@pytest.mark.skipif(os.name == "nt", reason="locks of POSIX")
def test_a_prompt_does_not_wait_while_a_child_captures(shop: Written) -> None:
    write(shop.memory / "lessons" / "money.md", f"---\nkind: correction\n---\n- {RULE}\n")
    with files.lock(shop.project.lock("capture")):
        shop.asked()
        assert not shop.was_prepared()
    shop.asked(session="two")
    assert shop.was_prepared()
