"""Writes a command as a rule shows it: its essential words, without the numbers, hashes and files of one session."""

from __future__ import annotations

import re
from itertools import pairwise, takewhile

from holdfast.core.patterns import lazy_regex
from holdfast.core.shell import Simple, name_of, names, unquoted
from holdfast.guard.hidden_text import instructs
from holdfast.language import checks
from holdfast.language.prose import contains_any

LONGEST = 90
LONGEST_REASON = 80
MOST_PLAIN = 4  # words that are not flags: program, subcommand, task
REST = "…"
_NUMBER = lazy_regex(r"#?\d+")
_HASH = lazy_regex(r"[0-9a-f]{7,40}(?:\^|~\d+)?")
_VALUE = lazy_regex(r"(?P<flag>--?[\w-]+=)(?P<value>.*)", re.DOTALL)
_PATH = lazy_regex(r"[~/]|\.{1,2}/|[\w@.-]+/|[\w@-]+\.[A-Za-z]\w{0,7}\Z")
_PLAIN = lazy_regex(r"[\w@][\w@:.+-]*(?:/[\w.-]+)?")
_SPECIFIC = (
    "/tmp",
    "/var/",
    "/private/",
    "/Users/",
    "/home/",
    ":\\Users",
    "AppData",
    "scratchpad",
    "worktrees/",
    "$TMPDIR",
    "mktemp",
)
_AWAY = lazy_regex(r"[/~$]|\.\.|[A-Za-z]:")
_ANY = lazy_regex(r"\.{3}|\./?\Z|\.\.\Z")
_SCOPE = lazy_regex(r"(?:@[\w.-]+|\.)/[\w./-]*\.{3}\Z")
_NOISE = names("-v -vv -q -s -x --verbose --quiet --silent --color --no-color -count=1 --nocapture")
_PICKS_TEST = lazy_regex(
    r"--?(?:run|k|t|grep|testNamePattern|testPathPatterns?|test-name-pattern|testify\.m)\Z"
)
_ANYWHERE_BELOW = lazy_regex(  # works from every folder of the checkout
    r"(?:pnpm|yarn|npm) (?:.* )?(?:--filter|-F|--workspace|-w|workspace)[ =]|(?:mise run|just|turbo|nx) "
)
_PICKS_PACKAGE = frozenset(
    ["--filter", "-F", "--workspace", "-w", "--package", "--project", "--prefix", "-C", "--cwd"]
)
_PACKAGE = lazy_regex(r"@[\w.-]+/[\w.-]+|[a-z][\w-]*")
_SHORT_FOR = {
    "-w": ("npm", "pnpm", "yarn"),
    "-F": ("pnpm",),
}  # letters that mean something else for other programs
_ANYWHERE = names(  # options with a value that stand before, or within, what a program is asked to do
    "-C -R --repo --git-dir --work-tree --prefix --dir --directory --cwd --filter -F --workspace --namespace"
    " --context --kubeconfig --profile --region --project-directory --chdir"
)
_LETTER = lazy_regex(r"-\w")
_HOME = lazy_regex(r"\A/(?:home|Users)/[^/]+/")
_GIVEN = lazy_regex(r".{21}|-.*-")  # a name that a person gave: no subcommand looks like this
_CARGO_TEST = lazy_regex(r"(?:test|t|nextest run)\b")
_IDENTIFIER = lazy_regex(r"[a-z_][\w:]*")
_TAKES_VALUE = names("-timeout --timeout -count -p -j --jobs --reporter -parallel --maxfail -c -C")

_FORMATS = lazy_regex(
    r"(?:^|[\s:/-])(?:fmt|format|gofmt|gofumpt|goimports|prettier|lint:fix|--fix|--write)(?=\s|:|$)"
)
_GENERATES = lazy_regex(r"(?:^|[\s:/-])(?:generate|codegen|gen|schema|render)(?=\s|:|$)")
_SETS_UP = lazy_regex(r"(?:^|[\s:/-])(?:setup|bootstrap|install|sync|ci)(?=\s|$)")
_RUNS = lazy_regex(r"(?:^|[\s:/-])(?:dev|start|serve|preview)(?=\s|:|$)")
_RUNNERS = names(
    "mise make just task npm pnpm yarn bun npx bunx cargo go uv poetry pdm hatch rake gradle gradlew mvn mvnw turbo nx"
    " deno dotnet composer mix bundle hk lefthook pre-commit gofmt gofumpt goimports prettier ruff black biome rustfmt"
    " flutter dart melos moon bazel"
)
_CHECKS = lazy_regex(r"\A(?!.*(?:test|spec|e2e|verify|\bci\b)).*\bcheck\b")
_PACKAGES = lazy_regex(r"\b(?:install|add|i|sync|ci)\s+(?!-)[^\s-]")


