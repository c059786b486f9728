"""What kind of work a session was, told by its goal and by what it touched."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.language.kind import explain_kind, kind_of_commits
from holdfast.model.ledger import Kind


def kind_of(goal: str, edited: list[str], commands: list[str]) -> Kind:
    return explain_kind(goal, edited, commands).kind


pytestmark = pytest.mark.promise("L2")

ASKED = [
    (Kind.BUGFIX, "fix: null pointer in the parser"),
    (Kind.FEATURE, "feat(api)!: add paging"),
    (Kind.CONFIG, "chore(deps): bump lodash"),
    (Kind.DOCS, "docs: describe the flags"),
    (Kind.BUGFIX, "Fix the failing test in test_login.py"),
    (Kind.BUGFIX, "tests are failing after the last merge, please fix"),
    (Kind.BUGFIX, "The app crashes when I click save"),
    (Kind.BUGFIX, "login is broken on Safari"),
    (Kind.TEST, "Write unit tests for the parser"),
    (Kind.TEST, "can you write a test - which should fail right now - for each item?"),
    (Kind.TEST, "increase test coverage of the router to 90%"),
    (Kind.REVIEW, "review this PR"),
    (Kind.REVIEW, "Can you please review my changes before I commit?"),
    (Kind.REVIEW, "let's respond to the PR comments"),
    (Kind.REVIEW, "/review"),
    (Kind.REVIEW, "/pr-review 12"),
    (Kind.DOCS, "Update the README with install steps"),
    (Kind.DOCS, "Add docstrings to all public functions"),
    (Kind.REFACTOR, "Refactor the authentication middleware to use JWT"),
    (Kind.REFACTOR, "Rename UserService to AccountService"),
    (Kind.REFACTOR, "Extract the validation logic into a helper"),
    (Kind.REFACTOR, "clean up and simplify the router"),
    (Kind.MIGRATION, "Upgrade React 17 to React 18"),
    (Kind.MIGRATION, "Migrate the database layer to SQLAlchemy 2"),
    (Kind.MIGRATION, "port the CLI to Rust"),
    (Kind.MIGRATION, "move from webpack to vite"),
    (Kind.CONFIG, "Set up GitHub Actions for CI"),
    (Kind.BUGFIX, "fix lint errors"),  # in the code; in settings it is configuration
    (Kind.CONFIG, "update dependencies"),
    (Kind.CONFIG, "can you update go in all the right places to 1.25.6"),
    (Kind.FEATURE, "Add rate limiting to the API gateway"),
    (Kind.FEATURE, "Implement request validation middleware"),
    (Kind.FEATURE, "Add dark mode and write tests for it"),
    (Kind.FEATURE, "create a CLI command for exporting docs"),
    (Kind.FEATURE, "Implement the following plan:\n\n# Plan: Two-step sign-in\n\nThe user signs in twice."),
    (Kind.BUGFIX, "Implement the following plan:\n\n# Fix: filter not applied\n\n## Problem"),
]


@pytest.mark.parametrize(("kind", "goal"), ASKED)
def test_what_the_user_asked_decides(kind: Kind, goal: str) -> None:
    assert kind_of(goal, ["src/shop/cart.py", "tests/test_cart.py"], []) is kind


@pytest.mark.parametrize(
    "goal",
    [
        "Why does the login fail?",
        "How does the cache work?",
        "explain the auth flow",
        "investigate the memory use",
    ],
)
def test_a_question_without_edits_is_exploration(goal: str) -> None:
    assert kind_of(goal, [], ["rg login"]) is Kind.EXPLORATION


def test_a_why_that_ended_in_changed_code_was_a_repair() -> None:
    assert kind_of("why is the list empty?", ["src/list.py"], []) is Kind.BUGFIX
    assert kind_of("why is the list empty?", [".github/workflows/ci.yml"], []) is Kind.CONFIG


@pytest.mark.parametrize(
    ("kind", "paths"),
    [
        (Kind.DOCS, ["README.md", "docs/guide.rst"]),
        (Kind.TEST, ["tests/test_a.py", "src/a.test.ts", "pkg/a_test.go"]),
        (Kind.TEST, ["src/test/java/acme/CartTest.java"]),
        (Kind.CONFIG, [".github/workflows/ci.yml", "Dockerfile", "pyproject.toml"]),
        (Kind.FEATURE, ["src/a.py", "README.md"]),
        (Kind.OTHER, []),
    ],
)
def test_where_nothing_was_said_the_edited_files_decide(kind: Kind, paths: list[str]) -> None:
    assert kind_of("carry on", paths, []) is kind


def test_a_vague_verb_gives_way_to_what_was_edited() -> None:
    assert kind_of("add a note about this", ["docs/notes.md"], []) is Kind.DOCS
    assert kind_of("make it stricter", ["tsconfig.json"], []) is Kind.CONFIG


def test_instructions_for_agents_and_plans_of_the_host_are_no_documents() -> None:
    assert kind_of("fill out the search skill", ["skills/search/SKILL.md"], []) is Kind.FEATURE
    assert kind_of("how does it work?", ["/home/a/.claude/plans/mighty-wolf.md"], []) is Kind.EXPLORATION


def test_running_things_has_no_kind_of_its_own() -> None:
    assert kind_of("run the tests", [], ["pytest"]) is Kind.OTHER
    assert kind_of("create a draft PR for this branch", [], ["gh pr create"]) is Kind.OTHER


def test_a_pasted_error_alone_is_a_bug_to_fix() -> None:
    assert kind_of("TypeError: x is undefined", ["src/a.ts"], []) is Kind.BUGFIX


def test_reading_a_pull_request_without_words_is_a_review() -> None:
    assert kind_of("this one", [], ["gh pr diff 12"]) is Kind.REVIEW


@pytest.mark.parametrize(
    ("kind", "goals"),
    [
        (
            Kind.BUGFIX,
            [
                "Behebe den Fehler im Login",
                "Corrige le bug du formulaire",
                "Arregla el error",
                "修复登录错误",
                "バグを修正して",
            ],
        ),
        (
            Kind.FEATURE,
            [
                "Füge einen Dark Mode hinzu",
                "Ajoute un mode sombre",
                "Añade paginación",
                "添加分页功能",
                "ダークモードを追加して",
            ],
        ),
        (
            Kind.REFACTOR,
            [
                "Refaktoriere den Parser",
                "Refactorise le module",
                "Refactoriza el servicio",
                "重构用户模块",
                "リファクタリングして",
            ],
        ),
        (
            Kind.TEST,
            [
                "Schreibe Tests für den Parser",
                "Écris des tests",
                "Escribe pruebas",
                "为解析器编写单元测试",
                "テストを書いて",
            ],
        ),
    ],
)
def test_verbs_of_other_languages_are_understood(kind: Kind, goals: list[str]) -> None:
    assert [kind_of(goal, ["src/a.py"], []) for goal in goals] == [kind] * len(goals)


@pytest.mark.parametrize(
    "goal",
    [
        "Erkläre mir den Cache",
        "Explique le cache",
        "Explica cómo funciona",
        "解释一下缓存",
        "仕組みを説明して",
    ],
)
def test_to_explain_is_exploration_in_any_language(goal: str) -> None:
    assert kind_of(goal, [], []) is Kind.EXPLORATION


def test_the_judgement_gives_its_reason() -> None:
    judged = explain_kind("Fix the failing test", [], [])
    assert judged.kind is Kind.BUGFIX
    assert judged.reason == "a test fails"


_PATHS = st.lists(st.text(max_size=20), max_size=3)


@settings(deadline=None)  # patterns are compiled when they are first needed
@given(st.text(st.characters(), max_size=300), _PATHS, _PATHS)
def test_any_session_has_a_kind_and_a_reason(goal: str, paths: list[str], commands: list[str]) -> None:
    judged = explain_kind(goal, paths, commands)
    assert judged.kind in Kind
    assert judged.reason
    assert judged == explain_kind(goal, paths, commands)


def test_commits_of_one_type_say_what_was_delivered() -> None:
    asked = explain_kind("make the list nicer", ["src/list.py"], [])
    delivered = kind_of_commits(["1a2b3c4 fix(list): sort by date", "fix: an empty list"], asked)
    assert delivered == (Kind.BUGFIX, "its commits begin with “fix:”")
    for subjects in (["fix: a", "feat: b"], ["style: a"], ["Sort by date"], []):
        assert kind_of_commits(subjects, asked) == asked
    only_tests = explain_kind("", ["tests/test_list.py"], [])
    assert kind_of_commits(["feat: more tests"], only_tests) == only_tests
