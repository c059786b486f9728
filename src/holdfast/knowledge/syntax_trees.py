"""Declared names and cyclomatic complexity from syntax trees, where `ast-grep-py` is installed (`holdfast[trees]`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

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
            return None  # the parser failed: the patterns of `source.py` still find the names

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
    """The declared name; in C it is inside the declarator."""
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
