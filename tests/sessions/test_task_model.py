"""The model that counts tasks: what it may decide, and that the labels in the repository make it."""

from __future__ import annotations

import importlib.util
import json
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from holdfast.sessions.digest import Turn
from holdfast.sessions.task_model import first_requests, never_begins, request_features, shipped

pytestmark = pytest.mark.promise("C3")
SCRIPT = Path(__file__).parents[2] / "scripts" / "train_tasks.py"


@cache
def training() -> ModuleType:
    spec = importlib.util.spec_from_file_location("train_tasks", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["train_tasks"] = module
    spec.loader.exec_module(module)
    return module


def test_the_script_trains_the_model_that_is_shipped() -> None:
    made = training().train(training().read())
    kept = json.loads(training().MODEL.read_text(encoding="utf-8"))
    assert made.keys() == kept.keys() == shipped().keys()
    # Sums of floating-point numbers differ in their last digits between machines.
    assert max(abs(made[name] - kept[name]) for name in made) <= 0.003


def test_tasks_are_counted_in_repositories_that_the_model_never_saw() -> None:
    right = [one for _, own in training().left_out(training().read()) for one in own]
    assert sum(right) / len(right) >= 0.85


def test_the_labels_hold_no_text() -> None:
    fields = {
        *("repo", "agent", "hash", "place", "outcome", "outcome2", "kind", "kind2"),
        *("tasks", "first", "requests"),
    }
    for row in training().read():
        assert set(row) == fields
        assert all(isinstance(value, float) for request in row["requests"] for value in request.values())


def test_the_first_request_begins_a_task_and_a_short_answer_never_does() -> None:
    turns = [Turn(1.0, "add a basket", calls=3, edits=1, answered=True), Turn(2.0, "yes"), Turn(3.0, "b")]
    assert first_requests(turns) == [True, False, False]
    assert all(map(never_begins, request_features(turns)))
    assert first_requests([]) == []


def test_a_request_after_work_that_leads_to_work_begins_a_task() -> None:
    turns = [
        Turn(float(at), f"{words} in the shop", calls=9, edits=2, answered=True, final="Done.")
        for at, words in enumerate(("add a basket", "write the manual", "translate the receipt"))
    ]
    assert first_requests(turns) == [True, True, True]
