"""Knowledge about a repository, from its files and from sessions: conventions, patterns, facts, notes on files.

Each item says when it was last seen to hold (`confirmed`): that decides what is set aside when there is too much.
"""

from __future__ import annotations

from msgspec import Struct

SCAN = "scan"  # who says so: a look at the checkout, which a later look can take back


class Evidence(Struct, frozen=True):
    """A file of the repository, and the field in it, that shows something: what a fingerprint can be made of."""

    path: str
    field: str = ""


class Convention(Struct, frozen=True, kw_only=True):
    """One way things are done here, with how often it was kept and how often not."""

    category: str
    pattern: str
    example: str = ""
    confidence: float = 0.5
    count: int = 0
    counter: int = 0
    evidence: tuple[Evidence, ...] = ()
    scope: str = ""  # what it holds for: a language, a kind of name, a part of the tree; '' for the whole
    by: str = ""
    confirmed: float = 0.0

    @property
    def key(self) -> tuple[str, ...]:
        return (self.category, self.scope, self.pattern)


class Pattern(Struct, frozen=True, kw_only=True):
    """A structure that recurs in the code."""

    name: str
    description: str = ""
    files: tuple[str, ...] = ()
    count: int = 0  # files that show it; `files` names the clearest
    confidence: float = 0.5
    by: str = ""
    confirmed: float = 0.0

    @property
    def key(self) -> tuple[str, ...]:
        return (self.name,)


class LearnedFact(Struct, frozen=True, kw_only=True):
    """Something a session found out about the project; each session that repeats it is another source."""

    category: str
    statement: str
    session: str = ""
    timestamp: str = ""
    confidence: float = 0.6
    sources: tuple[str, ...] = ()
    confirmed: float = 0.0

    @property
    def key(self) -> tuple[str, ...]:
        return (" ".join(self.statement.casefold().split()).rstrip(".!?;: "),)


class FileNote(Struct, frozen=True, kw_only=True):
    """What is worth knowing of a file before it is opened."""

    path: str
    language: str = ""
    complexity: int = 0
    is_test: bool = False
    is_hot: bool = False
    changes: int = 0
    neighbours: tuple[str, ...] = ()  # files that change in the same commits
    by: str = ""
    confirmed: float = 0.0

    @property
    def key(self) -> tuple[str, ...]:
        return (self.path,)


class Items(Struct, frozen=True, kw_only=True):
    """The four kinds together: what holds now, or what was set aside."""

    conventions: tuple[Convention, ...] = ()
    patterns: tuple[Pattern, ...] = ()
    facts: tuple[LearnedFact, ...] = ()
    files: tuple[FileNote, ...] = ()


class Looked(Struct, frozen=True, kw_only=True):
    """How thoroughly a checkout was scanned: sampling is reported, never hidden."""

    listed: int = 0
    sources: int = 0
    read: int = 0
    commits: int = 0
    listed_by: str = ""
    trees: bool = False
    notes: tuple[str, ...] = ()


class Knowledge(Struct, frozen=True, kw_only=True):
    now: Items = Items()
    archive: Items = Items()
    looked: Looked = Looked()
    scanned_at: float = 0.0


class Caps(Struct, frozen=True):
    """How many of each kind are kept in sight; what is over goes to the archive."""

    conventions: int = 50
    patterns: int = 50
    facts: int = 100
    files: int = 200


# What a session asks for first: how to run things, then how to write them, then what they are built on.
USEFUL = (
    "package_manager", "test_command", "run_single_test", "build_command", "lint_command",
    "format_command", "typecheck_command", "install_command", "check_command", "language_root",
    "test_runner", "linter", "formatter", "type_checker", "task_runner", "test_layout", "naming", "indent",
    "quote_style", "line_length", "commit_style", "import_style", "error_handling", "structure",
    "workspace", "web_framework", "router", "orm", "http_client", "test_style", "assertion_style",
    "snapshot_tests", "e2e_tool", "test_helpers", "cli", "logging", "validation", "language_version",
    "type_checking", "typing", "git_hooks", "docs_tool", "build_tool", "ui_framework",
    "dependency_injection", "semicolons", "module_system", "docstrings", "mocking", "dev_command",
    "docs_command", "benchmark_command", "commit_sign_off", "export_style", "data_classes", "api_style",
    "async_runtime", "error_library",
)  # fmt: skip
_RANK = {category: rank for rank, category in enumerate(USEFUL)}


def usefulness(convention: Convention) -> tuple[int, float]:
    """Smaller is more useful."""
    return _RANK.get(convention.category, len(USEFUL)), -convention.confidence
