"""Prose out of messages and documents: what is kept whole, what is left out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.git_history import Commit
from holdfast.core.tokens import count_tokens
from holdfast.knowledge.changelogs import releases_in
from holdfast.knowledge.commit_texts import CommitText, kind_of, message_of, source_of
from holdfast.knowledge.decision_records import record_in
from holdfast.knowledge.quotations import MOST_QUOTATIONS, MOST_TOKENS, paragraphs, quotations, sentences


def texts(body: str) -> list[str]:
    return [quotation.text for quotation in quotations(paragraphs(body), "shop: quotes", 0.0)]


def test_wrapped_lines_become_sentences() -> None:
    body = "Sessions there lasted 8 hours, and a visitor\nread a sick note on the kiosk. Now 75 seconds\nwithout a touch.\n"
    assert texts(body) == [
        "Sessions there lasted 8 hours, and a visitor read a sick note on the kiosk. Now 75 seconds without a touch."
    ]


def test_list_items_stay_whole_with_the_line_that_introduces_them() -> None:
    body = (
        "UIDs were random per request, so people saw both.\n\nNow:\n- UID = assignment id + site\n"
        "- a removed one stays in the feed for\n  30 days as STATUS:CANCELLED\n- no VALARM on private phones\n"
    )
    assert texts(body) == [
        "UIDs were random per request, so people saw both.",
        "Now: UID = assignment id + site; a removed one stays in the feed for 30 days as STATUS:CANCELLED; "
        "no VALARM on private phones",
    ]


def test_an_item_under_a_negation_never_stands_without_it() -> None:
    long = "derive the UID from the date, the type of the shift, the number of the ward and the initials of the person"
    body = f"Don't:\n* {long}\n* {long} who swaps\n* {long} who swapped\n"
    assert all(text.startswith("Don't: ") for text in texts(body))
    assert len(texts(body)) > 1


def test_items_inside_items_follow_their_own_introduction() -> None:
    body = "Rules for quotes:\n- reuse them:\n  - within the same surcharge week\n- never serve an old quote to a shop\n"
    assert texts(body) == [
        "reuse them: within the same surcharge week",
        "Rules for quotes: never serve an old quote to a shop",
    ]


def test_code_tables_quotes_trailers_and_checklists_are_left_out() -> None:
    body = """The parser accepts trailing commas now.

```python
limit = 4711
```

    indented = 4712

| option | 4713 |
|--------|------|
| a      | 4714 |

> quoted 4715 words of somebody else

- [x] I have read 4716 guidelines
- [ ] and not 4717

