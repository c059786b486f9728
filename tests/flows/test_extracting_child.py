"""The child that a hook leaves behind asks the configured model: after its own work, and holding nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.briefing.test_learning import FLAG, stumbling
from tests.flows.extractor_server import Handler, failing, saying, serving
from tests.flows.test_capture import leave, write_transcript
from tests.flows.test_extract_lessons import REMEDY, by_model, own_rows, rules, use
from tests.hooks.enabled import Enabled
from tests.patience import wait_until

from holdfast.core import files
from holdfast.flows import capture_child
from holdfast.ledger.rows import read_ledger, rows
from holdfast.store.switches import switch

STUMBLED = "00000001-58a4-4c4e-9b53-0d9f6b7e2a11"


@pytest.fixture
def transcript(enabled: Enabled, home: Path) -> Path:
    path = home / ".claude" / "projects" / "-shop" / f"{STUMBLED}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(stumbling(1, enabled.root).data())
    return path


def child(enabled: Enabled, **env: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in env.items():
            patch.setenv(name, value)
        assert capture_child.main([str(enabled.memory), str(enabled.root)]) == 0


def ended(enabled: Enabled, transcript: Path) -> None:
    leave(enabled, "SessionEnd", transcript, os.getpid(), STUMBLED)


def sessions(enabled: Enabled) -> list[str]:
    return [row.session for row in rows(read_ledger(enabled.project))]


@pytest.mark.promise("S3")
def test_the_model_is_asked_after_the_rules_and_no_lock_is_held(
    enabled: Enabled, transcript: Path, home: Path
) -> None:
    found: list[Any] = []

    def look(handler: Handler, _: Any) -> None:
        found.append((FLAG in rules(enabled.machine), STUMBLED in sessions(enabled)))
        for path in sorted((enabled.memory / "locks").glob("*.lock")):
            with files.lock(path, timeout=0.5):
                pass
        saying(REMEDY)(handler, _)

    ended(enabled, transcript)
    with serving(look) as server:
        use(home, server)
        child(enabled)
    assert found == [(True, True)] and len(server.asked) == 1
    assert by_model(enabled.machine) == {"gh-names-only": "candidate"}
    assert len(own_rows(enabled.machine)) == 1
    assert enabled.log() == ""


@pytest.mark.promise("S3")
def test_a_hook_never_waits_for_a_model(enabled: Enabled, transcript: Path, home: Path) -> None:
    def slow(handler: Handler, _: Any) -> None:
        handler.server.released.wait(60)

    with serving(slow) as server:
        use(home, server, extractor_seconds=30)
        enabled.hook("SessionEnd", session_id=STUMBLED, transcript_path=str(transcript))
        assert wait_until(lambda: bool(server.asked)), "its child asks"
        assert STUMBLED in sessions(enabled) and FLAG in rules(enabled.machine), (
            "and has done its work before"
        )
        assert enabled.inbox() == [], "nothing is left to be done again"
        server.released.set()
        assert wait_until(lambda: "extractor:" in enabled.log())


@pytest.mark.parametrize("status", [401, 429, 500])
def test_a_failure_is_a_line_in_the_log(status: int, enabled: Enabled, transcript: Path, home: Path) -> None:
    ended(enabled, transcript)
    with serving(failing(status)) as server:
        use(home, server)
        child(enabled)
    assert len(server.asked) == 1
    assert enabled.log().count("\n") == 1 and f"extractor: {server.url}" in enabled.log()
    assert sessions(enabled) == [STUMBLED] and FLAG in rules(enabled.machine)


def test_the_same_end_is_asked_about_once(enabled: Enabled, transcript: Path, home: Path) -> None:
    with serving(saying(REMEDY)) as server:
        use(home, server)
        for _ in range(2):
            ended(enabled, transcript)
            child(enabled)
    assert len(server.asked) == 1


def _off_in_environment(enabled: Enabled) -> dict[str, str]:
    return {"HOLDFAST": "off"}


def _continuous_integration(enabled: Enabled) -> dict[str, str]:
    return {"CI": "true"}


def _off_in_directory(enabled: Enabled) -> dict[str, str]:
    switch(enabled.project, enabled.root, capture=None, inject=False)
    return {}


@pytest.mark.promise("G8")
@pytest.mark.parametrize("off", [_off_in_environment, _continuous_integration, _off_in_directory])
def test_nothing_is_asked_where_holdfast_is_off(
    off: Any, enabled: Enabled, transcript: Path, home: Path
) -> None:
    env = off(enabled)
    with serving(saying(REMEDY)) as server:
        use(home, server)
        ended(enabled, transcript)
        child(enabled, **env)
        if env:
            enabled.hook("SessionEnd", env, session_id=STUMBLED, transcript_path=str(transcript))
    assert server.asked == [] and own_rows(enabled.machine) == []


@pytest.mark.promise("G8")
def test_a_clone_cannot_have_its_sessions_sent(enabled: Enabled, transcript: Path, home: Path) -> None:
    ended(enabled, transcript)
    with serving(saying(REMEDY)) as server:
        lines = f'extractor = "openai"\nextractor_model = "m"\nextractor_url = "{server.url}"\n'
        (enabled.root / ".holdfast" / "config.toml").write_text(lines, encoding="utf-8")
        child(enabled)
    assert server.asked == [] and sessions(enabled) == [STUMBLED]


def test_headless_and_idle_sessions_are_not_asked_about(
    enabled: Enabled, transcript: Path, home: Path
) -> None:
    data = transcript.read_text("utf-8").splitlines()
    lines = [json.dumps({**json.loads(line), "entrypoint": "sdk-cli"}) for line in data]
    transcript.write_text("\n".join(lines) + "\n", encoding="utf-8")
    idle = write_transcript(transcript.with_name("idle-1.jsonl"), enabled.root, session="idle-1")
    ended(enabled, transcript)
    leave(enabled, "SessionEnd", idle, os.getpid(), "idle-1")
    with serving(saying(REMEDY)) as server:
        use(home, server)
        child(enabled)
    assert server.asked == [] and sorted(sessions(enabled)) == [STUMBLED, "idle-1"]
