"""One source file to what it shows: names, indentation, quotes, line lengths, imports, branches, signs of idioms."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

from msgspec import Struct

from holdfast.core.patterns import lazy_regex
from holdfast.knowledge.languages import MADE_BY_A_TOOL, is_test

_C_TEXT = r"//[^\n]*|/\*[\s\S]{0,20000}?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n]){0,300}'"
# Comments and string literals of a language in one expression: the rest is code.
TEXTS = {
    "python": lazy_regex(
        r"(?:\b[rbfuRBFU]{1,2})?(?:\"\"\"[\s\S]*?\"\"\"|'''[\s\S]*?'''|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')|#[^\n]*"
    ),
    "ruby": lazy_regex(r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|(?:^|(?<=\s))#[^\n]*", re.MULTILINE),
    "rust": lazy_regex(
        r"//[^\n]*|/\*[\s\S]{0,20000}?\*/|r#\"[\s\S]*?\"#|\"(?:\\[\s\S]|[^\"\\])*\"|'(?:\\.|[^'\\\n])'"
    ),
    "go": lazy_regex(r"//[^\n]*|/\*[\s\S]{0,20000}?\*/|`[^`]*`|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'"),
    "javascript": lazy_regex(_C_TEXT + r"|`(?:\\.|[^`\\])*`"),
    "elixir": lazy_regex(r"\"\"\"[\s\S]*?\"\"\"|\"(?:\\.|[^\"\\\n])*\"|#[^\n]*"),
    "": lazy_regex(_C_TEXT),
}
TEXTS["typescript"] = TEXTS["javascript"]

_CLASS = r"^[ \t]*(?:export |public |private |protected |internal |abstract |final |static |sealed |open |data |default |partial |pub(?:\([^)]*\))? )*"
FUNCTIONS = {
    "python": r"^[ \t]*(?:async )?def ([A-Za-z_]\w*)",
    "javascript": r"\bfunction\*? ([A-Za-z_$][\w$]*)|^[ \t]*(?:export )?(?:const|let) ([A-Za-z_$][\w$]*)(?::[^=\n]+)? = (?:async )?(?:\([^)\n]*\)|\w+)(?::[^=\n]+)? =>",
    "go": r"^func (?:\([^)\n]*\) )?([A-Za-z_]\w*)",
    "rust": r"\bfn ([a-z_A-Z]\w*)",
    "java": r"^[ \t]+(?:(?:public|private|protected|static|final|abstract|synchronized|override|default) )+[\w<>\[\], ?.]+ ([A-Za-z_]\w*)\(",
    "kotlin": r"\bfun (?:<[^>\n]*> ?)?(?:[\w.]+\.)?([A-Za-z_]\w*)\(",
    "ruby": r"^[ \t]*def (?:self\.)?([A-Za-z_]\w*)",
    "cpp": r"^(?!(?:else|return|typedef|if|for|while|switch|struct|enum)\b)[A-Za-z_][\w:<>,&* ]{0,120}?[ *&](?:[A-Za-z_]\w*::)*(~?[A-Za-z_]\w*)\([^;{}]{0,400}\)[^;{}()]{0,60}\{",
    "csharp": r"^[ \t]+(?:(?:public|private|protected|internal|static|async|override|virtual) )+[\w<>\[\],? ]+ ([A-Za-z_]\w*)\(",
    "php": r"\bfunction &?([A-Za-z_]\w*)\(",
    "swift": r"\bfunc ([A-Za-z_]\w*)",
    "scala": r"\bdef ([A-Za-z_]\w*)",
    "dart": r"^[ \t]*(?:static )?(?:Future<[^>\n]*>|void|bool|int|double|String|Widget|\w+) ([a-z_]\w*)\([^;\n]*\)(?: async)? \{",
    "elixir": r"^[ \t]*defp? ([a-z_]\w*)",
}
CLASSES = {
    "python": r"^[ \t]*class ([A-Za-z_]\w*)",
    "javascript": _CLASS + r"(?:class|interface|type|enum) ([A-Za-z_$][\w$]*)",
    "go": r"^type ([A-Za-z_]\w*)",
    "rust": _CLASS + r"(?:struct|enum|trait) ([A-Za-z_]\w*)",
    "java": _CLASS + r"(?:class|interface|enum|record|object|trait) ([A-Za-z_]\w*)",
    "ruby": r"^[ \t]*(?:class|module) (?:\w+::)*([A-Z]\w*)",
    "cpp": r"^[ \t]*(?:typedef )?(?:class|struct|enum(?: class)?) ([A-Za-z_]\w*)\s*(?:final\s*)?(?::[^{;]*)?\{",
    "csharp": _CLASS + r"(?:class|interface|enum|record|struct) ([A-Za-z_]\w*)",
    "php": _CLASS + r"(?:class|interface|trait|enum) ([A-Za-z_]\w*)",
    "swift": _CLASS + r"(?:class|struct|enum|protocol|actor) ([A-Za-z_]\w*)",
    "dart": r"^(?:abstract )?class ([A-Za-z_]\w*)",
    "elixir": r"^[ \t]*defmodule (?:\w+\.)*([A-Z]\w*)",
}
IMPORTS = {
    "python": r"^[ \t]*(?:from (\.*[\w.]*) import|import ([\w.]+))",
    "javascript": r"(?:\bfrom|^import|\brequire\(|\bimport\() ?[\"']([^\"'\n]+)[\"']",
    "go": r"^(?:import )?[ \t]*(?:[\w.]+ )?\"([^\"\n]+)\"$",
    "rust": r"^[ \t]*(?:pub )?use ([\w:]+)",
    "java": r"^import (?:static )?([\w.*]+)",
    "ruby": r"^[ \t]*(?:require|require_relative|gem) ?\(?[\"']([^\"'\n]+)",
    "cpp": r"^[ \t]*#[ \t]*include [<\"]([^>\"\n]+)",
    "csharp": r"^using ([\w.]+);",
    "php": r"^use ([\w\\]+)",
    "dart": r"^import '([^'\n]+)'",
    "elixir": r"^[ \t]*(?:use|import|alias) ([\w.]+)",
}
_BRANCH = r"\b(?:if|for|while|case|catch)\b|&&|\|\||\?(?=[^.:?)\],>=\n])"
BRANCHES = {
    "python": r"\b(?:if|elif|for|while|except|and|or|case)\b",
    "ruby": r"\b(?:if|elsif|unless|while|until|when|rescue|and|or)\b|&&|\|\|",
    "rust": r"\b(?:if|for|while|loop)\b|&&|\|\||=>",
    "go": r"\b(?:if|for|case|select)\b|&&|\|\|",
    "elixir": r"\b(?:if|unless|case|cond|rescue)\b|->",
    "": _BRANCH,
}
for _table in (FUNCTIONS, CLASSES, IMPORTS):
    _table["typescript"] = _table["javascript"]
    _table.setdefault("kotlin", _table["java"])
    _table.setdefault("scala", _table["java"])
    _table["c"] = _table["cpp"]

SIGNS: dict[str, dict[str, str]] = {
    "python": {
        "raise_from": r"\braise [^\n]+ from ",
        "raise": r"^\s+raise ",
        "bare_except": r"\bexcept:",
        "own_errors": r"^class \w+(?:Error|Exception)\(",
        "assert": r"^\s+assert\b",
        "assert_method": r"\bself\.assert[A-Z]",
        "fixture": r"@pytest(?:_asyncio)?\.fixture",
        "parametrize": r"@pytest\.mark\.parametrize",
        "testcase": r"^class \w+\([\w., ]*TestCase\)",
        "test_class": r"^class Test\w*(?:\(\))?:",
        "test_function": r"^(?:async )?def test_",
        "dataclass": r"@(?:dataclasses\.)?dataclass",
        "base_model": r"^class \w+\([^)]*BaseModel",
        "struct": r"^class \w+\((?:msgspec\.)?Struct\b",
        "typed_def": r"\bdef \w+\([^)]*\)\s*->",
        "any_def": r"\bdef \w+\(",
        "future_annotations": r"^from __future__ import annotations",
        "module_logger": r"^_?(?:logger|log|LOGGER|LOG|_LOG) = (?:logging\.)?getLogger|structlog\.get_logger",
        "command": r"@\w+\.(?:command|group)\(|\.add_parser\(|\.add_typer\(",
        "route": r"^\s*@\w+\.(?:get|post|put|patch|delete|route|websocket)\(",
        "middleware": r"Middleware\b",
        "depends": r"\bDepends\(",
        "registry": r"^\s*@(?:\w+\.)?register\w*|\.register(?:_\w+)?\(|^def register",
        "registry_type": r"^class \w*Registry\b|^_?[A-Za-z_]*(?:registry|REGISTRY)\b\s*(?::[^=\n]+)?=",
        "protocol": r"^class \w+\([^)]*\b(?:Protocol|ABC)\b",
        "state": r"^class \w*(?:State|Status|Phase)\w*\([^)]*Enum",
        "raw:google_doc": r"^\s+(?:Args|Returns|Raises):\s*$",
        "raw:numpy_doc": r"^\s+(?:Parameters|Returns)\n\s+-{4,}",
        "raw:sphinx_doc": r"^\s+:(?:param|return|rtype)\b",
        "optional_pipe": r"(?:->|:) ?[\w.\[\], ]+ \| None",
        "optional_old": r"\bOptional\[",
    },
    "javascript": {
        "describe": r"\bdescribe(?:\.\w+)?\(",
        "it": r"^\s*it(?:\.\w+)*\(",
        "test": r"^\s*test(?:\.\w+)*\(",
        "expect": r"\bexpect\(",
        "assert": r"\bassert(?:\.\w+)?\(",
        "each": r"\b(?:test|it|describe)\.each\b",
        "mock": r"\b(?:jest|vi)\.(?:mock|fn|spyOn)\(",
        "snapshot": r"\.toMatch(?:Inline)?Snapshot\(",
        "import_type": r"^import type ",
        "import_any": r"^import ",
        "require": r"\brequire\(",
        "default_export": r"^export default ",
        "named_export": r"^export (?!default|type|interface)",
        "arrow_const": r"^(?:export )?const \w+(?::[^=\n]+)? = (?:async )?(?:\([^)\n]*\)|\w+)(?::[^=\n]+)? =>",
        "function": r"^(?:export )?(?:default )?(?:async )?function\b",
        "own_errors": r"\bclass \w+Error extends ",
        "middleware": r"\((?:req|request|ctx|c|context)\b[^)\n]*,\s*next\b|\.use\(",
        "route": r"\b(?:app|router|server|fastify|api)\.(?:get|post|put|patch|delete)\(",
        "injectable": r"@Injectable\(|\bconstructor\(\s*(?:private|public|readonly)",
        "command": r"\.command\(|defineCommand\(|new Command\(",
        "registry": r"\bregister\w*\(",
        "registry_type": r"class \w*Registry\b|const \w*[rR]egistry\b",
        "component": r"^export (?:default )?(?:const|function) [A-Z]\w*",
        "hook": r"^export (?:default )?(?:const|function) use[A-Z]",
        "reducer": r"\bcreateSlice\(|[rR]educer\s*[(:=]|createMachine\(",
        "semicolon": r";[ \t]*$",
    },
    "go": {
        "raw:wrap_w": r"fmt\.Errorf\([^\n]*%w",
        "raw:errorf": r"fmt\.Errorf\(",
        "errors_wrap": r"\berrors\.Wrapf?\(",
        "if_err": r"\bif (?:[^{\n]*; )?err != nil",
        "sentinel": r"^\s*(?:var )?Err[A-Z]\w* += +(?:errors\.New|fmt\.Errorf)",
        "panic": r"\bpanic\(",
        "table_test": r"(?:\[\]struct|map\[string\]struct) ?\{",
        "subtest": r"\bt\.Run\(",
        "parallel": r"\bt\.Parallel\(\)",
        "require": r"\brequire\.\w+\(",
        "assert": r"\bassert\.\w+\(",
        "plain_check": r"\bt\.(?:Errorf|Fatalf|Error|Fatal)\(",
        "middleware": r"http\.Handler\) http\.Handler|http\.HandlerFunc\) http\.HandlerFunc|\bMiddleware\b|\.Use\(",
        "handler": r"http\.ResponseWriter, ?\w* ?\*http\.Request|\*gin\.Context|echo\.Context",
        "command": r"&cobra\.Command\{|&cli\.Command\{",
        "registry": r"\bRegister[A-Z]?\w*\(",
        "registry_type": r"^type \w*Registry\b|^var \w*[rR]egistry\b|^func Register",
        "repository": r"^type \w*(?:Repository|Store|Repo|Storage) (?:interface|struct)",
        "service": r"^type \w*Service (?:interface|struct)",
        "constructor": r"^func New[A-Z]?\w*\([^)\n]*\w+ [\w.*\[\]]+\)",
        "options": r"^type \w*Option func\(",
        "context_first": r"\(ctx context\.Context",
        "state": r"^type \w*(?:State|Status|Phase) (?:int|uint8|string)",
        "interface": r"^type \w+ interface \{",
    },
    "rust": {
        "unwrap": r"\.unwrap\(\)",
        "expect": r"\.expect\(",
        "question": r"\?[;)\s.,]",
        "panic": r"\b(?:panic|unreachable|todo)!\(",
        "result": r"-> (?:\w+::)*Result<|-> (?:\w+::)*Result\b",
        "anyhow": r"\banyhow\b",
        "error_derive": r"derive\([^)]*\bError\b|thiserror",
        "unit_tests": r"#\[cfg\(test\)\]",
        "test": r"#\[(?:\w+::)?test\b",
        "snapshot": r"\binsta::|assert_(?:\w+_)?snapshot!|uv_snapshot!",
        "clap": r"derive\([^)]*(?:Parser|Subcommand|Args)\b",
        "async": r"\basync fn\b",
        "rstest": r"#\[(?:rstest|case|test_case)",
        "builder": r"^\s*pub fn build\(self|struct \w+Builder",
        "state": r"enum \w*(?:State|Status|Phase)\b",
        "trait_objects": r"\b(?:Box|Arc)<dyn \w+",
        "route": r"\.route\(|#\[(?:get|post|put|delete)\(",
        "middleware": r"\.layer\(|\bLayer\b|\bMiddleware\b",
        "registry": r"\bregister\w*\(",
        "registry_type": r"struct \w*Registry\b|trait \w*Registry\b",
        "use_crate": r"^use crate::",
        "use_super": r"^\s*use super::",
    },
    "java": {
        "autowired_field": r"@(?:Autowired|Inject)\s*\n?\s*(?:private|protected)",
        "injected_constructor": r"@(?:Autowired|Inject)\s+public \w+\(|@RequiredArgsConstructor|private final \w+(?:Repository|Service|Client)",
        "service": r"@Service\b|class \w+Service(?:Impl)?\b",
        "repository": r"@Repository\b|interface \w+Repository\b",
        "controller": r"@(?:Rest)?Controller\b",
        "assert_that": r"\bassertThat\(",
        "assert_equals": r"\bassert(?:Equals|True|False|NotNull)\(",
        "parameterized": r"@ParameterizedTest",
        "before": r"@Before(?:Each|All)?\b",
        "mock": r"@Mock\b|@MockBean\b|@MockitoBean\b|\bmock\(",
        "test": r"@Test\b",
        "filter": r"\bimplements Filter\b|HandlerInterceptor|OncePerRequestFilter",
        "own_errors": r"class \w+Exception extends",
        "builder": r"\bBuilder\b",
        "entity": r"@Entity\b",
        "state": r"enum \w*(?:State|Status|Phase)\b",
        "registry": r"\.register\w*\(",
        "registry_type": r"(?:class|interface) \w*Registry\b",
        "wildcard_import": r"^import (?:static )?[\w.]+\.\*;",
        "import": r"^import ",
    },
    "ruby": {
        "expect": r"\bexpect[ ({]",
        "assert": r"\bassert(?:_\w+)?\b",
        "let": r"\blet!?\(",
        "raw:frozen": r"\A# frozen_string_literal: true",
        "rescue_standard": r"\brescue (?:StandardError|=>)",
        "own_errors": r"class \w+ ?< ?(?:StandardError|\w*Error)\b",
        "controller": r"< ?ApplicationController\b",
        "model": r"< ?(?:ApplicationRecord|ActiveRecord::Base)\b",
        "service": r"class \w+Service\b",
        "concern": r"extend ActiveSupport::Concern",
        "before_action": r"\bbefore_(?:action|filter)\b",
        "callable": r"def (?:self\.)?call\b",
        "factory": r"\b(?:create|build)\(:\w+",
    },
    "cpp": {
        "pragma_once": r"^#pragma once",
        "guard": r"^#ifndef \w+_H(?:PP|H|_)?\w*\s*\n\s*#define",
        "goto_cleanup": r"\bgoto \w*(?:err|error|fail|cleanup|out|end|done)\w*;",
        "gtest": r"\bTEST(?:_F|_P)?\(",
        "catch_test": r"\bTEST_CASE\(",
        "smart_pointer": r"\bstd::(?:unique_ptr|shared_ptr|make_unique|make_shared)\b",
        "raw_new": r"\bnew [A-Z]\w*",
        "exceptions": r"\bthrow \w|\bcatch \(",
        "return_code": r"\breturn (?:-1|C_ERR|\w*ERR\w*|NULL|nullptr);",
        "namespace": r"^namespace \w+",
        "registry": r"\bregister\w*\(|\bRegister\w*\(",
        "registry_type": r"\w+Registry\b|\w+_registry\b",
        "state": r"enum (?:class )?\w*(?:State|state|Status)\b",
        "command_table": r"\b\w*[cC]ommand\w*\[\] ?=",
    },
}
SIGNS["typescript"] = SIGNS["javascript"]
SIGNS["kotlin"] = SIGNS["java"]
SIGNS["c"] = SIGNS["cpp"]
for _signs in SIGNS.values():
    _signs["raw:license"] = (
        r"\A(?:#!.*\n)?\s*(?:/\*|//|#|--|\"\"\")(?:.*\n){0,3}?.*(?:Copyright|SPDX-License-Identifier|Licensed (?:under|to))"
    )


LENGTHS = (72, 79, 80, 88, 90, 99, 100, 110, 119, 120, 132, 140, 160)
_MOST_NAMES = 60
_MOST_IMPORTS = 80
_QUOTED = frozenset({"python", "javascript", "typescript", "ruby", "php"})
_MINIFIED = 350  # characters in a line, on average


class SourceSigns(Struct, frozen=True, array_like=True):
    """Signs in one source file. Thousands of these are kept until the file changes, so they are small."""

    language: str = ""
    is_test: bool = False
    lines: int = 0
    complexity: int = 0
    indent: str = ""  # "tab", "2", "3", "4", "8"; '' when the file says nothing
    single: int = 0
    double: int = 0
    longer: tuple[int, ...] = ()  # lines longer than each of LENGTHS
    functions: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    signs: dict[str, int] = {}
    crlf: bool = False


def look_at(name: str, language: str, data: bytes) -> SourceSigns | None:
    """The signs in a file; None when a tool generated it. Code that does not parse still has lines and names."""
    if MADE_BY_A_TOOL.search(data[:1500]):
        return None
    text = data.decode("utf-8-sig", "replace")
    crlf = "\r\n" in text[:2000]
    text = text.replace("\r\n", "\n")
    lines = text.split("\n")
    if len(text) > _MINIFIED * len(lines):
        return None
    expressions = _compiled(language)
    quotes: Counter[str] = Counter()
    code = expressions.texts.sub(lambda found: _blank(found.group(), quotes), text)
    functions = _names(expressions.functions, code)
    branches = len(expressions.branches.findall(code))
    signs = {}
    for sign, expression, raw, needed in expressions.signs:
        there = text if raw else code
        # Most files show few signs: a search for a word is many times faster than one for an expression.
        if needed and not any(word in there for word in needed):
            continue
        if count := len(expression.findall(there)):
            signs[sign] = count
    return SourceSigns(
        language=language,
        is_test=is_test(name, language),
        lines=len(lines),
        complexity=branches + len(functions),
        indent=_indent(code),
        single=quotes["'"] if language in _QUOTED else 0,
        double=quotes['"'] if language in _QUOTED else 0,
        longer=_longer(lines),
        functions=tuple(functions[:_MOST_NAMES]),
        classes=tuple(_names(expressions.classes, code)[:_MOST_NAMES]),
        imports=_imports(expressions.imports, text),
        signs=signs,
        crlf=crlf,
    )


class _Expressions(Struct, frozen=True):
    texts: re.Pattern[str]
    functions: re.Pattern[str] | None
    classes: re.Pattern[str] | None
    imports: re.Pattern[str] | None
    branches: re.Pattern[str]
    signs: tuple[tuple[str, re.Pattern[str], bool, tuple[str, ...]], ...]


@lru_cache(maxsize=64)
def _compiled(language: str) -> _Expressions:
    def one(table: dict[str, str]) -> re.Pattern[str] | None:
        return re.compile(table[language], re.MULTILINE) if language in table else None

    signs = tuple(
        (
            sign.removeprefix("raw:"),
            re.compile(expression, re.MULTILINE),
            sign.startswith("raw:"),
            needed_words(expression),
        )
        for sign, expression in SIGNS.get(language, {}).items()
    )
    return _Expressions(
        texts=TEXTS.get(language, TEXTS[""]),
        functions=one(FUNCTIONS),
        classes=one(CLASSES),
        imports=one(IMPORTS),
        branches=re.compile(BRANCHES.get(language, BRANCHES[""])),
        signs=signs,
    )


_CLASS_OR_ESCAPE = lazy_regex(r"\[(?:\\.|[^\]\\])*\]|\\.")
_GROUP = lazy_regex(r"\((\?(?:[:=!]|<[=!]))?([^()]*)\)([?*]|\{0)?")


def needed_words(expression: str) -> tuple[str, ...]:
    """Words: a text that matches the expression contains one of them. Empty when that cannot be derived."""
    plain = _CLASS_OR_ESCAPE.sub("\0", expression)
    while group := _GROUP.search(plain):
        kind, inside, optional = group.groups()
        certain = not optional and "|" not in inside and kind in (None, "?:")
        plain = f"{plain[: group.start()]}\0{inside if certain else ''}\0{plain[group.end() :]}"
    words = []
    for alternative in plain.split("|"):
        sure = re.sub(r".(?:[?*]|\{0)", "\0", alternative)
        longest = max(re.findall(r"[A-Za-z_ @#:<=-]{3,}", sure), key=len, default="")
        if not longest:
            return ()
        words.append(longest)
    return tuple(words)


def _blank(found: str, quotes: Counter[str]) -> str:
    """What replaces a comment or a literal; quotes are counted where the writer had a choice."""
    opened = found.lstrip("rbfuRBFU")[:1]
    if opened in "\"'" and not found.endswith(('"""', "'''")):
        other_quote = "'" if opened == '"' else '"'
        if other_quote not in found and "\\" not in found:
            quotes[opened] += 1
        return opened + opened  # signs that look for an empty text still see one
    return "\n" * found.count("\n") if "\n" in found else ""


