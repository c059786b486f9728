"""Answers that the record gave are counted, one line each, and a torn line costs only itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.memory.store import AnswerGiven, answers_given, record_answer
from holdfast.store.project import Project


@pytest.mark.promise("M12")
def test_each_answer_is_a_line_and_a_torn_one_counts_for_nothing(tmp_path: Path) -> None:
    window = tmp_path / "shop" / ".holdfast"
    project = Project(
        root=tmp_path / "shop", window=window, memory=tmp_path / "memory", identity_file=window / "id"
    )
    assert answers_given(project) == []
    record_answer(project, "Q-k3f9ab", 1.5)
    path = project.memory / "answered.jsonl"
    assert path.read_bytes() == b'{"at":1.5,"id":"Q-k3f9ab"}\n'
    with path.open("ab") as file:
        file.write(b'{"at": 2, "id": "Q-\xff\n{"at"')
    record_answer(project, "F-k3f9ab", 2.0)
    assert answers_given(project) == [AnswerGiven(1.5, "Q-k3f9ab"), AnswerGiven(2.0, "F-k3f9ab")]
