"""One suite for every search index: a backend joins the table below and has to behave like the others."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

import holdfast.search
from holdfast.core.errors import HoldfastError, UsageError
from holdfast.postgres.address import parse_address
from holdfast.search import Chunk, Index

Opener = Callable[[Path, pytest.FixtureRequest], Index]


def on_a_server(folder: Path, request: pytest.FixtureRequest) -> Index:
    """A project of its own for each folder, which ana made searchable."""
    from holdfast.postgres.index import TeamIndex

    server, project = request.getfixturevalue("server"), f"p-{sha256(bytes(folder)).hexdigest()[:12]}"
    server.sql("SELECT holdfast.add_project(%s, 'ana')", project)
    server.sql("SELECT holdfast.set_indexed(%s, true)", project, login="ana")
    return TeamIndex(parse_address(server.address("ana")), project, "aaaaaaaaaaaaaaaa")


BACKENDS: dict[str, Opener] = {
    "sqlite": lambda folder, _: holdfast.search.open(folder / "index.db"),
    "sqlite, words alone": lambda folder, _: holdfast.search.open(folder / "words.db", embedder=None),
    "postgres": on_a_server,
}

NOTES = [
    Chunk(
        id="F-1", text="Redis is the cache and the rate limiter of the backend.", kind="fact", project="shop"
    ),
    Chunk(id="F-2", text="The staging database listens on port 5433.", kind="fact", project="shop"),
    Chunk(
        id="H-1",
        text="Moved the retry loop into store/read_lines.py; ENOENT is gone.",
        when=1_000_000,
        project="shop",
    ),
    Chunk(
        id="H-2",
        text="Deployed with helm upgrade --dry-run first, then for real.",
        when=2_000_000,
        project="site",
    ),
    Chunk(id="L-1", text="parseQuery must not swallow error E1234.", kind="lesson", project="site"),
]


@pytest.fixture(params=BACKENDS)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Index]:
    """Opens the same index again and again."""
    return lambda: BACKENDS[request.param](tmp_path, request)


@pytest.fixture
def index(opened: Callable[[], Index]):  # type: ignore[no-untyped-def]
    with opened() as made:
        made.put_many(NOTES)
        yield made


def ids(index: Index, query: str, **more: object) -> list[str]:
    return [hit.id for hit in index.search(query, **more)]  # type: ignore[arg-type]


@pytest.mark.promise("R4")
@pytest.mark.parametrize(
    ("text", "query", "words"),
    [
        ("Telemetry is off unless somebody asks.", "add telemetry", "telemetry"),
        ("Sizing was wrong in the registry.", "registry size", "registry, size"),
        ("Set TranscriptUUIDAtStart before the loop.", "when does it start", "start"),
        ("Run golangci-lint before a push.", "golangci-lint", "golangci-lint"),
        ("The tap lies on GitHub.", "GitHub tap", "github, tap"),
        ("Wir überprüfen die Schlüssel zuerst.", "Schlüssel überprüfen", "schlüssel, überprüfen"),
        ("데이터베이스 포트는 5433입니다.", "데이터베이스", "데이터베이스"),
        ("我们使用缓存。", "缓存", "缓存"),
    ],
)
def test_the_reason_names_the_words_that_were_found(
    opened: Callable[[], Index], text: str, query: str, words: str
) -> None:
    with opened() as index:
        index.put_many([*NOTES, Chunk(id="it", text=text)])
        (hit, *_) = index.search(query)
    assert hit.id == "it"
    told = hit.why.removeprefix("words: ").partition(";")[0]
    assert sorted(told.split(", ")) == words.split(", ")


@pytest.mark.parametrize(
    "asked", ["read_lines.py:41", "src/store/read_lines.py:41:7: ENOTFOUND", "store/read_lines.py"]
)
def test_a_file_is_found_by_the_place_that_a_compiler_names(index: Index, asked: str) -> None:
    assert ids(index, asked)[0] == "H-1"
    index.put("H-3", "lint complains at store/write_lines.py:281 again")
    assert ids(index, "write_lines.py")[0] == "H-3"
    assert "write_lines.py" in index.search("write_lines.py")[0].why


@pytest.mark.parametrize(
    "asked",
    ["48f428f9", "session 48f428f9", "48f428f9-72d8-40b2-9594-953019809473", "what did 48F428F9… do?"],
)
def test_what_a_session_did_is_found_by_its_id_as_people_are_shown_it(index: Index, asked: str) -> None:
    index.put("session:48f428f9-72d8-40b2-9594-953019809473", "Moved the shop to another host.")
    index.put("session:51aa0000-72d8-40b2-9594-953019809473", "What did a session do? It did things.")
    (hit, *_) = index.search(asked)
    assert hit.text == "Moved the shop to another host." and "its id" in hit.why


def test_a_word_or_number_said_in_passing_is_no_id(index: Index) -> None:
    index.put("2", "The lighthouse keeper retired.")
    index.put("it", "Whales sleep upright.")
    assert ids(index, "which of the 2 databases is it, staging?")[0] == "F-2"
    assert ids(index, "2")[0] == "2" and ids(index, "it?")[0] == "it" and ids(index, "see F-1")[0] == "F-1"


@pytest.mark.promise("R4")
def test_what_was_put_is_found_with_all_that_is_known_of_it(opened: Callable[[], Index]) -> None:
    with opened() as index:
        assert index.put(
            "D-9",
            "Chose SQLite.",
            "decision",
            "2026-01-31T12:00:00Z",
            path="log.md",
            line=7,
            session="s1",
            project="p",
        )
        (hit,) = index.search("sqlite")
    assert (hit.id, hit.kind, hit.text, hit.path, hit.line, hit.session, hit.project, hit.date) == (
        "D-9",
        "decision",
        "Chose SQLite.",
        "log.md",
        7,
        "s1",
        "p",
        "2026-01-31T12:00:00Z",
    )
    assert 0 < hit.score < 1
    assert "sqlite" in hit.why


def test_an_empty_index_answers_with_nothing_also_after_it_was_emptied(opened: Callable[[], Index]) -> None:
    with opened() as index:
        assert index.search("walrus") == []
        assert index.search("walrus", kinds=["fact"]) == []
        index.put("a", "walrus")
        index.delete("a")
        assert index.search("walrus") == []


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("which cache do we use", "F-1"),
        ("staging databases", "F-2"),
        ("read_lines.py", "H-1"),
        ("store/read_lines.py", "H-1"),
        ("read lines", "H-1"),
        ("ENOENT", "H-1"),
        ("--dry-run", "H-2"),
        ("parse query", "L-1"),
        ("E1234", "L-1"),
        ("1234", "L-1"),
        ("helm chart deploying", "H-2"),
        ("Reddis", "F-1"),
        ("L-1", "L-1"),
    ],
)
def test_the_right_note_comes_first(index: Index, query: str, expected: str) -> None:
    assert ids(index, query)[0] == expected


def test_scores_fall_along_the_list_and_each_id_comes_once(index: Index) -> None:
    hits = index.search("redis cache database deployed error store", k=50)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert len({hit.id for hit in hits}) == len(hits) >= 4


def test_k_is_the_most_that_is_returned(index: Index) -> None:
    assert len(index.search("redis database helm retry", k=2)) == 2
    assert index.search("redis", k=0) == []


def test_kinds_projects_and_time_narrow_the_answer(index: Index) -> None:
    everything = "redis database retry helm error"
    assert set(ids(index, everything, kinds=["fact"])) == {"F-1", "F-2"}
    assert set(ids(index, everything, project="site")) == {"H-2", "L-1"}
    assert set(ids(index, everything, project=["site"], kinds=["lesson", "fact"])) == {"L-1"}
    assert set(ids(index, everything, before=1_500_000)) == {"H-1"}
    assert ids(index, everything, kinds=["unheard of"]) == []
    assert ids(index, everything, kinds=[]) == []


def test_an_empty_question_since_a_moment_lists_what_is_of_that_time(index: Index) -> None:
    index.put("H-3", "Wrote it all down.", when=1_500_000)
    assert ids(index, "", since=0) == ["H-2", "H-3", "H-1"]
    assert ids(index, " ", since=1_200_000, before=2_000_000) == ["H-3"]
    assert ids(index, "", since=0, kinds=["fact"]) == [] and ids(index, "", since=0, k=1) == ["H-2"]
    assert index.search("") == [] and index.search("", before=2_000_000) == []
    assert "H-1" not in ids(index, "retry helm", since=1_200_000)


def test_putting_again_replaces_and_an_unchanged_put_does_nothing(index: Index) -> None:
    assert index.put("F-2", "The staging database listens on port 6000.", "fact", project="shop")
    assert not index.put("F-2", "The staging database listens on port 6000.", "fact", project="shop")
    (hit,) = index.search("staging port 5433", k=1)
    assert "6000" in hit.text
    assert "F-2" not in ids(index, "5433", floor=holdfast.search.FLOOR)
    changes = index.put_many([*NOTES, Chunk(id="new", text="a new one")])
    assert (changes.added, changes.updated, changes.unchanged) == (1, 1, 4)


def test_a_change_of_kind_or_time_alone_is_a_change(index: Index) -> None:
    assert index.put("F-1", NOTES[0].text, "fact", 5.0, project="shop")
    assert index.search("redis", k=1)[0].date == "1970-01-01T00:00:05Z"


def test_what_is_deleted_is_gone(index: Index) -> None:
    assert index.delete("F-1")
    assert not index.delete("F-1")
    assert "F-1" not in ids(index, "redis cache", k=50)
    assert index.delete_many(["F-2", "H-1", "nobody"]) == 2
    assert list(index.ids()) == ["H-2", "L-1"]


def test_another_opening_sees_what_was_put(opened: Callable[[], Index]) -> None:
    with opened() as first, opened() as second:
        first.put("a", "the walrus sleeps")
        assert ids(second, "walrus") == ["a"]
        second.put("b", "the walrus wakes")
        assert set(ids(first, "walrus")) == {"a", "b"}
        first.delete("a")
        assert ids(second, "walrus") == ["b"]


@pytest.mark.promise("R2")
def test_recent_history_comes_before_old_and_facts_do_not_fade(opened: Callable[[], Index]) -> None:
    day = 86_400.0
    with opened() as index:
        index.put("old", "migrated the billing tables", when=0 * day)
        index.put("new", "migrated the billing tables", when=20 * day)
        index.put("fact-old", "billing tables live in schema pay", "fact", when=0 * day)
        index.put("fact-new", "billing tables live in schema pay", "fact", when=20 * day)
        assert ids(index, "migrated billing tables", kinds=["history"]) == ["new", "old"]
        old, new = index.search("billing tables", kinds=["fact"])
        assert old.score == new.score
        at_the_time = index.search("migrated billing tables", now=0.5 * day, kinds=["history"])
        assert at_the_time[0].id == "old"


def test_as_of_a_day_in_the_past_the_newest_is_the_newest_then(opened: Callable[[], Index]) -> None:
    day = 86_400
    with opened() as index:
        index.put("old", "release notes of the shop", when=0)
        index.put("new", "release notes of the shop", when=20 * day)
        index.put("later", "other things altogether", when=900 * day)
        first, second = index.search("latest release notes", before=21 * day, k=2)
    assert (first.id, second.id) == ("new", "old") and first.score > second.score + 0.05


@pytest.mark.promise("R2")
def test_a_fact_that_holds_the_question_word_for_word_comes_first(opened: Callable[[], Index]) -> None:
    with opened() as index:
        index.put(
            "near",
            "API base: api.example.org; the API base path is versioned, API base of staging too",
            "fact",
        )
        index.put("exact", "Remember that the staging API is reached over the jump host only.", "fact")
        assert ids(index, "staging API is reached over")[0] == "exact"


@pytest.mark.promise("R2")
def test_a_number_that_goes_on_is_another_one(opened: Callable[[], Index]) -> None:
    with opened() as index:
        index.put("longer", "the staging port is 54330", "fact")
        index.put("exact", "the staging port is 5433 (of the proxy in front of the database)", "fact")
        assert ids(index, "the staging port is 5433")[0] == "exact"


@pytest.mark.parametrize("kind", ["history", "fact"])
def test_every_one_of_many_alike_is_found_by_its_own_words(opened: Callable[[], Index], kind: str) -> None:
    some = (1, 2, 5, 14, 51)
    texts = {f"p{process}-{note}": f"process {process} note {note}" for process in some for note in some}
    with opened() as index:
        for at, (id, text) in enumerate(texts.items()):
            index.put(id, text, kind, when=1_790_000_000 + at)
        missed = [id for id, text in texts.items() if ids(index, text, k=1) != [id]]
    assert missed == []


@pytest.mark.parametrize("asked", ["F-2ab3x9", "see f-2ab3x9", "d-K3F9AB"])
def test_an_id_is_found_however_it_is_typed(index: Index, asked: str) -> None:
    index.put("F-2ab3x9", "Whales sleep upright.", "fact")
    index.put("D-k3f9ab", "Owls hunt at night.", "fact")
    (hit, *_) = index.search(asked)
    assert hit.id.lower() == asked.split()[-1].lower() and "its id" in hit.why


def test_a_word_that_is_one_is_no_slip_and_the_reason_names_the_word_that_is_there(index: Index) -> None:
    index.put("logic", "simplified the logic of the loader")
    index.put("certificate", "the certificate is renewed monthly")
    assert "logic" not in [hit.id for hit in index.search("fix the login", floor=holdfast.search.FLOOR)]
    (hit, *_) = index.search("certifcates")
    assert hit.id == "certificate" and "words: certificate" in hit.why


def test_in_a_handful_of_notes_a_word_that_most_of_them_hold_still_counts(
    opened: Callable[[], Index],
) -> None:
    with opened() as index:
        index.put("a", "The staging database listens on port 5433.", "fact")
        index.put("b", "The staging cache is Redis.", "fact")
        index.put("c", "Deploys go through the staging cluster.", "fact")
        assert set(ids(index, "staging", floor=holdfast.search.FLOOR)) == {"a", "b", "c"}
        assert ids(index, "which cache runs in staging", floor=holdfast.search.FLOOR)[0] == "b"
        index.put("d", "staging\n" + "Nothing of it is said here, in many words.\n" * 60, "fact")
        assert ids(index, "staging cache redis", floor=holdfast.search.FLOOR)[0] == "b"
        assert "d" in ids(index, "staging")


def test_below_the_floor_nothing_is_returned(index: Index) -> None:
    floor = holdfast.search.FLOOR
    assert ids(index, "grading a rare coin without sending it away", floor=floor) == []
    assert ids(index, "redis cache", floor=floor) == ["F-1"]


@pytest.mark.parametrize("nothing", ["xqzv blorp", "qq", "zzkrv", "??", "sourdough rising overnight"])
def test_the_nearest_of_what_does_not_fit_is_no_answer(index: Index, nothing: str) -> None:
    assert ids(index, nothing, fitting=True) == []


def test_what_fits_is_found_as_ever(index: Index) -> None:
    for query in ("redis cache", "F-2", "parseQuery", "which port is it", "xqzv redis"):
        assert ids(index, query, fitting=True) == ids(index, query) != []


def test_a_text_that_shares_no_word_is_found_by_its_meaning(tmp_path: Path) -> None:
    with holdfast.search.open(tmp_path / "index.db") as index:
        index.put_many(NOTES)
        assert ids(index, "installing an update safely", fitting=True)[0] == "H-2"
        assert ids(index, "zzkrv"), "without being asked what fits, an index says what is nearest"


def test_a_long_text_is_one_hit_with_its_best_passage_and_line(opened: Callable[[], Index]) -> None:
    lines = [f"Line {number} talks about the weather of the day in plain words." for number in range(200)]
    lines[150] = "Line 150 says that the walrus needs a certificate."
    with opened() as index:
        index.put("long", "\n".join(lines), path="log.md", line=10)
        index.put("short", "weather")
        hit = index.search("walrus certificate")[0]
        assert hit.id == "long"
        assert "walrus" in hit.text
        assert index.text("long") == "\n".join(lines) and index.text("short") == "weather"
        assert len(hit.text) < 2000
        assert 10 + 150 - 12 <= hit.line <= 10 + 150
        assert len([one for one in index.search("weather of the day", k=50) if one.id == "long"]) == 1
        assert index.delete("long")
        assert ids(index, "walrus certificate", floor=0.3) == [] and index.text("long") == ""


@pytest.mark.parametrize(
    "query",
    [
        "",
        "   ",
        "\0",
        "a\0b",
        "\ud800",
        "lone \udfff surrogate",
        '"',
        '"unclosed',
        "AND",
        "redis AND",
        "NOT NEAR(a b, 3)",
        "col:value -x ^y * {a b}: (",
        "'; DROP TABLE chunk; --",
        "redis" * 200_000,
        "redis " * 200_000,
        "?" * 1_000_000,
        "🦀🦀",
        "日本語",
        "%s %d {} \\",
    ],
    ids=lambda query: repr(query[:20]),
)
def test_any_question_is_answered(index: Index, query: str) -> None:
    assert isinstance(index.search(query), list)


@pytest.mark.parametrize(
    "text", ["", "\0", "a\0b walrus", "\ud800 walrus", "walrus " * 8_000_000, "x" * 50_000_000]
)
def test_any_text_is_taken(opened: Callable[[], Index], text: str) -> None:
    with opened() as index:
        assert index.put("odd", text)
        assert not index.put("odd", text)
        if "walrus" in text:
            assert ids(index, "walrus") == ["odd"]
        assert index.delete("odd")
        assert index.stats().chunks == 0


def test_the_end_of_a_huge_text_is_found_and_what_is_too_large_is_refused(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    dump = "".join(f"row {number} of the dump is dull\n" for number in range(60_000))
    index.put("dump", f"{dump}here lies the zeppelin\n{dump}", path="dump.txt", line=1)
    (hit,) = index.search("zeppelin", kinds=["history"], k=1)
    assert (hit.id, hit.why) == ("dump", "words: zeppelin") and "the zeppelin" in hit.text
    assert len(hit.text) < 2000 and hit.line <= 60_001 < hit.line + hit.text.count("\n") + 2
    assert index.delete("dump") and "dump" not in ids(index, "zeppelin")
    monkeypatch.setattr("holdfast.search.contract.LONGEST_TEXT", 1000)
    with pytest.raises(UsageError, match=r"has 1,001 characters.*Cut it into parts"):
        index.put("larger", "x" * 1001)


@pytest.mark.parametrize("id", ["", "a\0b", "\ud800", "x" * 2000])
def test_an_unusable_id_is_refused_and_nothing_of_the_batch_is_kept(index: Index, id: str) -> None:
    before = list(index.ids())
    with pytest.raises(UsageError, match="id of a chunk"):
        index.put_many([Chunk(id="fine", text="walrus"), Chunk(id=id, text="walrus")])
    assert list(index.ids()) == before


@pytest.mark.parametrize("when", ["yesterday", float("nan"), 1e300, "2026-13-01"])
def test_an_unusable_moment_is_a_clear_error(index: Index, when: float | str) -> None:
    with pytest.raises(HoldfastError, match="not a"):
        index.put("x", "text", when=when)


def test_a_hit_without_a_date_can_be_put_again(index: Index) -> None:
    (hit, *_) = index.search("redis cache")
    assert hit.date == ""
    assert index.put("copy", hit.text, when=hit.date)


@pytest.mark.parametrize(
    ("id", "text", "more"),
    [
        (7, "text", {}),
        ("x", None, {}),
        ("x", b"bytes", {}),
        ("x", "text", {"line": "5"}),
        ("x", "text", {"session": 3}),
        ("x", "text", {"when": [1]}),
    ],
)
def test_what_is_no_text_is_refused_by_name(
    index: Index, id: object, text: object, more: dict[str, object]
) -> None:
    with pytest.raises(UsageError, match=r"not a (text|whole number|moment)"):
        index.put(id, text, **more)  # type: ignore[arg-type]
    assert not index.delete(7)  # type: ignore[arg-type]


@pytest.mark.parametrize(("query", "k"), [(None, 5), (7, 5), ("redis", None), ("redis", 1.5)])
def test_a_question_that_is_no_text_is_a_clear_error(index: Index, query: object, k: object) -> None:
    with pytest.raises(UsageError, match="a question is a text"):
        index.search(query, k=k)  # type: ignore[arg-type]


def test_the_same_notes_in_another_order_get_the_same_answers(
    opened: Callable[[], Index], tmp_path: Path
) -> None:
    twins = [Chunk(id=f"twin{number}", text="the same words in each of them") for number in range(30)]
    questions = ["redis cache", "same words", "helm database port", "ENOENT retry"]
    with opened() as index:
        index.put_many([*NOTES, *twins])
        asked = [index.search(question, k=20) for question in questions]
        index.delete_many(list(index.ids()))
        for chunk in reversed([*NOTES, *twins]):
            index.put_many([chunk])
        assert [index.search(question, k=20) for question in questions] == asked


def test_the_figures_count_what_is_there(index: Index) -> None:
    stats = index.stats()
    assert (stats.chunks, stats.kinds) == (5, {"fact": 2, "history": 2, "lesson": 1})
    assert stats.passages >= 5
    assert stats.bytes > 0