def rule_text(part: Simple, keep: tuple[str, ...] = (), *, paths: bool = False) -> str:
    """Write a simple command for a rule. Words in `keep` stay as they are; so do files if `paths` is set."""
    words = [
        name_of(part.words[0])
        if not paths and is_session_specific(part.words[0])
        else unquoted(part.words[0])
    ]
    plain = 1
    for before, word in pairwise(part.words):
        package = before in _PICKS_PACKAGE and _PACKAGE.fullmatch(unquoted(word))
        text = unquoted(word) if package else _general(word, keep, paths)
        if package:
            plain -= 1
        if text and text != REST and not text.startswith(("-", "./...")):
            plain += 1
            if plain > MOST_PLAIN and not (text in keep or (paths and _PATH.match(text))):
                text = REST
        if text and not (text == REST and words[-1] == REST):
            words.append(text)
    line = " ".join(words)
    if len(line) > LONGEST:
        line = line[:LONGEST].rpartition(" ")[0] + f" {REST}"
    needs_directory = part.directory not in ("", ".") and not is_outside_checkout(part)
    return f"cd {part.directory} && {line}" if needs_directory else line


def with_flags(part: Simple, tried: Simple, token: str = "") -> str:
    """Write the subcommand with the option that replaced the wrong one, or without any if it was only left out.

    Returns '' if that is unclear: several options are new and none has a similar name, or a short option was left out
    together with its value.
    """
    old = {unquoted(word).partition("=")[0] for word in tried.words}
    options = [unquoted(word) for word in part.words if word.startswith("-") and word != "--"]
    new = [word for word in options if word.partition("=")[0] not in old]
    # With several new options it is unknown which replaces the old one: it counts as left out. The same applies if the
    # new one has the same letters: `grep -nP` became `grep -n`.
    letters = "".join(word.lstrip("-") for word in old if word.startswith("-") and not word.startswith("--"))
    part_of = len(new) == 1 and not new[0].startswith("--") and all(sign in letters for sign in new[0][1:])
    swapped = (
        new if len(new) == 1 and not part_of else [word for word in new if _called_alike(token, word)][:1]
    )
    lost = len(new) > 1 or _LETTER.fullmatch(token) or not _same_words(part, tried, token)
    if token.startswith("-") and not swapped and lost:
        return ""
    flags = [_general(word, (), False) + _value_of(part, word) for word in swapped]
    pairs = zip(subject_of(part).split(), subject_of(tried).split(), strict=False)
    shared = [word for word, other in takewhile(lambda pair: pair[0] == pair[1], pairs)]
    if len(shared) < 2 < len(subject_of(tried).split()) or (
        len(shared) == 2 and len(subject_of(tried).split()) > 2
    ):
        shared = subject_of(part).split()  # another subcommand replaced it
    return " ".join([*shared, *flags])[:LONGEST]


def _called_alike(token: str, word: str) -> bool:
    """Whether two long options share a word: `--out-format` and `--output.json.path`."""
    old_words, new_words = (re.findall(r"[a-z]{3,}", text.partition("=")[0]) for text in (token, word))
    return any(old.startswith(new) or new.startswith(old) for old in old_words for new in new_words)


def _same_words(part: Simple, tried: Simple, token: str) -> bool:
    """Whether a call has all the words of another, apart from an option and its value."""
    words = [unquoted(word) for word in tried.words[1:]]
    option = next((index for index, word in enumerate(words) if word.partition("=")[0] == token), len(words))
    plain = [word for index, word in enumerate(words) if word[:1] != "-" and index != option + 1]
    return set(plain) <= {unquoted(word) for word in part.words}


def _value_of(part: Simple, flag: str) -> str:
    """Return a placeholder if a long option is followed by a value, or else ''."""
    words = [unquoted(word) for word in part.words]
    after = words[words.index(flag) + 1 :][:1] if flag in words else []
    return f" {REST}" if flag.startswith("--") and "=" not in flag and after and after[0][:1] != "-" else ""


def _general(word: str, keep: tuple[str, ...], paths: bool) -> str:
    text = unquoted(word)
    if text in keep or word in keep:
        return word
    if _HASH.fullmatch(text) and not text.isalpha():
        return "<sha>"
    if _NUMBER.fullmatch(text):
        return "<n>"
    if match := _VALUE.fullmatch(word):
        return word if _PLAIN.fullmatch(match["value"]) else f"{match['flag']}{REST}"
    if text.startswith("-"):
        return text if len(text) <= 40 else REST
    if "://" in text or is_session_specific(text) or contains_any(text, " \n\t{}$|"):
        return REST
    if _ANY.search(text) or paths:
        return text
    return REST if _PATH.match(text) or not _PLAIN.fullmatch(text) else text


def is_session_specific(text: str) -> bool:
    """Whether a text belongs to one session or one machine."""
    return contains_any(text, _SPECIFIC)


def home_relative(path: str) -> str:
    """Write a path relative to the home directory; return '' for a temporary one."""
    path = _HOME.sub("~/", path)
    return "" if is_session_specific(path) else path


def is_outside_checkout(part: Simple) -> bool:
    """Whether a command runs outside of the checkout: what works there says nothing about this repository."""
    return bool(_AWAY.match(part.directory)) or is_session_specific(part.directory)


