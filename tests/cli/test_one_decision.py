"""One decision by its id: all that is known of it, under ids of before, and words that are no decision."""

from __future__ import annotations

import json

import pytest
from tests.command import Holdfast
from tests.hooks.enabled import Enabled, run_hook


def decided(holdfast: Holdfast, text: str, *more: str) -> str:
    return str(holdfast("note", "decision", text, *more, "--json", check=0).json()["id"])


def test_a_decision_is_shown_with_its_reason_and_who_was_told(holdfast: Holdfast, enabled: Enabled) -> None:
    id = decided(holdfast, "Deploy with Zeppelin, never with Kubernetes", "--because", "the cluster is gone")
    shown = holdfast("note", "decision", "show", id, check=0).stdout
    assert "Deploy with Zeppelin" in shown and "the cluster is gone" in shown
    assert "no session so far" in shown
    payload = {
        "session_id": "s-told",
        "cwd": str(enabled.root),
        "prompt": "Deploy with Kubernetes or Zeppelin",
    }
    told = run_hook("UserPromptSubmit", json.dumps(payload).encode(), cwd=enabled.root).context
    assert id in told
    value = holdfast("note", "decision", "show", id, "--json", check=0).json()
    assert [one["session"] for one in value["told"]] == ["s-told"]
    assert (value["state"], value["rationale"], value["by"]) == ("holds", "the cluster is gone", "user")
    assert holdfast("why", id, check=0).stdout == holdfast("note", "decision", "show", id, check=0).stdout


def test_the_id_of_before_leads_to_the_decision_as_it_reads_now(holdfast: Holdfast) -> None:
    first = decided(holdfast, "Use bun, never npm")
    second = holdfast("note", "decision", "change", first, "Use bun; npm only to publish", "--json").json()[
        "id"
    ]
    third = holdfast("note", "decision", "change", first, "Use bun; pnpm to publish", "--json").json()["id"]
    assert len({first, second, third}) == 3
    for old in (first, second):
        value = holdfast("note", "decision", "show", old, "--json", check=0).json()
        assert value["id"] == third and sorted(value["was"]) == sorted([first, second])
        assert "pnpm to publish" in holdfast("search", old, check=0).stdout
    holdfast("note", "decision", "retire", first, check=0)
    assert holdfast("note", "decision", "list", "--json", check=0).json() == []
    assert f"{third} was retired" in holdfast("note", "decision", "show", third, check=1).stderr


@pytest.mark.parametrize("word", ["show", "rm", "Delete", " list "])
@pytest.mark.parametrize("kind", ["decision", "rule"])
def test_a_command_word_alone_is_never_told_to_agents(word: str, kind: str, holdfast: Holdfast) -> None:
    assert holdfast("note", kind, word).returncode in (0, 2)  # `list` and `show` are commands of a decision
    assert holdfast("note", "decision", "list", "--json", check=0).json() == []
    assert holdfast("lessons", "list", "--json", check=0).json() == []
