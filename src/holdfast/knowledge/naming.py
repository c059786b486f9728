"""How files and declared names are written, per language, with how many keep to it and how many do not."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct

from holdfast.core.patterns import lazy_regex
from holdfast.knowledge.findings import of_counts
from holdfast.knowledge.ground import Ground
from holdfast.knowledge.languages import is_aside, shown
from holdfast.knowledge.source import Seen
from holdfast.model.knowledge import Convention, Evidence

# Declared names and cyclomatic complexity from syntax trees, where `ast-grep-py` is installed
# (`holdfast[trees]`).

LARGEST = 150_000


class Kinds(Struct, frozen=True):
    functions: str
    classes: str
    branches: str


_JS = Kinds(
    "function_declaration generator_function_declaration method_definition",
    "class_declaration interface_declaration type_alias_declaration enum_declaration",
    "if_statement for_statement for_in_statement while_statement do_statement switch_case catch_clause "
    "ternary_expression arrow_function",
)
_KINDS = {
    "python": Kinds(
        "function_definition",
        "class_definition",
        "if_statement elif_clause for_statement while_statement except_clause boolean_operator conditional_expression "
        "case_clause for_in_clause if_clause",
    ),
    "javascript": Kinds(_JS.functions, "class_declaration", _JS.branches),
    "typescript": _JS,
    "go": Kinds(
        "function_declaration method_declaration",
        "type_spec",
        "if_statement for_statement expression_case type_case communication_case",
    ),
    "rust": Kinds(
        "function_item",
        "struct_item enum_item trait_item",
        "if_expression for_expression while_expression loop_expression match_arm try_expression",
    ),
    "java": Kinds(
        "method_declaration constructor_declaration",
        "class_declaration interface_declaration enum_declaration record_declaration",
        "if_statement for_statement enhanced_for_statement while_statement do_statement switch_label catch_clause "
        "ternary_expression",
    ),
    "ruby": Kinds(
        "method singleton_method",
        "class module",
        "if elsif unless while until when rescue conditional if_modifier unless_modifier",
    ),
    "c": Kinds(
        "function_definition",
        "struct_specifier enum_specifier",
        "if_statement for_statement while_statement do_statement case_statement conditional_expression",
    ),
    "cpp": Kinds(
        "function_definition",
        "class_specifier struct_specifier enum_specifier",
        "if_statement for_statement for_range_loop while_statement do_statement case_statement conditional_expression "
        "catch_clause",
    ),
}  # fmt: skip
_AND_OR = frozenset({"javascript", "typescript", "go", "rust", "java", "c", "cpp"})


class Parsed(Struct, frozen=True):
    functions: tuple[str, ...]
    classes: tuple[str, ...]
    complexity: int


def tree_reader() -> Callable[[str, str, str], Parsed | None] | None:
    """How to read a file as a tree; None where the parser is not installed."""
    try:
        from ast_grep_py import SgRoot
    except ImportError:
        return None
    rules = {language: _rule(language, kinds) for language, kinds in _KINDS.items()}

    def read(name: str, language: str, text: str) -> Parsed | None:
        if language not in rules or len(text) > LARGEST:
            return None
        grammar = "tsx" if name.endswith((".tsx", ".jsx")) else language
        try:
            return _parsed(SgRoot(text, grammar).root().find_all(rules[language]), _KINDS[language])
        except (RuntimeError, ValueError, RecursionError):
            return None  # a parser's own trouble: the words of the code still say enough

    return read


def _rule(language: str, kinds: Kinds) -> Any:
    every: list[dict[str, Any]] = [
        {"kind": kind} for kind in f"{kinds.functions} {kinds.classes} {kinds.branches}".split()
    ]
    if language in _AND_OR:
        every.append(
            {"kind": "binary_expression", "any": [{"has": {"field": "operator", "regex": r"^(&&|\|\|)$"}}]}
        )
    return {"rule": {"any": every}}


def _parsed(nodes: list[Any], kinds: Kinds) -> Parsed:
    of_functions, of_classes = kinds.functions.split(), kinds.classes.split()
    functions = [_name_of(node) for node in nodes if node.kind() in of_functions]
    classes = [
        _name_of(node) for node in nodes if node.kind() in of_classes and node.kind() not in of_functions
    ]
    complexity = len(nodes) - len(classes)
    return Parsed(tuple(filter(None, functions)), tuple(filter(None, classes)), complexity)


def _name_of(node: Any) -> str:
    """The declared name; in C it lies inside the declarator."""
    inner = node
    for _ in range(6):
        named = inner.field("name")
        if named is not None:
            inner = named
            break
        deeper = inner.field("declarator")
        if deeper is None:
            break
        inner = deeper
    text: str = inner.text() if inner is not node else ""
    return (
        text if text.replace("_", "a").replace("$", "a").replace("::", "").replace("~", "").isalnum() else ""
    )


_LEAST = 4
_SHARE = 0.7
_STYLES = (
    ("snake_case", lazy_regex(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+$")),
    ("kebab-case", lazy_regex(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)+$")),
    ("SCREAMING_SNAKE_CASE", lazy_regex(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$")),
    ("camelCase", lazy_regex(r"[a-z][a-z0-9]*(?:[A-Z][A-Za-z0-9]*)+$")),
    ("PascalCase", lazy_regex(r"(?:[A-Z]+[a-z0-9]+)+[A-Z]*$|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)*$")),
    ("lowercase", lazy_regex(r"[a-z][a-z0-9]*$")),
)
_FIXED = frozenset(
    {
        "__init__",
        "__main__",
        "index",
        "main",
        "mod",
        "lib",
        "conftest",
        "setup",
        "README",
        "Makefile",
        "doc",
        "App",
    }
)


def style_of(name: str) -> str:
    bare = name.strip("_$")
    return next((style for style, pattern in _STYLES if pattern.match(bare)), "")


def naming_conventions(ground: Ground, seen: Mapping[str, Seen]) -> list[Convention]:
    found = [_file_names(ground, language) for language in ground.main]
    for language in ground.main:
        own = {path: one for path, one in seen.items() if one.language == language}
        for kind, label in (("functions", "functions"), ("classes", "types")):
            names = _distinct((path, name) for path, one in own.items() for name in getattr(one, kind))
            found.append(
                (_mixed_caps if language == "go" else _declared)(names, f"{shown(language)} {label}")
            )
    return [*filter(None, found)]


def _winner(styles: Counter[str]) -> tuple[str, int, int]:
    """The style that most names keep, how many do and how many do not; '' when none is plainly preferred."""
    winner, count = styles.most_common(1)[0] if styles else ("", 0)
    total = styles.total()
    return ("", 0, 0) if count < _LEAST or count < _SHARE * total else (winner, count, total - count)


def _file_names(ground: Ground, language: str) -> Convention | None:
    """Names of one word fit several styles: they count for the winner, and decide only when there is nothing else."""
    named = {
        name: stem
        for name, of in ground.languages.items()
        if of == language
        and not is_aside(name)
        and "/migrations/" not in name
        and "/migrate/" not in name
        and (stem := _stem(name)) not in _FIXED
    }
    styles: Counter[str] = Counter(style for name in named.values() if (style := style_of(name)))
    telling = Counter({style: count for style, count in styles.items() if style != "lowercase"})
    if not telling or telling.total() < min(_LEAST, styles.total()):
        if styles["lowercase"] < 2 * _LEAST:
            return None
        telling = styles
    winner, count, counter = _winner(telling)
    if not winner:
        return None
    examples = [path for path, name in named.items() if style_of(name) == winner]
    sample = examples[len(examples) // 2]
    breaking = [path for path, name in named.items() if style_of(name) not in (winner, "lowercase", "")][:1]
    evidence = [Evidence(path) for path in (sample, *examples[:1])] + [
        Evidence(path, "counter") for path in breaking
    ]
    example = sample.rpartition("/")[2] if "." in sample else named[sample]
    scope = f"{shown(language)} files"
    return of_counts("naming", winner, count, counter, *evidence, example=example, scope=scope)


def _stem(path: str) -> str:
    stem = path.rpartition("/")[2].removeprefix(".").partition(".")[0]
    return re.sub(r"(?:_test|_spec|Test|Tests|IT)$", "", stem) or stem


def _distinct(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Each name once, with the first file that declares it; what a language fixes (`__init__`) is no choice."""
    names: dict[str, str] = {}
    for path, name in pairs:
        bare = name.rpartition("::")[2]
        if not (bare.startswith("__") and bare.endswith("__")) and not bare.startswith("~"):
            names.setdefault(bare, path)
    return names


