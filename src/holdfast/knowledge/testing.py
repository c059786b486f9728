"""Where tests are, how they are named and how they are written."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from holdfast.core.patterns import lazy_regex
from holdfast.knowledge.findings import convention, of_counts
from holdfast.knowledge.ground import Ground
from holdfast.knowledge.languages import KIN, is_aside, is_test
from holdfast.knowledge.source import SourceSigns
from holdfast.model.knowledge import Convention, Evidence

_JAVA_RUNNERS = {"JUnit 5": "org.junit.jupiter", "JUnit 4": "org.junit.Test", "TestNG": "org.testng"}
_CPP_RUNNERS = (
    ("GoogleTest", "gtest", ("gtest", "gmock"), "TEST(Suite, Name)"),
    ("Catch2 / doctest", "catch_test", ("catch", "doctest"), "TEST_CASE(…)"),
)
_SCRIPT = lazy_regex(r"(?:^|/)[\w-]+(?:\.(?:test|t|sh|py|tcl|lua|pl|rb|js))?$")


def testing_conventions(ground: Ground, seen: Mapping[str, SourceSigns]) -> list[Convention]:
    conventions: list[Convention] = []
    families: dict[str, str] = {}
    for language in ground.main:
        families.setdefault(KIN.get(language, language), language)
    for family, language in families.items():
        tests = [
            name
            for name in ground.tests
            if KIN.get(ground.languages[name], ground.languages[name]) == family and not is_aside(name)
        ]
        scope = ground.scope(language)
        files = [file for file in seen.values() if KIN.get(file.language, file.language) == family]
        conventions += [
            *filter(None, [_layout(ground, family, tests, scope)]),
            *_style(family, files, tests, scope),
        ]
    return conventions


def _layout(ground: Ground, family: str, tests: list[str], scope: str) -> Convention | None:
    shapes = Counter(filter(None, (_name_shape(name, family) for name in tests)))
    if family == "rust" or len(tests) < 2 or not shapes:
        return None  # `_style` handles the inline tests of Rust
    shape = shapes.most_common(1)[0][0]
    if family == "cpp" and (scripts := _in_another_language(ground, len(tests))):
        return convention(
            "test_layout",
            scripts[0],
            0.9,
            Evidence(scripts[1]),
            example=scripts[1],
            scope=scope,
            count=scripts[2],
        )
    if family == "cpp" and shape.startswith("*.") and not _is_most_of_its_folder(ground, tests):
        return None  # sources beside tests in another language
    sources = {name for name, language in ground.languages.items() if not is_test(name, language)}
    folders = {name.rpartition("/")[0] for name in sources}
    named_tests = [name for name in tests if _name_shape(name, family)]
    beside = [name for name in named_tests if name.rpartition("/")[0] in folders and not _test_folder(name)]
    apart = Counter(_test_folder(name) for name in named_tests if _test_folder(name))
    total = len(named_tests)
    if family == "go":
        paired = sum(name.replace("_test.go", ".go") in sources for name in tests) >= 0.6 * len(tests)
        return of_counts(
            "test_layout",
            "co-located: one *_test.go beside its .go file"
            if paired
            else "co-located *_test.go beside the source (same package folder)",
            len(beside),
            total - len(beside),
            Evidence([*beside, *tests][0]),
            example=tests[len(tests) // 2],
            scope=scope,
        )
    if len(beside) >= 0.6 * total:
        return convention(
            "test_layout",
            f"co-located {shape} beside the source",
            len(beside) / total,
            Evidence(beside[0]),
            example=beside[len(beside) // 2],
            scope=scope,
            count=len(beside),
            counter=total - len(beside),
        )
    folder, times = apart.most_common(1)[0] if apart else ("", -1)
    if times < 0.5 * total:
        return None
    example = next(name for name in named_tests if _test_folder(name) == folder)
    parents = {name.partition(f"{folder}/")[0] for name in named_tests if f"{folder}/" in name}
    where = f"{folder}/ folders" if folder == "__tests__" or len(parents) > 1 else f"{folder}/"
    if family == "java" and folder == "src/test":
        where = "src/test/java, mirroring src/main/java" if "/java/" in example else "src/test"
    return of_counts(
        "test_layout",
        f"{shape} in {where}",
        times,
        total - times,
        Evidence(example),
        example=example,
        scope=scope,
    )


def _in_another_language(ground: Ground, own: int) -> tuple[str, str, int] | None:
    """Tests of a C program are often scripts: their name pattern, an example, and their number."""
    scripts = [
        name
        for name in ground.names
        if _test_folder(name) and name.endswith((".tcl", ".py", ".sh", ".t", ".lua"))
    ]
    kinds = Counter(name.rpartition(".")[2] for name in scripts)
    ending, count = kinds.most_common(1)[0] if kinds else ("", 0)
    if count <= own:
        return None
    example = next(name for name in scripts if name.endswith(f".{ending}"))
    return f"*.{ending} scripts in {_test_folder(example)}/", example, count


def _is_most_of_its_folder(ground: Ground, tests: list[str]) -> bool:
    return len(tests) >= sum(bool(_test_folder(name) and _SCRIPT.search(name)) for name in ground.names)


# Names of test files by family; the first matching expression counts, and `{}` are its groups.
_NAME_SHAPES = {
    "python": ((r"^test_", "test_*.py"), (r"_test\.py$", "*_test.py")),
    "javascript": ((r"[.\-_](test|spec|e2e|cy)\.([cm]?[jt]sx?)$", "*.{}.{}"),),
    "go": ((r"", "*_test.go"),),
    "ruby": ((r"_spec\.rb$", "*_spec.rb"), (r"_test\.rb$", "*_test.rb")),
    "java": ((r"(Tests?|IT|Spec)\.(java|kt)$", "*{}.{}"),),
    "cpp": (
        (r"(?:^|\.)(?:h|hpp)$", ""),
        (r"^test_(?:.*\.)?([^.]*)$", "test_*.{}"),
        (r"_test\.(?:.*\.)?([^.]*)$", "*_test.{}"),
        (r"([^.]*)$", "*.{}"),
    ),
}


def _name_shape(name: str, family: str) -> str:
    base = name.rpartition("/")[2]
    for expression, shape in _NAME_SHAPES.get(family, ((r"(_?[tT]ests?\.\w+)$", "*{}"),)):
        if match := re.search(expression, base):
            return shape.format(*match.groups())
    return ""


def _test_folder(name: str) -> str:
    """The folder with the tests, at the top of the tree or of a part of it."""
    match = re.search(r"(?:^|/)(src/test|__tests__|tests|test|spec|unit_tests|unittests)/", name)
    return match.group(1) if match else ""


def _style(family: str, own: list[SourceSigns], tests: list[str], scope: str) -> list[Convention]:
    found: list[Convention] = []
    test_files = [one for one in own if one.is_test]
    n = len(test_files)
    files = Counter(sign for one in own for sign in one.signs)
    in_tests = Counter(sign for one in test_files for sign in one.signs)
    times: Counter[str] = Counter()
    for one in own:
        times.update(one.signs)
    named = [name for name in tests if _name_shape(name, family)] or tests
    where = [Evidence(name) for name in named[len(named) // 2 :][:1]]

    def add(category: str, pattern: str, count: int, counter: int = 0, example: str = "") -> None:
        found.append(of_counts(category, pattern, count, counter, *where, example=example, scope=scope))

    def either(
        category: str, one: tuple[str, int], other: tuple[str, int], least: int, share: float = 0.75
    ) -> None:
        """Two ways of doing the same thing, if one is clearly preferred."""
        first, second = sorted((other, one), key=lambda way: -way[1])
        if first[1] + second[1] >= least and first[1] >= share * (first[1] + second[1]):
            add(category, first[0], first[1], second[1])

    def practised(pattern: str, count: int, share: float, example: str) -> None:
        """A practice that many tests follow, without an alternative to compare with."""
        if count >= max(2, share * n):
            sure = min(0.95, 0.6 + 0.5 * count / max(n, 1))
            found.append(
                convention("test_style", pattern, sure, *where, example=example, scope=scope, count=count)
            )

    if family == "python" and n >= 3:
        functions, classes = times["test_function"], times["test_class"] + times["testcase"]
        if times["testcase"] >= 3 and times["testcase"] > functions / 4:
            example = "class TestX(TestCase)"
            add("test_style", "unittest.TestCase classes", times["testcase"], functions // 5, example)
        elif functions > 4 * classes and functions >= 5:
            add("test_style", "plain test functions, not classes", functions, classes, "def test_x():")
        bare, methods = ("bare assert", times["assert"]), ("self.assert* methods", times["assert_method"])
        either("assertion_style", bare, methods, 20, 0.8)
        practised("pytest fixtures", files["fixture"], 0.1, "@pytest.fixture")
        practised("parametrized tests", in_tests["parametrize"], 0.15, "@pytest.mark.parametrize")
    if family == "javascript" and n >= 3:
        either("test_style", ("describe/it blocks", times["it"]), ("test() blocks", times["test"]), 15, 0.8)
        using = sum("node:test" in one.imports or "test" in one.imports for one in test_files)
        if using >= max(2, 0.5 * n):
            add("test_runner", "node --test", using, 0, 'import test from "node:test"')
        if files["snapshot"] >= 3:
            add("snapshot_tests", "toMatchSnapshot / toMatchInlineSnapshot", files["snapshot"])
    if family == "go" and n >= 3:
        tables = sum("table_test" in one.signs and "subtest" in one.signs for one in test_files)
        practised("table-driven tests with t.Run", tables, 0.15, "for _, tt := range tests { t.Run(…) }")
        practised("t.Parallel() in tests", in_tests["parallel"], 0.4, "t.Parallel()")
        require, check = times["require"], times["assert"]
        both = (
            "testify require and assert" if require and check > 0.1 * (require + check) else "testify require"
        )
        helper = ("testify assert" if check > 4 * require else both, require + check)
        either("assertion_style", helper, ("plain t.Errorf / t.Fatalf", times["plain_check"]), 20)
    if family == "rust":
        inline, apart = files["unit_tests"], in_tests["test"]
        outside = sum(one.signs.get("test", 0) for one in test_files)
        if times["test"] >= 5:
            if 2 * outside > times["test"]:
                pattern = "integration tests in tests/ over unit tests"
                add("test_style", pattern, outside, times["test"] - outside, "".join(tests[:1]))
            if inline >= 2:
                pattern = "unit tests in #[cfg(test)] modules beside the code"
                pattern += ", integration tests in tests/" if apart >= 2 else ""
                add("test_layout", pattern, inline, 0, "#[cfg(test)] mod tests")
            elif apart >= 2:
                add("test_layout", "integration tests in tests/", apart, inline)
    if family == "java":
        for label, module in _JAVA_RUNNERS.items():
            using = sum(any(name.startswith(module) for name in one.imports) for one in test_files)
            if using >= max(2, 0.5 * n):
                add("test_runner", label, using, 0, f"import {module}")
                break
        fluent = ("assertThat (fluent)", times["assert_that"])
        if n >= 3:
            either("assertion_style", fluent, ("assertEquals and its kin", times["assert_equals"]), 15)
    if family == "cpp":
        included = {name.lower() for one in own for name in one.imports}
        for label, sign, words, example in _CPP_RUNNERS:
            if files[sign] >= 2 and any(word in name for name in included for word in words):
                add("test_runner", label, files[sign], 0, example)
    return found
