"""What docs/contributing/search.md shows is what happens."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

import holdfast.search
from holdfast.model.search import Hit

PAGE = (Path(__file__).parents[2] / "docs" / "contributing" / "search.md").read_text(encoding="utf-8")


def test_the_example_of_the_documentation_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(example, "docs/contributing/search.md", "exec"), {})
    assert capsys.readouterr().out.startswith("F-1 ")


def test_a_hit_has_the_fields_that_are_documented() -> None:
    given = {field.name: "" for field in msgspec.structs.fields(Hit) if field.required}
    names = ", ".join(Hit(**given).as_json())  # type: ignore[arg-type]
    assert f"`{{{names}}}`" in PAGE


def test_everything_that_search_exports_is_there() -> None:
    assert all(hasattr(holdfast.search, name) for name in holdfast.search.__all__)
