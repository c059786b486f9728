"""Secrets do not survive redaction, and what only looks like one stays readable."""

from __future__ import annotations

import base64
import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.guard import secret_samples as samples

from holdfast.guard.not_secret import SecretSpan
from holdfast.guard.redact import Redactor, load_scanner, secrets_of

pytestmark = pytest.mark.promise("G1")

RECALL = 0.93
ANY_TEXT = st.text(alphabet=st.characters(codec=None, categories=None), max_size=300)
SAMPLES = list(samples.secrets(seed=20))
LOOK_ALIKES = list(samples.look_alikes(seed=21))


@pytest.fixture(scope="module")
def scanner_cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("rules"))


def _recall(redactor: Redactor, title: str) -> float:
    missed = [s for s in SAMPLES if samples.survivors(s, redactor.redact(s.text))]
    share = 1 - len(missed) / len(SAMPLES)
    kinds = len({s.kind for s in SAMPLES})
    print(f"{title}: recall {share:.4f} over n={len(SAMPLES)} in {kinds} kinds")
    for (kind, carrier), count in Counter((s.kind, s.carrier) for s in missed).most_common():
        print(f"  missed {count}: {kind} in {carrier}")
    return share


def _false_alarms(redactor: Redactor, title: str) -> list[str]:
    alarms = [s.kind for s in LOOK_ALIKES if redactor.redact(s.text) != s.text]
    print(f"{title}: {len(alarms)} false alarms over n={len(LOOK_ALIKES)} look-alikes")
    return alarms


def test_there_are_enough_kinds_of_secrets_and_of_look_alikes() -> None:
    assert len({s.kind for s in SAMPLES}) >= 45
    assert len({s.kind for s in LOOK_ALIKES if s.carrier == "text"}) >= 40


def test_our_own_rules_find_nearly_every_secret_without_a_false_alarm() -> None:
    assert _recall(Redactor(), "own rules") >= RECALL
    assert _false_alarms(Redactor(), "own rules") == []


def test_every_kind_of_secret_is_caught_in_most_of_its_carriers() -> None:
    redactor = Redactor()
    caught: Counter[str] = Counter()
    for sample in SAMPLES:
        caught[sample.kind] += not samples.survivors(sample, redactor.redact(sample.text))
    total = Counter(s.kind for s in SAMPLES)
    assert {kind: caught[kind] for kind in total if caught[kind] < 0.6 * total[kind]} == {}


def test_the_second_scanner_adds_no_false_alarm(scanner_cache: str) -> None:
    scanner = load_scanner(scanner_cache)
    if scanner is None:
        pytest.skip("kingfisher has no wheel here")
    redactor = Redactor(scanner=scanner)
    assert _recall(redactor, "with scanner") >= RECALL
    assert _false_alarms(redactor, "with scanner") == []


def test_the_second_scanner_reports_places_in_characters_not_bytes(scanner_cache: str) -> None:
    scanner = load_scanner(scanner_cache)
    if scanner is None:
        pytest.skip("kingfisher has no wheel here")
    token, _ = samples.fill(random.Random(3), "gh" + "p_{62:36}")
    text = f"Schlüssel → {token} ← Ende"
    assert [text[f.start : f.end] for f in scanner.scan(text)] == [token]


def test_a_missing_scanner_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kingfisher_sdk", None)
    assert load_scanner() is None


def test_what_a_scanner_finds_is_redacted_too() -> None:
    class Marker:
        def scan(self, text: str) -> list[SecretSpan]:
            at = text.find("zebra")
            return [SecretSpan("scanner", at, at + 5)] if at >= 0 else []

    assert Redactor(scanner=Marker()).redact("a zebra crossing") == "a [redacted:scanner] crossing"


@pytest.mark.parametrize("sample", SAMPLES[::7], ids=lambda s: f"{s.kind}-{s.carrier}")
def test_redacting_twice_changes_nothing(sample: samples.Sample) -> None:
    redactor = Redactor()
    once = redactor.redact(sample.text)
    assert redactor.redact(once) == once
    assert redactor.findings(once) == []


def test_findings_are_in_order_and_do_not_overlap() -> None:
    text = "\n".join(s.text for s in SAMPLES[::5])
    found = Redactor().findings(text)
    assert len(found) > 50
    assert all(a.end <= b.start for a, b in pairwise(found))