def _names(expression: re.Pattern[str] | None, code: str) -> list[str]:
    if expression is None:
        return []
    names = (next((group for group in match.groups() if group), "") for match in expression.finditer(code))
    return [name for name in names if name]


def _imports(expression: re.Pattern[str] | None, text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_names(expression, text)))[:_MOST_IMPORTS]


def _indent(code: str) -> str:
    """The most frequent step by which lines are indented from the line before."""
    steps: Counter[int] = Counter()
    tabs = spaces = before = 0
    for line in code.split("\n")[:3000]:
        body = line.lstrip(" \t")
        if not body or body[0] in "*/.":
            continue
        if line[0] == "\t":
            tabs += 1
            continue
        width = len(line) - len(body)
        spaces += width > 0
        if width > before and width - before in (2, 3, 4, 8):
            steps[width - before] += 1
        before = width
    if tabs > spaces:
        return "tab" if tabs >= 3 else ""
    if not steps or spaces < 3:
        return ""
    # Continued lines are moved in by twice the step; the smaller one is the step if it is not rare.
    total = sum(steps.values())
    return str(next(step for step in sorted(steps) if steps[step] >= 0.25 * total or step == max(steps)))


def _longer(lines: list[str]) -> tuple[int, ...]:
    lengths = [length for line in lines if (length := len(line.expandtabs(4))) > LENGTHS[0]]
    return tuple(sum(length > limit for length in lengths) for limit in LENGTHS)
