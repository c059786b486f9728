"""Tells whether a call that worked is the remedy of one that failed: the same intent, without the mistake."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import SequenceMatcher

from holdfast.core.shell import Simple, name_of, names, path_of, unquoted
from holdfast.language import checks
from holdfast.language.command_words import formats, is_session_specific, purpose_of, subject_of

MOST = 0.6
NEARLY = 0.7
HALF = 0.5
SOME = 0.3
_LOOKS = frozenset(["view", "list", "status", "diff", "checks", "show", "get", "ls", "describe"])
_ASKING = names(
    "which type whereis command man ls find fd tree cat head tail wc rg grep egrep sed awk jq stat file echo test [ [["
    " printf diff"
)
_QUESTIONS = frozenset(
    ["--version", "-version", "-V", "version", "--help", "-h", "which", "where", "help", "tasks"]
)
_TELLS_OF = frozenset(
    ["info", "search", "show", "list", "ls", "view", "desc", "describe", "outdated", "why", "docs"]
)
_PICKS = frozenset(["--filter", "-F", "--workspace", "--package", "-p"])
_LISTS = frozenset(["run", "task", "tasks", "scripts"])  # with nothing after it: lists the tasks
_INSTALLS = frozenset(["install", "add", "i", "get", "download"])
_SETS_UP = _INSTALLS | {"ci", "sync"}
_INSTALLERS = names(
    "npm pnpm yarn bun deno pip pip3 pipx uv poetry pdm conda mamba brew apt apt-get dnf yum apk pacman zypper nix-env"
    " choco winget scoop cargo go gem bundle composer mise asdf volta corepack rustup mix dotnet flutter dart python"
    " python3 npx bunx"
)
_HANDLES_FILES = names("git gh rm mv cp ln mkdir touch chmod chown tar zip scp rsync")
_OF_THE_MACHINE = names("brew apt apt-get dnf yum apk pacman zypper nix-env choco winget scoop port snap")
WITH_SUBCOMMANDS = names(
    "git gh glab hub docker podman kubectl helm npm pnpm yarn bun cargo go mise asdf uv poetry pip pip3 pdm brew apt"
    " apt-get systemctl aws gcloud az terraform tofu flutter dart dotnet mix composer bundle rails rustup deno"
)
_JOBS = {"one test": "test", "check": "test"}  # purposes with the same intent
_OF_ONE_INTENT = frozenset(
    ["flag", "task", "command", "target", "place", "usage", "refused", "program", "switch"]
)


def remedy(cause: str, token: str, tried: Simple, worked: Sequence[Simple]) -> Simple | None:
    """Return the command among `worked` that did what the failed one was meant to do."""
    rule = _RULES.get(cause)
    for part in worked:
        changed = (part.words, part.directory, part.variables) != (
            tried.words,
            tried.directory,
            tried.variables,
        )
        if (
            rule is not None
            and (changed or cause == "engine")
            and not _asks(part, (tried.program, token))
            and (cause not in _OF_ONE_INTENT or (_same_intent(tried, part) and _of_one_package(tried, part)))
            and rule(token, tried, part)
        ):
            return part
    return None


def _same_intent(tried: Simple, part: Simple) -> bool:
    """Whether two commands have the same purpose, if both have one: a formatter is not a remedy for a check."""
    tried_kind, part_kind = (_JOBS.get(kind, kind) for kind in (_purpose(tried), _purpose(part)))
    return not tried_kind or not part_kind or tried_kind == part_kind or _bare(tried)[1:] == _bare(part)[1:]


def _of_one_package(tried: Simple, part: Simple) -> bool:
    """Whether two commands work on the same package: another package's folder is not a remedy."""
    chosen, part_package = _package(tried), _package(part)
    folder = part.directory.rpartition("/")[2] if part.directory != tried.directory else ""
    named = chosen.rpartition("/")[2]
    return not named or (
        named == part_package.rpartition("/")[2]
        if part_package
        else not folder or named in (folder, part.directory)
    )


def _package(part: Simple) -> str:
    words = _bare(part)
    return next((words[index + 1] for index, word in enumerate(words[:-1]) if word in _PICKS), "")


def _purpose(part: Simple) -> str:
    """Return the purpose of a command, with or without a wrapper before it."""
    if (kind := purpose_of(part)) or len(part.words) < 3:
        return kind
    return purpose_of(Simple(part.words[1:], part.directory))


def _asks(part: Simple, meant: tuple[str, str]) -> bool:
    """Whether a command only looks something up: it is no remedy, unless that was the intent."""
    if _QUESTIONS & set(part.words) or (part.program in _ASKING and part.program not in meant):
        return True
    plain = [word for word in part.words[1:] if not word.startswith("-")]
    return len(plain) <= 1 and bool(_LISTS & set(plain)) and part.program in WITH_SUBCOMMANDS


