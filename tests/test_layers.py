"""The house rules that a reader relies on: which room may import which, and what a module may do."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "holdfast"
MODULES = sorted(SOURCE.rglob("*.py"))
LONGEST_MODULE = 500

# From the ground up. A room imports rooms of the tiers below its own, and itself.
TIERS = (
    ("errors",),
    ("model",),
    ("text", "guard"),
    ("store", "transcripts", "distill", "repo", "search", "context", "advise"),
    ("app",),
    ("cli", "mcp", "web", "hosts"),
)
TIER_OF = {room: number for number, rooms in enumerate(TIERS) for room in rooms}
SURFACES = TIERS[-1]
APART = "hot"  # the hooks' path: imports nothing of ours but what is named below
# The application prepares what hooks look up, so both must know a command again by the same rules. The tools' server
# answers a handshake before the application is loaded.
IMPORTS_APART = ("hosts", "app", "mcp")
# Standard library only, and loaded only when an agent puts a question to a person, who takes longer.
SHARED_WITH_APART = {"distill.asking", "distill.likeness"}

# The demo makes a scratch project to show things in and removes it: nobody's memory, so not the store's work.
MAY_WRITE = {
    "store": "",
    "flows/demo.py": "makes and removes its scratch project",
    "cli/run.py": "opens the null device in the place of a stream that was closed",
    "search": "keeps its index, which is derived and deletable: nobody's memory is in it alone",
    "hot": "leaves envelopes and traces in memory: hooks cannot load the store",
    "agents/entire/reader.py": "holds a checkpoint in memory, or in a private folder that it removes, to be read",
}


def name_of(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def room_of(path: Path) -> str:
    relative = path.relative_to(SOURCE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def imported_rooms(tree: ast.Module, package: tuple[str, ...]) -> Iterator[tuple[int, str, str]]:
    """Line, room and name of every import of ours; the room of `from holdfast import __version__` is ''."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            modules = [f"{module}.{alias.name}" for alias in node.names]
        else:
            continue
        for module in modules:
            top, _, rest = module.partition(".")
            if top == "holdfast":
                room = rest.partition(".")[0]
                yield node.lineno, "" if room.startswith("__") else room, rest


def wrong_arrows(source: str, room: str, package: tuple[str, ...] = ("holdfast",)) -> list[str]:
    """What a module of a room must not import, as `line: room -> other`."""
    return [
        f"{line}: {room} -> {target or 'holdfast'}"
        for line, target, name in imported_rooms(ast.parse(source), package)
        if not allowed(room, target) and not (room == APART and is_shared(name))
    ]


def is_shared(name: str) -> bool:
    return any(name == shared or name.startswith(f"{shared}.") for shared in SHARED_WITH_APART)


def allowed(room: str, target: str) -> bool:
    if room == target:
        return True
    if target == APART:
        return room in IMPORTS_APART
    if room == "__main__":
        return target in SURFACES
    if target == "":
        return room in SURFACES
    if room not in TIER_OF or target not in TIER_OF:
        return False
    return TIER_OF[target] < TIER_OF[room]


