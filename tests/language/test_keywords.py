"""Keywords of a goal: enough to recognise a session, nothing that belongs to its content."""

import re
import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.core.stopwords import ENGLISH, OTHER_LANGUAGES
from holdfast.language.keywords import keywords
from holdfast.language.prose import prose_of

pytestmark = pytest.mark.promise("L6")

TRACE = """Fix the checkout crash
Traceback (most recent call last):
  File "/srv/shop/cart/views.py", line 12, in total
    return basket.compute_everything()
ValueError: negative quantity
"""


def test_the_seed_example_gives_exactly_its_four_words() -> None:
    assert keywords("Refactor the authentication middleware to use JWT") == (
        "refactor",
        "authentication",
        "middleware",
        "jwt",
    )


def test_there_are_more_than_a_hundred_stop_words_and_lists_for_other_languages() -> None:
    assert len(ENGLISH) > 100
    assert {"de", "fr", "es", "pt", "it", "nl", "ru"} <= set(OTHER_LANGUAGES)


@pytest.mark.parametrize(
    ("goal", "expected"),
    [
        ("Fix the UI of the Go db tool in CI", ("fix", "ui", "go", "db", "tool", "ci")),
        ("port it from C to C++, C# and F#", ("port", "c", "c++", "c#", "f#")),
        ("Move .NET and Node.js images to k8s and s3", ("move", ".net", "node.js", "images", "k8s", "s3")),
        ("add i18n, a11y and http2 to v2", ("add", "i18n", "a11y", "http2")),
        ("let's go with option C", ("option",)),
        ("Go to the settings page and fix the toggle", ("settings", "page", "fix", "toggle")),
        ("update go to 1.25.6", ("update", "go")),
    ],
)
def test_short_technical_words_stay_and_their_look_alikes_go(goal: str, expected: tuple[str, ...]) -> None:
    assert keywords(goal) == expected


@pytest.mark.parametrize(
    ("goal", "expected"),
    [
        ("rename sessionMentionsProject", ("rename", "session", "mentions", "project")),
        ("UserPromptSubmit", ("user", "prompt", "submit")),
        ("MAX_CHUNK_SIZE", ("max", "chunk", "size")),
        ("auto-commit strategy", ("auto", "commit", "strategy")),
        ("mix phx.server", ("mix", "phx", "server")),
        ("parse HTTPServer responses", ("parse", "http", "server", "responses")),
        ("e2e OAuth2 GraphQL TypeScript", ("e2e", "oauth2", "graphql", "typescript")),
        ("JavaScript PostgreSQL GitHub iOS macOS", ("javascript", "postgresql", "github", "ios", "macos")),
        ("useGraphQLQuery in GitHubClient", ("graphql", "query", "github", "client")),
        ("close PRs and APIs", ("close", "pr", "api")),
    ],
)
def test_identifiers_come_apart_and_names_of_products_do_not(goal: str, expected: tuple[str, ...]) -> None:
    assert keywords(goal) == expected


@pytest.mark.promise("L14")
@pytest.mark.parametrize(
    ("goal", "expected"),
    [
        ("src/auth/login_handler.py is broken", ("auth", "login", "handler", "broken")),
        (r"C:\Users\bob\shop\LoginForm.tsx crashes", ("shop", "login", "form", "crashes")),
        ("look at /home/alice/work/shop/cart.py:12", ("shop", "cart")),
        ("explain @src/db/migrations.ts", ("explain", "db", "migrations")),
        ("see https://github.com/o/r/issues/386", ("issue",)),
        ("review https://github.com/acme/shop/pull/9?token=abcdefgh12345678", ("review", "pr")),
        ("[the spec](https://intra.acme.example/x?key=1) changed", ("spec", "changed")),
    ],
)
def test_of_paths_and_addresses_only_words_remain(goal: str, expected: tuple[str, ...]) -> None:
    assert keywords(goal) == expected


@pytest.mark.promise("L14")
@pytest.mark.parametrize(
    "blob",
    [
        "[redacted:aws-key]",
        "[REDACTED]",
        "bob@example.com",
        "db01.internal.corp",
        "10.20.30.40:5432",
        "postgres://bob:hunter2@db.acme.io/prod",
        "bob:hunter2@db.acme.io/prod",
        "123e4567-e89b-12d3-a456-426614174000",
        "3f2a9c1d",
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "ghp_abcdefghijk1234567890ABCDEFGHIJ",
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc",
        "dGhpcyBpcyBhIHNlY3JldCB2YWx1ZQ1x2y3z==",
        "abcDEF123ghiJKL456",
        "XXXXXXXXXXXXXXXXXXXXXXXXXXXX",
        "42",
        "2026-01-22",
        "@alice",
    ],
)
def test_keys_hashes_hosts_people_and_numbers_vanish(blob: str) -> None:
    assert keywords(f"rotate {blob} deployment") == ("rotate", "deployment")


@pytest.mark.promise("L14")
def test_a_value_behind_an_assignment_or_a_password_is_never_kept() -> None:
    assert keywords("set STRIPE_KEY=sup3rSecretValue9 for billing") == ("set", "stripe", "key", "billing")
    assert keywords("the password is hunter2, rotate it") == ("password", "rotate")


