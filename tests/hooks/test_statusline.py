"""The status line: one short line that is true, for nothing where there is nothing, whatever it is given."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.command import Holdfast
from tests.hooks.enabled import SESSION, Enabled
from tests.hooks.test_notices import costly_transcript, read_at_a_stop, usual_sessions

from holdfast.briefing.prepare import prepare
from holdfast.hooks.statusline import line_for
from holdfast.hot import hook_entry
from holdfast.store.machine import Machine


def payload(root: Path, cost: object = 0.42, **more: object) -> dict[str, object]:
    """What Claude Code 2.1 gives its status line, as far as it concerns us."""
    return {
        "session_id": SESSION,
        "transcript_path": str(root / "none.jsonl"),
        "cwd": str(root),
        "model": {"id": "claude-sonnet-4-5", "display_name": "Sonnet 4.5"},
        "workspace": {"current_dir": str(root), "project_dir": str(root)},
        "version": "2.1.325",
        "cost": {"total_cost_usd": cost, "total_duration_ms": 45000},
        **more,
    }


def shown(given: object, env: dict[str, str] | None = None) -> str:
    """As the host runs it."""
    command = [sys.executable, "-I", "-S", hook_entry.__file__, "statusline"]
    data = given if isinstance(given, bytes) else json.dumps(given).encode()
    done = subprocess.run(
        command, input=data, env={**os.environ, **(env or {})}, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


@pytest.mark.promise("U5")
def test_it_says_what_is_open_what_was_told_and_what_it_costs(enabled: Enabled, holdfast: Holdfast) -> None:
    usual_sessions(enabled, cost="1.10")
    holdfast("todo", "add", "wire the refund endpoint", check=0)
    holdfast("ask", "--keep", "Which database do we take?", check=None)
    enabled.prepare()
    enabled.hook("SessionStart")
    assert shown(payload(enabled.root)) == "holdfast: 2 open · told 2 lines · $0.42 (p90 $1.10)\n"
    assert "$2.00 over p90 $1.10!" in shown(payload(enabled.root, 2))


@pytest.mark.promise("U5", "L12")
def test_without_a_word_on_cost_it_is_what_was_last_read(enabled: Enabled, home: Path) -> None:
    usual_sessions(enabled)
    read_at_a_stop(enabled, costly_transcript(enabled, home))
    assert "$30.00 over p90 $0.10!" in shown(payload(enabled.root, cost=None))
    assert "$30" not in shown(payload(enabled.root, cost=None, session_id="another"))


def test_where_nothing_is_known_it_says_so(enabled: Enabled) -> None:
    prepare(Machine(cwd=enabled.root), enabled.project)
    assert shown(payload(enabled.root, 0.0)) == "holdfast: nothing known here yet\n"


def test_off_and_not_enabled(enabled: Enabled, holdfast: Holdfast, tmp_path: Path) -> None:
    assert shown(payload(tmp_path)) == ""
    assert shown(payload(enabled.root), {"HOLDFAST": "off"}) == ""
    holdfast("off", check=0)
    assert shown(payload(enabled.root)) == "holdfast: off here\n"


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"\xff\xfe", b'{"cost": {"total_cost_usd": "much"}, "cwd": 7}']
)
def test_whatever_comes_in_it_ends_well(enabled: Enabled, data: bytes) -> None:
    assert "Traceback" not in shown(data)


JUNK = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["cost", "workspace", "cwd", "session_id", "total_cost_usd", "project_dir"]), inner, max_size=4), max_leaves=12)  # fmt: skip


@given(JUNK)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_payload_gives_one_line_or_none(enabled: Enabled, given: object) -> None:
    extra = given if isinstance(given, dict) else {"cost": given}
    line = line_for(json.dumps({**payload(enabled.root), **extra}).encode(), dict(os.environ))
    assert "\n" not in line and len(line) < 200


def test_the_command_is_the_same(enabled: Enabled, holdfast: Holdfast) -> None:
    asked = json.dumps(payload(enabled.root))
    assert holdfast("statusline", input=asked, check=0).stdout == shown(payload(enabled.root))
    assert "status line" in holdfast("statusline", "--help", check=0).stdout


# --- in Claude Code's settings ------------------------------------------------------------------------------


def install(holdfast: Holdfast, *more: str) -> str:
    done = holdfast("install", "claude-code", "--status-line", "--yes", *more, check=0)
    return done.stdout


@pytest.mark.promise("U5", "H1")
@pytest.mark.parametrize("text", ["", "{}\n", '{\n\t"model": "opus"\n}', '{"hooks": {"Stop": []}}'])
def test_it_is_set_once_and_taken_out_to_the_byte(home: Path, holdfast: Holdfast, text: str) -> None:
    path = home / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    install(holdfast)
    changed = path.read_bytes()
    assert hook_entry.__file__ in json.loads(changed)["statusLine"]["command"]
    install(holdfast)
    assert path.read_bytes() == changed
    holdfast("install", "claude-code", "--yes", check=0)
    assert path.read_bytes() == changed, "it stays where it was set before"
    holdfast("uninstall", "claude-code", "--yes", check=0)
    assert path.read_text(encoding="utf-8") == text


def test_after_another_change_only_ours_goes(home: Path, holdfast: Holdfast) -> None:
    path = home / ".claude" / "settings.json"
    install(holdfast)
    value = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**value, "model": "opus"}, indent=2), encoding="utf-8")
    holdfast("uninstall", "claude-code", "--yes", check=0)
    assert json.loads(path.read_text(encoding="utf-8")) == {"model": "opus"}


@pytest.mark.promise("U5")
@pytest.mark.parametrize("scope", ["user", "project"])
def test_somebody_elses_is_never_replaced_nor_hidden(home: Path, holdfast: Holdfast, scope: str) -> None:
    path = home / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text('{"statusLine": {"type": "command", "command": "~/mine.sh"}}', encoding="utf-8")
    told = install(holdfast, "--scope", scope)
    assert "already has a status line, which stays" in told
    assert json.loads(path.read_text(encoding="utf-8"))["statusLine"]["command"] == "~/mine.sh"


def test_an_interpreter_that_is_gone_is_mended(home: Path, holdfast: Holdfast) -> None:
    path = home / ".claude" / "settings.json"
    install(holdfast)
    before = path.read_text(encoding="utf-8")
    path.write_text(before.replace(sys.executable, "/gone/python"), encoding="utf-8")
    assert "statusLine" in holdfast("doctor", check=1).stdout
    holdfast("doctor", "--fix", check=0)
    assert json.loads(path.read_text(encoding="utf-8")) == json.loads(before)


def test_only_claude_code_has_one(holdfast: Holdfast) -> None:
    holdfast("install", "--status-line", "--yes", check=2)


@pytest.mark.promise("U5")
@pytest.mark.parametrize("cost", [float("inf"), float("nan"), 1e308, -5, True])
def test_a_cost_that_is_none_is_left_out(enabled: Enabled, cost: object) -> None:
    enabled.hook("SessionStart")
    assert shown(payload(enabled.root, cost)) == "holdfast: told 2 lines\n"
