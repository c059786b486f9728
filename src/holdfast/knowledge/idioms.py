"""Coding idioms: imports, error handling, typing, docstrings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from msgspec import Struct

from holdfast.knowledge.findings import of_counts
from holdfast.knowledge.ground import Ground
from holdfast.knowledge.languages import KIN
from holdfast.knowledge.source import SourceSigns
from holdfast.model.knowledge import Convention, Evidence


class Idiom(Struct, frozen=True):
    """One idiom: the signs for and against it, and how many of them make it a convention.

    Counts are named: `files:SIGN` is how many files show a sign, `times:SIGN` how often it comes, `program:SIGN` the
    same in the program alone, `without:SIGN` how many files do not show it; any other name is counted by `_special`.
    """

    category: str
    pattern: str
    count: str
    counter: str = ""
    example: str = ""
    least: float = 0.7
    few: int = 8
    sign: str = ""  # shown by files with this sign; that of `count` unless said
    needs: str = ""  # a dependency without which it means nothing


_ERRORS = ("error_handling", "own exception classes", "files:own_errors")
_IDIOMS = {
    "python": (
        Idiom("import_style", "absolute imports within the package", "absolute", "relative", "from package.module import name"),
        Idiom("import_style", "relative imports within the package", "relative", "absolute", "from .module import name"),
        Idiom("import_style", "from __future__ import annotations", "files:future_annotations", "no_future", least=0.6),
        Idiom("typing", "type hints on functions", "typed", "untyped", "def f(x: int) -> str:", 0.75, sign="typed_def"),
        Idiom("typing", "X | None, not Optional[X]", "times:optional_pipe", "times:optional_old", "str | None", 0.85),
        Idiom("docstrings", "Google style docstrings", "files:google_doc", "not:google_doc", few=5),
        Idiom("docstrings", "NumPy style docstrings", "files:numpy_doc", "not:numpy_doc", few=5),
        Idiom("docstrings", "Sphinx style docstrings (:param x:)", "files:sphinx_doc", "not:sphinx_doc", few=5),
        Idiom(*_ERRORS, example="class XError(Exception)", few=3),
        Idiom("error_handling", "raise … from …", "times:raise_from", "bare_raise", "raise XError(…) from error"),
        Idiom("logging", "module logger: logging.getLogger(__name__)", "files:module_logger", few=4),
        Idiom("data_classes", "pydantic models", "files:base_model", "not:base_model", few=5),
        Idiom("data_classes", "dataclasses", "files:dataclass", "not:dataclass", few=5),
        Idiom("data_classes", "msgspec structs", "files:struct", "not:struct", few=5),
    ),
    "javascript": (
        Idiom("import_style", "file extension in relative imports ({ending})", "with_extension", "bare", 'import { x } from "./x.js"'),
        Idiom("import_style", "no file extension in relative imports", "bare", "with_extension", 'import { x } from "./x"'),
        Idiom("import_style", "path alias (@/…) instead of ../", "alias", "no_alias", 'import { x } from "@/x"'),
        Idiom("import_style", "node: prefix for built-in modules", "node", "bare_node", 'import fs from "node:fs"', 0.8),
        Idiom("import_style", "ES imports, not require", "times:import_any", "times:require", least=0.85),
        Idiom("import_style", "CommonJS require", "times:require", "times:import_any", least=0.75),
        Idiom("import_style", "import type for types", "import_type", "no_import_type", sign="import_type"),
        Idiom("export_style", "named exports", "times:named_export", "times:default_export", "export function x()", 0.85),
        Idiom("error_handling", "own error classes extending Error", "files:own_errors", few=3),
    ),
    "go": (
        Idiom("error_handling", "errors.Wrap (pkg/errors)", "program:errors_wrap", "program:errorf", 'errors.Wrap(err, "…")'),
        Idiom("error_handling", "errors wrapped with fmt.Errorf and %w", "program:wrap_w", "program:errors_wrap", 'fmt.Errorf("…: %w", err)'),
        Idiom("error_handling", "sentinel errors (var ErrX = errors.New)", "files:sentinel", few=3),
        Idiom("api_style", "context.Context as first parameter", "files:context_first", "", "func f(ctx context.Context, …)", few=6),
        Idiom("api_style", "functional options", "files:options", "", "type Option func(*T)", few=3),
    ),
    "rust": (
        Idiom("error_handling", "Result and ?; avoid panic!/unwrap", "program:question", "panics", "let x = f()?;", 0.75, 20),
        Idiom("error_handling", "thiserror for own error types", "files:error_derive", "", "#[derive(Error)]", few=3, needs="thiserror"),
        Idiom("error_handling", "anyhow for application errors", "files:anyhow", "", "anyhow::Result", few=3, needs="anyhow"),
    ),
    "java": (
        Idiom("import_style", "no wildcard imports", "named_import", "times:wildcard_import", "", 0.95, 30, "import"),
        Idiom("dependency_injection", "constructor injection", "files:injected_constructor", "files:autowired_field", few=3),
        Idiom("dependency_injection", "field injection (@Autowired)", "files:autowired_field", "files:injected_constructor", few=3),
        Idiom(*_ERRORS, few=3),
    ),
    "ruby": (
        Idiom("file_header", "# frozen_string_literal: true", "files:frozen", "without:frozen", least=0.75),
        Idiom("error_handling", "own error classes", "files:own_errors", few=3),
    ),
    "cpp": (
        Idiom("header_guards", "#pragma once", "files:pragma_once", "files:guard", few=4),
        Idiom("header_guards", "#ifndef include guards", "files:guard", "files:pragma_once", few=4),
        Idiom("error_handling", "goto to a clean-up label", "files:goto_cleanup", "", "goto err;", few=5),
        Idiom("error_handling", "return codes", "times:return_code", "times:exceptions", "return -1;", 0.85, 20),
        Idiom("memory", "smart pointers", "times:smart_pointer", "times:raw_new", "std::unique_ptr", 0.7, 10),
    ),
}  # fmt: skip
_LICENCE = Idiom(
    "file_header",
    "licence or copyright header in every file",
    "files:license",
    "without:license",
    least=0.8,
    few=5,
)
# A repository uses one of each group: `not:SIGN` is how many files show another sign of the group.
_GROUPS = (("google_doc", "numpy_doc", "sphinx_doc"), ("base_model", "dataclass", "struct"))
_NODE = frozenset(
    "fs path os url util http https crypto events stream child_process assert buffer zlib net readline".split()  # noqa: SIM905
)


def idiom_conventions(ground: Ground, seen: Mapping[str, SourceSigns]) -> list[Convention]:
    conventions: list[Convention] = []
    for language in ground.main:
        files = {path: file for path, file in seen.items() if file.language == language}
        if len(files) >= 2:
            conventions.extend(_shown(ground, language, files))
    return conventions


def _shown(ground: Ground, language: str, own: Mapping[str, SourceSigns]) -> Iterator[Convention]:
    """The idioms of one language, as its files show them."""
    counts = _counted(own)
    special = {"python": _of_python, "javascript": _of_javascript}.get(KIN.get(language, language))
    ending = special(language, own, counts) if special else ""
    for idiom in (*_IDIOMS.get(KIN.get(language, language), ()), _LICENCE):
        count, counter = counts[idiom.count], counts[idiom.counter]
        total = count + counter
        if (
            total < idiom.few
            or count < idiom.least * total
            or (idiom.needs and not ground.dependency(idiom.needs))
        ):
            continue
        sign = idiom.sign or idiom.count.partition(":")[2]
        places = [path for path, file in own.items() if not sign or sign in file.signs][:2]
        yield of_counts(
            idiom.category,
            idiom.pattern.replace("{ending}", ending),
            count,
            counter,
            *map(Evidence, places),
            example=idiom.example,
            scope=ground.scope(language),
        )


def _counted(own: Mapping[str, SourceSigns]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for file in own.values():
        for sign, times in file.signs.items():
            counts[f"files:{sign}"] += 1
            counts[f"times:{sign}"] += times
            counts[f"program:{sign}"] += 0 if file.is_test else times
    for sign in ("license", "frozen"):
        counts[f"without:{sign}"] = len(own) - counts[f"files:{sign}"]
    for group in _GROUPS:
        for sign in group:
            counts[f"not:{sign}"] = sum(
                counts[f"files:{other_sign}"] for other_sign in group if other_sign != sign
            )
    counts["panics"] = counts["program:unwrap"] + counts["program:panic"]
    counts["named_import"] = counts["times:import"] - counts["times:wildcard_import"]
    return counts


def _of_python(_: str, own: Mapping[str, SourceSigns], counts: Counter[str]) -> str:
    top = {path.split("/")[0] for path in own if path.count("/")} | {
        path.split("/")[1] for path in own if path.startswith("src/") and path.count("/") > 1
    }
    program = [file for file in own.values() if not file.is_test]
    for file in program:
        counts["relative"] += sum(name.startswith(".") for name in file.imports)
        counts["absolute"] += sum(name.partition(".")[0] in top and "." in name for name in file.imports)
    typed, every = counts["program:typed_def"], counts["program:any_def"]
    counts["typed"], counts["untyped"] = min(typed, every), max(every - typed, 0)
    counts["no_future"] = max(len(program) - counts["files:future_annotations"], 0)
    counts["bare_raise"] = max(counts["times:raise"] // 5 - counts["times:raise_from"], 0)
    return ""


def _of_javascript(language: str, own: Mapping[str, SourceSigns], counts: Counter[str]) -> str:
    endings: Counter[str] = Counter()
    for name in (name for file in own.values() for name in file.imports):
        if name.startswith("."):
            counts["relative"] += 1
            if ending := re.search(r"\.[cm]?[jt]sx?$", name):
                endings[ending.group()] += 1
            elif not re.search(r"\.\w+$", name):
                counts["bare"] += 1
        elif name.startswith(("@/", "~/", "#")):
            counts["alias"] += 1
        elif name.startswith("node:"):
            counts["node"] += 1
        elif name in _NODE:
            counts["bare_node"] += 1
    counts["with_extension"] = endings.total()
    counts["no_alias"] = max(counts["relative"] // 2 - counts["alias"], 0)
    if language == "typescript":
        counts["import_type"] = counts["times:import_type"]
        counts["no_import_type"] = max(counts["times:import_any"] // 6 - counts["import_type"], 0)
    return endings.most_common(1)[0][0] if endings else ""