def subject_of(part: Simple, until: str = "") -> str:
    """Return the program and its subcommand: the words before `until`, without flags and files."""
    words = [name_of(part.words[0])]
    value = False
    for word in part.words[1:]:
        text = unquoted(word)
        if value:
            value = False
            continue
        if text in _ANYWHERE and text != until:
            value = True  # `git -C web push`: the subcommand comes after the value
            continue
        if text == until or len(words) == 3 or text.isupper() or _GIVEN.search(text):
            break
        if text.startswith("-") or _PATH.match(text) or not _PLAIN.fullmatch(text) or _NUMBER.fullmatch(text):
            if len(words) > 1 or not text.startswith("-"):
                break
            continue
        words.append(text)
    return " ".join(words)


def short_reason(line: str) -> str:
    """Shorten a tool's message and drop machine-specific paths; return '' for text that instructs its reader."""
    text = " ".join(word for word in line.replace("`", "'").split() if not is_session_specific(word))
    if instructs(text):
        return ""
    return text if len(text) <= LONGEST_REASON else text[:LONGEST_REASON].rpartition(" ")[0] + REST


# --- commands that do a job ---


def purpose_of(part: Simple) -> str:
    """Return the purpose: test, one test, check, build, lint, types, format, generate, setup, run; '' for others."""
    program = part.program
    text = part.text
    kind = checks.check_kind(text)
    if kind == "test" and picks_a_test(part):
        return "one test"
    if kind == "test" and part.words[:2] == ("go", "vet"):
        return "lint"
    if kind == "test" and _CHECKS.search(text):
        return "check"
    if kind:
        return "format" if kind == "lint" and re.search(r"\s--(?:fix|write)\b|:fix\b", text) else kind
    if program.removeprefix("./") not in _RUNNERS or any(
        word in ("--help", "-h", "--version") for word in part.words
    ):
        return ""
    if formats(part):
        return "format"
    if _GENERATES.search(text):
        return "generate"
    if _RUNS.search(text):
        return "run"
    return "setup" if _SETS_UP.search(text) and not _PACKAGES.search(text) else ""


def formats(part: Simple) -> bool:
    """Whether a command formats code, or checks whether it is formatted."""
    return bool(_FORMATS.search(part.text))


def picks_a_test(part: Simple) -> bool:
    return bool(_test_named(part)) or any(
        _PICKS_TEST.match(unquoted(word).partition("=")[0]) or "::" in word for word in part.words[1:]
    )


def _test_named(part: Simple) -> str:
    """Return a test that is named without a flag, as cargo allows."""
    words = part.words
    if part.program != "cargo" or len(words) < 3 or not _CARGO_TEST.match(" ".join(words[1:3])):
        return ""
    plain = [word for word in words[2:] if _IDENTIFIER.fullmatch(word) and word != "run"]
    after = [word for word in plain if not words[words.index(word) - 1].startswith("-")]
    return after[0] if after else ""


def job_text(part: Simple) -> str:
    """Write a command as a rule names it: with its flags and directory, without one session's files and tests."""
    words: list[str] = []
    skip, named = "", _test_named(part)
    for word in part.words:
        text = unquoted(word)
        if named and word == named:
            words.append("<name>")
        elif skip:
            words += ["<name>"] if skip == "test" else [text] if skip == "package" else []
            skip = ""
        elif not words:
            words.append(text if not is_session_specific(text) else name_of(text))
        elif text in _PICKS_PACKAGE and part.program in _SHORT_FOR.get(text, (part.program,)):
            words.append(text)
            skip = "package"
        elif text in _NOISE or re.match(r"-(?:count|timeout|-timeout|parallel|j\d|-reporter|-color)\b", text):
            skip = "value" if text in _TAKES_VALUE and "=" not in text else ""
        elif _PICKS_TEST.match(text) and text not in ("-p",):
            words.append(text)
            skip = "test"
        elif _PICKS_TEST.match(text.partition("=")[0]) and "=" in text:
            words.append(f"{text.partition('=')[0]}=<name>")
        elif _ANY.search(text) and (not _SCOPE.match(text) or text == "./..."):
            words.append(text)
        elif text.startswith("-"):
            words.append(word if len(text) <= 50 and not is_session_specific(text) else "")
        elif (
            _NUMBER.fullmatch(text)
            or is_session_specific(text)
            or "://" in text
            or contains_any(text, " \n{}$|*")
        ):
            return ""
        elif text.startswith("//") and ":" in text and part.program == "mise":
            words.append(text)  # a task of another folder, by its name
        elif _PATH.match(text) or "::" in text:
            placeholder = "<path>"
            words += [placeholder] if words[-1] != placeholder else []
        elif len([earlier for earlier in words if not earlier.startswith("-")]) < MOST_PLAIN + 1:
            words.append(text)
        else:
            return ""
    line = " ".join(word for word in words if word).removesuffix(" --")
    if len(line) > LONGEST or line.count("<path>") > 1 or is_outside_checkout(part):
        return ""
    return line if not part.directory or _ANYWHERE_BELOW.match(line) else f"cd {part.directory} && {line}"
