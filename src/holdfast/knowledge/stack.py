"""The stack of a project: main language and framework, from a checkout or from a session's traces."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from holdfast.core.file_names import LEFT_OUT, file_names
from holdfast.core.patterns import lazy_regex
from holdfast.knowledge.frameworks import (
    DEPENDENCIES,
    FAMILIES,
    LANGUAGE_OF_EXTENSION,
    LIGHT_LANGUAGES,
    LOOKING_COMMANDS,
    NOT_FROM_DEV,
    PLAIN_PROJECTS,
    TELLING_COMMANDS,
    TELLING_PATHS,
)
from holdfast.knowledge.manifests import PackageManifest, manifest_language, read_manifest


class Stack(Struct, frozen=True):
    """The main language and the framework, with their evidence. None if there is no evidence."""

    project_type: str | None = None
    framework: str | None = None
    evidence: tuple[str, ...] = ()


_SIDE_FOLDERS = frozenset(
    {"docs", "doc", "website", "site", "www", "examples", "example", "samples", "e2e", "bench", "benchmarks"}
    | {
        "fixtures",
        "testdata",
        "test",
        "tests",
        "spec",
        "__tests__",
        "templates",
        "template",
        "scripts",
        "tools",
    }
)
_GENERATED = lazy_regex(
    r"\.min\.(?:js|css)$|\.d\.ts$|\.pb\.\w+$|_pb2(?:_grpc)?\.pyi?$|\.g\.dart$|\.freezed\.dart$|\.generated\.\w+$"
    r"|[._-]bundle\.js$|\.designer\.cs$|_generated\.go$|\.lock$",
    re.IGNORECASE,
)
_DEEPEST_MANIFEST = 4
_MOST_MANIFESTS = 80
_ROOT_MANIFEST_COUNTS = 2.0
_IN_EVERY_PROJECT = frozenset({"docs", "html", "docker", "latex"})  # such files are no evidence
_FEW_DOCUMENTS = 10
_PATH_WEIGHT = 3.0
_MOST_COMMANDS = 2000
_LONGEST_COMMAND = 2000
_EVIDENCE = 8
_PATHS = [(lazy_regex(pattern), language, framework) for pattern, language, framework in TELLING_PATHS]
_PLAIN = [(lazy_regex(pattern), language, framework) for pattern, language, framework in PLAIN_PROJECTS]


def stack_of(root: Path) -> Stack:
    """The stack of the checkout at `root`. A folder that cannot be read has none."""
    names = [
        name for name in file_names(root) if not _is_below(name, LEFT_OUT) and not _GENERATED.search(name)
    ]
    manifests = _manifests(root, names)
    at_root = [manifest for manifest in manifests if not manifest.folder]
    weights = _weights(names)
    for member in {member for manifest in at_root for member in _family(manifest.language)}:
        weights[member] *= _ROOT_MANIFEST_COUNTS
    language = _main_language(weights, _has_typescript(names, at_root)) or _announced(at_root, weights)
    language = language or _plain_type(names, weights)
    if language is None:
        return Stack()
    detected = _framework_of_manifests(language, manifests, names) or _framework_of_paths(language, names)
    framework, seen_in = detected or (_plain_framework(names, language), "")
    evidence = [manifest.path for manifest in at_root if manifest.language in _family(language)]
    return Stack(language, framework or language, _evidence([seen_in, *evidence, _counted(names, language)]))


def stack_from_evidence(
    paths: Sequence[str], commands: Sequence[str], cited_dependencies: Sequence[str] = ()
) -> Stack:
    """The stack without a checkout: from touched files, commands and cited dependencies."""
    touched = [path.replace("\\", "/") for path in dict.fromkeys(paths)]
    weights = _weights(touched, factor=_PATH_WEIGHT)
    counts = _commands_said(commands)
    cited = _cited(cited_dependencies)
    for lang, count in Counter(filter(None, map(manifest_language, touched))).items():
        weights[lang] += min(count, 10)
    for (lang, _), count in counts.items():
        weights[lang] += min(count, 10)
    for lang, _ in cited:
        weights[lang] += 2
    language = _main_language(weights, weights["typescript"] > 0) or _plain_type(touched, weights)
    if language is None or language in _IN_EVERY_PROJECT:
        return Stack()
    family = _family(language)
    by_command = [framework for (lang, framework), _ in counts.most_common() if framework and lang in family]
    by_dependency = [framework for lang, framework in cited if lang in family]
    by_path = _framework_of_paths(language, touched)
    framework = next(iter([*by_command, *by_dependency]), None) or (by_path[0] if by_path else None)
    reasons = [f"command: {item}" for item in by_command[:1]] + [
        f"dependency: {item}" for item in by_dependency[:1]
    ]
    evidence = [*reasons, by_path[1] if by_path else "", _counted(touched, language)]
    fallback = _plain_framework(touched, language) or language
    return Stack(language, framework or fallback, _evidence(evidence))


def _is_below(name: str, folders: frozenset[str]) -> bool:
    return not folders.isdisjoint(name.lower().split("/")[:-1])


def _weights(names: Iterable[str], factor: float = 1.0) -> defaultdict[str, float]:
    """The weight of each language; documentation, examples and tests count less."""
    weights: defaultdict[str, float] = defaultdict(float)
    headers = 0.0
    for name in names:
        extension = name.rpartition(".")[2].lower() if "." in name.rpartition("/")[2] else ""
        language = LANGUAGE_OF_EXTENSION.get(extension)
        if language is None:
            continue
        weight = (
            factor * LIGHT_LANGUAGES.get(language, 1.0) * (0.25 if _is_below(name, _SIDE_FOLDERS) else 1.0)
        )
        if extension == "h":
            headers += weight
        else:
            weights[language] += weight
    if headers:
        weights["cpp" if weights["cpp"] > weights["c"] else "c"] += headers
    return weights


def _family(language: str) -> frozenset[str]:
    return next((family for family in FAMILIES if language in family), frozenset({language}))


def _main_language(weights: dict[str, float], has_typescript: bool) -> str | None:
    """The strongest language of the strongest family; None if there is no program."""
    programs = {language: weight for language, weight in weights.items() if weight > 0}
    if not any(language not in LIGHT_LANGUAGES or language == "shell" for language in programs):
        return None
    totals = {
        language: sum(weight for member, weight in programs.items() if member in _family(language))
        for language in programs
    }
    best = max(sorted(programs), key=lambda language: (totals[language], programs[language]))
    if best in {"typescript", "javascript"}:
        typed, untyped = programs.get("typescript", 0.0), programs.get("javascript", 0.0)
        return (
            "typescript" if typed > untyped or (has_typescript and typed >= 0.3 * untyped) else "javascript"
        )
    return best


def _has_typescript(names: Sequence[str], at_root: Sequence[PackageManifest]) -> bool:
    is_dependency = any("typescript" in manifest.names | manifest.dev_names for manifest in at_root)
    return is_dependency or any(re.search(r"(?:^|/)tsconfig[\w.-]*\.json$", name) for name in names)


def _plain_type(names: Sequence[str], weights: dict[str, float]) -> str | None:
    light = sorted(language for language, weight in weights.items() if weight > 0)
    heaviest = max(light, key=lambda language: weights[language], default=None)
    return next((language for language, _ in _plain_projects(names)), heaviest)


def _plain_framework(names: Sequence[str], project_type: str) -> str | None:
    return next(
        (framework for language, framework in _plain_projects(names) if language == project_type), None
    )


def _plain_projects(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Languages and frameworks of projects without a program, by file names."""
    for pattern, language, framework in _PLAIN:
        if any(pattern.search(name) for name in names):
            yield language, framework


