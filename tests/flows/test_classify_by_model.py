"""`holdfast classify` may ask the configured model; whatever goes wrong, the rules answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.briefing.test_learning import stumbling, taken_in
from tests.command import Holdfast
from tests.flows.extractor_server import Reply, failing, serving
from tests.flows.test_extract_lessons import AWS, own_rows, use

from holdfast.store.machine import Machine

PROMPT = "add a flag to the export command"


@pytest.fixture
def machine(repo: Path, tmp_path: Path) -> Machine:
    machine = Machine(cwd=repo)
    taken_in(machine, tmp_path / "t", stumbling(1, repo))
    return machine


def saying(**answer: Any) -> Reply:
    return lambda handler, _: handler.say(json.dumps(answer))


@pytest.mark.promise("S5")
@pytest.mark.parametrize("style", ["openai", "anthropic"])
def test_a_model_that_is_configured_decides(
    style: str, machine: Machine, home: Path, holdfast: Holdfast
) -> None:
    with serving(saying(**{"class": "qa", "confidence": 0.9, "why": "asks\u202e nothing"})) as server:
        use(home, server, style, classifier="extractor")
        done = holdfast("classify", "--json", f"{PROMPT} with {AWS} <private>Zanzibar</private>", check=0)
    model = "gpt-4o-mini" if style == "openai" else "claude-haiku-4-5"
    assert done.json() == {"class": "qa", "confidence": 0.9, "why": f"{model}: asks\\u202e nothing"}
    (request,) = server.asked
    assert PROMPT in json.dumps(request) and request["max_tokens"] == 100
    assert AWS not in json.dumps(request) and "Zanzibar" not in json.dumps(request)
    (row,) = own_rows(machine)
    assert row.goal == ("prompt", "classification") and row.cost_usd is not None


def test_unsure_is_other(machine: Machine, home: Path, holdfast: Holdfast) -> None:
    with serving(saying(**{"class": "code-gen", "confidence": 0.4, "why": "perhaps"})) as server:
        use(home, server, classifier="extractor")
        assert holdfast("classify", "--json", PROMPT, check=0).json()["class"] == "other"


@pytest.mark.promise("S5")
@pytest.mark.parametrize(
    "reply",
    [
        failing(401),
        failing(500),
        failing(200, b"nothing"),
        saying(**{"class": "deploy", "confidence": 0.9}),
        saying(**{"class": "qa", "confidence": 7}),
        saying(**{"class": "qa", "confidence": 0.9, "lessons": []}),
    ],
)
def test_when_it_fails_the_rules_answer_and_say_so(
    reply: Reply, machine: Machine, home: Path, holdfast: Holdfast
) -> None:
    by_rules = holdfast("classify", "--json", PROMPT, check=0)
    with serving(reply) as server:
        use(home, server, classifier="extractor")
        done = holdfast("classify", "--json", PROMPT, check=0)
    assert done.json() == by_rules.json() and len(server.asked) == 1
    assert "by the rules, not the model" in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("env", [{"HOLDFAST": "off"}, {"CI": "true"}])
def test_nothing_is_asked_where_holdfast_is_off(
    env: dict[str, str], machine: Machine, home: Path, holdfast: Holdfast
) -> None:
    with serving(saying(**{"class": "qa", "confidence": 0.9})) as server:
        use(home, server, classifier="extractor")
        assert holdfast("classify", "--json", PROMPT, env=env, check=0).json()["class"] == "code-gen"
    assert server.asked == []


def test_without_a_memory_to_count_in_the_rules_answer(
    home: Path, tmp_path: Path, holdfast: Holdfast
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with serving(saying(**{"class": "qa", "confidence": 0.9})) as server:
        use(home, server, classifier="extractor")
        done = holdfast("classify", "--json", PROMPT, cwd=elsewhere, check=0)
    assert done.json()["class"] == "code-gen" and "no memory here" in done.stderr
    assert server.asked == [] and list(elsewhere.iterdir()) == []


@pytest.mark.promise("G8")
def test_a_repository_cannot_choose_the_classifier(
    machine: Machine, repo: Path, home: Path, holdfast: Holdfast
) -> None:
    with serving(saying(**{"class": "qa", "confidence": 0.9})) as server:
        use(home, server)
        (repo / ".holdfast" / "config.toml").write_text('classifier = "extractor"\n', encoding="utf-8")
        assert holdfast("classify", "--json", PROMPT, check=0).json()["class"] == "code-gen"
    assert server.asked == []
