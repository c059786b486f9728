"""Sources side by side: what they say, what changed, and that none of them can spoil it for the others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.patience import PATIENCE_S

from holdfast.guard.hidden_text import has_hidden, visible
from holdfast.knowledge.context import (
    REST_S,
    ContextChange,
    ContextEntry,
    ContextSource,
    Here,
    Loaded,
    Registry,
    Snapshot,
    decode,
    encode,
)
from holdfast.knowledge.context_sources import built_in
from holdfast.knowledge.context_view import as_json, dumped, report, rows

HERE = Here(cwd="/w", root="/w", home="/h", now=1_000_000.0, env={})
KEYS = [f"some/source-{number}" for number in range(6)]

# A busy machine is no reason for a property to fail.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

texts = st.dictionaries(st.text(max_size=8), st.text(max_size=30), max_size=4)
worlds = st.dictionaries(st.sampled_from(KEYS), texts, max_size=6)


def apply(values: dict[str, dict[str, str]], changes: list[ContextChange]) -> dict[str, dict[str, str]]:
    """The values after the changes: with those of `reconcile`, what was loaded."""
    after = dict(values)
    for change in changes:
        if change.value is None:
            after.pop(change.key, None)
        else:
            after[change.key] = change.value
    return after


class Saying(ContextSource):
    """Says what it is given, however often it is asked."""

    def __init__(self, key: str, says: Any, stamp: str = "", rest: float = 0.0) -> None:
        self.key = key
        self.says = says
        self.own_stamp = stamp
        self.rest = rest
        self.asked = 0

    def stamp(self, here: Here) -> str:
        return self.own_stamp

    def load(self, here: Here) -> dict[str, str]:
        self.asked += 1
        if isinstance(self.says, BaseException):
            raise self.says
        return self.says  # type: ignore[no-any-return]


class Hanging(ContextSource):
    key = "a/hanging"

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.asked = 0

    def load(self, here: Here) -> dict[str, str]:
        self.asked += 1
        self.go_on.wait(PATIENCE_S)
        return {"late": "news"}


def snapshot(values: Mapping[str, dict[str, str]]) -> Snapshot:
    return Snapshot("/w", 5.0, {key: ContextEntry(value, "s", 5.0) for key, value in values.items()})


def loaded(values: Mapping[str, dict[str, str]]) -> Loaded:
    return Loaded({key: ContextEntry(value, "t", 6.0) for key, value in values.items()}, {})


def said(values: Mapping[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    return {key: value for key, value in values.items() if value}


@pytest.mark.promise("X3")
@unhurried
@given(worlds, worlds)
def test_changes_lead_from_what_was_to_what_is(
    before: dict[str, dict[str, str]], after: dict[str, dict[str, str]]
) -> None:
    registry = Registry(Saying(key, {}) for key in KEYS)
    changes = registry.reconcile(snapshot(before), loaded(after))
    assert apply(said(before), changes) == said(after)
    assert registry.reconcile(snapshot(after), loaded(after)) == []


@pytest.mark.promise("X3")
@unhurried
@given(worlds, worlds)
def test_changes_come_in_the_order_of_the_sources_and_say_what_kind_they_are(
    before: dict[str, dict[str, str]], after: dict[str, dict[str, str]]
) -> None:
    registry = Registry(Saying(key, {}) for key in KEYS)
    turned = {key: after[key] for key in reversed(list(after))}
    changes = registry.reconcile(snapshot(before), loaded(turned))
    assert [change.key for change in changes] == [key for key in KEYS if key in {c.key for c in changes}]
    for change in changes:
        was, now = said(before).get(change.key), said(after).get(change.key)
        assert change.kind == ("removed" if now is None else "added" if was is None else "updated")
        assert "\n" not in change.text and len(change.text) <= 300


@unhurried
@given(worlds)
def test_a_snapshot_reads_back_as_it_was_written(values: dict[str, dict[str, str]]) -> None:
    kept = snapshot(values)
    read = decode(encode(kept), "/w")
    assert read is not None
    assert read.entries == kept.entries
    assert list(read.entries) == list(kept.entries)
    assert decode(encode(kept), "/elsewhere") is None


@unhurried
@given(st.one_of(st.binary(max_size=80), st.text(max_size=80).map(str.encode)))
def test_a_broken_snapshot_is_none_at_all(data: bytes) -> None:
    assert decode(data, "/w") is None


@pytest.mark.parametrize(
    "data", [b"[" * 100_000, b'{"format":1,"place":"/w","at":1e999,"entries":{"a":{"value":3}}}']
)
def test_a_hostile_snapshot_is_none_at_all(data: bytes) -> None:
    assert decode(data, "/w") is None


def test_without_a_snapshot_everything_is_new() -> None:
    registry = Registry([Saying("a", {"x": "1"}), Saying("b", {})])
    changes = registry.reconcile(None, registry.load_all(HERE))
    assert [(change.kind, change.key) for change in changes] == [("added", "a")]


def test_a_source_that_is_no_longer_registered_is_gone() -> None:
    changes = Registry([]).reconcile(snapshot({"old/one": {"x": "1"}}), Loaded({}, {}))
    assert [(change.kind, change.key) for change in changes] == [("removed", "old/one")]


@pytest.mark.promise("X1")
def test_more_sources_can_be_registered_and_render_themselves() -> None:
    class Ticket(ContextSource):
        key = "tracker/ticket"

        def load(self, here: Here) -> dict[str, str]:
            return {"id": "T-2"}

        def render_update(self, old: dict[str, str], new: dict[str, str]) -> str:
            return f"from {old['id']} to {new['id']}"

    registry = built_in()
    registry.register(Ticket())
    before = snapshot({"tracker/ticket": {"id": "T-1"}})
    changes = registry.reconcile(before, registry.load_all(HERE, before))
    assert [change.text for change in changes if change.key == "tracker/ticket"] == ["from T-1 to T-2"]
    with pytest.raises(ValueError, match="already"):
        registry.register(Ticket())


@pytest.mark.parametrize("key", ["", "a b", "a\x1b[31m", "../x", "a\n"])
def test_a_key_that_could_not_be_shown_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match="key"):
        Registry([Saying(key, {})])


@pytest.mark.promise("X2")
def test_sources_are_loaded_side_by_side() -> None:
    """Each waits for the other: one after the other they would never come to an end."""
    meeting = threading.Barrier(3, timeout=PATIENCE_S)

    class Meeting(Saying):
        def load(self, here: Here) -> dict[str, str]:
            meeting.wait()
            return {"met": "all"}

    registry = Registry([Meeting(key, None) for key in ("a", "b", "c")])
    found = registry.load_all(HERE, limit=PATIENCE_S)
    assert found.errors == {}
    assert [entry.value for entry in found.entries.values()] == [{"met": "all"}] * 3


FAULTS: list[Any] = [
    RuntimeError("broken \x1b[2J"),
    SystemExit(3),
    KeyboardInterrupt(),
    RecursionError(),
    None,
    7,
    "text",
    ["a"],
    {"a": 1},
    {1: "a"},
    {"a": b"x"},
    {"a": None},
]


@pytest.mark.promise("X2")
@pytest.mark.parametrize("fault", FAULTS, ids=repr)
def test_a_source_that_fails_is_an_error_of_its_own_and_not_a_removal(fault: Any) -> None:
    registry = Registry([Saying("a", {"x": "1"}), Saying("bad", fault), Saying("c", {"y": "2"})])
    before = snapshot({"a": {"x": "0"}, "bad": {"kept": "as it was"}})
    found = registry.load_all(HERE, before)
    assert set(found.errors) == {"bad"}
    assert found.entries["bad"].value == {"kept": "as it was"}
    changes = registry.reconcile(before, found)
    assert [(change.kind, change.key) for change in changes] == [("updated", "a"), ("added", "c")]


@pytest.mark.promise("X2")
def test_a_source_that_hangs_is_an_error_and_is_not_started_twice() -> None:
    hanging = Hanging()
    registry = Registry([hanging, Saying("b", {"x": "1"})])
    before = snapshot({"a/hanging": {"kept": "yes"}})
    try:
        first = registry.load_all(HERE, before, limit=5)
        second = registry.load_all(HERE, before, limit=5)
        assert "longer than" in first.errors["a/hanging"]
        assert "still busy" in second.errors["a/hanging"]
        assert hanging.asked == 1
        assert first.entries["a/hanging"].value == {"kept": "yes"}
        assert first.entries["b"].value == {"x": "1"}
    finally:
        hanging.go_on.set()
    registry._busy["a/hanging"].join(PATIENCE_S)
    assert registry.load_all(HERE, before, limit=PATIENCE_S).entries["a/hanging"].value == {"late": "news"}


def test_renderings_that_fail_still_let_the_change_be_known() -> None:
    class Mute(Saying):
        def render_update(self, old: dict[str, str], new: dict[str, str]) -> str:
            raise KeyError("no words")

        def summary(self, value: dict[str, str]) -> str:
            return 3  # type: ignore[return-value]

        render_removal: Any = None

    registry = Registry([Mute("a", {"x": "2"}), Mute("b", {"x": "1"}), Mute("c", {})])
    found = registry.load_all(HERE)
    changes = registry.reconcile(snapshot({"a": {"x": "1"}, "c": {"x": "1"}}), found)
    assert [(change.kind, change.key) for change in changes] == [
        ("updated", "a"),
        ("added", "b"),
        ("removed", "c"),
    ]
    assert [key for key, _ in rows(registry, found.entries, found.errors)] == ["a", "b"]


HOSTILE = st.text(
    st.sampled_from(
        [*"ab \n\t\r`[]/<>-", "\x1b", "\x00", "\x9b", "\u202e", "\u200b", "\U000e0041", "\ud800", "\u2028"]
    ),
    max_size=40,
)


@pytest.mark.promise("X2")
@unhurried
@given(st.dictionaries(HOSTILE, HOSTILE, max_size=4), st.dictionaries(HOSTILE, HOSTILE, max_size=4))
def test_hostile_text_is_shown_harmlessly(old: dict[str, str], new: dict[str, str]) -> None:
    registry = Registry([Saying("a", new), Saying("b", RuntimeError("".join(new)))])
    before = snapshot({"a": {visible(name): visible(text) for name, text in old.items()}})
    found = registry.load_all(HERE, before, clean=visible)
    changes = registry.reconcile(before, found)
    assert not has_hidden(report(registry, found, changes, 5.0))
    assert not has_hidden(report(registry, found, changes, 5.0, "a"))
    shown = dumped(as_json(registry, "/w\u202e\x7f", found.entries, found.errors, changes, 5.0))
    assert shown.isprintable()


def test_what_a_source_gives_is_bounded() -> None:
    many = {f"file {number}": "x" * 100_000 for number in range(500)}
    entry = Registry([Saying("a", many)]).load_all(HERE).entries["a"]
    assert len(entry.value) <= 61
    assert sum(map(len, entry.value.values())) < 300_000


@pytest.mark.promise("X4")
def test_a_source_whose_stamp_is_the_same_is_not_loaded_again() -> None:
    source = Saying("a", {"x": "old"}, stamp="same")
    registry = Registry([source])
    before = Snapshot("/w", 0.0, registry.load_all(HERE).entries)
    source.says = {"x": "new"}
    assert registry.load_all(HERE, before).entries["a"].value == {"x": "old"}
    source.own_stamp = "other"
    assert registry.load_all(HERE, before).entries["a"].value == {"x": "new"}
    assert source.asked == 2


def test_a_stamp_keeps_no_words() -> None:
    entry = Registry([Saying("a", {"x": "1"}, stamp="branch secret-name")]).load_all(HERE).entries["a"]
    assert entry.stamp and "secret" not in entry.stamp


def at(moment: float) -> Here:
    return Here(cwd="/w", root="/w", home="/h", now=moment, env={})


@pytest.mark.promise("X4")
@pytest.mark.parametrize(
    ("later", "loaded_again"),
    [(0, False), (REST_S - 1, False), (REST_S, True), (90_000, True), (-1, True), (-90_000, True)],
)
def test_where_nobody_asks_costly_sources_are_loaded_every_five_minutes_at_most(
    later: float, loaded_again: bool
) -> None:
    """A clock that was set back delays nothing: the next look begins anew."""
    assert REST_S == 300
    source = Saying("a", {"x": "new"}, stamp="other", rest=REST_S)
    before = Snapshot("/w", 500.0, {"a": ContextEntry({"x": "old"}, "same", 500.0)})
    Registry([source]).load_all(at(500.0 + later), before, patient=True)
    assert source.asked == (1 if loaded_again else 0)


@pytest.mark.promise("X4")
def test_the_five_minutes_are_not_counted_by_a_clock_that_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    source = Saying("a", {"x": "1"}, rest=REST_S)
    registry = Registry([source])
    steady = time.monotonic()
    before = Snapshot("/w", 0.0, registry.load_all(HERE).entries)
    registry.load_all(at(HERE.now + 1e7), before, patient=True)
    assert source.asked == 1
    monkeypatch.setattr(time, "monotonic", lambda: steady + REST_S + 60)
    registry.load_all(at(HERE.now - 1e6), before, patient=True)
    assert source.asked == 2


def test_who_asks_gets_what_is_true_now() -> None:
    source = Saying("a", {"x": "new"}, stamp="other", rest=REST_S)
    before = Snapshot("/w", HERE.now, {"a": ContextEntry({"x": "old"}, "same", HERE.now)})
    assert Registry([source]).load_all(HERE, before).entries["a"].value == {"x": "new"}


def test_what_was_kept_is_not_cleaned_again() -> None:
    cleaned: list[str] = []

    def clean(text: str) -> str:
        cleaned.append(text)
        return text.upper()

    registry = Registry([Saying("a", {"NAME": "KEPT", "count": "12", "other": "new"})])
    before = snapshot({"a": {"NAME": "KEPT"}})
    entry = registry.load_all(HERE, before, clean=clean).entries["a"]
    assert entry.value == {"NAME": "KEPT", "COUNT": "12", "OTHER": "NEW"}
    assert cleaned == ["count", "other", "new"]


RENDERINGS: list[Callable[[ContextSource, dict[str, str], dict[str, str]], str]] = [
    lambda source, old, new: source.summary(new),
    lambda source, old, new: source.render(new),
    lambda source, old, new: source.render_update(old, new),
    lambda source, old, new: source.render_removal(old),
]


@pytest.mark.promise("X1")
@pytest.mark.parametrize("key", built_in().keys)
@unhurried
@given(texts, texts)
def test_every_source_renders_whatever_is_kept_of_it(
    key: str, old: dict[str, str], new: dict[str, str]
) -> None:
    """A snapshot may be another version's."""
    source = built_in().source(key)
    for render in RENDERINGS:
        assert isinstance(render(source, old, new), str)


def test_a_change_tells_its_value() -> None:
    assert apply(
        {"a": {"x": "1"}},
        [ContextChange("removed", "a", "gone", None), ContextChange("added", "b", "", {"y": "2"})],
    ) == {"b": {"y": "2"}}
