"""The date of a model's release is not part of its name."""

from __future__ import annotations

import pytest

from holdfast.core.model_names import undated


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("claude-haiku-4-5-20251001", "claude-haiku-4-5"),
        ("claude-haiku-4-5@20251001", "claude-haiku-4-5"),
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("claude-haiku-4-5", "claude-haiku-4-5"),
        ("gpt-5.5", "gpt-5.5"),
        ("model-20259999", "model-20259999"),
        ("20251001", "20251001"),
        ("-20251001", "-20251001"),
        ("", ""),
    ],
)
def test_a_model_is_named_without_the_date_of_its_release(model: str, name: str) -> None:
    assert undated(model) == name
