"""What a prompt wants: right on prompts of our own, the same whatever the manners, and quick on any text."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.hooks.classify_prompts import PROMPTS

from holdfast.hooks.classify import UNSURE, WORK, classify
from holdfast.hooks.prompt import class_of

CLASSES = ("code-gen", "exploration", "qa", "other")


def figures(pairs: list[tuple[str, str]]) -> tuple[float, float]:
    """Precision and recall of code-gen."""
    told = [(label, classify(prompt)[0]) for label, prompt in pairs]
    right = told.count(("code-gen", "code-gen"))
    claimed = sum(found == "code-gen" for _, found in told)
    wanted = sum(label == "code-gen" for label, _ in told)
    return right / claimed, right / wanted


@pytest.mark.promise("S5")
def test_our_own_prompts_are_told_apart() -> None:
    precision, recall = figures(list(PROMPTS))
    assert precision >= 0.97
    assert recall >= 0.93
    right = sum(classify(prompt)[0] == label for label, prompt in PROMPTS)
    assert right / len(PROMPTS) >= 0.93


@pytest.mark.promise("S5")
def test_labelled_prompts_of_real_sessions_are_told_apart(shared: Path) -> None:
    text = (shared / "data" / "labels" / "prompts.jsonl").read_text(encoding="utf-8")
    pairs = [(row["label"], row["prompt"]) for row in map(json.loads, text.splitlines())]
    precision, recall = figures(pairs)
    assert precision >= 0.92
    assert recall >= 0.85


@pytest.mark.promise("S5")
@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "   ",
        "hm",
        "👍",
        "42",
        "banana",
        "the sky over there",
        "lorem ipsum dolor sit amet",
        "yes",
        "wait",
    ],
)
def test_what_cannot_be_told_is_other(prompt: str) -> None:
    assert classify(prompt)[0] == "other"


def test_an_order_after_only_is_judged_though_the_sentence_begins_with_nothing_else() -> None:
    assert classify("only tell me no new code, and read the reviews before")[0] == "exploration"


@pytest.mark.parametrize(
    ("prompt", "word"),
    [
        ("add a flag", "add"),
        ("can you please rename the module?", "can you rename"),
        ("where is the cookie set?", "where is"),
        ("the build fails on windows", "fails"),
        ("commit this", "commit"),
        ("/review", "/review"),
        ("Füge einen Test hinzu", "füge"),
        ("修复这个问题", "修复"),
        ("create a pull request", "request"),
    ],
)
def test_why_names_the_words_that_decided(prompt: str, word: str) -> None:
    assert word in classify(prompt)[2]


@pytest.mark.parametrize(
    ("prompt", "wanted"),
    [
        ("look at the router and add a route for /health", "code-gen"),
        ("look at the router, don't change anything", "exploration"),
        ("add a route for /health, but don't edit the tests", "code-gen"),
        ("create a branch", "other"),
        ("create a branch picker in the toolbar", "code-gen"),
        ("write a plan", "exploration"),
        ("write the plan to docs/plan.md", "code-gen"),
        ("can you run the tests?", "other"),
        ("can you run the tests and fix what is red?", "code-gen"),
        ("do you add the header?", "qa"),
        ("build fails", "code-gen"),
        ('why does it say "add a key first"?', "qa"),
        ("brainstorm:\n- add a cache\n- remove the lock", "exploration"),
        ("/src/app.py is broken", "code-gen"),
        ("/deploy:prod", "other"),
        ("/team:implement the thing", "code-gen"),
    ],
)
def test_the_object_and_the_frame_decide(prompt: str, wanted: str) -> None:
    assert classify(prompt)[0] == wanted


@pytest.mark.parametrize(
    ("prompt", "wanted"),
    [
        # a thing of git makes a chore of any verb but one that mends
        ("squeeze these three commits into one", "other"),
        ("bring the feature branch up to date with main", "other"),
        ("split the last commit in two", "other"),
        ("please draft a commit message for the parser changes", "other"),
        ("use the hub tool to open a pr", "other"),
        ("fix the pr", "code-gen"),
        ("make a pr that removes the old cache", "code-gen"),
        # chores that come with the work
        ("add the missing index, commit and push", "code-gen"),
        ("can you document the new option and push it?", "code-gen"),
        # a look that comes first, and how to go about it
        (
            "Investigate why the importer hangs. Use the official documentation. Make no assumptions.",
            "exploration",
        ),
        ("Review the importer. Include line numbers and ignore generated files.", "exploration"),
        ("Check how the importer works now. And add a flag that skips empty rows.", "code-gen"),
        ("use the browser to check whether the banner is there", "exploration"),
        # what closes a prompt
        ("I want to add offline mode to the app. How would you approach it?", "exploration"),
        (
            "The total is wrong for refunds. Explain how you would solve it and wait for my approval.",
            "exploration",
        ),
        ("see the sketch for reference, the legend belongs below the chart", "code-gen"),
        # asked for as a question
        ("can the footer be moved below the map?", "code-gen"),
        ("how about we add a retry to the uploader?", "code-gen"),
        ("why don't you use the shared client there?", "code-gen"),
        ("would you be able to use two columns for the totals?", "code-gen"),
        ("could we widen the margin a little", "code-gen"),
        ("maybe we should make the radius bigger?", "code-gen"),
        ("update?", "qa"),
        ("if i delete the cache would it come back", "qa"),
        # what goes without saying
        ("still doesn't work", "code-gen"),
        ("nothing happens", "code-gen"),
        ("you know what to do", "code-gen"),
        ("recompiled, continue", "code-gen"),
        ("start phase 3", "code-gen"),
        ("help me build a settings page", "code-gen"),
        ("don't update the server yet", "other"),
        # what others may want, what is asked about, one's own mistakes
        ("what is the option that we need to set?", "qa"),
        ("sorry, i was wrong", "other"),
        # not said, but sent along
        (
            "# Files mentioned by the user:\n\n## a.py: /tmp/a.py\n\n## My request for Codex:\nrename the helper",
            "code-gen",
        ),
        ("export TOKEN=abc", "other"),
        ("ヘッダーの余白を減らしたい", "code-gen"),
        ("main にマージして", "other"),
    ],
)
def test_what_prompts_of_strangers_showed(prompt: str, wanted: str) -> None:
    assert classify(prompt)[0] == wanted


def test_talk_between_two_is_no_report_of_a_fault() -> None:
    talk = (
        "i think you and i just see it the same way, it is weird how well we do that, and you know me by now"
    )
    assert classify(talk)[0] == "other"
    assert classify(f"{talk}. Rename the helper in basket.py.")[0] == "code-gen"


def test_a_plan_that_is_to_be_carried_out_may_say_of_a_part_that_nothing_changes() -> None:
    plan = "# Plan: totals\n\n## Context\n\n" + "The totals are summed twice. " * 30
    assert (
        classify(f"Implement the following plan:\n\n{plan}\n\n## The docs\n\nNo code changes.")[0]
        == "code-gen"
    )
    assert classify(f"Look at the following plan, no code changes:\n\n{plan}")[0] == "exploration"


VARIANTS = {
    "lower": str.lower,
    "upper": str.upper,
    "spaces": lambda text: f"  \n{text} \n\n",
    "double": lambda text: text.replace(" ", "  "),
    "please": lambda text: f"{text} please",
    "first": lambda text: text if text.startswith("/") else f"please {text}",
    "thanks": lambda text: f"{text}, thanks!",
    "after": lambda text: f"{text}\n\nThank you!",
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_case_white_space_and_manners_do_not_change_the_class(variant: str) -> None:
    changed = [
        prompt
        for _, prompt in PROMPTS
        if prompt and classify(VARIANTS[variant](prompt))[0] != classify(prompt)[0]
    ]
    assert changed == []


@settings(deadline=None)  # a busy machine is no error
@given(st.text(max_size=300))
@example("\x00")
@example("?")
@example("/ ")
@example('"')
@example("can you")
@example("don't")
@example("only ?")
def test_any_text_gets_a_class_a_confidence_and_a_reason(text: str) -> None:
    kind, confidence, why = classify(text)
    assert kind in CLASSES
    assert 0 <= confidence <= 1
    assert why
    assert "\n" not in why
    assert classify(text) == (kind, confidence, why)


@settings(deadline=None)  # a busy machine is no error
@given(
    st.lists(
        st.sampled_from(
            [
                "can",
                "you",
                "we",
                "do",
                "not",
                "don't",
                "only",
                "add",
                "fix",
                "the",
                ",",
                "and",
                "what",
                "if",
                "`",
                ".",
                "?",
                "!",
                ":",
                "/",
                "is",
                "it",
                "a",
            ]
        ),
        max_size=30,
    )
)
def test_any_heap_of_telling_words_gets_a_class(words: list[str]) -> None:
    assert classify(" ".join(words))[0] in CLASSES


@pytest.mark.parametrize(
    "giant",
    [
        "x" * 10**6,
        "a b " * 250_000,
        "\n" * 10**6,
        "? " * 500_000,
        '"' * 10**6,
        "please " * 150_000,
        "please foobarx " * 80_000,
        "add a, " * 150_000,
    ],
    ids=["one word", "words", "lines", "questions", "quotes", "manners", "unknown orders", "orders"],
)
def test_a_megabyte_takes_no_more_steps_than_a_few_pages(giant: str) -> None:
    page = "The list is sorted by name, and the second column shows the date of the last change. " * 40
    assert steps(giant) < 10 * steps(page)


def steps(text: str) -> int:
    """Calls made, of ours and of built-in functions: what a busy machine cannot change."""
    count = 0

    def counted(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        classify(text)
    finally:
        sys.setprofile(None)
    return count


def test_what_is_asked_at_the_end_of_a_long_paste_counts() -> None:
    log = "2026-05-05 12:00:01 INFO worker started\n" * 4000
    assert classify(f"{log}\nplease fix the import in worker.py")[0] == "code-gen"
    assert classify(f"{log}\nwhere is this line printed?")[0] == "exploration"


def test_nothing_heavy_is_loaded() -> None:
    script = (
        "import sys; before = set(sys.modules); sys.path.insert(0, sys.argv[1]); import holdfast.hooks.classify;"
        "print(sorted(n for n in set(sys.modules) - before if not n.startswith('holdfast')))"
    )
    source = Path(__file__).parents[2] / "src"
    command = [sys.executable, "-I", "-S", "-c", script, str(source)]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True)
    assert done.stdout.strip() == "['__future__']"


def test_the_fixture_is_ours_and_large_enough(shared: Path) -> None:
    text = (shared / "data" / "labels" / "prompts.jsonl").read_text(encoding="utf-8")
    foreign = {hashlib.sha256(json.loads(line)["prompt"].encode()).digest() for line in text.splitlines()}
    assert len(PROMPTS) >= 120
    assert not [
        prompt for _, prompt in PROMPTS if prompt and hashlib.sha256(prompt.encode()).digest() in foreign
    ]


@pytest.mark.promise("S5")
def test_doubt_between_work_and_a_look_is_no_class_and_is_told_files() -> None:
    """ADR 9: the reason of the classifier is what the hook goes by."""
    prompt = "investigate the total, we should round it"
    kind, sure, why = classify(prompt)
    assert (kind, sure) == ("other", UNSURE) and why.startswith(WORK)
    assert class_of(prompt, "")[0] == "exploration"  # files, no lessons
    vague = "the second column is the date"
    assert classify(vague)[:2] == ("other", UNSURE)
    assert class_of(vague, "")[0] == "other"  # nothing


def test_a_level_of_a_log_is_no_order_and_an_order_no_level() -> None:
    assert classify("debug the basket and tell me why it is empty")[0] == "exploration"
    assert classify("DEBUG basket empty\nINFO done")[0] == "other"
