"""`remember: …` in a prompt, in every host: the hook says what is kept, the child keeps it, redacted, as the person's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.hooks.enabled import Enabled, run_hook
from tests.hooks.test_all_hosts import NAMES, PROMPTS, names

from holdfast.flows.capture import capture
from holdfast.flows.questions import read_decisions
from holdfast.hooks import host_protocol, remember
from holdfast.store.machine import Machine

TEXT = "Deploys go out on Tuesdays only"
PROMPT = f"Fix the retry.\n\nremember: {TEXT}\n\nThen run the tests."


@pytest.fixture
def enabled(repo: Path) -> Enabled:
    return Enabled(repo)


def payload(enabled: Enabled, host: str, prompt: str) -> bytes:
    known = NAMES.get(host, {})
    said = {**enabled.payload(), "prompt": prompt}
    return json.dumps({known.get(name, name): value for name, value in said.items()}).encode()


def kept(enabled: Enabled) -> dict[str, str]:
    """What the register has after a capture, and who decided it."""
    capture(Machine(cwd=enabled.root), enabled.project)
    register = read_decisions(Machine(cwd=enabled.root)).reference.decisions
    return {decision.text: decision.by for decision in register}


@pytest.mark.parametrize(("host", "theirs"), PROMPTS, ids=map(names, PROMPTS))
def test_what_a_person_asks_to_remember_is_kept_as_theirs_whatever_the_host(
    host: str, theirs: str, enabled: Enabled
) -> None:
    printed = run_hook(
        theirs, payload(enabled, host, PROMPT), None, enabled.root, host, process=True, child=False
    ).printed
    answer = json.loads(printed)
    if host in host_protocol.SHOWS:
        shown = answer["systemMessage"]
        assert (TEXT in shown and "for this project (shop)" in shown) or enabled.root.name in shown
        assert "holdfast undo" in shown
    else:
        assert TEXT not in printed.decode() and "is kept for this project" in printed.decode()
    assert kept(enabled) == {TEXT: "user"}
    assert all(not envelope.get("remember") for envelope in enabled.inbox())


def test_the_hook_leaves_the_words_in_an_envelope_and_the_child_removes_it(enabled: Enabled) -> None:
    run_hook("UserPromptSubmit", payload(enabled, "claude-code", PROMPT), None, enabled.root, child=False)
    (envelope,) = enabled.inbox()
    assert envelope["remember"] == [TEXT] and envelope["event"] == "UserPromptSubmit"
    assert kept(enabled) == {TEXT: "user"} and enabled.inbox() == []


def test_a_secret_that_a_person_asks_to_remember_is_redacted_before_it_is_kept(enabled: Enabled) -> None:
    secret = "sk-ant-api03-" + "aB3dE5gH7jK9mN1pQ3sT5vW7" * 4
    run_hook(
        "UserPromptSubmit",
        payload(enabled, "claude-code", f"remember: the staging key is {secret}"),
        None,
        enabled.root,
        child=False,
    )
    register = kept(enabled)
    assert len(register) == 1 and secret not in next(iter(register))
    stored = [path for path in enabled.memory.rglob("*") if path.is_file()]
    assert not [path for path in stored if secret.encode() in path.read_bytes()]


def test_claude_codes_own_idiom_is_one_line_that_begins_with_a_number_sign() -> None:
    assert remember.asked("claude-code", "# use pnpm, not npm") == ["use pnpm, not npm"]
    assert remember.asked("codex", "# use pnpm, not npm") == []
    assert remember.asked("claude-code", "# Task\n\nBuild the page.") == [], "a heading is no request"


def test_only_the_paragraph_that_begins_with_remember_is_kept() -> None:
    prompt = "Please remember: this is prose? no\nRemember: we ship\non Mondays\n\nNow the tests.\nREMEMBER: no npm"
    assert remember.asked("codex", prompt) == ["we ship on Mondays", "no npm"]
    assert remember.asked("codex", "remember:   \n\nnothing") == []
    assert len(remember.asked("codex", "\n\n".join(f"remember: rule {n}" for n in range(9)))) == remember.MOST


def test_a_text_that_is_too_long_is_not_kept_and_the_line_says_so(enabled: Enabled) -> None:
    answer = enabled.hook("UserPromptSubmit", prompt=f"remember: {'long ' * 200}")
    assert "not kept" in answer.shown and enabled.inbox() == []


def test_nothing_is_kept_where_capture_is_off(enabled: Enabled) -> None:
    answer = enabled.hook("UserPromptSubmit", prompt=PROMPT, env={"HOLDFAST": "off"})
    assert answer.printed == b"" and enabled.inbox() == []


def test_asked_twice_it_is_kept_once(enabled: Enabled) -> None:
    for _ in range(2):
        run_hook("UserPromptSubmit", payload(enabled, "claude-code", PROMPT), None, enabled.root, child=False)
    assert kept(enabled) == {TEXT: "user"}


def test_an_ordinary_prompt_leaves_nothing_in_the_inbox(enabled: Enabled) -> None:
    enabled.hook("UserPromptSubmit", prompt="Do you remember the retry? # not this")
    assert enabled.inbox() == []