@pytest.mark.promise("L14")
@pytest.mark.parametrize(
    "goal",
    [
        TRACE,
        "Fix the checkout crash\n```py\nbasket.compute_everything()\n```",
        'Fix the checkout crash\n{"basket": 3, "views": [1]}',
        "Fix the checkout crash\n    at Basket.compute (/srv/shop/cart/views.js:12:3)",
        "Fix the checkout crash\ncart/views.go:12:3: undefined: basket",
        "Fix the checkout crash\n2026-02-13T08:45:11 basket views failed",
        "Fix the checkout crash\nconst basket = views();",
        "<system-reminder>basket views</system-reminder>Fix the checkout crash",
        "<user_query>Fix the checkout crash</user_query>",
        "[holdfast abc123: notes from earlier sessions]\nbasket\n[/holdfast abc123]\nFix the checkout crash",
        "Fix the checkout crash <system-reminder>basket views and no end",
    ],
)
def test_what_was_pasted_gives_no_keywords(goal: str) -> None:
    assert keywords(goal) == ("fix", "checkout", "crash")


def test_a_goal_that_is_only_an_error_is_known_by_its_message() -> None:
    assert keywords("TypeError: Cannot read properties of undefined") == (
        "type",
        "error",
        "read",
        "properties",
        "undefined",
    )


@pytest.mark.parametrize(
    ("goal", "expected"),
    [
        (
            "Füge bitte einen Dark-Mode-Schalter zu den Einstellungen hinzu",
            "füge dark mode schalter einstellungen",
        ),
        ("Ajoute des tests pour l'authentification s'il te plaît", "ajoute tests authentification"),
        ("Arregla el botón de inicio de sesión", "arregla botón inicio sesión"),
        ("Adicione testes para o módulo de pagamentos", "adicione testes módulo pagamentos"),
        ("Corrige il bug nel parser", "corrige bug parser"),
        ("Voeg een test toe voor de login pagina", "voeg test login pagina"),
        ("Исправь ошибку в парсере конфигурации", "исправь ошибку парсере конфигурации"),
        ("请帮我把用户认证中间件重构为使用JWT", "用户 认证 中间件 重构 jwt"),
        ("認証ミドルウェアをJWTに書き換えてください", "認証 ミドルウェア jwt 書き換え"),
        ("인증 미들웨어를 JWT로 리팩터링해줘", "인증 미들웨어 jwt 리팩터링"),
        ("Διόρθωσε το σφάλμα στον αναλυτή", "διόρθωσε σφάλμα αναλυτή"),
        ("أصلح خطأ تسجيل الدخول", "أصلح خطأ تسجيل الدخول"),
        ("उपयोगकर्ता प्रमाणीकरण", "उपयोगकर्ता प्रमाणीकरण"),
    ],
)
def test_other_languages_keep_their_words_and_lose_their_small_ones(goal: str, expected: str) -> None:
    assert keywords(goal) == tuple(expected.split())


def test_an_english_acronym_is_not_lost_to_another_languages_small_word() -> None:
    assert "mit" in keywords("add a standard MIT license")


def test_a_decomposed_accent_meets_its_composed_form() -> None:
    assert keywords(unicodedata.normalize("NFD", "Übersetzung prüfen")) == ("übersetzung", "prüfen")


def test_singular_and_plural_are_one_keyword() -> None:
    assert keywords("query queries branch branches tests test") == ("query", "branch", "tests")


def test_a_long_goal_is_known_by_its_title_and_by_what_repeats() -> None:
    plan = "Implement the following plan:\n\n# Plan: Rate limiting for the gateway\n\n" + "\n".join(
        f"- detail{chr(97 + at)}{chr(97 + at)} of the limiter" for at in range(20)
    )
    found = keywords(plan)
    assert {"rate", "limiting", "gateway", "limiter"} <= set(found)
    assert len(found) == 8


def test_the_limit_is_obeyed_down_to_nothing() -> None:
    goal = "alpha beta gamma delta epsilon zeta theta iota kappa lambda"
    assert keywords(goal, limit=3) == ("alpha", "beta", "gamma")
    assert keywords(goal, limit=0) == ()
    assert keywords(goal, limit=-1) == ()


@pytest.mark.parametrize(
    "piece", ["<a>", "a", "fix ", "([", '{"a":', "/a", "[x](", "漢", "x@y ", "aA1", "```\n", "- "]
)
def test_a_megabyte_takes_no_longer_than_its_beginning(piece: str) -> None:
    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        prose_of.cache_clear()
        start = time.process_time()
        keywords(text)
        return time.process_time() - start

    keywords("warm up")
    beginning = min(seconds(20_000) for _ in range(3))
    assert seconds(1_000_000) < max(beginning, 0.01) * 15, "fifty times the text, read at its beginning only"


@pytest.mark.promise("L14")
@given(st.text(st.characters(), max_size=300), st.integers(0, 12))
@settings(max_examples=300)
def test_any_text_gives_clean_keywords_and_never_an_error(text: str, limit: int) -> None:
    found = keywords(text, limit)
    assert len(found) <= limit
    assert len(set(found)) == len(found)
    for word in found:
        assert word == word.lower()
        assert word == unicodedata.normalize("NFC", word)
        assert not re.search(r"[\s/\\|]", word)
        assert not any(unicodedata.category(char) in {"Cc", "Cs", "Cf"} for char in word)
    assert keywords(text, limit) == found


_CODE_WORDS = [
    "refactor",
    "login",
    "JWT",
    "db",
    "c++",
    "node.js",
    "parseQuery",
    "cache_key",
    "a11y",
    "src/api/user.py",
]


@given(st.lists(st.sampled_from(_CODE_WORDS), max_size=6))
def test_keywords_of_keywords_are_the_same(words: list[str]) -> None:
    found = keywords(" ".join(words), limit=20)
    assert keywords(" ".join(found), limit=20) == found