![screen](https://example.org/4718.png)
https://example.org/4719
Fixes #4720, #4721
Closes: https://example.org/x/4722
<!-- remember
4723 -->
Signed-off-by: Ada <ada@4724.org>
Co-Authored-By: Claude <noreply@4725.com>
Change-Id: I4726
(cherry picked from commit 4727472747274727)
🤖 Generated with Claude Code 4728
"""
    assert texts(body) == ["The parser accepts trailing commas now."]
    assert "47" not in " ".join(paragraph.text for paragraph in paragraphs(body))


def test_sections_of_a_template_are_left_out() -> None:
    body = "## Summary\nQuotes expire after 90 seconds.\n\n## Test plan\nRan the suite on staging with 40 carriers.\n"
    assert texts(body) == ["Quotes expire after 90 seconds."]


def test_a_sentence_that_led_to_code_is_not_left_dangling() -> None:
    body = "Queries are folded to lower case. The only way to run them is to call\n\n```\nrun()\n```\n"
    assert texts(body) == ["Queries are folded to lower case."]


def test_what_was_so_before_is_not_told_as_if_it_were_now() -> None:
    body = "Currently every request opens a connection. Requests share a pool of eight connections from now on.\n"
    assert texts(body) == ["Requests share a pool of eight connections from now on."]


def test_sentences_do_not_end_at_abbreviations_versions_and_code() -> None:
    text = "Use e.g. Redis 7.2. It has `a. B` and costs 3.5 ms. vs. Postgres it is fast! Is it? Yes, it is. 75 and not 60."
    assert sentences(text) == [
        "Use e.g. Redis 7.2. It has `a. B` and costs 3.5 ms. vs. Postgres it is fast!",
        "Is it?",
        "Yes, it is.",
        "75 and not 60.",
    ]


def test_other_languages_are_read() -> None:
    assert texts("缓存只保留九十秒，不要延长。合同规定差价由我们承担。") == [
        "缓存只保留九十秒，不要延长。合同规定差价由我们承担。"
    ]
    body = "Angebote gelten höchstens 90 Sekunden. Nie ein altes Angebot ausliefern, sonst haften wir für die Differenz."
    assert texts(body) == [body]


def test_many_passages_are_cut_to_those_that_weigh_most() -> None:
    weak = "\n\n".join(
        f"The module {name} renders several widgets nicely." for name in ("red", "blue", "green") * 5
    )
    found = texts(f"{weak}\n\nNever call the renderer from a hook, because hooks have no window.\n")
    assert len(found) == MOST_QUOTATIONS
    assert found[-1].startswith("Never call the renderer")


@given(st.text(max_size=3000))
def test_any_text_gives_short_passages(text: str) -> None:
    for passage in quotations(paragraphs(text), text[:40], 0.0):
        assert passage.text.strip()
        assert "\n" not in passage.text
        assert count_tokens(passage.text) <= MOST_TOKENS + 3


UNITS = [
    "a" * 50,
    "- x ",
    "((((",
    "`",
    "[a](",
    "> ",
    "https://a.b/",
    "This reverts commit ",
    "**",
    "|",
    "#1",
    "-",
    "\t",
]


@pytest.mark.parametrize(
    "unit", [*UNITS, "abcdef0", "see ", "a#1.", "you must ", "note to ", "<a ", "1.", "faster 10 "]
)
def test_long_lines_take_no_longer_than_they_should(unit: str) -> None:
    import time

    start = time.perf_counter()
    quotations(paragraphs(unit * (200_000 // len(unit))), unit, 0.0)
    quotations(paragraphs((unit + "\n") * (200_000 // len(unit))), unit, 0.0)
    message = f"{unit * 2000}\n\n{unit * (20_000 // len(unit))}\n"
    source_of(Commit("0" * 40, (), 0.0, unit, unit, message), CommitText())
    releases_in(f"## 1.0.0\n\n- {unit * (20_000 // len(unit))}\n")
    record_in(
        "docs/adr/1.md",
        f"# A title\n\nStatus: {unit * 200}\n\n## Decision\n\n{unit * (20_000 // len(unit))}\n",
    )
    assert time.perf_counter() - start < 10


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Bitcount is 66% faster on sets of 100 elements.", "measurement"),
        ("Never serve an old quote.", "rule"),
        ("It crashed because the list was empty.", "cause"),
        ("Order by the server's sequence number.", "decision"),
    ],
)
def test_the_kind_is_told_by_the_words(text: str, kind: str) -> None:
    assert kind_of(text) == kind


@pytest.mark.parametrize(
    ("text", "subject", "body"),
    [
        ("a subject\n\na body", "a subject", "\na body"),
        ("---\n\na subject\n\nbody", "a subject", "\nbody"),
        ("\r\n\r\na subject\r\n\r\nbody\r\n", "a subject", "\nbody"),
        ("Merge pull request #1 from a/b\n\nA title\n\nText", "A title", "\nText"),
        (
            "Merge branch 'x' into 'main'\n\nA title\n\nSee merge request a/b!12",
            "A title",
            "\nSee merge request a/b!12",
        ),
        (
            "Only run the long job that syncs the docs when a release\nis the latest one",
            "Only run the long job that syncs the docs when a release is the latest one",
            "",
        ),
        ("", "", ""),
    ],
)
def test_a_message_has_a_subject_and_a_body(text: str, subject: str, body: str) -> None:
    message = message_of(text)
    assert (message.subject, message.body) == (subject, body)
