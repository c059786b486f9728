"""An agent's last words in a line: what was done, as it was said."""

from __future__ import annotations

import pytest

from holdfast.distill.log_entry import summary_line


@pytest.mark.parametrize(
    "message, said",
    [
        ("Fixed the layout of the header.", "Fixed the layout of the header."),
        ("Good test coverage is there now.", "Good test coverage is there now."),
        ("Done - `docs/geese.md` has been deleted.", "`docs/geese.md` has been deleted."),
        ("Perfect! All done. The limiter works.", "The limiter works."),
        ("Done.", ""),
    ],
)
def test_only_words_that_say_nothing_are_left_out(message: str, said: str) -> None:
    assert summary_line(message, 200) == said


@pytest.mark.parametrize("heading", ["## Next steps", "Next steps:", "**Remaining:**"])
def test_what_is_left_is_not_told_as_done(heading: str) -> None:
    message = f"Implemented it in `src/app.py`.\n\n{heading}\n- Wire it into the gateway\n"
    assert summary_line(message, 200) == "Implemented it in `src/app.py`."
