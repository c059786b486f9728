"""An error is one line that a person can act on, whatever it quotes."""

from __future__ import annotations

import pytest

from holdfast.core.errors import LONGEST, StoreError
from holdfast.store import sections


def test_a_long_quotation_is_cut_and_what_to_do_is_still_said() -> None:
    error = StoreError(f"part {'x' * 9_000!r}", where="y" * 9_000, fix="Correct the line")
    assert len(error.line()) < 2 * LONGEST + 100
    assert error.line().endswith("…. Correct the line.")


@pytest.mark.promise("F4")
def test_a_marker_with_an_endless_name_is_refused_in_a_line() -> None:
    name = "a" * 50_000
    text = f"<!-- holdfast:begin {name} -->\n<!-- holdfast:begin {name} -->\n"
    with pytest.raises(StoreError) as caught:
        sections.parse(text, "current.md")
    assert caught.value.line().startswith("current.md:")
    assert len(caught.value.line()) < 3 * LONGEST + 100
