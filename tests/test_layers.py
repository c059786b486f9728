"""The house rules that a reader relies on: which room may import which, and what a module may do.

`[tool.importlinter]` in pyproject.toml has the rooms. The rest is checked here, a test for each rule.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "holdfast"
MODULES = sorted(SOURCE.rglob("*.py"))
LONGEST_MODULE = 500
LARGEST_ROOM = 9_000  # lines

# Modules that load others by name. Everything else says what it needs in an import statement.
LOADS_BY_NAME = {
    "terminal/run.py": "one command of the table in cli/main.py is loaded, not fifty (ADR 3)",
    "web/screens.py": "the first page waits for its own screen, not for ten",
    "agents/registry.py": "one or two agents of its table are loaded, not sixteen, and one host, not seven (ADR 5)",
}
# Tables of such names, and a process that is started by its module's name.
NAMES_MODULES = {*LOADS_BY_NAME, "cli/main.py", "core/processes.py"}

# All bytes go through core/files.py. These modules also move, link or remove whole files.
MAY_WRITE = {
    "agents/entire/reader.py": "holds a checkpoint in memory, or in a private folder that it removes, to be read",
    "backtest/scratch.py": "all that a backtest writes is in its scratch folder",
    "terminal/run.py": "opens the null device in the place of a stream that was closed",
    "core/files.py": "the one way to write bytes",
    "core/remote_process.py": "writes to the pipe of a program",
    "core/temporary_files.py": "removes temporary files of dead writers",
    "core/patterns.py": "compiled patterns of our own, derived",
    "briefing/told_index.py": "told.db, derived: SQLite writes it, and one that cannot be read is removed",
    "hooks/start_lines.py": "removes the list of files that a session was told, when it begins anew",
    "core/folders.py": "puts a whole folder in the place of another",
    "store/bundle.py": "an archive takes its place whole",
    "demo/run.py": "makes and removes its scratch project",
    "flows/hosts.py": "uninstalling removes files that are ours alone",
    "flows/plugins.py": "a plugin's folder is made as a whole",
    "flows/transplant.py": "a memory takes the place of another",
    "upkeep/own_folder.py": "removes folders of ours that are empty, after the last purge",
    "flows/union.py": "files of an archive that are not here yet",
    "hooks/trace.py": "hooks cannot load the store",
    "ledger/column_store.py": "DuckDB's private folder: what it spills, and a file on its way to the store",
    "ledger/usage_cache.py": "usage.db, derived: SQLite writes it, and one that cannot be read is removed",
    "search/database.py": "the index is derived: nobody's memory is in it alone",
    "search/stemming.py": "SQLite in memory: nothing reaches the disk",
    "search/vectors.py": "the index is derived: nobody's memory is in it alone",
    "store/database.py": "SQLite writes capture.db, edits.db and kept.db",
    "store/inbox.py": "envelopes are taken and set aside",
    "store/project.py": "the link in the work tree",
    "store/snapshots.py": "the oldest snapshot goes",
    "cli/keys.py": "an exported key goes where its owner says",
    "store/sync_journal.py": "SQLite makes the file, which only its owner may read",
    "sync/folder.py": "packs go to a drive of the user, where our locks and stages have no place",
    "trials/workspace.py": "the work tree and the home of a trial, in a temporary folder",
}


def name_of(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def test_rooms_import_downwards_without_cycles(tmp_path: Path, capsys: object) -> None:
    config = str(ROOT / "pyproject.toml")
    assert lint_imports(config_filename=config, cache_dir=str(tmp_path), no_logo=True) == EXIT_STATUS_SUCCESS


def test_every_room_has_its_place_in_the_contract() -> None:
    contract = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    addresses = {"hot", "hosts"}  # the names that installed hosts know; nothing imports them
    rooms = {path.parent.name for path in SOURCE.glob("*/__init__.py")} - addresses
    assert {room for room in rooms if f"holdfast.{room}" not in contract} == set()


def test_a_module_that_loads_others_by_name_is_declared() -> None:
    """An import by string is an import: it may not hide a dependency from the contract."""
    loading = {
        name_of(path)
        for path in MODULES
        for call, name in calls(tree_of(path))
        if name in ("import_module", "importlib.import_module", "__import__")
    }
    assert loading <= set(LOADS_BY_NAME)
    modules = {"holdfast." + name_of(path).removesuffix(".py").replace("/", ".") for path in MODULES}
    naming = {name_of(path) for path in MODULES if modules & set(plain_strings(tree_of(path)))}
    assert naming <= NAMES_MODULES


def plain_strings(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_a_module_says_what_it_is_for_and_is_read_in_one_sitting() -> None:
    silent = [name_of(path) for path in MODULES if not (ast.get_docstring(tree_of(path)) or "").strip()]
    assert silent == []
    lines = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert {name: count for name, count in lines.items() if count > LONGEST_MODULE} == {}
    rooms: Counter[str] = Counter()
    for name, count in lines.items():
        rooms[name.partition("/")[0]] += count
    assert {room: count for room, count in rooms.items() if count > LARGEST_ROOM} == {}


def calls(tree: ast.Module) -> Iterator[tuple[ast.Call, str]]:
    """Every call with its name as written: `open`, `os.replace`, `.write_text` for a method of something."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                yield node, node.func.id
            elif isinstance(node.func, ast.Attribute):
                owner = node.func.value
                yield node, f"{owner.id if isinstance(owner, ast.Name) else ''}.{node.func.attr}"


