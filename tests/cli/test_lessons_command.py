"""`holdfast lessons` as a person and a script use it: every verb, its errors, the way back, one key for each."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.command import Holdfast
from tests.flows.test_lessons import PNPM, SLOW, Bench, lesson
from tests.patience import PATIENCE_S, wait_until

from holdfast.cli.main import main
from holdfast.views import lessons as lesson_views

BAD_NAMES = [
    "../../.bashrc", "..\\..\\x", "/etc/passwd", "a/b", ".git", "-rf", "con", "x" * 300, "a\nb",
    "tеsting", "..", "", "a:stream", "~root", "$(id)", "%2e%2e", "_candidates",
]  # fmt: skip


@pytest.fixture
def bench(repo: Path) -> Bench:
    """A project with two candidates that sessions taught."""
    bench = Bench(repo)
    bench.propose(lesson(PNPM), lesson(SLOW, name="suite", line="passed in 611 s"))
    return bench


def local(bench: Bench, name: str) -> Path:
    return bench.project.memory / "lessons" / f"{name}.md"


def states(holdfast: Holdfast) -> dict[tuple[str, str], str]:
    return {
        (one["name"], one["scope"]): one["state"] for one in holdfast("lessons", "--json", check=0).json()
    }


# --- by hand -------------------------------------------------------------------------------------------


@pytest.mark.promise("S1")
@pytest.mark.promise("S8")
def test_a_lesson_is_added_listed_shown_and_removed(holdfast: Holdfast, repo: Path) -> None:
    (repo / "Makefile").write_text("test:\n", encoding="utf-8")
    (repo / "package.json").write_text('{"scripts": {"test": "make test"}}', encoding="utf-8")
    done = holdfast(
        "lessons", "add", "testing", "--rule", "run `make test`", "--rule", "never pytest itself",
        "--fingerprint", "Makefile", "--fingerprint", "package.json#scripts.test", "--description", "How tests run",
        check=0,
    )  # fmt: skip
    assert done.stdout == "testing is active here: run `make test`; never pytest itself\n"
    (one,) = holdfast("lessons", "list", "--json", check=0).json()
    seeds = (
        "name",
        "scope",
        "state",
        "description",
        "rules",
        "fingerprint",
        "sources",
        "injected",
        "used",
        "tokens",
    )
    assert {key: one[key] for key in seeds} == {
        "name": "testing", "scope": "local", "state": "active", "description": "How tests run",
        "rules": ["run `make test`", "never pytest itself"],
        "fingerprint": ["Makefile", "package.json#scripts.test"],
        "sources": [], "injected": 0, "used": 0, "tokens": 0,
    }  # fmt: skip
    shown = holdfast("lessons", "show", "test", check=0).stdout
    assert "- never pytest itself" in shown and "depends on Makefile, package.json#scripts.test" in shown
    assert "holdfast undo restores it" in holdfast("lessons", "rm", "testing", check=0).stdout
    assert holdfast("lessons", "list", "--json", check=0).json() == []
    holdfast("undo", "--yes", check=0)
    assert states(holdfast) == {("testing", "local"): "active"}


def test_the_columns_of_the_list_have_the_names_that_people_know() -> None:
    """Most are left out while they are empty, so that a test by hand may not meet them."""
    titles = [column.title for column in lesson_views._COLUMNS]
    assert titles == ["Lesson", "Scope", "State", "Seen", "Told", "Used", "Tokens", "What it says"]


def test_adding_again_adds_rules_and_replacing_leaves_only_the_new_ones(holdfast: Holdfast) -> None:
    for rule in ("one rule here", "two rules here"):
        holdfast("lessons", "add", "x1", "--rule", rule, check=0)
    assert holdfast("lessons", "show", "x1", "--json", check=0).json()["rules"] == [
        "one rule here",
        "two rules here",
    ]
    holdfast("lessons", "add", "x1", "--rule", "three", "--replace", check=0)
    assert holdfast("lessons", "show", "x1", "--json", check=0).json()["rules"] == ["three"]


@pytest.mark.promise("S1")
def test_a_personal_lesson_counts_in_every_project(
    holdfast: Holdfast, home: Path, make_repo: Callable[[str], Path]
) -> None:
    holdfast("lessons", "add", "taste", "--rule", "prefer functions to classes", "--personal", check=0)
    assert (home / ".holdfast" / "lessons" / "taste.md").is_file()
    other = make_repo("other")
    (one,) = holdfast("lessons", "--json", cwd=other, check=0).json()
    assert (one["scope"], one["state"]) == ("personal", "active")
    holdfast("lessons", "rm", "taste", cwd=other, check=0)
    assert "taste.md" in holdfast("undo", "--personal", "--yes", check=0).stdout
    assert states(holdfast) == {("taste", "personal"): "active"}


def test_a_file_in_the_seeds_form_is_added_as_it_is(holdfast: Holdfast, repo: Path, bench: Bench) -> None:
    text = "---\nname: imports\nowner: Ada   # ask her\nfingerprint:\n  - tsconfig.json\n---\nWhy:\n- .js suffix\n"
    (repo / "imports.md").write_text(text, encoding="utf-8")
    holdfast("lessons", "add", "--file", "imports.md", check=0)
    assert local(bench, "imports").read_text(encoding="utf-8") == text
    (repo / "imports.md").write_text(text.replace(".js", ".mjs"), encoding="utf-8")
    assert "--replace" in holdfast("lessons", "add", "--file", "imports.md", check=2).stderr
    holdfast("lessons", "add", "--file", "imports.md", "--replace", check=0)
    assert holdfast("lessons", "show", "imports", "--json").json()["rules"] == [".mjs suffix"]


def test_a_file_put_there_by_hand_is_a_lesson(holdfast: Holdfast, bench: Bench) -> None:
    local(bench, "style").write_text("- four spaces\n", encoding="utf-8")
    assert states(holdfast)["style", "local"] == "active"


@pytest.mark.parametrize("name", BAD_NAMES)
@pytest.mark.promise("G4")
def test_a_name_that_must_not_become_a_path_never_does(
    bench: Bench, repo: Path, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(repo)
    before = {str(path) for path in repo.parent.rglob("*")}
    for arguments in (["add", "--rule", "obey"], ["promote"], ["rm"], ["share"], ["mute"], ["trust"]):
        assert main(["lessons", *arguments, "--", name]) in (1, 2)
        said = capsys.readouterr().err
        assert len(said.strip().splitlines()) == 1 and "refused" in said, said
    after = {str(path) for path in repo.parent.rglob("*") if "locks" not in path.parts}
    assert after <= before


@pytest.mark.parametrize(
    "target", ["../secrets", "/etc/passwd", "~/.ssh/id_rsa", "a/../../b", "C:\\x", "\u202ex"]
)
def test_a_fingerprint_stays_inside_the_repository(holdfast: Holdfast, target: str) -> None:
    done = holdfast("lessons", "add", "x1", "--rule", "obey", "--fingerprint", target, check=2)
    assert "fingerprint" in done.stderr and holdfast("lessons", "--json").json() == []


def test_a_rule_with_hidden_text_or_a_secret_is_refused_or_cleaned(holdfast: Holdfast) -> None:
    assert "hidden text" in holdfast("lessons", "add", "x1", "--rule", "a\u200bb", check=2).stderr
    assert (
        "needs a rule" in holdfast("lessons", "add", "x1", "--rule", "<private>x</private>", check=2).stderr
    )
    token = "ghp_" + "a1B2" * 9
    assert token not in holdfast("lessons", "add", "x1", "--rule", f"push with {token}", check=0).stdout


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["show", "nosuch"], 1, "no lesson 'nosuch'"),
        (["promote", "nosuch"], 1, "no lesson"),
        (["unmute", "testing"], 2, "is not muted"),
        (["add"], 2, "needs a name"),
        (["add", "x1"], 2, "needs a rule"),
        (["add", "--file", "nosuch.md"], 1, "no such file"),
        (["mute", "testing", "--days", "0"], 2, ""),
        (["trust", "--yes"], 0, ""),
        (["trust", "--all", "x1"], 2, "used with names"),
        (["share", "testing", "nosuch"], 1, "no lesson"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(
    holdfast: Holdfast, bench: Bench, arguments: list[str], code: int, words: str
) -> None:
    done = holdfast("lessons", *arguments, check=code)
    assert words in done.stderr


# --- candidates ----------------------------------------------------------------------------------------


@pytest.mark.promise("S4")
@pytest.mark.promise("S8")
def test_promoting_makes_a_candidate_active_and_undo_takes_it_back(holdfast: Holdfast, bench: Bench) -> None:
    assert "testing is active here" in holdfast("lessons", "promote", "testing", check=0).stdout
    assert states(holdfast) == {("testing", "local"): "active", ("suite", "local"): "candidate"}
    assert not bench.candidate("testing").exists()
    holdfast("undo", "--yes", check=0)
    assert bench.candidate("testing").exists() and not local(bench, "testing").exists()
    holdfast("undo", "--yes", check=0)
    assert local(bench, "testing").exists()
    assert "active here already" in holdfast("lessons", "promote", "testing", check=2).stderr


def test_promoting_to_all_projects(holdfast: Holdfast, home: Path, bench: Bench) -> None:
    holdfast("lessons", "promote", "testing", "--personal", check=0)
    assert states(holdfast)["testing", "personal"] == "active"


@pytest.mark.promise("S4")
def test_a_rejected_lesson_does_not_come_back_in_any_words(holdfast: Holdfast, bench: Bench) -> None:
    bench.propose(lesson("Always run the integration tests with the staging database", name="staging"))
    assert "will not be proposed again" in holdfast("lessons", "reject", "staging", check=0).stdout
    other = "always run integration tests with the staging database"
    for name, session in (("staging", "s5"), ("databases", "s6")):
        assert bench.propose(lesson(other, name=name, session=session)).rejected == 1
    assert ("staging", "local") not in states(holdfast) and ("databases", "local") not in states(holdfast)
    holdfast("undo", "--yes", check=0)
    assert states(holdfast)["staging", "local"] == "candidate"


def test_what_a_person_adds_by_hand_was_not_meant_when_it_was_rejected(
    holdfast: Holdfast, bench: Bench
) -> None:
    holdfast("lessons", "reject", "suite", check=0)
    holdfast("lessons", "add", "suite", "--rule", SLOW, check=0)
    bench.propose(lesson(SLOW, name="suite", session="s7"))
    assert bench.active()["suite"].sessions == ("s7",)


def test_a_muted_lesson_is_not_told_for_some_days(holdfast: Holdfast, bench: Bench) -> None:
    holdfast("lessons", "promote", "testing", check=0)
    holdfast("lessons", "mute", "testing", "--days", "3", check=0)
    (one,) = (one for one in holdfast("lessons", "--json").json() if one["name"] == "testing")
    assert one["state"] == "muted" and one["muted_until"]
    assert "muted until" in holdfast("lessons", check=0).stdout
    holdfast("lessons", "unmute", "testing", check=0)
    assert states(holdfast)["testing", "local"] == "active"


def test_all_of_several_names_or_none(holdfast: Holdfast, bench: Bench) -> None:
    holdfast("lessons", "promote", "testing", "nosuch", check=1)
    assert states(holdfast)["testing", "local"] == "candidate"
    holdfast("lessons", "promote", "testing", "suite", check=0)
    assert set(states(holdfast).values()) == {"active"}
    holdfast("undo", "--yes", check=0)
    assert set(states(holdfast).values()) == {"candidate"}


def test_listing_starts_the_clock_and_json_does_not(holdfast: Holdfast, bench: Bench) -> None:
    assert all(one["active_at"] is None for one in holdfast("lessons", "--json", check=0).json())
    assert "2 lessons to review" in holdfast("lessons", check=0).stderr
    assert all(one["active_at"] for one in holdfast("lessons", "--json", check=0).json())


def test_a_broken_file_is_one_warning_and_the_rest_is_listed(holdfast: Holdfast, bench: Bench) -> None:
    local(bench, "broken").write_text("---\nname: [\n---\n- rule\n", encoding="utf-8")
    done = holdfast("lessons", "--json", check=0)
    assert len(done.json()) == 2 and done.stderr.count("\n") == 1
    assert re.search(r"warning: \.holdfast/local/lessons/broken\.md:3: .+ It is left out", done.stderr)


@pytest.mark.promise("S11")
def test_a_lesson_that_never_pays_is_proposed_for_removal(holdfast: Holdfast, bench: Bench) -> None:
    from holdfast.lessons.choices import Payback
    from holdfast.lessons.states import lesson_store

    store = lesson_store(bench.machine, bench.project)
    for _ in range(12):
        store.note(lambda record: record.count({"testing": Payback(injected=1, tokens=20, last=60.0)}))
    store.note(lambda record: record.count({"suite": Payback(injected=12, tokens=240, used=2)}))
    by_name = {one["name"]: one for one in holdfast("lessons", "--json", check=0).json()}
    assert (by_name["testing"]["injected"], by_name["testing"]["tokens"]) == (12, 240)
    assert (by_name["testing"]["pays"], by_name["suite"]["pays"]) == (False, True)
    said = holdfast("lessons", check=0).stderr
    assert (
        "testing is rarely followed (shown 12 times, used 0); to remove it: holdfast lessons rm testing"
        in said
    )
    assert "payback" not in bench.candidate("testing").read_text(encoding="utf-8")


# --- sharing -------------------------------------------------------------------------------------------


@pytest.mark.promise("S9")
def test_sharing_lets_git_track_a_lesson_and_nothing_else(
    holdfast: Holdfast, repo: Path, bench: Bench
) -> None:
    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=repo, capture_output=True, encoding="utf-8", check=True
        ).stdout

    assert git("status", "--porcelain", "--untracked-files=all") == ""
    done = holdfast("lessons", "share", "suite", check=0)
    assert ".holdfast/lessons/suite.md" in done.stdout
    assert sorted(line[3:] for line in git("status", "--porcelain", "--untracked-files=all").splitlines()) == [
        ".holdfast/.gitattributes", ".holdfast/.gitignore", ".holdfast/lessons/suite.md",
    ]  # fmt: skip
    text = (repo / ".holdfast" / "lessons" / "suite.md").read_text(encoding="utf-8")
    assert f"- {SLOW}\n" in text and "s1" in text and "passed in 611 s" not in text
    assert states(holdfast)["suite", "shared"] == "active"  # written by this machine
    assert states(holdfast)["suite", "local"] == "active"
    holdfast("ledger", "share", check=0)
    holdfast("ledger", "share", "--undo", check=0)
    assert "!lessons/" in (repo / ".holdfast" / ".gitignore").read_text(encoding="utf-8")
    holdfast("lessons", "share", "suite", "--undo", check=0)
    assert not (repo / ".holdfast" / "lessons" / "suite.md").exists()
    assert states(holdfast)["suite", "local"] == "active"
    git("commit", "--quiet", "--allow-empty", "-m", "x")
    assert ".holdfast/lessons" not in git("status", "--porcelain", "--untracked-files=all")


def test_somebody_elses_lesson_is_not_overwritten_unasked(
    holdfast: Holdfast, repo: Path, bench: Bench
) -> None:
    holdfast("lessons", "share", "testing", check=0)
    path = repo / ".holdfast" / "lessons" / "testing.md"
    path.write_text("- another way\n", encoding="utf-8")
    assert states(holdfast)["testing", "shared"] == "untrusted"
    assert "--replace" in holdfast("lessons", "share", "testing", check=2).stderr
    assert path.read_text(encoding="utf-8") == "- another way\n"
    holdfast("lessons", "share", "testing", "--replace", check=0)
    assert states(holdfast)["testing", "shared"] == "active"


# --- forgetting, export ----------------------------------------------------------------------------------


@pytest.mark.promise("G5")
def test_forgetting_words_takes_them_out_of_every_lesson(
    holdfast: Holdfast, home: Path, repo: Path, bench: Bench
) -> None:
    secret = "Project Zanzibar"
    bench.propose(lesson("deploy to the zanzibar cluster", f"ask before {secret} deploys", name="deploy"))
    holdfast("lessons", "promote", "deploy", check=0)
    holdfast("lessons", "share", "deploy", check=0)
    holdfast("lessons", "add", "mine", "--personal", "--rule", f"{secret} comes first", check=0)
    holdfast("lessons", "add", "other", "--rule", "keep me", "--description", f"{secret} notes", check=0)
    bench.propose(lesson(f"skip {secret} tests", name="bad"))
    holdfast("lessons", "reject", "bad", check=0)
    done = holdfast("forget", "--text", secret, "--yes", check=0)
    assert "commit .holdfast/lessons/deploy.md" in done.stdout
    for root in (home / ".holdfast", repo / ".holdfast"):
        for path in root.rglob("*"):
            if path.is_file() and not path.is_symlink():
                assert b"project zanzibar" not in path.read_bytes().lower(), path
    rules = {one["name"]: one["rules"] for one in holdfast("lessons", "--json", check=0).json()}
    assert rules["deploy"] == ["deploy to the zanzibar cluster"] and rules["other"] == ["keep me"]
    assert "mine" not in rules
    assert states(holdfast)["deploy", "shared"] == "active"  # what is left was agreed to with the rest
    assert bench.propose(lesson(f"skip {secret} tests", name="bad", session="s4")).added == ()


def test_forgetting_words_that_name_a_lesson(holdfast: Holdfast, home: Path, bench: Bench) -> None:
    from holdfast.lessons.choices import Payback
    from holdfast.lessons.states import lesson_store

    holdfast("lessons", "add", "zanzibar-deploys", "--rule", "ask first", check=0)
    holdfast("lessons", "mute", "zanzibar-deploys", check=0)
    lesson_store(bench.machine, bench.project).note(
        lambda record: record.count({"zanzibar-deploys": Payback(injected=1)})
    )
    holdfast("forget", "--text", "zanzibar", "--yes", check=0)
    for path in (home / ".holdfast").rglob("*"):
        assert "zanzibar" not in path.name
        assert not path.is_file() or b"zanzibar" not in path.read_bytes(), path


@pytest.mark.promise("G5")
def test_forgetting_a_session_takes_its_lessons_and_its_evidence(holdfast: Holdfast, bench: Bench) -> None:
    bench.propose(lesson(SLOW, name="suite", session="s2"))
    holdfast("ledger", "add", "--session", "s1", check=0)
    holdfast("forget", "--session", "s1", "--yes", check=0)
    (left,) = holdfast("lessons", "--json", check=0).json()
    assert (left["name"], left["sources"]) == ("suite", ["s2"])
    assert b"611" not in bench.candidate("suite").read_bytes()
    assert bench.propose(lesson(PNPM)).added == ()


def test_forgetting_a_lesson_by_its_id(holdfast: Holdfast, bench: Bench) -> None:
    (one,) = (one for one in holdfast("lessons", "--json").json() if one["name"] == "testing")
    holdfast("forget", "--fact", one["id"], "--yes", check=0)
    assert list(states(holdfast)) == [("suite", "local")]


@pytest.mark.promise("M9")
def test_lessons_travel_with_the_memory_and_rejected_ones_stay_away(
    holdfast: Holdfast, make_repo: Callable[[str], Path], tmp_path: Path, bench: Bench
) -> None:
    holdfast("lessons", "promote", "testing", check=0)
    holdfast("export", "--output", tmp_path / "all.tar.gz")
    archive = next(iter([*tmp_path.glob("*.tar.gz"), *bench.project.root.glob("*.tar.gz")]), None)
    if archive is None:
        archive = Path(holdfast("export", "--json", check=0).json()["path"])
    other = make_repo("elsewhere")
    holdfast("restore", archive, cwd=other, check=0)
    assert {one["name"]: one["state"] for one in holdfast("lessons", "--json", cwd=other).json()} == {
        "testing": "active", "suite": "candidate",
    }  # fmt: skip
    holdfast("lessons", "reject", "suite", check=0)
    holdfast("restore", archive, "--merge", check=0)
    assert ("suite", "local") not in states(holdfast)


# --- one key for each ------------------------------------------------------------------------------------


def waited(shown: Callable[[], str], words: str) -> None:
    assert wait_until(lambda: words in shown()), shown()


@pytest.mark.promise("U8")
@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo terminal")
def test_review_takes_one_key_for_each_candidate(
    holdfast: Holdfast, repo: Path, tmp_path: Path, bench: Bench
) -> None:
    from tests.e2e.terminal import terminal

    for number, rule in enumerate(
        ("use tabs in makefiles", "set CGO_ENABLED=1 for builds", "ask Bob about the proxy")
    ):
        bench.propose(lesson(rule, name=f"more-{number}", session=f"m{number}"))
    editor = tmp_path / "editor.sh"
    editor.write_text('#!/bin/sh\nprintf -- "- and port 6380 too\\n" >> "$1"\n', encoding="utf-8")
    editor.chmod(0o755)
    env = {**os.environ, "EDITOR": str(editor), "TERM": "xterm"}
    with terminal([sys.executable, "-m", "holdfast", "lessons", "review"], repo, env) as screen:
        for place, keys in ((1, b"p"), (2, b"\x1b[Azr"), (3, b"m"), (4, b"e")):
            waited(lambda: screen.shown, f"{place} of 5")
            os.write(screen._master, keys)
        waited(lambda: screen.shown, "and port 6380 too")
        os.write(screen._master, b"g")
        waited(lambda: screen.shown, "5 of 5")
        os.write(screen._master, b"q")
        waited(lambda: screen.shown, "1 left")
        assert screen.process.wait(PATIENCE_S) == 0
    assert "1 promoted, 1 rejected, 1 muted, 1 shared, 1 left" in screen.shown
    assert states(holdfast) == {
        ("more-0", "local"): "active", ("more-2", "local"): "muted", ("suite", "local"): "active",
        ("suite", "shared"): "active", ("testing", "local"): "candidate",
    }  # fmt: skip


@pytest.mark.promise("U8")
def test_review_without_a_terminal_says_what_to_do_instead(holdfast: Holdfast, bench: Bench) -> None:
    done = holdfast("lessons", "review", check=2)
    assert "needs a terminal" in done.stderr and "lessons promote NAME" in done.stderr
    assert [one["name"] for one in holdfast("lessons", "review", "--json", check=0).json()] == [
        "suite",
        "testing",
    ]


def staged(repo: Path) -> str:
    command = ["git", "diff", "--cached", "--name-only"]
    return subprocess.run(command, cwd=repo, capture_output=True, encoding="utf-8", check=True).stdout


def test_undo_takes_a_share_back_and_brings_it_back(holdfast: Holdfast, repo: Path) -> None:
    holdfast("lessons", "add", "testing", "--rule", "run make test")
    holdfast("lessons", "share", "testing")
    shared = repo / ".holdfast" / "lessons" / "testing.md"
    assert "testing.md" in staged(repo)
    text = holdfast("undo", "--yes").stdout
    assert "lessons share" in text and "no longer tracked in git" in text
    assert not shared.exists()
    assert "testing.md" not in staged(repo)
    assert "run make test" in holdfast("lessons", "show", "testing").stdout  # it is still one's own
    holdfast("undo", "--yes")
    assert shared.exists() and "testing.md" in staged(repo)


@pytest.mark.parametrize("verb", ["promote", "reject", "mute", "rm"])
def test_undo_takes_back_what_was_done_to_a_lesson(holdfast: Holdfast, bench: Bench, verb: str) -> None:
    before = bench.states()
    holdfast("lessons", verb, "testing")
    assert bench.states() != before
    assert f"lessons {verb}" in holdfast("undo", "--yes").stdout
    assert bench.states() == before


def test_sessions_of_an_older_holdfast_are_learned_from(holdfast: Holdfast) -> None:
    assert "Nothing to reread" in holdfast("lessons", "learn").stdout
    said = holdfast("lessons", "learn", "--all", "--json", check=0).json()
    assert said == {"sessions": 0, "read": 0, "gone": 0, "lessons": 0}