def _declared(names: Mapping[str, str], scope: str) -> Convention | None:
    styles: Counter[str] = Counter(style for name in names if (style := style_of(name)))
    if scope.endswith("types"):  # Url and HTTPClient are both written so; one word is no other style here
        styles["PascalCase"] += styles.pop("SCREAMING_SNAKE_CASE", 0) if styles["PascalCase"] > 20 else 0
    telling = Counter({style: count for style, count in styles.items() if style != "lowercase"})
    if scope == "TypeScript functions":
        telling.pop("PascalCase", None)  # components are functions too
    winner, count, counter = _winner(telling)
    if not winner:
        return None
    example = next(name for name in names if style_of(name) == winner)
    evidence = [Evidence(names[example], example)]
    breaking = next(
        (name for name in names if style_of(name) not in (winner, "lowercase", "", "PascalCase")), None
    )
    if breaking:
        evidence.append(Evidence(names[breaking], f"counter: {breaking}"))
    return of_counts("naming", winner, count, counter, *evidence, example=example, scope=scope)


def _mixed_caps(names: Mapping[str, str], scope: str) -> Convention | None:
    """Go writes exported names in PascalCase and the others in camelCase: underscores are what breaks it."""
    own = {
        name: path for name, path in names.items() if not re.match(r"(?:Test|Benchmark|Example|Fuzz)", name)
    }
    broken = [name for name in own if "_" in name.strip("_")]
    kept = len(own) - len(broken)
    if kept < _LEAST or kept < _SHARE * len(own):
        return None
    example = next(iter(own))
    pattern = "MixedCaps (PascalCase exported, camelCase unexported)"
    where = Evidence(own[example], example)
    return of_counts("naming", pattern, kept, len(broken), where, example=example, scope=scope)
