"""Context by hand has the checkout looked at again: where the project is enabled, after a rest, and git shows a change."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from holdfast.cli import context_quick
from holdfast.cli.context_quick import REST_S, look_again

NOW = 2_000_000_000.0


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    found: list[list[str]] = []

    monkeypatch.setattr(context_quick, "detach", lambda words, env: found.append(words))
    return found


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    memory, root = tmp_path / "memory", tmp_path / "root"
    memory.mkdir()
    (root / ".git").mkdir(parents=True)
    (memory / "switches.json").write_text(json.dumps({"enabled": True}), encoding="utf-8")
    (root / ".git" / "index").touch()
    os.utime(root / ".git" / "index", (NOW - 10, NOW - 10))
    return memory, root


def kept(memory: Path, age: float) -> None:
    (memory / "session.json").write_text("{}", encoding="utf-8")
    os.utime(memory / "session.json", (NOW - age, NOW - age))


@pytest.mark.promise("X4")
def test_a_change_after_the_rest_starts_a_look(places: tuple[Path, Path], started: list[list[str]]) -> None:
    memory, root = places
    assert look_again(str(memory), str(root), {}, NOW)  # nothing was ever kept
    kept(memory, REST_S / 2)
    assert not look_again(str(memory), str(root), {}, NOW)
    kept(memory, REST_S * 2)
    assert look_again(str(memory), str(root), {}, NOW)
    assert started == [["-m", "holdfast", "know", "scan"]] * 2


@pytest.mark.promise("X4")
def test_without_a_change_nothing_is_looked_at(places: tuple[Path, Path], started: list[list[str]]) -> None:
    memory, root = places
    kept(memory, REST_S * 2)
    os.utime(root / ".git" / "index", (NOW - REST_S * 3, NOW - REST_S * 3))
    assert not look_again(str(memory), str(root), {}, NOW)
    assert started == []


@pytest.mark.parametrize("switches", ["", "{", "[]", '{"enabled": false}', '{"enabled": "yes"}'])
def test_where_it_is_not_enabled_nothing_is_started(
    places: tuple[Path, Path], started: list[list[str]], switches: str
) -> None:
    memory, root = places
    (memory / "switches.json").write_text(switches, encoding="utf-8")
    assert not look_again(str(memory), str(root), {}, NOW)
    assert not look_again("", str(root), {}, NOW)


@pytest.mark.parametrize("env", [{"HOLDFAST": "off"}, {"CI": "true"}])
def test_switched_off_is_off(
    places: tuple[Path, Path], started: list[list[str]], env: dict[str, str]
) -> None:
    memory, root = places
    assert not look_again(str(memory), str(root), env, NOW)