def _announced(at_root: Sequence[PackageManifest], weights: dict[str, float]) -> str | None:
    """The manifest's language, for a project without code. Beside many documents a manifest only serves a tool."""
    many_documents = weights.get("docs", 0.0) > _FEW_DOCUMENTS * LIGHT_LANGUAGES["docs"]
    return at_root[0].language if at_root and not many_documents else None


def _manifests(root: Path, names: Sequence[str]) -> list[PackageManifest]:
    """The manifests of the root, then of its parts; docs, examples and tests are skipped."""
    paths = [
        name
        for name in names
        if name.count("/") <= _DEEPEST_MANIFEST
        and manifest_language(name)
        and not _is_below(name, _SIDE_FOLDERS)
    ]
    paths.sort(key=lambda name: (name.count("/"), name))
    return [manifest for path in paths[:_MOST_MANIFESTS] if (manifest := read_manifest(root, path))]


def _framework_of_manifests(
    language: str, manifests: Sequence[PackageManifest], names: Sequence[str]
) -> tuple[str, str] | None:
    """From the root's dependencies, else from those of most parts, else from the root's development dependencies."""
    family = _family(language)
    own_manifests = [manifest for manifest in manifests if manifest.language in family]
    at_root: tuple[str, str] | None = None
    for manifest in own_manifests:
        detected = _framework_in(language, manifest.names) if not manifest.folder else None
        if detected:
            return detected, f"{detected} in {manifest.path}"
    votes: Counter[str] = Counter()
    place: dict[str, str] = {}
    for manifest in own_manifests:
        developing = _framework_in(language, manifest.dev_names, dev=True)
        if not manifest.folder and developing:
            at_root = at_root or (developing, f"{developing} in {manifest.path}")
        elif manifest.folder and (detected := _framework_in(language, manifest.names) or developing):
            sources = sum(name.startswith(manifest.folder + "/") for name in names)
            votes[detected] += 1000 + min(sources, 999)
            place.setdefault(detected, manifest.path)
    if not votes:
        return at_root
    detected = max(sorted(votes), key=lambda framework: votes[framework])
    return detected, f"{detected} in {place[detected]}"


