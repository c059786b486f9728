"""Configuration: one table of options, each with the places it may be set in.

Options that run or send something are read from the personal file only; a repository can set only harmless ones.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from holdfast.core.errors import ConfigError, NameRefused
from holdfast.core.names import safe_name
from holdfast.core.patterns import lazy_regex

MOST_BYTES = 100_000
_VARIABLE = lazy_regex(r"(?:[A-Za-z_][A-Za-z0-9_]{0,99})?")


class Option(Struct, frozen=True):
    name: str
    kind: type
    default: Any
    personal_only: bool
    about: str
    choices: tuple[str, ...] = ()


OPTIONS = (
    Option(
        "exclude",
        list,
        [],
        True,
        "Directories (globs, `~` allowed) whose sessions are never recorded, unless you import them by name.",
    ),
    Option(
        "scanner",
        str,
        "auto",
        True,
        "Second redaction pass with the kingfisher scanner, if installed: auto (once holdfast doctor --fix "
        "has compiled its rules), always, or off.",
        ("auto", "always", "off"),
    ),
    Option(
        "embedder",
        str,
        "static",
        True,
        "How search compares meanings: static (the built-in table) or minilm (the full model, if "
        "`holdfast[minilm]` is installed). Changing it rebuilds the index.",
        ("static", "minilm"),
    ),
    Option(
        "classifier",
        str,
        "none",
        True,
        "How `holdfast classify` decides: by rules (none), or by the extractor's model with the rules as a "
        "fallback. Hooks always use the rules.",
        ("none", "extractor"),
    ),
    Option(
        "extractor",
        str,
        "none",
        True,
        "A model that proposes lessons after each session: openai (any endpoint with OpenAI's chat "
        "completions), anthropic (any endpoint with Anthropic's messages), or command. With none, nothing is "
        "sent.",
        ("none", "command", "openai", "anthropic"),
    ),
    Option(
        "extractor_model",
        str,
        "",
        True,
        "The model's name at its endpoint; for a command, a label.",
    ),
    Option(
        "extractor_url",
        str,
        "",
        True,
        "Base URL of the endpoint, such as `http://localhost:11434/v1`; https, or http on this machine. "
        "Empty: the vendor's own.",
    ),
    Option(
        "extractor_key_env",
        str,
        "",
        True,
        "Name of the environment variable that holds the key, never the key itself. Empty: `OPENAI_API_KEY` "
        "or `ANTHROPIC_API_KEY` for the vendor's own endpoint, no key for others.",
    ),
    Option(
        "extractor_command",
        list,
        [],
        True,
        "The command with its arguments, run without a shell: the question on standard input, JSON on "
        "standard output.",
    ),
    Option(
        "extractor_daily_usd",
        float,
        0.5,
        True,
        "Daily limit in dollars (UTC) for all projects together; a call of unknown price counts as a cent.",
    ),
    Option(
        "extractor_seconds",
        int,
        60,
        True,
        "How long one call may take; at most 120.",
    ),
    Option(
        "writer",
        str,
        "none",
        True,
        "Who else writes down what a session settled: your own agent, run without a terminal (claude, codex, "
        "gemini, qwen), or the extractor's endpoint. Asked about sessions of ten messages or more, at most "
        "five a day; must quote the session.",
        ("none", "claude", "codex", "gemini", "qwen", "endpoint"),
    ),
    Option(
        "projects",
        dict,
        {},
        False,
        "Several projects in one repository: which project the sessions that touch a path (a glob from the "
        'top) belong to, such as `"services/pay/**" = "payments"` under `[projects]`.',
    ),
    Option("know_conventions", int, 50, False, "How many conventions of the repository are kept."),
    Option("know_patterns", int, 50, False, "How many code structures are kept."),
    Option("know_facts", int, 100, False, "How many facts from sessions are kept."),
    Option("know_files", int, 200, False, "How many notes on files are kept."),
    Option(
        "lessons_promote_days",
        int,
        7,
        True,
        "Days after you first saw a lesson until it becomes active by itself, unless you reject or mute it; 0"
        " is never.",
    ),
    Option(
        "lessons_promote_sessions",
        int,
        2,
        True,
        "How many of your sessions must have taught a lesson for it to become active by itself; 0 is never.",
    ),
    Option(
        "budget_day",
        float,
        0.0,
        True,
        "Dollars per day above which `holdfast ledger alerts` warns; 0 is no limit.",
    ),
    Option(
        "budget_month",
        float,
        0.0,
        True,
        "Dollars per month above which `holdfast ledger alerts` warns; 0 is no limit.",
    ),
    Option(
        "keep_transcripts",
        bool,
        False,
        True,
        "Keep redacted, compressed copies of transcripts, which agents delete (Claude Code after 30 days). A "
        "retention period set in the agent is respected.",
    ),
    Option(
        "keep_transcripts_mb",
        int,
        1_000,
        True,
        "Megabytes that kept transcripts may use on this machine; the oldest go first.",
    ),
    Option(
        "prune_cap_mb",
        int,
        2_000,
        True,
        "Megabytes that all memories together may use. Above it, `holdfast prune` also removes what can be "
        "rebuilt; 0 is no limit.",
    ),
    Option(
        "prune_backup_days",
        int,
        90,
        True,
        "Days after which `holdfast prune` removes backups in `~/.holdfast/backups`; 0 is never.",
    ),
    Option("project_type", str, "", False, "Overrides the detected project type in ledger rows."),
    Option("framework", str, "", False, "Overrides the detected framework in ledger rows."),
)


class Settings(Struct, frozen=True):
    exclude: tuple[str, ...] = ()
    scanner: str = "auto"
    embedder: str = "static"
    classifier: str = "none"
    extractor: str = "none"
    extractor_model: str = ""
    extractor_url: str = ""
    extractor_key_env: str = ""
    extractor_command: tuple[str, ...] = ()
    extractor_daily_usd: float = 0.5
    extractor_seconds: int = 60
    writer: str = "none"
    projects: tuple[tuple[str, str], ...] = ()
    know_conventions: int = 50
    know_patterns: int = 50
    know_facts: int = 100
    know_files: int = 200
    lessons_promote_days: int = 7
    lessons_promote_sessions: int = 2
    budget_day: float = 0.0
    budget_month: float = 0.0
    prune_cap_mb: int = 2_000
    keep_transcripts: bool = False
    keep_transcripts_mb: int = 1_000
    prune_backup_days: int = 90
    project_type: str = ""
    framework: str = ""
    warnings: tuple[str, ...] = ()

    def excludes(self, directory: str, home: Path) -> bool:
        """Whether a session's directory is inside an excluded one."""
        if not self.exclude or not directory:
            return False
        path = Path(directory)
        for pattern in self.exclude:
            absolute = str(home / pattern[2:]) if pattern.startswith("~/") else pattern
            base = absolute.removesuffix("/**").removesuffix("/")
            if any(str(place) == base or place.match(absolute) for place in (path, *path.parents)):
                return True
        return False


