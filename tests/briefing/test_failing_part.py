"""Which part of a command made it fail, by what programs of many kinds say."""

from __future__ import annotations

import pytest

from holdfast.briefing.moments import failing
from holdfast.core.shell_calls import calls

SAID = [
    ("gh pr diff 104 --stat", "unknown flag: --stat", "flag", "--stat", ("pr", "diff")),
    ("gh pr view 5 -x", "unknown shorthand flag: 'x' in -x", "flag", "-x", ("pr", "view")),
    ("git log main --onelin", "fatal: unrecognized argument: --onelin", "flag", "--onelin", ("log",)),
    ("git stash push --foo", "error: unknown option `foo'", "flag", "--foo", ("stash", "push")),
    ("git commit -Q", "error: unknown switch `Q'", "flag", "-Q", ("commit",)),
    ("pytest -q --foo=3", "pytest: error: unrecognized arguments: --foo=3", "flag", "--foo", ()),
    ("python -m pytest --foo", "error: unrecognized arguments: --foo", "flag", "--foo", ("-m", "pytest")),
    (
        "cargo test --nocapture",
        "error: unexpected argument '--nocapture' found",
        "flag",
        "--nocapture",
        ("test",),
    ),
    ("go test -foo ./...", "flag provided but not defined: -foo", "flag", "-foo", ("test",)),
    ("grep -Z9 x f", "grep: invalid option -- '9'", "flag", "-Z9", ()),
    ("date -d yesterday", "date: illegal option -- d", "flag", "-d", ()),
    (
        "uv pip install --usr x",
        "error: unexpected argument '--usr' found",
        "flag",
        "--usr",
        ("pip", "install"),
    ),
    ("make tests", "make: *** No rule to make target 'tests'.  Stop.", "word", "tests", ()),
    ("make -j4 tests", "make: *** No rule to make target 'tests'.  Stop.", "word", "tests", ()),
    ("npm run tset -- --ci", 'npm error Missing script: "tset"', "word", "tset", ("run",)),
    ("mise run lintt", "mise ERROR no task lintt found", "word", "lintt", ("run",)),
    ("git chekout main", "git: 'chekout' is not a git command. See 'git --help'.", "word", "chekout", ()),
    ("gh issues list", 'unknown command "issues" for "gh"', "word", "issues", ()),
    ("python -m pytest -q", "/usr/bin/python: No module named pytest", "word", "pytest", ("-m",)),
    ("gh pr view 5 --json title,foo", 'Unknown JSON field: "foo"', "word", "foo", ("pr", "view")),
    ("pip install requests", "error: externally-managed-environment", "word", "install", ()),
    ("pytest -q", "bash: line 1: pytest: command not found", "program", "", ()),
    ("rg foo", "/bin/sh: 1: rg: not found", "program", "", ()),
    ("pnpm test", "zsh: command not found: pnpm", "program", "", ()),
    ("./gradlew test", "bash: ./gradlew: No such file or directory", "path", "./gradlew", ()),
    (
        "python scripts/chek.py",
        "python: can't open file 'scripts/chek.py': [Errno 2]",
        "path",
        "scripts/chek.py",
        (),
    ),
    ("go vet ./cmd", "stat /repo/cmd: directory not found", "whole", "", ("vet", "./cmd")),
    ("gh pr view 999", "Could not find a pull request with number 999", "whole", "", ("view", "999")),
    ("tool --a --b", "--a and --b are mutually exclusive", "whole", "", ("--a", "--b")),
    ("gh pr view 1 2", "accepts at most 1 arg(s), received 2", "whole", "", ("pr", "view", "1", "2")),
]


@pytest.mark.promise("M10")
@pytest.mark.parametrize(("tried", "said", "rule", "token", "needs"), SAID, ids=[row[0] for row in SAID])
def test_what_failed_is_read_off_what_was_said(
    tried: str, said: str, rule: str, token: str, needs: tuple[str, ...]
) -> None:
    found = failing(calls(tried)[0], said)
    assert (found.rule, found.token) == (rule, token)
    assert found.needs == needs or rule == "whole"
