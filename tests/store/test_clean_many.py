"""Many texts looked over at once: nothing that is found in one by itself may be missed among others."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.guard import secret_samples as samples

from holdfast.guard.redact import Redactor
from holdfast.store.machine import Machine

NEIGHBOURS = ("src/shop/cart.py", "run the tests, please", "uv run pytest -q")


@pytest.mark.promise("G1")
def test_a_secret_among_harmless_texts_is_found_as_by_itself(tmp_path: Path) -> None:
    alone = Redactor()
    missed = []
    for sample in samples.secrets(seed=5):
        machine = Machine(env={"HOME": str(tmp_path)}, cwd=tmp_path)
        machine.look_over([*NEIGHBOURS, sample.text, *NEIGHBOURS])
        if machine.clean(sample.text) != alone.redact(sample.text):
            missed.append((sample.kind, sample.carrier))
    assert missed == []


@pytest.mark.promise("G1", "G6", "C5")
def test_private_parts_and_fences_are_taken_out_of_the_text_they_stand_in(tmp_path: Path) -> None:
    machine = Machine(env={"HOME": str(tmp_path)}, cwd=tmp_path)
    private = "fix it <private>walrus"
    machine.look_over(["before", private, "after"])
    assert machine.clean(private).strip() == "fix it" and machine.clean("after") == "after"
