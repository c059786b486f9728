"""What each hook loads and reads, which is nearly all that it costs: whatever is added here every prompt pays for."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.hooks.enabled import SESSION, Enabled
from tests.patience import PATIENCE_S

import holdfast as package
from holdfast.briefing.prepare import prepare
from holdfast.flows.import_sessions import import_into
from holdfast.model.events import FileTouch
from holdfast.sessions.store import CaptureStore
from holdfast.store.machine import Machine

SOURCE = Path(package.__file__).parents[1]
# Each takes a millisecond or more to load, with what it brings along.
HEAVY = {
    *("argparse", "ast", "contextlib", "dataclasses", "datetime", "decimal", "email", "enum", "hashlib"),
    *("importlib.metadata", "inspect", "json", "locale", "logging", "pathlib", "random", "re", "shlex"),
    *("shutil", "signal", "site", "socket", "sqlite3", "string", "subprocess", "tempfile", "threading"),
    *("traceback", "typing", "urllib", "uuid", "warnings", "weakref"),
}
EVERY = {"hook", "respond", "host_protocol", "payload", "place", "trace", "bare_json", "prepared", "reading"}
JUDGED = {"classify", "classify_words", "classify_sentence", "classify_orders"}
SILENT = EVERY | JUDGED | {"prompt", "start_lines", "words", "emit", "fence", "patterns"}
POINTED = SILENT | {"lesson_lines", "postings", "offers", "relevance", "ranking"}
SCRIPT = """
import io, os, sys
before = set(sys.modules)
read = []
def heard(event, given):
    if event == "open" and str(given[0]).endswith("why.jsonl") and not given[2] & 3:  # else it appends
        read.append(given[0])