@given(ANY_TEXT)
def test_no_text_makes_it_raise_and_the_result_is_stable(text: str) -> None:
    redactor = Redactor(secrets=["correct-Horse9battery"])
    once = redactor.redact(text)
    assert redactor.redact(once) == once


@settings(max_examples=150)
@given(
    st.lists(
        st.sampled_from(
            [
                *(
                    "password",
                    "token",
                    "key",
                    "=",
                    ": ",
                    '"',
                    "'",
                    "\\",
                    "Bearer ",
                    "://",
                    "@",
                    ":",
                    " -u ",
                    "curl ",
                ),
                *(
                    "[redacted:password]",
                    "[redacted:",
                    "]",
                    "\n",
                    "-----BEGIN PRIVATE" + " KEY-----",
                    "eyJ",
                    "a1B2c3D4",
                ),
                *(
                    "Cookie: ",
                    "; ",
                    "is ",
                    "Xk29fQ81mZ",
                    "AKIA",
                    "login ",
                    "sk-",
                    "$",
                    "{",
                    "}",
                    ",",
                    "|",
                    "<",
                    ">",
                ),
            ]
        ),
        max_size=40,
    )
)
def test_pieces_of_rules_in_any_order_neither_raise_nor_flicker(pieces: list[str]) -> None:
    redactor = Redactor()
    once = redactor.redact("".join(pieces))
    assert redactor.redact(once) == once


ORDINARY = """
the token was not valid so password reset failed again while import key handling from session storage
returns none def class await user.name get_value(x) if else [0] {} -> str: int foo_bar camelCase 42 v1.2.3
https://docs.test/a/b ./src/auth/token.py README.md --verbose -p 8080:80 #123 @dev `code` (see above)
"""
WORDS = st.sampled_from(ORDINARY.split())


@given(st.lists(WORDS, max_size=60))
def test_text_without_secrets_is_unchanged(words: list[str]) -> None:
    text = " ".join(words)
    assert Redactor().redact(text) == text


@given(ANY_TEXT, ANY_TEXT, st.integers(0, 10**6))
def test_a_token_is_found_whatever_surrounds_it(before: str, after: str, seed: int) -> None:
    token, bodies = samples.fill(random.Random(seed), "gh" + "p_{62:36}")
    redacted = Redactor().redact(f"{before} {token} {after}")
    assert samples.survivors(samples.Sample("", "", "", bodies), redacted) == []


@given(ANY_TEXT, ANY_TEXT, st.integers(0, 10**6))
def test_a_value_of_the_environment_is_found_even_inside_words(before: str, after: str, seed: int) -> None:
    secret = samples.body(random.Random(seed), "typed", 18)
    redacted = Redactor(secrets=[secret]).redact(before + secret + after)
    assert secret not in redacted


def test_secrets_of_the_environment_are_taken_by_name_and_worth() -> None:
    rng = random.Random(4)
    values = {
        name: samples.body(rng, "62", 20) for name in ("MY_API_KEY", "GH_TOKEN", "DB_PASSWORD", "APP_SECRET")
    }
    harmless = {
        "SSH_AUTH_SOCK": "/tmp/agent.1234",
        "PATH": "/usr/bin:/bin",
        "PWD": "/home/jane/project",
        "USE_TOKEN": "true",
        "MAX_TOKENS": "128000",
        "KEYBOARD_LAYOUT": "qwertz-de-latin1",
        "GIT_AUTHOR_NAME": "Jane Roe",
        "AUTH_MODE": "oauth",
        "API_KEY": "changeme",
        "SECRET_NAME": "my-secret-name-1",
        "KEY_FILE": "/etc/ssl/private.pem",
    }
    assert set(secrets_of(values | harmless)) == set(values.values())


@pytest.mark.parametrize(
    "form",
    [
        lambda s: s,
        lambda s: quote(s, safe=""),
        lambda s: json.dumps(s)[1:-1],
        lambda s: json.dumps(json.dumps(s))[3:-3],
        lambda s: base64.b64encode(s.encode()).decode(),
    ],
    ids=["plain", "url", "json", "json in json", "base64"],
)
def test_a_value_of_the_environment_is_found_in_the_forms_other_text_gives_it(
    form: Callable[[str], str],
) -> None:
    secret = 'pä$$"w/rd+' + samples.body(random.Random(5), "62", 12)
    written = form(secret)
    redacted = Redactor(secrets=[secret]).redact(f"see {written} there")
    assert written.rstrip("=") not in redacted
    assert redacted.startswith("see [redacted:environment]")


