"""What makes a told line used, unused or wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.backtest.judging import Judge, Judged, Replaced
from holdfast.backtest.telling import ToldLine, When
from holdfast.backtest.walk import Did, Step, Walk

ROOT = Path("/repo")


def step(did: Did, text: str = "", path: str = "", *, ok: bool | None = True, output: str = "") -> Step:
    return Step(did, None, text, (f"{ROOT}/{path}",) if path else (), ok, output, cwd=str(ROOT))


def line(text: str, *, path: str = "", when: When = "first prompt") -> ToldLine:
    return ToldLine(text=text, reason="", when=when, step=0, tokens=9, path=path)


def judged(told: ToldLine, *steps: Step, replaced: dict[str, Replaced] | None = None) -> Judged:
    walk = Walk(steps=[step("prompt", "Go on with the spooler"), *steps])
    (one,) = Judge(walk, ROOT, "this", 1_000.0, replaced or {}).judge([told], [])
    return one


@pytest.mark.parametrize(
    ("did", "verdict"),
    [
        ([step("read", path="src/a.py")], "used"),
        ([step("shell", "cat src/a.py")], "used"),
        ([step("read", path="src/b.py")], "unused"),
        ([step("read", path="src/a.py", ok=False, output="No such file or directory")], "wrong"),
        ([step("read", path="src/a.py", ok=False, output="Permission denied")], "unused"),
    ],
)
def test_a_file_is_used_when_it_is_opened_and_wrong_when_it_was_not_there(
    did: list[Step], verdict: str
) -> None:
    assert judged(line("src/a.py", path="src/a.py"), *did).verdict == verdict


@pytest.mark.parametrize(
    ("did", "verdict"),
    [
        (step("shell", "npm run check"), "used"),
        (step("shell", "npm run build"), "unused"),
        (step("shell", "npm run check", ok=False, output='npm error Missing script: "check"'), "wrong"),
        (step("shell", "npm run check", ok=False, output="3 failed, 2 passed"), "unused"),
    ],
)
def test_a_command_is_wrong_when_it_does_not_exist_and_not_when_it_finds_faults(
    did: Step, verdict: str
) -> None:
    assert judged(line("Commands here: `npm run check`"), did).verdict == verdict


@pytest.mark.parametrize(
    ("text", "did", "verdict"),
    [
        ("`docker` is not found here [L-abc123]", step("shell", "docker ps"), "wrong"),
        ("`docker` is not found here [L-abc123]", step("shell", "ls docker"), "unused"),
        (
            "`docker` is not found here [L-abc123]",
            step("shell", "docker ps 2>/dev/null; grep x a.yml"),
            "unused",
        ),
        ("`src/x` does not exist here → files like `src/x_one.py`", step("read", path="src/x"), "wrong"),
        (
            "`src/x` does not exist here → files like `src/x_one.py`",
            step("read", path="src/x_one.py"),
            "used",
        ),
        (
            "`gh pr view --flag` fails here (unknown flag) → `gh pr view`",
            step("shell", "gh pr view 3"),
            "used",
        ),
        (
            "`gh pr view --flag` fails here (unknown flag) → `gh pr view`",
            step("shell", "gh pr view --flag"),
            "wrong",
        ),
        ("`gh pr view --flag` fails here (unknown flag) → `gh pr view`", step("shell", "git log"), "unused"),
    ],
)
def test_a_warning_is_wrong_when_what_it_warns_of_works(text: str, did: Step, verdict: str) -> None:
    assert judged(line(text), did).verdict == verdict


def test_a_statement_that_was_replaced_before_or_in_this_session_is_wrong() -> None:
    told = line("The spooler retries three times (you, 06-24, D-k3f9xx)")
    assert judged(told, replaced={"D-k3f9xx": Replaced("earlier", 900.0)}).verdict == "wrong"
    assert judged(told, replaced={"D-k3f9xx": Replaced("this", 2_000.0)}).verdict == "wrong"
    assert judged(told, replaced={"D-k3f9xx": Replaced("later", 3_000.0)}).verdict == "unused"


def test_a_statement_is_used_when_what_is_new_in_it_comes_up_in_one_place() -> None:
    told = line("Parked jobs are released by a picker before the pallet leaves (you, 06-24, D-k3f9xx)")
    together = step("said", "A picker has released the parked jobs, so the pallet may leave.")
    assert judged(told, together).verdict == "used"
    apart = [
        step("said", word) for word in ("picker", "nothing", "at all", "pallet", "much", "else", "parked")
    ]
    assert judged(told, *apart).verdict == "unused"


def test_the_words_of_the_prompt_do_not_make_a_line_used() -> None:
    told = line("Go on with the spooler (you, 06-24, D-k3f9xx)")
    assert judged(told, step("said", "I go on with the spooler")).verdict == "unused"
