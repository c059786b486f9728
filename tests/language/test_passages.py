"""What a later session should know, read from a dialogue: passages with question, kind and status; and the model."""

from __future__ import annotations

import importlib.util
import sys
from array import array
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.language.dialogue import (
    LONGEST_SENTENCE,
    MOST_CHARACTERS,
    MOST_MESSAGES,
    Message,
    add_message,
    sentences_of,
    split,
)
from holdfast.language.passages import LONGEST, MOST, passages_of
from holdfast.language.statement_model import HEADS, SIZE, Scene, shipped
from holdfast.model.memory import Passage

ROOT = Path(__file__).parents[2]


def talk(*texts: str) -> list[Message]:
    """Messages by turns, the person first."""
    return [Message("agent" if number % 2 else "user", text) for number, text in enumerate(texts)]


def said(passages: list[Passage], status: str = "agreed") -> str:
    return " | ".join(f"{one.question} {one.text}" for one in passages if one.status == status)


TEAPOTS = talk(
    "The kettle service boils dry twice a week. Look at the controller please",
    "It heats until somebody stops it. I would add a timer of 30 minutes and restart it on errors.",
    "No restart, never: a dry kettle that restarts burns the house down. And 30 is far too long, 8 minutes at most.",
    "8 minutes at most and no restart. What about the child lock, should it stay optional?",
    "mandatory above 60 degrees",
    "Done: off after 8 minutes at most, no restart, child lock mandatory above 60 degrees.",
    "perfect",
)


@pytest.mark.promise("C4", "W1")
def test_what_was_settled_piece_by_piece_is_kept_with_what_it_answers() -> None:
    agreed = said(passages_of(TEAPOTS))
    assert "8 minutes at most" in agreed
    assert "restart" in agreed
    assert "child lock" in agreed and "60 degrees" in agreed


@pytest.mark.promise("C4", "W1", "W5")
def test_a_proposal_that_was_corrected_is_not_told_as_agreed() -> None:
    assert "timer of 30 minutes" not in said(passages_of(TEAPOTS))


@pytest.mark.promise("C4", "W1")
def test_what_only_an_agent_said_is_proposed() -> None:
    dialogue = talk(
        "look around in the billing module and tell me what you see",
        "Invoices must be rounded half to even and stored in cents. We should always keep the ledger append-only.",
    )
    assert not any(one.status == "agreed" and one.by == "agent" for one in passages_of(dialogue))


@pytest.mark.promise("C4")
def test_thanks_and_progress_are_nothing_to_keep() -> None:
    dialogue = talk("thanks!", "You're welcome.", "commit this please", "Committed.", "ok push", "Pushed.")
    assert said(passages_of(dialogue)) == ""


def test_passages_are_few_and_short() -> None:
    rules = [
        f"From now on module{n} must always use {n} workers because the contract says so." for n in range(60)
    ]
    passages = passages_of(talk(*[text for rule in rules for text in (rule, "All right.")]))
    assert 0 < len(passages) <= MOST
    assert all(len(one.text.split()) <= 3 * LONGEST for one in passages)


@given(st.lists(st.text(max_size=200), max_size=12))
def test_any_dialogue_can_be_read(texts: list[str]) -> None:
    dialogue = talk(*texts)
    for sentence in sentences_of(dialogue):
        assert len(sentence.text) <= LONGEST_SENTENCE
    assert len(passages_of(dialogue)) <= MOST


@given(st.text(max_size=400))
def test_no_word_is_lost_when_a_text_is_split(text: str) -> None:
    plain = " ".join(text.replace("<", "").replace("[", "").split())
    assert "".join("".join(split(plain)).split()) == "".join(plain.split())


def test_a_short_answer_belongs_to_what_follows_it() -> None:
    assert split("No. On the sum, rounded once. That replaces what we had.") == [
        "No. On the sum, rounded once.",
        "That replaces what we had.",
    ]
    assert split("要らない。夜間は5秒だけにする。") == ["要らない。", "夜間は5秒だけにする。"]


def test_a_long_dialogue_keeps_its_beginning_and_its_end() -> None:
    dialogue: list[Message] = []
    for number in range(MOST_MESSAGES + 40):
        add_message(dialogue, Message("user", f"message {number} {'x' * 500}"))
    assert len(dialogue) <= MOST_MESSAGES
    assert sum(len(message.text) for message in dialogue) <= MOST_CHARACTERS
    assert dialogue[0].text.startswith("message 0 ")
    assert dialogue[-1].text.startswith(f"message {MOST_MESSAGES + 39} ")


# --- the model --------------------------------------------------------------------------------------------


def script(name: str) -> ModuleType:
    place = ROOT / "scripts" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, place)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def test_the_script_trains_the_model_that_is_shipped() -> None:
    training = script("train_statements")
    rows = training.read()
    made = array("h")
    made.frombytes(training.store(training.train(training.Examples(rows))))
    kept = array("h")
    kept.frombytes(training.MODEL.read_bytes())
    assert len(made) == len(kept) == SIZE * len(HEADS)
    # Sums of floating-point numbers differ in their last digits between machines.
    assert max(abs(one - other) for one, other in zip(made, kept, strict=True)) <= 3


def test_the_labels_hold_no_text() -> None:
    fields = {"history", "session", "message", "place", "hash", "kind", "status", "worth", "features"}
    assert all(set(row) == fields for row in script("train_statements").read())


def test_a_judgement_is_a_probability() -> None:
    scene = Scene(TEAPOTS)
    for sentence in sentences_of(TEAPOTS):
        features = scene.features(sentence)
        assert 0 <= shipped().worth(features) <= 1 and 0 <= shipped().status(features)[1] <= 1