@pytest.mark.parametrize("name", sorted(SHARED_WITH_APART))
def test_what_hooks_share_needs_the_standard_library_only(name: str) -> None:
    tree = tree_of(SOURCE.joinpath(*name.split(".")).with_suffix(".py"))
    tops = {
        module.partition(".")[0]
        for node in ast.walk(tree)
        for module in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [str(node.module)]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert tops <= set(sys.stdlib_module_names)


def test_every_room_has_its_tier() -> None:
    rooms = {room_of(path) for path in MODULES} - {"__init__", "__main__", APART}
    assert rooms <= set(TIER_OF), "a new room needs a place in TIERS"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_point_down(path: Path) -> None:
    package = ("holdfast", *path.relative_to(SOURCE).parts[:-1])
    assert wrong_arrows(path.read_text(encoding="utf-8"), room_of(path), package) == []


@pytest.mark.parametrize(
    ("room", "line"),
    [
        ("model", "from holdfast.text import table"),
        ("text", "from holdfast.guard.redact import Redactor"),
        ("store", "from holdfast import distill"),
        ("distill", "import holdfast.core.files"),
        ("transcripts", "def f():\n    from holdfast.store.machine import Machine"),
        ("app", "from holdfast.cli import output"),
        ("cli", "from holdfast.hosts import claude_code"),
        ("store", "from holdfast import __version__"),
        ("store", "from ..app import wiring"),
        ("hot", "from holdfast.core.words import count"),
        ("hot", "from holdfast.memory.merging import find"),
        ("cli", "from holdfast.hot import hook"),
        ("app", "from holdfast.unheard_of import thing"),
    ],
)
def test_a_wrong_arrow_is_found(room: str, line: str) -> None:
    assert len(wrong_arrows(line, room, ("holdfast", room))) == 1


@pytest.mark.parametrize(
    ("room", "line"),
    [
        ("model", "from holdfast.core.errors import HoldfastError"),
        (
            "distill",
            "from holdfast.sessions.keywords import keywords\nfrom holdfast.guard.redact import Redactor",
        ),
        ("app", "from holdfast.store import files\nfrom . import wiring"),
        ("cli", "from holdfast import __version__\nfrom holdfast.model.ledger import LedgerEntry"),
        ("hosts", "from holdfast.hot import hook"),
        ("app", "from holdfast.hooks.classify import classify"),
        ("hot", "import json\nfrom holdfast.hot import fence"),
        ("hot", "from holdfast.core.likeness import signature"),
        ("app", "from holdfast.core.shell_calls import calls"),
        ("app", "from holdfast.hooks.ranking import rank"),
    ],
)
def test_a_right_arrow_is_let_through(room: str, line: str) -> None:
    assert wrong_arrows(line, room, ("holdfast", room)) == []


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_says_what_it_is_for(path: Path) -> None:
    docstring = ast.get_docstring(tree_of(path)) or ""
    assert docstring.partition("\n")[0].strip(), "the first line of a module's docstring says what it is for"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_is_read_in_one_sitting(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST_MODULE


def calls(tree: ast.Module) -> Iterator[tuple[ast.Call, str]]:
    """Every call with its name as written: `open`, `os.replace`, `.write_text` for a method of something."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                yield node, node.func.id
            elif isinstance(node.func, ast.Attribute):
                owner = node.func.value
                yield node, f"{owner.id if isinstance(owner, ast.Name) else ''}.{node.func.attr}"


@pytest.mark.parametrize("path", [p for p in MODULES if room_of(p) != "cli"], ids=name_of)
def test_only_the_command_line_prints(path: Path) -> None:
    assert [call.lineno for call, name in calls(tree_of(path)) if name == "print"] == []


def mode_of(call: ast.Call, name: str) -> str | None:
    """The mode a file is opened with; None when the call opens no file or does not spell it out."""
    is_function = name in ("open", "io.open", "os.fdopen")
    if not is_function and not name.endswith(".open"):
        return None
    place = 1 if is_function else 0
    given = [keyword.value for keyword in call.keywords if keyword.arg == "mode"] or call.args[
        place : place + 1
    ]
    if not given:
        return "r" if is_function or not call.args else None
    value = given[0].value if isinstance(given[0], ast.Constant) else None
    is_mode = isinstance(value, str) and 0 < len(value) <= 3 and set(value) <= set("rwaxbt+")
    return str(value) if is_mode else None


def forgets_encoding(call: ast.Call, name: str) -> bool:
    keywords = {keyword.arg for keyword in call.keywords}
    if "encoding" in keywords:
        return False
    method = name.rpartition(".")[2]
    if method in ("read_text", "write_text"):
        return len(call.args) <= (1 if method == "write_text" else 0)
    if name.startswith("subprocess."):
        return bool(keywords & {"text", "universal_newlines"})
    mode = mode_of(call, name)
    return mode is not None and "b" not in mode


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_text_is_read_and_written_in_a_named_encoding(path: Path) -> None:
    assert [call.lineno for call, name in calls(tree_of(path)) if forgets_encoding(call, name)] == []


WRITING_METHODS = {
    "write_text",
    "write_bytes",
    "unlink",
    "mkdir",
    "rmdir",
    "touch",
    "symlink_to",
    "hardlink_to",
}
WRITING_METHODS |= {"makedirs", "rename", "rmtree", "copytree", "copyfile", "copy2", "mkdtemp", "mkstemp"}
WRITING_CALLS = {"os.replace", "os.remove", "os.write", "os.truncate", "os.link", "os.symlink", "shutil.move"}
WRITING_CALLS |= {
    "sqlite3.connect",
    "shutil.copy",
    "tempfile.TemporaryDirectory",
    "tempfile.NamedTemporaryFile",
}


def writes(call: ast.Call, name: str) -> bool:
    if name == "sqlite3.connect" and any(keyword.arg == "uri" for keyword in call.keywords):
        return False  # an address that says how it is opened: how importers read databases of agents
    mode = mode_of(call, name)
    is_method = "." in name and name.rpartition(".")[2] in WRITING_METHODS
    return is_method or name in WRITING_CALLS or (mode is not None and bool(set(mode) & set("wax+")))


@pytest.mark.parametrize(
    "path", [p for p in MODULES if room_of(p) not in MAY_WRITE and name_of(p) not in MAY_WRITE], ids=name_of
)
def test_only_the_store_writes_files(path: Path) -> None:
    assert [f"{call.lineno}: {name}" for call, name in calls(tree_of(path)) if writes(call, name)] == []


@pytest.mark.parametrize(
    "line",
    [
        "open(p, 'w', encoding='utf-8')",
        "open(p, mode='ab')",
        "path.open('x')",
        "path.write_text('a', encoding='utf-8')",
        "(a / b).unlink()",
        "os.replace(a, b)",
        "sqlite3.connect(p)",
    ],
)
def test_a_write_is_found(line: str) -> None:
    assert [writes(call, name) for call, name in calls(ast.parse(line))] == [True]


@pytest.mark.parametrize(
    "line", ["open(p)", "path.open()", "path.read_text()", "subprocess.run(c, text=True)"]
)
def test_a_missing_encoding_is_found(line: str) -> None:
    assert [forgets_encoding(call, name) for call, name in calls(ast.parse(line))] == [True]


@pytest.mark.parametrize(
    "line",
    [
        "open(p, 'rb')",
        "importer.open(p, 0)",
        "os.open(p, flags)",
        "text.replace(a, b)",
        "sqlite3.connect(ro, uri=True)",
    ],
)
def test_harmless_calls_are_let_through(line: str) -> None:
    assert [forgets_encoding(call, name) or writes(call, name) for call, name in calls(ast.parse(line))] == [
        False
    ]