def _installs(part: Simple, wanted: frozenset[str] = _INSTALLS) -> bool:
    """Whether a command installs something with a package manager: `git add` does not."""
    return part.program in _INSTALLERS and bool(wanted & set(part.words[1:4]))


def _bare(part: Simple) -> list[str]:
    return [unquoted(word).replace("\\", "") for word in part.words]


def _share(some: Sequence[str], other: Sequence[str]) -> float:
    """Return the share of the first list that is in the second."""
    wanted = set(some)
    return len(wanted & set(other)) / len(wanted) if wanted else 0.0


def same_job(tried: Simple, part: Simple) -> bool:
    kind = checks.check_kind(tried.text) or purpose_of(tried)
    return bool(kind) and kind == (checks.check_kind(part.text) or purpose_of(part))


def _other_program(token: str, tried: Simple, part: Simple) -> bool:
    called = [name_of(word) for word in part.words]
    if called[0] == token:
        if path_of(part):
            return not path_of(tried)
        return _off_the_path(part.words[0]) and not tried.words[0].startswith("/")
    if _TELLS_OF & set(called[1:3]):
        return False  # looking it up does not run it
    if part.program in _OF_THE_MACHINE and not _installs(part):
        return False  # starting a service does not call its client
    if token in called[1:6]:
        return True  # run through a version manager, a package runner or an installer
    if min(len(called[0]), len(token)) >= 3 and (called[0].startswith(token) or token.startswith(called[0])):
        return True
    if "-" in token and token == "-".join(called[:2]):
        return True
    if part.program in _HANDLES_FILES:
        return False  # another operation on the same files
    rest = [unquoted(word) for word in tried.words if name_of(word) != token]
    # Options alone could belong to any program.
    has_arguments = any(not word.startswith("-") for word in rest)
    return bool(rest) and ((has_arguments and _share(rest, _bare(part)) >= MOST) or same_job(tried, part))


def _off_the_path(word: str) -> bool:
    """Whether a word calls a program by a path outside of the system's folders."""
    return "/" in word and word.rpartition("/")[0] not in ("/bin", "/usr/bin", "/sbin", "/usr/sbin")


def _other_flag(token: str, tried: Simple, part: Simple) -> bool:
    words = _bare(part)
    if any(token in word.split(",") for word in words) or token in words:
        return False
    if part.program == tried.program:
        subject = subject_of(tried, token)
        if subject == tried.program:
            return _same_call_of(token, tried, part)
        # With or without a name after it; another subcommand does something else.
        return f"{subject_of(part)} ".startswith(f"{subject} ") or f"{subject} ".startswith(
            f"{subject_of(part)} "
        )
    # Behind a wrapper, not another tool.
    return tried.program in map(name_of, part.words) and same_job(tried, part)


def _same_call_of(token: str, tried: Simple, part: Simple) -> bool:
    """Whether two calls of a program without subcommands match: same arguments, none, or one flag for another."""
    if tried.program in WITH_SUBCOMMANDS:
        return False  # without its subcommand the calls cannot be compared
    tried_arguments, part_arguments = (
        [word for word in _bare(call)[1:] if not word.startswith("-")] for call in (tried, part)
    )
    swapped = all(sum(word.startswith("-") for word in call.words) == 1 for call in (tried, part))
    return swapped or (
        _share(tried_arguments, part_arguments) >= HALF if tried_arguments else not part_arguments
    )


def _other_task(token: str, tried: Simple, part: Simple) -> bool:
    old, new = _bare(tried), _bare(part)
    if token in old and old.index(token) and new[0] == token:
        return _share(old[old.index(token) :], new) >= HALF or len(new) <= 3  # the same without its prefix
    if token in new and part.program == tried.program and part.directory == tried.directory:
        return False
    if same_job(tried, part):
        return True
    if purpose_of(part) and not _purpose(tried) and not any(_close(token, word) for word in new[1:]):
        return False  # it has another purpose
    rest = [word for word in old[1:] if word != token]
    if part.program == tried.program:
        return (bool(rest) and _share(rest, new) >= HALF) or any(_close(token, word) for word in new[1:])
    return bool(rest) and _share(old[1:], new) >= HALF


def _close(token: str, word: str) -> bool:
    """Whether one word contains the other, so that it may be the intended one."""
    is_word = min(len(token), len(word)) >= 3 and not word.startswith("-")
    return is_word and (token in word or word in token)


def _other_place(token: str, tried: Simple, part: Simple) -> bool:
    if part.program != tried.program and not same_job(tried, part):
        return False
    moved = part.directory != tried.directory and not is_session_specific(part.directory)
    return moved or (subject_of(part) == subject_of(tried) and part.words != tried.words)


def _same_or_wrapped(token: str, tried: Simple, part: Simple) -> bool:
    return (_installs(part) and any(token in word for word in _bare(part))) or _moved(tried, part)