sys.addaudithook(heard)
sys.path.append(sys.argv[1])
from holdfast.hooks import hook
out = io.BytesIO()
hook.main(["claude-code", sys.argv[2]], sys.stdin.buffer, out, dict(os.environ))
print(len(out.getvalue()), len(read), *sorted(set(sys.modules) - before))
"""


class Loaded:
    def __init__(self, enabled: Enabled, event: str, **more: object) -> None:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", SCRIPT, str(SOURCE), event],
            input=json.dumps(enabled.payload(hook_event_name=event, **more)).encode(),
            capture_output=True,
            check=True,
            cwd=enabled.root,
            timeout=PATIENCE_S,
        )
        said, read, *names = done.stdout.decode().split()
        self.answered = said != "0"
        self.trace_read = int(read)
        self.ours = {
            name.rpartition(".")[2]
            for name in names
            if name.startswith(("holdfast.hooks.", "holdfast.core."))
        }
        self.rest = {name for name in names if not name.startswith("holdfast")}


@pytest.fixture
def shop(repo: Path, tmp_path: Path) -> Enabled:
    """A project in which a session worked on refunds."""
    enabled = Enabled(repo)
    elsewhere = Machine(env={"HOME": str(tmp_path / "elsewhere")}, cwd=repo)
    import_into(elsewhere, elsewhere.project(), [SOURCE / "holdfast" / "demo_sessions"])
    sample = CaptureStore.glimpse(elsewhere.project().capture, lambda store: store.records(1), [])[0]
    (repo / "refunds.py").write_text("x\n", encoding="utf-8")
    asked = ("The refund total ignores the voucher",)
    store = CaptureStore(enabled.project.capture)
    store.put_record(
        replace(sample, session="s1", cwd=str(repo), prompts=asked, files=(FileTouch("refunds.py", 1, 1),))
    )
    store.close()
    prepare(Machine(cwd=repo), enabled.project)
    return enabled


def test_a_prompt_that_is_told_files_loads_what_judges_ranks_and_says(shop: Enabled) -> None:
    hook = Loaded(shop, "UserPromptSubmit", prompt="Fix the refund: its total ignores the voucher")
    assert hook.answered
    assert hook.ours - {"meaning", "hand_edits", "file_moment", "prefilter"} == POINTED | {"telling"}
    assert hook.rest & HEAVY == set()


@pytest.mark.parametrize(
    "prompt", ["thanks!", "what is the capital of France?", "commit the change and push"]
)
def test_a_prompt_that_is_not_work_on_code_loads_nothing_that_ranks(shop: Enabled, prompt: str) -> None:
    hook = Loaded(shop, "UserPromptSubmit", prompt=prompt)
    assert not hook.answered
    assert hook.ours - {
        "classify_abroad",
        "meaning",
        "start_lines",
        "words",
        "hand_edits",
        "file_moment",
        "prefilter",
    } == SILENT - {
        "start_lines",
        "words",
    } | {"telling"}
    assert hook.rest & HEAVY == set()


def test_words_of_other_languages_are_loaded_only_where_a_prompt_may_be_in_one(shop: Enabled) -> None:
    english = Loaded(shop, "UserPromptSubmit", prompt="Rename the total of the refund")
    assert "classify_abroad" not in english.ours
    abroad = Loaded(shop, "UserPromptSubmit", prompt="Ändere die Summe der Gutschrift")
    assert "classify_abroad" in abroad.ours
    assert abroad.rest & HEAVY == set()


@pytest.mark.parametrize("source", ["startup", "resume", "compact"])
def test_a_start_loads_what_chooses_and_says(enabled: Enabled, source: str) -> None:
    hook = Loaded(enabled, "SessionStart", source=source, seconds_since_last_response=60)
    beside = {"hand_edits", "file_moment", "prefilter"}
    assert hook.ours - beside == EVERY | {"emit", "fence", "patterns", "start_lines", "notices"}
    assert hook.rest & HEAVY == set()


def test_a_stop_loads_what_leaves_an_envelope_and_starts_a_child(enabled: Enabled) -> None:
    hook = Loaded(enabled, "Stop")
    assert hook.ours == EVERY | {"emit", "fence", "patterns", "processes"}
    assert hook.rest & HEAVY == set()


def test_a_project_that_is_not_enabled_loads_nothing_that_reads(repo: Path) -> None:
    bare = Enabled(repo)
    (bare.memory / "hot.db").unlink()
    hook = Loaded(bare, "UserPromptSubmit", prompt="Fix the refund")
    assert hook.ours == EVERY - {"prepared", "respond"}
    assert "_sqlite3" not in hook.rest


def test_a_prompt_reads_the_trace_once_however_often_it_asks_it(shop: Enabled) -> None:
    entry = {"session": SESSION, "event": "UserPromptSubmit", "tokens": 5, "source": "", "lines": []}
    (shop.memory / "why.jsonl").write_text(json.dumps(entry) + "\n", encoding="utf-8")
    hook = Loaded(shop, "UserPromptSubmit", prompt="Fix the refund: its total ignores the voucher")
    assert hook.answered
    assert hook.trace_read == 1
    assert json.loads((shop.memory / "why.jsonl").read_text(encoding="utf-8").split("\n")[1])["total"] > 5


def test_expressions_are_loaded_only_where_an_exclusion_may_mean_this_place(
    shop: Enabled, home: Path
) -> None:
    config = home / ".holdfast" / "config.toml"
    config.write_text('exclude = ["~/private/**", "/srv/clients/*/secret"]\n', encoding="utf-8")
    prepare(Machine(cwd=shop.root), shop.project)
    elsewhere = Loaded(shop, "UserPromptSubmit", prompt="Fix the refund: its total ignores the voucher")
    assert elsewhere.answered
    assert "re" not in elsewhere.rest
    config.write_text(f'exclude = ["{shop.root.as_posix()}*/private"]\n', encoding="utf-8")
    prepare(Machine(cwd=shop.root), shop.project)
    near = Loaded(shop, "UserPromptSubmit", prompt="Fix the refund: its total ignores the voucher")
    assert "re" in near.rest


def test_exclusions_that_an_older_holdfast_prepared_hold(shop: Enabled) -> None:
    with sqlite3.connect(shop.memory / "hot.db") as db:
        db.execute("DROP TABLE exclude")
        db.execute("CREATE TABLE exclude (pattern TEXT PRIMARY KEY, regex TEXT NOT NULL) WITHOUT ROWID")
        db.execute("INSERT INTO exclude VALUES ('x', ?)", (re.escape(shop.root.as_posix()),))
    assert not Loaded(shop, "UserPromptSubmit", prompt="Fix the refund: the voucher is ignored").answered