def test_a_cut_off_private_key_is_taken_and_the_prose_after_it_stays() -> None:
    block, bodies = samples.fill(
        random.Random(6), "-----BEGIN RSA PRIV" + "ATE KEY-----\n{64:64}\n{64:64}\n{64:20}=\n"
    )
    redacted = Redactor().redact(f"cat id_rsa\n{block}\nThen we went on with the deployment.")
    assert samples.survivors(samples.Sample("", "", "", bodies), redacted) == []
    assert redacted.endswith("Then we went on with the deployment.")


def test_the_text_around_a_secret_stays_readable() -> None:
    url, _ = samples.fill(random.Random(7), "postgres" + "://app:{62:14}@db.internal:5432/shop")
    assert (
        Redactor().redact(f"DSN {url} ok")
        == "DSN postgres:" + "//app:[redacted:url-password]@db.internal:5432/shop ok"
    )


PATHOLOGICAL: dict[str, Callable[[int], str]] = {
    "one letter": lambda n: "a" * n,
    "anchors": lambda n: "eyJ-" * (n // 4),
    "names": lambda n: "key" * (n // 3),
    "assignments": lambda n: "key=" * (n // 4),
    "open quotes": lambda n: "token=\"'`" * (n // 9),
    "commands": lambda n: "curl -u a " * (n // 10),
    "addresses": lambda n: "a://b:c" * (n // 7),
    "key blocks": lambda n: ("-----BEGIN PRIV" + "ATE KEY-----\n") * (n // 28),
    "cookies": lambda n: "cookie: a=b;" * (n // 12),
    "sentences": lambda n: "password for it " * (n // 16),
    "closers": lambda n: "key=" + ").,;" * (n // 4),
    "backslashes": lambda n: 'token\\\\"' * (n // 8),
    "blanks": lambda n: "token " + " " * n,
    "marks": lambda n: "[redacted:secret]" * (n // 17),
}


@pytest.mark.slow
@pytest.mark.parametrize("make", PATHOLOGICAL.values(), ids=PATHOLOGICAL.keys())
def test_sixteen_times_the_text_takes_about_sixteen_times_the_time(make: Callable[[int], str]) -> None:
    redactor = Redactor()
    redactor.redact(make(1000))

    def seconds(size: int) -> float:
        text = make(size)
        start = time.process_time()  # this process alone: its neighbours come and go
        redactor.redact(text)
        return time.process_time() - start

    # Were it quadratic, it would take 256 times as long; between the two lies what a busy machine adds.
    short = max(min(seconds(12_500), seconds(12_500)), 0.0025)
    assert seconds(200_000) / short < 70 or seconds(200_000) / short < 70


def test_the_module_loads_without_its_rules() -> None:
    code = (
        "import sys; import holdfast.guard.redact; "
        "print([m for m in sys.modules if m in {'holdfast.guard.token_search', 'holdfast.guard.named_secrets', "
        "'kingfisher_sdk', 'json', 'dataclasses', 'msgspec'}])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, encoding="utf-8"
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.promise("G1")
@pytest.mark.parametrize(
    "text",
    ["password=Summer12345!x", "api_key=abcdef9Kq2LmZx81WvTy", "ghp_abcdef7Kq2LmZx81WvTyRr34PpQq77AaBbCc",
     "\x1b[31mghp_aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6\x1b[0m"],
)  # fmt: skip
def test_a_secret_that_holds_a_run_of_neighbours_or_stands_in_colour_is_one(text: str) -> None:
    assert "[redacted:" in Redactor().redact(text)


@pytest.mark.parametrize("text", ["ghp_1234567890abcdefghijklmnopqrstuvwxyz", "api_key=1234567890abcdef"])
def test_what_only_counts_up_is_a_placeholder(text: str) -> None:
    assert Redactor().redact(text) == text


@pytest.mark.parametrize("name", ["secret_lines.txt", "ordinary_lines.txt"])
def test_a_short_text_is_redacted_as_it_is_inside_a_long_one(name: str) -> None:
    """Of short texts only what their literals call for is compiled; in a long one everything is swept at once."""
    redactor = Redactor()
    filler = "and so on " * 500
    for line in (Path(__file__).parent / name).read_text(encoding="utf-8").splitlines():
        alone = redactor.redact(line)
        assert redactor.redact(f"{line}\n{filler}") == f"{alone}\n{filler}"
