"""What a lesson depends on: exactly what changed turns stale, nothing outside is looked at, and stat is mostly enough."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.hooks.lesson_lines import unchanged
from holdfast.lessons import fingerprint_content
from holdfast.lessons.fingerprint import (
    Changed,
    Missing,
    PlaceStamp,
    Renamed,
    Same,
    Unreadable,
    Verdict,
    check,
    field_text,
    parse_field,
    parse_target,
    places_of,
    take,
)
from holdfast.lessons.fingerprint_content import parse_fields
from holdfast.model.lesson import Fingerprint

PACKAGE = {"name": "shop", "scripts": {"test": "vitest", "build.prod": "vite build"}, "files": ["a", "b"]}
TARGETS = (
    "package.json#scripts.test",
    'package.json#scripts."build.prod"',
    "package.json#files.1",
    "pyproject.toml#tool.pytest.ini_options.testpaths",
    ".github/workflows/ci.yml#jobs.test.steps.0.run",
    "tests/",
    "src/**/*.sql",
    "Makefile",
)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    write(root / "package.json", json.dumps(PACKAGE, indent=2))
    write(root / "pyproject.toml", '[tool.pytest.ini_options]\ntestpaths = ["tests"]\nversion = 1.10\n')
    write(root / ".github/workflows/ci.yml", "on: push\njobs:\n  test:\n    steps:\n      - run: npm test\n")
    write(root / "tests/cart.test.ts", "test()\n")
    write(root / "src/db/001_init.sql", "create table a;\n")
    write(root / "Makefile", "test:\n\tvitest\n")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    return root


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="")
    return path


def git(root: Path, *words: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, *words], cwd=root, check=True, capture_output=True)


def taken(root: Path, *targets: str) -> tuple[Fingerprint, ...]:
    found = [take(root, target) for target in targets]
    assert all(isinstance(item, Fingerprint) for item in found), found
    return tuple(item for item in found if isinstance(item, Fingerprint))


def unlike(root: Path, prints: tuple[Fingerprint, ...], **more: object) -> dict[str, Verdict]:
    """Every verdict but Same, by target."""
    verdicts = check(root, prints, **more).verdicts  # type: ignore[arg-type]
    return {verdict.target: verdict for verdict in verdicts if not isinstance(verdict, Same)}


@pytest.mark.promise("S7")
def test_nothing_changed_and_all_is_the_same(shop: Path) -> None:
    prints = taken(shop, *TARGETS)
    first = check(shop, prints)
    assert [type(verdict) for verdict in first.verdicts] == [Same] * len(TARGETS)
    assert check(shop, prints, first.stamps) == first


@pytest.mark.promise("S7")
@pytest.mark.parametrize(
    ("change", "stale"),
    [
        (lambda shop: rewrite(shop, "vitest", "jest"), {"package.json#scripts.test"}),
        (lambda shop: rewrite(shop, '"vite build"', '"rollup"'), {'package.json#scripts."build.prod"'}),
        (lambda shop: rewrite(shop, '"b"', '"c"'), {"package.json#files.1"}),
        (lambda shop: rewrite(shop, '"shop"', '"store"'), set()),
        (lambda shop: rewrite(shop, "1.10", "1.1", "pyproject.toml"), set()),
        (
            lambda shop: write(shop / ".github/workflows/ci.yml", "jobs: {test: {steps: [{run: npm test}]}}"),
            set(),
        ),
        (lambda shop: write(shop / "tests/user.test.ts", ""), set()),
        (lambda shop: write(shop / "tests/cart.test.ts", "other()"), set()),
        (lambda shop: write(shop / "tests/cart.spec.ts", ""), {"tests/"}),
        (lambda shop: write(shop / "src/db/002_more.sql", ""), {"src/**/*.sql"}),
        (lambda shop: write(shop / "src/db/001_init.sql", "drop table a;"), {"src/**/*.sql"}),
        (lambda shop: write(shop / "Makefile", "test:\n\tjest\n"), {"Makefile"}),
        (lambda shop: write(shop / "README.md", ""), set()),
    ],
    ids=[
        "test script",
        "quoted key",
        "item",
        "other key",
        "other toml",
        "layout of yaml",
        "one test more",
        "a test",
        "new kind",
        "new match",
        "match",
        "file",
        "other file",
    ],
)
@pytest.mark.parametrize("stamped", [True, False])
def test_exactly_what_changed_is_stale(
    shop: Path, change: Callable[[Path], object], stale: set[str], stamped: bool
) -> None:
    prints = taken(shop, *TARGETS)
    stamps = check(shop, prints).stamps if stamped else {}
    change(shop)
    found = unlike(shop, prints, stamps=stamps)
    assert set(found) == stale
    assert all(isinstance(verdict, Changed) for verdict in found.values())


def rewrite(shop: Path, old: str, new: str, name: str = "package.json") -> None:
    path = shop / name
    write(path, path.read_text(encoding="utf-8").replace(old, new))


@pytest.mark.promise("S7")
def test_what_a_field_was_and_is_now_is_said_as_long_as_it_is_stale(shop: Path) -> None:
    prints = taken(shop, "package.json#scripts.test")
    stamps = check(shop, prints, clean=str).stamps
    rewrite(shop, "vitest", "jest --ci")
    for _ in range(2):
        checked = check(shop, prints, stamps, clean=str)
        assert checked.verdicts[0].what == "vitest → jest --ci"  # type: ignore[union-attr]
        stamps = checked.stamps


def test_values_are_redacted_short_and_otherwise_left_out(shop: Path) -> None:
    prints = taken(shop, "package.json#scripts.test", "package.json#scripts", "Makefile")
    stamps = check(shop, prints, clean=lambda text: text.replace("vitest", "***")).stamps
    assert [stamps[item.target].value for item in prints] == ["***", "", ""]
    assert [stamp.value for stamp in check(shop, prints).stamps.values()] == ["", "", ""]
    rewrite(shop, "vitest", "x" * 500)
    assert unlike(shop, prints, stamps=stamps, clean=str)["package.json#scripts.test"].what == ""  # type: ignore[union-attr]


@pytest.mark.promise("S7")
def test_what_is_deleted_is_missing(shop: Path) -> None:
    prints = taken(shop, *TARGETS)
    stamps = check(shop, prints).stamps
    (shop / "tests/cart.test.ts").unlink()
    (shop / "tests").rmdir()
    (shop / "src/db/001_init.sql").unlink()
    rewrite(shop, '"test": "vitest",', "")
    found = unlike(shop, prints, stamps=stamps)
    assert set(found) == {"tests/", "src/**/*.sql", "package.json#scripts.test"}
    assert all(isinstance(verdict, Missing) for verdict in found.values())


@pytest.mark.promise("S7")
def test_touched_without_a_change_is_the_same_and_stamped_anew(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prints = taken(shop, *TARGETS)
    stamps = check(shop, prints).stamps
    for path in (shop / "package.json", shop / "Makefile", shop / "tests", shop / "src/db/001_init.sql"):
        os.utime(path, ns=(1, 1_700_000_000_000_000_000))
    again = check(shop, prints, stamps)
    assert {type(verdict) for verdict in again.verdicts} == {Same}
    assert again.stamps["Makefile"].places[0][2] == 1_700_000_000_000_000_000
    monkeypatch.setattr(fingerprint_content, "digest_file", None)  # from here on only stat
    monkeypatch.setattr(fingerprint_content, "digest_folder", None)
    monkeypatch.setattr(fingerprint_content, "parse_fields", None)
    assert check(shop, prints, again.stamps) == again


def test_a_file_changed_a_moment_ago_is_not_trusted_by_its_stamp(shop: Path) -> None:
    prints = taken(shop, "Makefile")
    written = (shop / "Makefile").stat().st_mtime
    assert check(shop, prints, now=written + 1).stamps["Makefile"].places == ()
    assert check(shop, prints, now=written + 10).stamps["Makefile"].places != ()


def test_line_ends_do_not_count_in_text_and_do_in_binaries(shop: Path) -> None:
    write(shop / "blob.bin", "a\0b\nc")
    prints = taken(shop, "Makefile", "package.json#scripts.test", "blob.bin")
    for name in ("Makefile", "package.json", "blob.bin"):
        path = shop / name
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert set(unlike(shop, prints)) == {"blob.bin"}


@pytest.mark.promise("S7")
@pytest.mark.parametrize("how", ["git mv", "committed", "mv", "twice"])
def test_a_renamed_file_is_followed(shop: Path, how: str) -> None:
    prints = taken(shop, "Makefile", "package.json#scripts.test")
    if how == "mv":
        (shop / "Makefile").rename(shop / "build.mk")
        (shop / "web").mkdir()
        (shop / "package.json").rename(shop / "web/package.json")
        # Nobody told git: only a file of the same ending and content is taken for it.
        found = unlike(shop, prints)
        assert isinstance(found["Makefile"], Missing)
        assert found["package.json#scripts.test"] == Renamed(
            "package.json#scripts.test", "web/package.json#scripts.test", prints[1].digest, True
        )
        return
    git(shop, "mv", "Makefile", "build.mk")
    if how in ("committed", "twice"):
        git(shop, "commit", "-qm", "moved")
    if how == "twice":
        git(shop, "mv", "build.mk", "all.mk")
        git(shop, "commit", "-qm", "moved again")
    to = "all.mk" if how == "twice" else "build.mk"
    assert unlike(shop, prints) == {"Makefile": Renamed("Makefile", to, prints[0].digest, True)}


def test_a_renamed_file_that_changed_too_says_so(shop: Path) -> None:
    text = "".join(f"line {number}\n" for number in range(40))
    write(shop / "guide.md", text)
    git(shop, "add", "-A")
    git(shop, "commit", "-qm", "guide")
    prints = taken(shop, "guide.md")
    git(shop, "mv", "guide.md", "manual.md")
    write(shop / "manual.md", text + "one more\n")
    git(shop, "commit", "-aqm", "moved")
    found = unlike(shop, prints)["guide.md"]
    assert isinstance(found, Renamed)
    assert (found.to, found.same) == ("manual.md", False)


def test_a_renamed_folder_is_followed(shop: Path) -> None:
    prints = taken(shop, "tests/")
    git(shop, "mv", "tests", "spec")
    assert unlike(shop, prints) == {"tests/": Renamed("tests/", "spec/", prints[0].digest, True)}
    git(shop, "commit", "-qm", "moved")
    assert unlike(shop, prints) == {"tests/": Renamed("tests/", "spec/", prints[0].digest, True)}


def test_outside_git_what_is_gone_is_missing(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", "a")
    prints = taken(tmp_path, "a.txt")
    (tmp_path / "a.txt").rename(tmp_path / "b.txt")
    assert unlike(tmp_path, prints) == {"a.txt": Missing("a.txt")}


@pytest.mark.promise("G4")
@pytest.mark.parametrize(
    "target",
    [
        "../secret",
        "a/../../secret",
        "/etc/passwd",
        "~/.ssh/id_rsa",
        "~root",
        "..",
        "a/..",
        "",
        "C:/x",
        "a:stream",
        ".git/config",
        ".GIT/config",
        "sub/.git/HEAD",
        "..\\..\\x",
        "a\x00b",
        "a\nb",
        "x" * 600,
        "a//b",
        "/",
        ".git#x",
        "../package.json#name",
        "../**/*.py",
        ".git/**",
        "package.json#",
        "package.json#a..b",
        'package.json#"a',
        "git~1/config",
        ".git./config",
    ],
)
def test_what_could_leave_the_repository_is_refused(shop: Path, target: str) -> None:
    (verdict,) = check(shop, [Fingerprint(target=target, digest="0")]).verdicts
    assert isinstance(verdict, Unreadable)


@pytest.mark.promise("G4")
@pytest.mark.parametrize(
    "target",
    [
        "link",
        "linked/secret",
        "linked/",
        "linked/secret#a",
        "linked/*",
        "linked/**/*",
        "loop",
        "zero",
        "git/config",
    ],
)
def test_links_that_lead_out_are_not_followed(shop: Path, target: str) -> None:
    outside = shop.parent / "outside"
    write(outside / "secret", '{"a": 1}')
    (shop / "link").symlink_to(outside / "secret")
    (shop / "linked").symlink_to(outside)
    (shop / "loop").symlink_to(shop / "loop")
    (shop / "zero").symlink_to("/dev/zero")
    (shop / "git").symlink_to(shop / ".git")
    (verdict,) = check(shop, [Fingerprint(target=target, digest="0")]).verdicts
    assert isinstance(verdict, Unreadable | Missing), verdict


def test_a_wide_glob_does_not_look_behind_links(shop: Path) -> None:
    write(shop.parent / "outside/z.sql", "")
    (shop / "src/out").symlink_to(shop.parent / "outside")
    assert not unlike(shop, taken(shop, "src/**/*.sql"))
    matched = [place[0] for place in check(shop, taken(shop, "src/**/*.sql")).stamps["src/**/*.sql"].places]
    assert sorted(matched) == ["src", "src/db", "src/db/001_init.sql"]


def test_pipes_and_devices_are_not_waited_for(shop: Path) -> None:
    os.mkfifo(shop / "pipe")
    os.mkfifo(shop / "src/x.sql")
    for target in ("pipe", "pipe#a", "pipe/"):
        (verdict,) = check(shop, [Fingerprint(target=target, digest="0")]).verdicts
        assert isinstance(verdict, Unreadable | Missing)
    assert not unlike(shop, taken(shop, "src/**/*.sql"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("deep.json", "[" * 100_000 + "]" * 100_000),
        ("deep.json", '{"a":' * 100_000),
        ("deep.toml", "a = " + "[" * 100_000),
        ("deep.yaml", "[" * 100_000),
        (
            "bomb.yaml",
            "a: &a [x]\n"
            + "".join(f"b{n}: &b{n} [{','.join([f'*b{n - 1}' if n else '*a'] * 9)}]\n" for n in range(12)),
        ),
        ("twice.yaml", "a: 1\na: 2\n"),
        ("bad.json", "{"),
        ("bad.toml", "a = = 1"),
        ("big.toml", "a = " + "9" * 5_000),
        ("bytes.json", '{"a": "\udcff"}'),
        ("text.txt", "just words"),
    ],
)
def test_files_that_cannot_be_parsed_are_unreadable(shop: Path, name: str, text: str) -> None:
    (shop / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    (verdict,) = check(shop, [Fingerprint(target=f"{name}#a", digest="0")]).verdicts
    assert isinstance(verdict, Unreadable)
    assert "\n" not in verdict.why


def test_permission_denied_is_unreadable(shop: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    (shop / "Makefile").chmod(0)
    assert isinstance(unlike(shop, (Fingerprint(target="Makefile", digest="0"),))["Makefile"], Unreadable)


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("a.yaml", "a: no", "a: false"),
        ("a.yaml", "a: 1.10", "a: 1.1"),
        ("a.json", '{"a": 1.10}', '{"a": 1.1}'),
        ("a.json", '{"a": 1}', '{"a": "1"}'),
        ("a.json", '{"a": true}', '{"a": "true"}'),
        ("a.json", '{"a": ' + "9" * 5000 + "}", '{"a": ' + "9" * 4999 + "8}"),
        ("a.toml", "a = 1.10", "a = 1.1"),
        ("a.toml", "a = 2026-05-05", "a = 2026-05-06"),
    ],
)
def test_values_are_told_apart_as_they_are_written(tmp_path: Path, name: str, one: str, other: str) -> None:
    write(tmp_path / name, one)
    prints = taken(tmp_path, f"{name}#a")
    write(tmp_path / name, other)
    assert isinstance(unlike(tmp_path, prints)[f"{name}#a"], Changed)


def test_json_as_compilers_allow_it_is_read(tmp_path: Path) -> None:
    text = '// top\n{"a": {"url": "http://x/*y*/", "strict": true, /* why */ "list": [1, 2,],},}\n'
    write(tmp_path / "tsconfig.json", text)
    write(tmp_path / "plain.json", '{"a": {"list": [1, 2], "strict": true, "url": "http://x/*y*/"}}')
    one, other = taken(tmp_path, "tsconfig.json#a", "plain.json#a")
    assert one.digest == other.digest


@pytest.mark.parametrize(
    ("pattern", "fits", "does_not"),
    [
        ("*.py", ["a.py"], ["b/a.py", "a.pyc"]),
        ("**/*.py", ["a.py", "b/a.py", "b/c/a.py"], ["a.txt"]),
        ("src/**", ["src/a", "src/b/c"], ["a", "srcs/a"]),
        ("src/*/x?.[tj]s", ["src/a/x1.ts", "src/b/x2.js"], ["src/x1.ts", "src/a/b/x1.ts", "src/a/x1.cs"]),
        ("a/**/b/**/c.txt", ["a/b/c.txt", "a/x/b/y/z/c.txt"], ["a/c.txt", "a/b/c.txt/d"]),
        ("**/[", ["x/["], ["x/y"]),
    ],
)
def test_globs_match_as_people_expect(
    tmp_path: Path, pattern: str, fits: list[str], does_not: list[str]
) -> None:
    for number, name in enumerate(does_not):
        write(tmp_path / str(number) / name, "")
        (found,) = check(tmp_path / str(number), [Fingerprint(target=pattern)]).verdicts
        assert isinstance(found, Missing), name
    for name in fits:
        write(tmp_path / "all" / name, "")
        before = {
            place[0]
            for place in check(tmp_path / "all", [Fingerprint(target=pattern)]).stamps[pattern].places
        }
        assert name in before


def test_a_stranger_with_many_stars_is_answered(tmp_path: Path) -> None:
    write(tmp_path / ("a" * 200), "")
    stars = [Fingerprint(target="*a" * 100 + "b"), Fingerprint(target="**/" * 100 + "b")]
    assert {type(verdict) for verdict in check(tmp_path, stars).verdicts} == {Missing}  # and not next year


def test_the_hook_knows_by_stat_alone(shop: Path) -> None:
    prints = taken(shop, *TARGETS)
    stamps = check(shop, prints).stamps
    rows = places_of(prints, stamps)
    assert rows is not None
    assert unchanged(str(shop), rows)
    os.utime(shop / "Makefile", ns=(1, 1))
    assert not unchanged(str(shop), rows)
    (shop / "Makefile").unlink()
    assert not unchanged(str(shop), rows)
    assert places_of((*prints, Fingerprint(target="other", digest="1")), stamps) is None
    assert places_of((), stamps) == ()


def test_a_fingerprint_without_a_digest_takes_what_is_there(shop: Path) -> None:
    (verdict,) = check(shop, [Fingerprint(target="Makefile")]).verdicts
    assert verdict == Same("Makefile", taken(shop, "Makefile")[0].digest)
    assert isinstance(take(shop, "nowhere"), Missing)
    assert isinstance(take(shop, "../x"), Unreadable)


def test_stamps_survive_json(shop: Path) -> None:
    import msgspec

    stamps = check(shop, taken(shop, *TARGETS)).stamps
    assert msgspec.json.decode(msgspec.json.encode(stamps), type=dict[str, PlaceStamp]) == stamps


@pytest.mark.promise("S7")
def test_a_thousand_unchanged_lessons_cost_a_thousand_stats_and_nothing_else(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [write(shop / f"lib/m{n}.json", '{"a": 1}').relative_to(shop).as_posix() for n in range(1000)]
    prints = taken(shop, *(f"{name}#a" for name in names))
    stamps = check(shop, prints).stamps
    asked: list[object] = []
    stat, nothing = os.stat, "only stat is needed"
    monkeypatch.setattr(os, "stat", lambda path, **more: (asked.append(path), stat(path, **more))[1])
    for name in ("open", "scandir", "listdir"):
        monkeypatch.setattr(os, name, lambda *_, **__: pytest.fail(nothing))
    monkeypatch.setattr("builtins.open", lambda *_, **__: pytest.fail(nothing))
    checked = check(shop, prints, stamps)
    monkeypatch.undo()
    assert {type(verdict) for verdict in checked.verdicts} == {Same}
    assert len(asked) == 1000


@settings(deadline=None)  # a busy machine is no error
@given(st.lists(st.text(max_size=12), min_size=1, max_size=6))
def test_any_keys_come_back_from_their_text(keys: list[str]) -> None:
    assert parse_field(field_text(tuple(keys))) == tuple(keys)


@settings(deadline=None)  # a busy machine is no error
@given(st.text(max_size=40))
def test_any_target_is_read_or_refused(text: str) -> None:
    try:
        target = parse_target(text)
    except fingerprint_content.TargetError as error:
        assert str(error)
    else:
        assert ".." not in target.path.split("/")
        assert not target.path.startswith("/")


KEYS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=6)
VALUES = st.recursive(
    st.text(max_size=5) | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)  # a busy machine is no error
@given(st.dictionaries(KEYS, VALUES, min_size=1, max_size=4))
def test_every_value_of_a_json_file_is_reached_by_its_field(values: dict[str, object]) -> None:
    parsed = parse_fields("a.json", json.dumps(values).encode())

    def walk(value: object, keys: tuple[str, ...]) -> None:
        if keys:
            found = fingerprint_content.find_field(parsed, parse_field(field_text(keys)))
            assert fingerprint_content.canonical(found) == fingerprint_content.canonical(value)
        items = (
            value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        )
        for key, inner in items:
            walk(inner, (*keys, str(key)))

    walk(values, ())


@settings(deadline=None)  # a busy machine is no error
@given(st.binary(max_size=80), st.sampled_from(["a.json", "a.toml", "a.yaml", "a.rc"]))
def test_any_bytes_are_parsed_or_refused(content: bytes, name: str) -> None:
    try:
        fingerprint_content.canonical(parse_fields(name, content))
    except fingerprint_content.TargetError as error:
        assert str(error)