def test_only_the_command_line_prints() -> None:
    printing = [
        f"{name_of(path)}:{call.lineno}"
        for path in MODULES
        if not name_of(path).startswith("cli/")
        for call, name in calls(tree_of(path))
        if name == "print"
    ]
    assert printing == []


def mode_of(call: ast.Call, name: str) -> str | None:
    """The mode a file is opened with; None when the call opens no file or does not spell it out."""
    is_function = name in ("open", "io.open", "os.fdopen")
    if not is_function and not name.endswith(".open"):
        return None
    place = 1 if is_function else 0
    named = [keyword.value for keyword in call.keywords if keyword.arg == "mode"]
    given = named or call.args[place : place + 1]
    if not given:
        return "r" if is_function or not call.args else None
    value = given[0].value if isinstance(given[0], ast.Constant) else None
    is_mode = isinstance(value, str) and re.fullmatch("[rwaxbt+]{1,3}", value)
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


def test_text_is_read_and_written_in_a_named_encoding() -> None:
    forgetting = [
        f"{name_of(path)}:{call.lineno}"
        for path in MODULES
        for call, name in calls(tree_of(path))
        if forgets_encoding(call, name)
    ]
    assert forgetting == []


WRITING_METHODS = {
    "write_text",
    "write_bytes",
    "unlink",
    "mkdir",
    "rmdir",
    "touch",
    "symlink_to",
    "hardlink_to",
    "makedirs",
    "rename",
    "rmtree",
    "copytree",
    "copyfile",
    "copy2",
    "mkdtemp",
    "mkstemp",
}
WRITING_CALLS = {
    "os.replace",
    "os.remove",
    "os.write",
    "os.truncate",
    "os.link",
    "os.symlink",
    "shutil.move",
    "sqlite3.connect",
    "shutil.copy",
    "tempfile.TemporaryDirectory",
    "tempfile.NamedTemporaryFile",
}


def writes(call: ast.Call, name: str) -> bool:
    if name == "sqlite3.connect" and any(keyword.arg == "uri" for keyword in call.keywords):
        return False  # an address that says how it is opened: how readers open the databases of agents
    mode = mode_of(call, name)
    is_method = "." in name and name.rpartition(".")[2] in WRITING_METHODS
    return is_method or name in WRITING_CALLS or (mode is not None and bool(set(mode) & set("wax+")))


def test_only_declared_modules_write_files() -> None:
    writing = {name_of(path) for path in MODULES for call, name in calls(tree_of(path)) if writes(call, name)}
    assert writing == set(MAY_WRITE)


def judged(line: str) -> tuple[bool, bool]:
    call, name = next(calls(ast.parse(line)))
    return writes(call, name), forgets_encoding(call, name)


def test_the_checks_see_what_they_look_for() -> None:
    writing = ["open(p, 'w', encoding='utf-8')", "open(p, mode='ab')", "path.open('xb')", "(a / b).unlink()"]
    writing += ["path.write_text('a', encoding='utf-8')", "os.replace(a, b)", "sqlite3.connect(p)"]
    assert {line: judged(line) for line in writing} == dict.fromkeys(writing, (True, False))
    unencoded = ["open(p)", "path.open()", "path.read_text()", "subprocess.run(c, text=True)"]
    assert {line: judged(line) for line in unencoded} == dict.fromkeys(unencoded, (False, True))
    harmless = ["open(p, 'rb')", "importer.open(p, 0)", "os.open(p, flags)", "text.replace(a, b)"]
    harmless += ["sqlite3.connect(ro, uri=True)"]
    assert {line: judged(line) for line in harmless} == dict.fromkeys(harmless, (False, False))
