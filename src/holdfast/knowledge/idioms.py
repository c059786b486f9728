"""How code is written beyond its looks: imports, error handling, typing, documentation of functions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from holdfast.knowledge.ground import Ground, convention
from holdfast.knowledge.manifests import shown
from holdfast.knowledge.source import Seen
from holdfast.model.knowledge import Convention, Evidence

_FEW = 8


def idiom_conventions(ground: Ground, seen: Mapping[str, Seen]) -> list[Convention]:
    found: list[Convention] = []
    for language in ground.main:
        own = {path: one for path, one in seen.items() if one.language == language}
        if len(own) >= 2:
            found.extend(_Told(ground, language, own).all())
    return found


class _Told:
    """The idioms of one language, as its files show them."""

    def __init__(self, ground: Ground, language: str, own: Mapping[str, Seen]) -> None:
        self.ground, self.language, self.own = ground, language, own
        self.scope = shown(language) if len(ground.main) > 1 else ""
        self.found: list[Convention] = []
        self.times: Counter[str] = Counter()
        self.files: Counter[str] = Counter()
        for one in own.values():
            self.times.update(one.signs)
            self.files.update(one.signs.keys())
        self.program = {path: one for path, one in own.items() if not one.is_test}

    def all(self) -> list[Convention]:
        kind = {"typescript": "javascript", "kotlin": "java", "c": "cpp"}.get(self.language, self.language)
        getattr(self, f"_{kind}", lambda: None)()
        with_one = self.files["license"]
        self._add("file_header", "licence or copyright header in every file", with_one, len(self.own) - with_one,
                  "license", least=0.8, few=5)  # fmt: skip
        return self.found

    def _add(
        self,
        category: str,
        pattern: str,
        count: int,
        counter: int,
        sign: str = "",
        example: str = "",
        least: float = 0.7,
        few: int = _FEW,
    ) -> None:
        total = count + counter
        if total < few or count < least * total:
            return
        places = [path for path, one in self.own.items() if not sign or sign in one.signs][:2]
        self.found.append(
            convention(category, pattern, (count + 1) / (total + 2), *(Evidence(path) for path in places),
                       example=example, scope=self.scope, count=count, counter=counter)
        )  # fmt: skip

    def _program_times(self, sign: str) -> int:
        return sum(one.signs.get(sign, 0) for one in self.program.values())

    def _python(self) -> None:
        relative = absolute = 0
        top = {path.split("/")[0] for path in self.own if path.count("/")} | {
            path.split("/")[1] for path in self.own if path.startswith("src/") and path.count("/") > 1
        }
        for one in self.program.values():
            relative += sum(name.startswith(".") for name in one.imports)
            absolute += sum(name.partition(".")[0] in top and "." in name for name in one.imports)
        if absolute > relative:
            self._add(
                "import_style",
                "absolute imports within the package",
                absolute,
                relative,
                example="from package.module import name",
            )
        else:
            self._add(
                "import_style",
                "relative imports within the package",
                relative,
                absolute,
                example="from .module import name",
            )
        files, n = self.files, len(self.program)
        self._add(
            "import_style",
            "from __future__ import annotations",
            files["future_annotations"],
            max(n - files["future_annotations"], 0),
            "future_annotations",
            least=0.6,
        )
        typed, every = self._program_times("typed_def"), self._program_times("any_def")
        self._add(
            "typing",
            "type hints on functions",
            min(typed, every),
            max(every - typed, 0),
            "typed_def",
            "def f(x: int) -> str:",
            0.75,
        )
        self._add(
            "typing",
            "X | None, not Optional[X]",
            self.times["optional_pipe"],
            self.times["optional_old"],
            "optional_pipe",
            "str | None",
            0.85,
        )
        styles = {
            "Google style docstrings": "google_doc",
            "NumPy style docstrings": "numpy_doc",
            "Sphinx style docstrings (:param x:)": "sphinx_doc",
        }
        total = sum(files[sign] for sign in styles.values())
        for pattern, sign in styles.items():
            self._add("docstrings", pattern, files[sign], total - files[sign], sign, few=5)
        self._add(
            "error_handling",
            "own exception classes",
            files["own_errors"],
            0,
            "own_errors",
            "class XError(Exception)",
            few=3,
        )
        self._add(
            "error_handling",
            "raise … from …",
            self.times["raise_from"],
            max(self.times["raise"] // 5 - self.times["raise_from"], 0),
            "raise_from",
            "raise XError(…) from error",
        )
        self._add(
            "logging",
            "module logger: logging.getLogger(__name__)",
            files["module_logger"],
            0,
            "module_logger",
            few=4,
        )
        kinds = {"base_model": "pydantic models", "dataclass": "dataclasses", "struct": "msgspec structs"}
        declared = sum(files[sign] for sign in kinds)
        for sign, name in kinds.items():
            self._add("data_classes", name, files[sign], declared - files[sign], sign, few=5)

    def _javascript(self) -> None:
        with_extension = without = alias = relative = node = bare_node = 0
        for one in self.own.values():
            for name in one.imports:
                if name.startswith("."):
                    relative += 1
                    if re.search(r"\.(?:[cm]?[jt]sx?)$", name):
                        with_extension += 1
                    elif not re.search(r"\.\w+$", name):
                        without += 1
                elif name.startswith(("@/", "~/", "#")):
                    alias += 1
                elif name.startswith("node:"):
                    node += 1
                elif name in _NODE:
                    bare_node += 1
        ending = Counter(
            found.group(1) for one in self.own.values() for name in one.imports
            if name.startswith(".") and (found := re.search(r"(\.[cm]?[jt]sx?)$", name))
        )  # fmt: skip
        if with_extension > without and ending:
            self._add(
                "import_style",
                f"file extension in relative imports ({ending.most_common(1)[0][0]})",
                with_extension,
                without,
                example='import { x } from "./x.js"',
            )
        else:
            self._add(
                "import_style",
                "no file extension in relative imports",
                without,
                with_extension,
                example='import { x } from "./x"',
            )
        self._add(
            "import_style",
            "path alias (@/…) instead of ../",
            alias,
            max(relative // 2 - alias, 0),
            example='import { x } from "@/x"',
        )
        self._add(
            "import_style",
            "node: prefix for built-in modules",
            node,
            bare_node,
            example='import fs from "node:fs"',
            least=0.8,
        )
        self._add(
            "import_style",
            "ES imports, not require",
            self.times["import_any"],
            self.times["require"],
            "import_any",
            least=0.85,
        )
        self._add(
            "import_style",
            "CommonJS require",
            self.times["require"],
            self.times["import_any"],
            "require",
            least=0.75,
        )
        if self.language == "typescript":
            self._add(
                "import_style",
                "import type for types",
                self.times["import_type"],
                max(self.times["import_any"] // 6 - self.times["import_type"], 0),
                "import_type",
            )
        self._add(
            "export_style",
            "named exports",
            self.times["named_export"],
            self.times["default_export"],
            "named_export",
            "export function x()",
            0.85,
        )
        self._add(
            "error_handling",
            "own error classes extending Error",
            self.files["own_errors"],
            0,
            "own_errors",
            few=3,
        )

    def _go(self) -> None:
        wrapped, plain, old = (
            self._program_times("wrap_w"),
            self._program_times("errorf"),
            self._program_times("errors_wrap"),
        )
        if old > plain:
            self._add(
                "error_handling",
                "errors.Wrap (pkg/errors)",
                old,
                plain,
                "errors_wrap",
                'errors.Wrap(err, "…")',
            )
        else:
            self._add(
                "error_handling",
                "errors wrapped with fmt.Errorf and %w",
                wrapped,
                old,
                "wrap_w",
                'fmt.Errorf("…: %w", err)',
            )
        self._add(
            "error_handling",
            "sentinel errors (var ErrX = errors.New)",
            self.files["sentinel"],
            0,
            "sentinel",
            few=3,
        )
        self._add(
            "api_style",
            "context.Context as first parameter",
            self.files["context_first"],
            0,
            "context_first",
            "func f(ctx context.Context, …)",
            few=6,
        )
        self._add(
            "api_style",
            "functional options",
            self.files["options"],
            0,
            "options",
            "type Option func(*T)",
            few=3,
        )

    def _rust(self) -> None:
        passed_on = self._program_times("question")
        unwrapped = self._program_times("unwrap") + self._program_times("panic")
        self._add(
            "error_handling",
            "Result and ?; avoid panic!/unwrap",
            passed_on,
            unwrapped,
            "question",
            "let x = f()?;",
            0.75,
            20,
        )
        both = self.files["anyhow"], self.files["error_derive"]
        self._add(
            "error_handling",
            "thiserror for own error types",
            both[1],
            0,
            "error_derive",
            "#[derive(Error)]",
            few=3,
        ) if self.ground.dependency("thiserror") else None
        self._add(
            "error_handling", "anyhow for application errors", both[0], 0, "anyhow", "anyhow::Result", few=3
        ) if self.ground.dependency("anyhow") else None

    def _java(self) -> None:
        self._add(
            "import_style",
            "no wildcard imports",
            self.times["import"] - self.times["wildcard_import"],
            self.times["wildcard_import"],
            "import",
            least=0.95,
            few=30,
        )
        self._add(
            "dependency_injection",
            "constructor injection",
            self.files["injected_constructor"],
            self.files["autowired_field"],
            "injected_constructor",
            few=3,
        )
        self._add(
            "dependency_injection",
            "field injection (@Autowired)",
            self.files["autowired_field"],
            self.files["injected_constructor"],
            "autowired_field",
            few=3,
        )
        self._add("error_handling", "own exception classes", self.files["own_errors"], 0, "own_errors", few=3)

    def _ruby(self) -> None:
        self._add(
            "file_header",
            "# frozen_string_literal: true",
            self.files["frozen"],
            len(self.own) - self.files["frozen"],
            "frozen",
            least=0.75,
        )
        self._add("error_handling", "own error classes", self.files["own_errors"], 0, "own_errors", few=3)

    def _cpp(self) -> None:
        once, guard = self.files["pragma_once"], self.files["guard"]
        if once > guard:
            self._add("header_guards", "#pragma once", once, guard, "pragma_once", few=4)
        else:
            self._add("header_guards", "#ifndef include guards", guard, once, "guard", few=4)
        self._add(
            "error_handling",
            "goto to a clean-up label",
            self.files["goto_cleanup"],
            0,
            "goto_cleanup",
            "goto err;",
            few=5,
        )
        self._add(
            "error_handling",
            "return codes",
            self.times["return_code"],
            self.times["exceptions"],
            "return_code",
            "return -1;",
            0.85,
            20,
        )
        self._add(
            "memory",
            "smart pointers",
            self.times["smart_pointer"],
            self.times["raw_new"],
            "smart_pointer",
            "std::unique_ptr",
            0.7,
            10,
        )


_NODE = frozenset(
    [
        "fs",
        "path",
        "os",
        "url",
        "util",
        "http",
        "https",
        "crypto",
        "events",
        "stream",
        "child_process",
        "assert",
        "buffer",
        "zlib",
        "net",
        "readline",
    ]
)