def _module_there(token: str, tried: Simple, part: Simple) -> bool:
    """Whether a missing module was installed, or found by another interpreter or in another directory. The same tool
    on other files only avoids it."""
    return _installs(part, _SETS_UP) or _moved(tried, part)


def _moved(tried: Simple, part: Simple) -> bool:
    """Whether the same call was made through another program, or in another directory."""
    elsewhere = part.program != tried.program or part.directory != tried.directory
    return elsewhere and (_share(_bare(tried), _bare(part)) >= HALF or same_job(tried, part))


def _quoted(token: str, tried: Simple, part: Simple) -> bool:
    quoted = any(word[:1] in "\"'" and token.lstrip("-") in word for word in part.words) or any(
        "\\" in word for word in part.words
    )
    return quoted and part.program == tried.program and _share(_bare(tried), _bare(part)) >= HALF


def _another_way(token: str, tried: Simple, part: Simple) -> bool:
    """Whether a call is another subcommand of the same program. One that only reads does not replace one that acts."""
    if part.program != tried.program or subject_of(part) == subject_of(tried):
        return False
    return not _LOOKS & set(part.words) or bool(_LOOKS & set(tried.words))


def _switched(token: str, tried: Simple, part: Simple) -> bool:
    """Whether a call is another way to do the same job. Formatters do not count."""
    if formats(tried) or formats(part):
        return False
    return same_job(tried, part) and subject_of(part) != subject_of(tried)


# For each cause: does a call that worked remedy it? Arguments: the word in question, the failed call, the new call.
_RULES: dict[str, Callable[[str, Simple, Simple], bool]] = {
    "program": _other_program,
    "tool": _same_or_wrapped,
    "flag": _other_flag,
    "task": _other_task,
    "command": _other_task,
    "target": _other_task,
    "place": _other_place,
    "module": _module_there,
    "managed": _same_or_wrapped,
    "glob": _quoted,
    "variable": lambda token, tried, part: (
        part.program == tried.program and any(text.startswith(f"{token}=") for text in part.variables)
    ),
    "usage": lambda token, tried, part: (
        subject_of(part) == subject_of(tried) and _share(_bare(tried), _bare(part)) >= SOME
    ),
    "refused": _another_way,
    # A command that formats, unless it is the same tool in write mode: that is its normal use.
    "format": lambda token, tried, part: (
        purpose_of(part) == "format" and subject_of(part) != subject_of(tried)
    ),
    "untrusted": lambda token, tried, part: "trust" in part.words[1:],
    # The same tool; the line that it is in shows whether another version ran it.
    "engine": lambda token, tried, part: (
        tried.program in (part.program, *(name_of(word) for word in part.words[1:6]))
    ),
    # The omitted part of the build is requested.
    "excluded": lambda token, tried, part: (
        subject_of(part) == subject_of(tried) and any("tags" in word.partition("=")[0] for word in part.words)
    ),
    "switch": _switched,
}


def installs_for_good(remedy_text: str) -> bool:
    """Whether a remedy installs a program on the machine, where it stays."""
    words = remedy_text.rpartition("&& ")[2].removeprefix("sudo ").split()
    everywhere = {"-g", "--global"} & set(words) or (words[:1] and words[0] in _OF_THE_MACHINE | {"pipx"})
    return bool(everywhere and _INSTALLS & set(words[1:3])) or words[:2] in (
        ["go", "install"],
        ["cargo", "install"],
        ["pip", "install"],
        ["pip3", "install"],
        ["uv", "tool"],
        ["gem", "install"],
    )


# --- files ---


def same_file(missed: str, found: str) -> bool:
    """Whether a file is the missing one in another folder, with another extension, or under a similar name."""
    if missed == found:
        return False
    folder, _, name = missed.rpartition("/")
    found_folder, _, found_name = found.rpartition("/")
    if name == found_name and len(name) > 3:
        return True
    stem, found_stem = name.rpartition(".")[0] or name, found_name.rpartition(".")[0] or found_name
    if folder == found_folder and len(stem) > 2:
        if stem == found_stem or ("." not in name and found_name.startswith(name)):
            return True
        alike = name.rpartition(".")[2] == found_name.rpartition(".")[2] and _pieces(stem) == _pieces(
            found_stem
        )
        return alike and SequenceMatcher(None, stem, found_stem).ratio() >= NEARLY
    return found.startswith(f"{missed}.") or (
        folder.rpartition("/")[0] == found_folder and _plain(stem) == _plain(found_stem)
    )


def _pieces(stem: str) -> int:
    """Count the separators in a name: `x` and `x_test`, or `x` and `x.local`, are different files."""
    return sum(stem.count(sign) for sign in "._-")


def _plain(stem: str) -> str:
    return stem.casefold().replace("-", "").replace("_", "")
