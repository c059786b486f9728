"""Scans a whole checkout: files, manifests, tests, code and history, within fixed limits.

Conventions show without reading everything: of very many sources an even sample is read, chosen by name so that the
same tree gives the same sample. Configuration files and hot files are always read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct, structs

from holdfast.knowledge.checkout import LARGEST, FileListing, FileStamp, bytes_of, printable, stamp_of
from holdfast.knowledge.code_style import style_conventions
from holdfast.knowledge.ground import Ground
from holdfast.knowledge.history import GitHistory, commit_conventions, history_of
from holdfast.knowledge.idioms import idiom_conventions
from holdfast.knowledge.languages import READ_LANGUAGES, evenly, is_aside, is_test, language_of
from holdfast.knowledge.libraries import library_conventions
from holdfast.knowledge.naming import naming_conventions
from holdfast.knowledge.organisation import organisation_conventions
from holdfast.knowledge.package_managers import package_managers
from holdfast.knowledge.source import SourceSigns, look_at
from holdfast.knowledge.syntax_trees import tree_reader
from holdfast.knowledge.tasks import task_conventions
from holdfast.knowledge.testing import testing_conventions
from holdfast.knowledge.tools import tool_conventions, tools_in_use
from holdfast.model.knowledge import SCAN, Convention, FileNote, Items, Looked, Pattern

VERSION = 2  # raise it if the same files would give another result
MOST_READ = 600
MOST_BYTES = 5_000_000
MOST_PARSED = 200
LONGEST_LOOK = 60_000  # bytes read of a long file: the rest has the same style
MOST_NOTES = 200
_MOST_FILES = 12

Progress = Callable[[str, int, int], None]


class PatternRule(Struct, frozen=True):
    """A structure and the signs that show it, in tests or in the program; one of `with_` must also occur somewhere."""

    name: str
    description: str
    signs: tuple[str, ...]
    with_: tuple[str, ...] = ()
    tests: bool = False
    least: int = 2
    path: str = ""  # a file name that shows it, too
    share: float = 0.01  # of the files, at least: fewer may be chance


_SHAPES = (
    PatternRule("handler-middleware", "HTTP handlers use middleware chains", ("middleware", "filter", "before_action"), ("handler", "route", "controller"), False, 2),
    PatternRule("route-handlers", "Requests are routed to handlers that are declared beside their routes", ("route", "controller", "handler"), (), False, 2),
    PatternRule("repository", "Storage is behind repositories or stores", ("repository",), (), False, 3, r"(?i)(?:repository|_repo|_store|Store)\.\w+$"),
    PatternRule("service-layer", "Logic lives in services", ("service",), (), False, 3, r"(?:[a-z]Service|_service|[.-]service)s?\.\w+$", 0.03),
    PatternRule("command-registration", "Each command is declared and registered with the command line's parser", ("command", "clap", "command_table"), (), False, 2),
    PatternRule("plugin-registry", "Parts register themselves in a registry and are looked up there", ("registry",), ("registry_type",), False, 3, "", 0.02),
    PatternRule("table-driven-tests", "Tests run a table of cases", ("table_test", "parametrize", "each", "rstest", "parameterized"), (), True, 3, "", 0.08),
    PatternRule("fixtures", "Tests get what they need from shared fixtures", ("fixture", "let", "before", "factory"), (), True, 2, "", 0.1),
    PatternRule("mocked-collaborators", "Tests replace collaborators by mocks", ("mock",), (), True, 3, "", 0.1),
    PatternRule("snapshot-tests", "Results are compared with stored snapshots", ("snapshot",), (), True, 2),
    PatternRule("dependency-injection", "Collaborators are handed in, by constructor or container", ("depends", "injectable", "injected_constructor", "autowired_field"), (), False, 3),
    PatternRule("functional-options", "Constructors take functional options", ("options",), (), False, 2),
    PatternRule("builder", "Values are put together by builders", ("builder",), (), False, 3),
    PatternRule("state-machine", "States are an enumeration, and code switches on it", ("state", "reducer"), (), False, 3, "", 0.03),
    PatternRule("interfaces", "Collaborators are described by interfaces or protocols", ("protocol", "interface", "trait_objects"), (), False, 3),
    PatternRule("data-models", "Data is declared as typed models", ("base_model", "dataclass", "struct", "entity", "model"), (), False, 4),
    PatternRule("custom-errors", "Errors are types of the project's own", ("own_errors", "sentinel", "error_derive"), (), False, 2),
    PatternRule("hooks-and-components", "The interface is made of components, shared logic of hooks", ("hook",), ("component",), False, 2),
    PatternRule("concerns", "Shared behaviour of models and controllers is in concerns", ("concern",), (), False, 2),
    PatternRule("call-objects", "Operations are objects with one call method", ("callable",), (), False, 3, "", 0.05),
)  # fmt: skip


class FileState(Struct, array_like=True):
    """The signs of a file when it had this stamp."""

    stamp: FileStamp
    seen: SourceSigns | None


class ScanState(Struct):
    """The state for the next scan: if all inputs are unchanged, so is the result."""

    listing: str = ""
    head: str = ""
    configs: dict[str, tuple[int, int] | None] = {}
    files: dict[str, FileState] = {}
    looked: Looked = Looked()
    version: int = 0


class Scanned(Struct, frozen=True):
    items: Items
    looked: Looked
    remembered: ScanState


def scan(root: Path, listed: FileListing, before: ScanState, progress: Progress = lambda *_: None) -> Scanned:
    names = listed.names()
    ground = Ground(root, names)
    progress("history", 0, 0)
    history = history_of(root, listed.head)
    hot = set(
        history.hot({name for name in history.heat if language_of(name) in READ_LANGUAGES} & set(names))
    )
    chosen = _chosen(ground, hot)
    files = _read(root, ground, chosen, before, progress)
    seen = _main_part_first({name: state.seen for name, state in files.items() if state.seen is not None})
    parsed = _with_trees(root, seen, hot)
    progress("conventions", 0, 0)
    conventions = _conventions(ground, seen, history)
    looked = Looked(
        listed=len(names),
        sources=len(ground.languages),
        read=len(seen),
        commits=history.commits,
        listed_by=listed.by,
        trees=parsed,
        notes=tuple(_notes(listed, ground, chosen, history)),
    )
    remembered = ScanState(listed.digest, listed.head, ground.present(), files, looked, VERSION)
    items = Items(
        conventions=tuple(conventions),
        patterns=tuple(find_patterns(seen)),
        files=tuple(_file_notes(root, seen, history, hot)),
    )
    return Scanned(items, looked, remembered)


def _chosen(ground: Ground, hot: set[str]) -> list[str]:
    """The sources to read: all if there are few, else an even sample per language, separately for tests and program."""
    main = set(ground.main)
    groups: dict[tuple[str, bool], list[str]] = {}
    for name, language in ground.languages.items():
        if language in main and not is_aside(name):
            groups.setdefault((language, is_test(name, language)), []).append(name)
    total = sum(map(len, groups.values()))
    chosen = set(hot)
    for names in groups.values():
        share = MOST_READ if total <= MOST_READ else max(20, MOST_READ * len(names) // total)
        chosen.update(evenly(sorted(names), share))
    return sorted(chosen)


def _read(
    root: Path, ground: Ground, chosen: list[str], before: ScanState, progress: Progress
) -> dict[str, FileState]:
    top = str(root)
    files: dict[str, FileState] = {}
    stamps = {name: stamp for name in chosen if (stamp := stamp_of(top, name)) is not None}
    sizes = sum(min(stamp.size, LONGEST_LOOK) for stamp in stamps.values())
    longest = max(4000, LONGEST_LOOK * MOST_BYTES // max(sizes, MOST_BYTES))
    known_files = before.files if before.version == VERSION else {}
    for number, (name, stamp) in enumerate(stamps.items()):
        if number % 50 == 0:
            progress("files", number, len(stamps))
        state = known_files.get(name)
        if state is not None and state.stamp == stamp:
            files[name] = state
            continue
        data = bytes_of(root, name) if stamp.size <= LARGEST else None
        language = ground.languages.get(name) or language_of(name)
        files[name] = FileState(stamp, look_at(name, language, _head(data, longest)) if data else None)
    return files


def _main_part_first(seen: dict[str, SourceSigns]) -> dict[str, SourceSigns]:
    """Sorts the main folder first: it gives better examples of a convention than a script beside it."""
    tops = Counter(name.partition("/")[0] for name, file in seen.items() if not file.is_test)
    home = tops.most_common(1)[0][0] if tops else ""
    return dict(sorted(seen.items(), key=lambda item: item[0].partition("/")[0] != home))


def _head(data: bytes, most: int) -> bytes:
    return data if len(data) <= most else data[: data.rfind(b"\n", 0, most) + 1] or data[:most]


def _with_trees(root: Path, seen: dict[str, SourceSigns], hot: set[str]) -> bool:
    """Takes declared names from the syntax tree for a sample of the files, if the parser is installed."""
    reader = tree_reader()
    if reader is None:
        return False
    for name in evenly(sorted(seen), MOST_PARSED // 2):
        data = bytes_of(root, name)
        tree = reader(name, seen[name].language, data.decode("utf-8", "replace")) if data else None
        if tree is not None:
            seen[name] = structs.replace(
                seen[name],
                functions=tree.functions[:60],
                classes=tree.classes[:60],
                complexity=tree.complexity,
            )
    return True


def _conventions(ground: Ground, seen: dict[str, SourceSigns], history: GitHistory) -> list[Convention]:
    managers = package_managers(ground)
    uses = tools_in_use(ground)
    tools: dict[str, set[str]] = {}
    for use in uses:
        tools.setdefault(use.tool.category, set()).add(use.tool.name)
    program = {name: item for name, item in seen.items() if not is_aside(name)}
    candidates = [
        *managers,
        *tool_conventions(uses),
        *task_conventions(ground, uses, managers),
        *testing_conventions(ground, program),
        *style_conventions(ground, program, tools),
        *naming_conventions(ground, program),
        *organisation_conventions(ground),
        *commit_conventions(history),
        *idiom_conventions(ground, program),
        *library_conventions(ground, program),
    ]
    unique: dict[tuple[str, ...], Convention] = {}
    for item in candidates:
        unique[item.key] = max(unique.get(item.key, item), item, key=lambda known: known.confidence)
    runners = [pattern for category, _, pattern in unique if category == "test_runner"]
    return [
        item
        for item in unique.values()
        if item.category != "test_runner"  # `JUnit 5` is more specific than `JUnit`
        or not any(pattern.startswith(f"{item.pattern} ") for pattern in runners)
    ]


def _notes(listed: FileListing, ground: Ground, chosen: list[str], history: GitHistory) -> list[str]:
    notes = []
    if not listed.whole:
        notes.append("the list of files was cut off at its bound")
    if ground.sampled:
        notes.append(
            f"naming and layout from an even sample of {len(ground.names):,} of {ground.total:,} own files"
        )
    if len(chosen) < len(ground.languages):
        notes.append(
            f"code style from an even sample of {len(chosen)} of {len(ground.languages)} source files"
        )
    if history.commits and not history.whole:
        notes.append(f"history from the last {history.commits} commits, as far as they were read in time")
    return notes


def _file_notes(
    root: Path, seen: dict[str, SourceSigns], history: GitHistory, hot: set[str]
) -> list[FileNote]:
    """Notes on the hot files first, then on the most complex ones."""
    ranked = sorted(
        (name for name in seen if printable(name)),
        key=lambda name: (name not in hot, -history.heat.get(name, 0.0) * 3 - seen[name].complexity, name),
    )[:MOST_NOTES]
    reader = tree_reader()
    notes = []
    for at, name in enumerate(ranked):
        file = seen[name]
        complexity = file.complexity
        if reader is not None and at < MOST_PARSED // 2 and (data := bytes_of(root, name)):
            tree = reader(name, file.language, data.decode("utf-8", "replace"))
            complexity = tree.complexity if tree else complexity
        notes.append(
            FileNote(
                path=name,
                language=file.language,
                complexity=complexity,
                is_test=file.is_test,
                is_hot=name in hot,
                changes=history.changes.get(name, 0),
                neighbours=tuple(
                    neighbour for neighbour in history.together.get(name, ()) if printable(neighbour)
                ),
                by=SCAN,
            )
        )
    return notes


def find_patterns(seen: Mapping[str, SourceSigns]) -> list[Pattern]:
    """Recurring structures in the code, with the files that show them."""
    present = {sign for file in seen.values() for sign in file.signs}
    tests = sum(file.is_test for file in seen.values())
    patterns: list[Pattern] = []
    for shape in _SHAPES:
        if shape.with_ and not present.intersection(shape.with_):
            continue
        weights = {
            path: sum(file.signs.get(sign, 0) for sign in shape.signs)
            for path, file in seen.items()
            if file.is_test == shape.tests
            and (
                any(sign in file.signs for sign in shape.signs)
                or (shape.path and re.search(shape.path, path))
            )
        }
        among = tests if shape.tests else len(seen) - tests
        if len(weights) < max(shape.least, shape.share * among):
            continue
        files = sorted((path for path in weights if printable(path)), key=lambda path: (-weights[path], path))
        repeated = sum(weights.values()) / len(weights)
        confidence = min(0.95, 0.5 + 0.04 * min(len(weights), 8) + 0.05 * min(repeated, 3))
        patterns.append(
            Pattern(
                name=shape.name,
                description=shape.description,
                files=tuple(files[:_MOST_FILES]),
                count=len(weights),
                confidence=round(confidence, 2),
                by=SCAN,
            )
        )
    return sorted(patterns, key=lambda pattern: -pattern.confidence)
