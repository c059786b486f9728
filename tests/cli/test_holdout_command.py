"""`holdfast holdout`, and what `roi` and `why` then say: sessions that were drawn by hooks and imported."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import UUID

import pytest
from tests.agents.builders import ClaudeFile, claude_usage
from tests.command import Holdfast
from tests.hooks.enabled import Enabled

from holdfast.hooks.holdout import DRAWN, HELD, REASON, TOLD, drawn
from holdfast.store.memory_files import HOLDOUT, HOLDOUT_KEY
from holdfast.store.switches import switches_of

pytestmark = pytest.mark.promise("P2")
DAY = 86_400


def test_a_holdout_is_set_shown_and_ended(holdfast: Holdfast, enabled: Enabled) -> None:
    assert holdfast("holdout", check=0).stdout == "Holdout: off.\n"
    assert holdfast("holdout", "20%", "--yes", check=0).stdout == "Holdout: 20% of new sessions.\n"
    assert switches_of(enabled.project).held_share == 0.2
    key = (enabled.memory / HOLDOUT_KEY).read_bytes()
    state = holdfast("holdout", "--json", check=0).json()
    assert (state["share"], state["drawn"], state["held"], state["planned"]) == (0.2, 0, 0, None)
    assert holdfast("holdout", "off", check=0).stdout == "Holdout: off.\n"
    holdfast("holdout", "35.5%", "--yes", check=0)
    assert (enabled.memory / HOLDOUT_KEY).read_bytes() == key, (
        "a session that is drawn again has the same arm"
    )
    assert switches_of(enabled.project).held_share == 0.355
    assert not list(enabled.root.rglob("*holdout*")), "nothing of it is in the repository"


@pytest.mark.parametrize("share", ["0%", "51%", "100%", "20", "-5%", "many", "0.001%", "٢٠%", "1e1%", ""])
def test_what_is_no_share_is_refused_in_one_line_and_changes_nothing(
    share: str, holdfast: Holdfast, enabled: Enabled
) -> None:
    refused = holdfast("holdout", *(["--"] if share.startswith("-") else []), share, check=2)
    assert refused.stderr.count("\n") == 1 and "such as 20%" in refused.stderr
    assert switches_of(enabled.project).holdout is None and not (enabled.memory / HOLDOUT_KEY).exists()


def test_it_asks_first_and_an_agent_cannot_agree(
    holdfast: Holdfast, enabled: Enabled, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "cannot ask. Add --yes" in holdfast("holdout", "20%", check=2).stderr
    monkeypatch.setenv("CLAUDECODE", "1")
    for wanted in ("20%", "off"):
        assert "a person must decide" in holdfast("holdout", wanted, "--yes", check=2).stderr
    holdfast("holdout", "status", check=0)
    assert switches_of(enabled.project).holdout is None


def test_a_project_without_hooks_says_so(holdfast: Holdfast, repo: Path) -> None:
    refused = holdfast("holdout", "20%", "--yes", check=1)
    assert "hooks are not enabled in this project" in refused.stderr


def test_a_share_that_makes_no_sense_is_named_and_ignored_by_hooks(
    holdfast: Holdfast, enabled: Enabled
) -> None:
    holdfast("holdout", "20%", "--yes", check=0)
    path = enabled.memory / "switches.json"
    path.write_text(path.read_text("utf-8").replace("0.2", "3"), encoding="utf-8")
    enabled.prepare()
    assert enabled.hook("SessionStart").context
    refused = holdfast("holdout", check=1).stderr
    assert "switches.json: the share of the holdout is 3, not between 0.01 and 0.5" in refused
    assert holdfast("holdout", "off", check=0).stdout == "Holdout: off.\n"
    path.write_text('{"enabled": true, "holdout": "half"}', encoding="utf-8")
    assert holdfast("holdout", check=1).stderr.count("\n") == 1


def test_why_says_that_a_session_was_in_the_holdout(holdfast: Holdfast, enabled: Enabled) -> None:
    holdfast("holdout", "50%", "--yes", check=0)
    enabled.prepare()
    key = (enabled.memory / HOLDOUT_KEY).read_text("utf-8").strip()
    held = next(f"s{number}" for number in range(99) if drawn(key, f"s{number}", "0.5") == HELD)
    enabled.hook("SessionStart", session_id=held)
    assert REASON in " ".join(holdfast("why", held, check=0).stdout.split())
    assert holdfast("why", held, "--json", check=0).json()["injections"][0]["nothing"] == REASON


def session(folder: Path, number: int, day: int, *, told: bool, calls: int) -> str:
    """A session of a day; memory saves half of its tokens and of its calls before the edit."""
    name = str(UUID(int=number + 1))
    file = ClaudeFile(name, "/home/ada/shop", prefix=f"p{number}")
    at = day * DAY + number % 7 * 600
    file.user(at, "Wire the refund endpoint")
    for step in range(calls if told else 2 * calls):
        call = file.call(at + 10 + step, "Read", {"file_path": f"/home/ada/shop/{step}.py"})
        file.result(at + 11 + step, call, "text")
    file.edit(at + 50, "/home/ada/shop/api/refund.py")
    tokens = (9_000 + 37 * (number % 11)) * (1 if told else 2)
    file.assistant(at + 60, "Done.", usage=claude_usage(tokens, 50, write=2000))
    file.save(folder / f"{name}.jsonl")
    return name


@pytest.fixture
def compared(holdfast: Holdfast, enabled: Enabled, tmp_path: Path) -> Path:
    """25 days with six sessions each, two of them in the holdout, as hooks record them."""
    holdfast("holdout", "35%", "--yes", check=0)
    folder = tmp_path / "sessions"
    lines = []
    for number in range(150):
        arm = HELD if number % 3 == 0 else TOLD
        name = session(folder, number, number // 6, told=arm == TOLD, calls=4 + number % 5)
        lines.append(
            {"time": "2026-01-01T00:00:00Z", "session": name, "arm": arm, "basis": DRAWN, "share": 0.35}
        )
    fork = session(folder, 150, 3, told=False, calls=900 // 100)
    lines.append({**lines[0], "session": fork, "basis": "forked"})
    lines.append({**lines[0], "session": "not-captured-yet"})
    record = "".join(json.dumps(line) + "\n" for line in lines)
    (enabled.memory / HOLDOUT).write_text(record, encoding="utf-8")
    holdfast("import", folder, check=0)
    return folder


def test_roi_shows_the_effect_with_its_interval_and_what_was_left_out(
    holdfast: Holdfast, compared: Path
) -> None:
    found = holdfast("roi", "--json", check=0).json()["holdout"]
    assert (found["held"], found["told"], found["uncaptured"], found["left_out"]) == (50, 100, 1, 1)
    effects = {effect["name"]: effect for effect in found["effects"]}
    cost, calls = effects["cost"], effects["calls before an edit"]
    assert cost["low"] < cost["value"] < cost["high"] < 0
    assert -0.6 < calls["low"] < calls["value"] < calls["high"] < -0.3 and (
        calls["n_told"],
        calls["n_held"],
    ) == (100, 50)
    assert found["verdict"] == "Memory lowers the cost of a session."
    text = holdfast("roi", "--how", check=0).stdout
    assert "150 sessions, 50 of them held out" in text and "confidence sequence" in text
    assert "Memory lowers the cost of a session." in text


def test_since_does_not_choose_among_the_sessions_of_a_holdout(holdfast: Holdfast, compared: Path) -> None:
    every, later = (
        holdfast("roi", "--json", *words, check=0).json()["holdout"]
        for words in ((), ("--since", "2999-01-01"))
    )
    assert every == later


def test_a_project_that_never_had_a_holdout_shows_none(holdfast: Holdfast, tmp_path: Path) -> None:
    session(tmp_path / "sessions", 1, 1, told=True, calls=2)
    holdfast("import", tmp_path / "sessions", check=0)
    assert holdfast("roi", "--json", check=0).json()["holdout"] is None
    assert "Holdout" not in holdfast("roi", check=0).stdout


def test_a_forgotten_session_leaves_the_record(holdfast: Holdfast, enabled: Enabled, compared: Path) -> None:
    name = str(UUID(int=1))
    holdfast("forget", "--session", name, "--yes", check=0)
    assert name.encode() not in (enabled.memory / HOLDOUT).read_bytes()
    assert holdfast("roi", "--json", check=0).json()["holdout"]["held"] == 49


def test_an_archive_holds_neither_the_key_nor_the_arms(
    holdfast: Holdfast, enabled: Enabled, tmp_path: Path
) -> None:
    holdfast("holdout", "20%", "--yes", check=0)
    enabled.hook("SessionStart")
    holdfast("export", tmp_path / "all.tar.gz", check=0)
    key = (enabled.memory / HOLDOUT_KEY).read_bytes()
    import tarfile

    with tarfile.open(tmp_path / "all.tar.gz") as archive:
        assert not [name for name in archive.getnames() if "holdout" in name]
    holdfast("restore", tmp_path / "all.tar.gz", "--yes")
    assert (enabled.memory / HOLDOUT_KEY).read_bytes() == key