def _framework_in(language: str, names: frozenset[str], dev: bool = False) -> str | None:
    for key, framework in DEPENDENCIES.get(language, ()):
        if dev and framework in NOT_FROM_DEV:
            continue
        if key in names or any(name.startswith((key + "/", key + ".")) for name in names):
            return framework
    return None


def _framework_of_paths(language: str, names: Sequence[str]) -> tuple[str, str] | None:
    family = _family(language)
    central = [name for name in names if not _is_below(name, _SIDE_FOLDERS)]
    for pattern, path_language, framework in _PATHS:
        name = (
            next((name for name in central if pattern.search(name)), None)
            if path_language in family
            else None
        )
        if name is not None:
            return framework, f"{framework} by {name.rpartition('/')[2]}"
    return None


def _commands_said(commands: Sequence[str]) -> Counter[tuple[str, str]]:
    """The language and framework of each command, by the first matching rule."""
    counts: Counter[tuple[str, str]] = Counter()
    for command in commands[:_MOST_COMMANDS]:
        parts = [part.strip() for part in re.split(r"[;&|\n]+", command[:_LONGEST_COMMAND])]
        line = "; ".join(part for part in parts if part and part.split()[0] not in LOOKING_COMMANDS)
        if stack := _told_by(line):
            counts[stack] += 1
    return counts


@lru_cache(maxsize=4096)  # sessions of one project run the same commands
def _told_by(line: str) -> tuple[str, str] | None:
    for pattern, language, framework in TELLING_COMMANDS:
        if pattern.search(line):
            return language, framework
    return None


def _cited(names: Sequence[str]) -> list[tuple[str, str]]:
    if not names:
        return []
    cited = frozenset(name.lower() for name in names)
    return [
        (language, framework)
        for language in DEPENDENCIES
        if language not in {"javascript", "kotlin", "scala", "groovy", "c", "fsharp", "vb"}
        and (framework := _framework_in(language, cited))
    ]


def _counted(names: Sequence[str], language: str) -> str:
    count = sum(LANGUAGE_OF_EXTENSION.get(name.rpartition(".")[2].lower()) == language for name in names)
    return f"{count} {language} file{'s' * (count != 1)}" if count else ""


def _evidence(items: Iterable[str]) -> tuple[str, ...]:
    printable = (item.encode("utf-8", "replace").decode("utf-8") for item in items if item)
    return tuple(dict.fromkeys(printable))[:_EVIDENCE]