def load_settings(personal: Path, repository: Path | None) -> Settings:
    """Merges both files; the personal one wins. A line of the repository's file that is invalid gives a warning."""
    values: dict[str, Any] = {option.name: option.default for option in OPTIONS}
    warnings: list[str] = []
    options_by_name = {option.name: option for option in OPTIONS}
    for path, is_personal in ((repository, False), (personal, True)):
        if path == personal and not is_personal:
            continue  # the home directory as a project: one file, read once
        try:
            options = _read(path)
        except ConfigError as error:
            if is_personal:
                raise
            warnings.append(error.line())  # a broken file in a clone must not stop a command
            continue
        for key, value in options.items():
            option = options_by_name.get(key)
            if option is None:
                warnings.append(f"{path}: unknown option {key!r} is ignored.")
            elif option.personal_only and not is_personal:
                warnings.append(f"{path}: {key!r} only counts in {personal}, and is ignored here.")
            elif (problem := _problem(option, value)) and not is_personal:
                warnings.append(f"{path}: {key} {problem}, and is ignored.")
            elif problem:
                raise ConfigError(
                    f"{key} {problem}", where=str(path), fix="Correct the value or remove the line"
                )
            else:
                values[key] = value
    values["projects"] = tuple(values["projects"].items())
    return msgspec.convert({**values, "warnings": warnings}, Settings)


def _problem(option: Option, value: Any) -> str:
    if option.kind is int and (isinstance(value, bool) or (isinstance(value, int) and value < 0)):
        return "must be a number from 0"
    if option.kind is float:
        good = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12
        return "" if good else "must be a number of dollars, 0 or more"
    if not isinstance(value, option.kind):
        return f"must be a {option.kind.__name__}, not {type(value).__name__}"
    if isinstance(value, list) and not all(isinstance(item, str) for item in value):
        return "must be a list of strings"
    if isinstance(value, dict) and (bad := [str(name) for name in value.values() if not _is_name(name)]):
        return f"names a project {bad[0][:40]!r}, which is not a name of letters, digits, - _ and ."
    if option.choices and value not in option.choices:
        return f"must be one of {', '.join(option.choices)}"
    if option.name == "extractor_key_env" and not _VARIABLE.fullmatch(str(value)):
        return "must be the name of an environment variable; never put the key itself into a file"
    return ""


def _is_name(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(safe_name(value))
    except NameRefused:
        return False


def _read(path: Path | None) -> dict[str, Any]:
    if path is None or not path.is_file() or path.is_symlink():
        return {}
    import tomllib  # imported late: every command runs this, and most people have no such file

    try:
        if path.stat().st_size > MOST_BYTES:
            raise ConfigError("is too large for a configuration file", where=str(path), fix="Move it away")
        return tomllib.loads(path.read_bytes().decode("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(
            f"cannot be read: {error}", where=str(path), fix="Correct the file or remove it"
        ) from error
