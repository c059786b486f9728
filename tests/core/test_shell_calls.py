"""A shell command as the calls in it: how a stumble is known again in another form."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.shell_calls import calls, normal

PLAIN = "gh pr diff 200 --stat"
FORMS = [
    "gh pr diff 200 --stat",
    "  gh   pr diff\t200 --stat  ",
    "GH_PAGER= gh pr diff 200 --stat",
    "gh pr diff 200 --stat 2>&1 | tail -20",
    "gh pr diff 200 --stat > out.txt 2>/dev/null",
    "gh pr diff '200' \"--stat\"",
    "/usr/bin/gh pr diff 200 --stat",
    "sudo -u me timeout -k 5 30 gh pr diff 200 --stat &",
    "time gh pr diff 200 \\\n  --stat",
    "! gh pr diff 200 --stat # why",
    "if gh pr diff 200 --stat; then echo yes; fi",
    "cat <<'END' > notes.txt\ngh repo delete --all\nEND\ngh pr diff 200 --stat",
    "x=$(gh pr diff 200 --stat)",
    "(gh pr diff 200 --stat)",
    "env -u A B=1 nice -n 5 gh pr diff 200 --stat >>log 2>&1 </dev/null",
]


@pytest.mark.parametrize("text", FORMS)
def test_a_call_is_the_same_in_every_form(text: str) -> None:
    found = [call.words for call in calls(text)]
    assert ["gh", "pr", "diff", "200", "--stat"] in found
    assert ["gh", "repo", "delete", "--all"] not in found


def test_what_came_before_a_call_is_kept_apart() -> None:
    (build,) = calls("cd web/app && npm run build")
    assert (build.words, build.directory, build.ready) == (["npm", "run", "build"], "web/app", False)
    (test,) = calls("source .venv/bin/activate && pytest -q")
    assert (test.words, test.ready) == (["pytest", "-q"], True)
    assert calls("PATH=/x:$PATH pytest")[0].ready and not calls("X=1 pytest")[0].ready
    assert [call.directory for call in calls("cd; make; cd - && make")] == ["~", "-"]


def test_an_option_is_the_same_with_its_value_apart() -> None:
    assert (
        calls("gh pr list --json=title,labels")[0].words == calls("gh pr list --json title,labels")[0].words
    )


@pytest.mark.parametrize(
    "text", ["", " ", "\n", "'", '"', "\\", "<<", "<<E", ">", "&&", "cd", "#", "PATH=", "$("]
)
def test_what_is_no_command_has_no_calls_or_harmless_ones(text: str) -> None:
    assert len(calls(text)) <= 1


def test_a_megabyte_takes_no_time() -> None:
    start = time.process_time()
    for text in ("x" * 1_000_000, "a;" * 500_000, "'" * 1_000_000, "<<E\n" * 250_000, "(" * 1_000_000):
        assert len(calls(text)) <= 64
    assert time.process_time() - start < 20


WORDS = """cd x sudo -u env timeout 5 command -v PATH=a A=b --a=b=c --x=--y=z /usr/bin/env /bin//usr/bin/time <<E > 2>&1
    | && ; 'a source if then for - export '' \\' &> <<< ( ) " ~ ${A} . #"""
SHELLISH = st.text(alphabet="ab/'\"\\ \n\t|&;<>()$`=-~#{}!2E.,:\0é", max_size=60) | st.lists(
    st.sampled_from([*WORDS.split(), "E\n", "\n", "'a b'", '"$(x)"']), max_size=14
).map(" ".join)


@given(SHELLISH | st.text(max_size=200))
def test_any_text_is_read_and_the_normal_form_is_its_own(text: str) -> None:
    once = normal(text)
    assert normal(once) == once
    assert all(call.words and call.words[0] for call in calls(text))
