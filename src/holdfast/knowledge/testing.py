"""Where tests lie, what they are called and how they are written."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from holdfast.knowledge.ground import Ground, convention
from holdfast.knowledge.manifests import is_aside, is_test, shown
from holdfast.knowledge.source import Seen
from holdfast.model.knowledge import Convention, Evidence

_SCRIPT = re.compile(r"(?:^|/)[\w-]+(?:\.(?:test|t|sh|py|tcl|lua|pl|rb|js))?$")
_JS_NAME = re.compile(r"[.\-_](test|spec|e2e|cy)\.([cm]?[jt]sx?)$")


def testing_conventions(ground: Ground, seen: Mapping[str, Seen]) -> list[Convention]:
    found: list[Convention] = []
    families = {"typescript": "javascript", "kotlin": "java", "c": "cpp"}
    done: set[str] = set()
    for language in ground.main:
        family = families.get(language, language)
        if family in done:
            continue
        done.add(family)
        tests = [
            n
            for n in ground.tests
            if families.get(ground.languages[n], ground.languages[n]) == family and not is_aside(n)
        ]
        scope = shown(language) if len(ground.main) > 1 else ""
        if layout := _layout(ground, family, tests, scope):
            found.append(layout)
        own = [one for one in seen.values() if families.get(one.language, one.language) == family]
        found.extend(_style(family, own, tests, scope))
    return found


def _layout(ground: Ground, family: str, tests: list[str], scope: str) -> Convention | None:
    if family == "rust":
        return None  # inline tests are told by their own signs
    if len(tests) < 2:
        return None
    named: Counter[str] = Counter(filter(None, (_name_shape(name, family) for name in tests)))
    if not named:
        return None
    shape = named.most_common(1)[0][0]
    if family == "cpp" and (other := _in_another_language(ground, len(tests))):
        return convention(
            "test_layout", other[0], 0.9, Evidence(other[1]), example=other[1], scope=scope, count=other[2]
        )
    if family == "cpp" and shape.startswith("*.") and not _is_most_of_its_folder(ground, tests):
        return None  # sources beside tests that are written otherwise
    sources = {name for name, said in ground.languages.items() if not is_test(name, said)}
    folders = {name.rpartition("/")[0] for name in sources}
    named_tests = [name for name in tests if _name_shape(name, family)]
    beside = [name for name in named_tests if name.rpartition("/")[0] in folders and not _test_folder(name)]
    apart = Counter(_test_folder(name) for name in named_tests if _test_folder(name))
    total = len(named_tests)
    if family == "go":
        paired = sum(name.replace("_test.go", ".go") in sources for name in tests)
        pattern = "co-located *_test.go beside the source (same package folder)"
        if paired >= 0.6 * len(tests):
            pattern = "co-located: one *_test.go beside its .go file"
        return convention(
            "test_layout",
            pattern,
            (len(beside) + 1) / (total + 2),
            Evidence(beside[0] if beside else tests[0]),
            example=tests[len(tests) // 2],
            scope=scope,
            count=len(beside),
            counter=total - len(beside),
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
    if not apart:
        return None
    folder, times = apart.most_common(1)[0]
    if times < 0.5 * total:
        return None
    example = next(name for name in named_tests if _test_folder(name) == folder)
    where = (
        f"{folder}/ folders"
        if folder in ("__tests__",) or _many_parents(named_tests, folder)
        else f"{folder}/"
    )
    if family == "java" and folder == "src/test":
        where = "src/test/java, mirroring src/main/java" if "/java/" in example else "src/test"
    return convention(
        "test_layout",
        f"{shape} in {where}",
        (times + 1) / (total + 2),
        Evidence(example),
        example=example,
        scope=scope,
        count=times,
        counter=total - times,
    )


def _in_another_language(ground: Ground, own: int) -> tuple[str, str, int] | None:
    """Tests of a program in C are often scripts: what they are called, one of them, and how many there are."""
    scripts = [
        name
        for name in ground.names
        if _test_folder(name) and name.endswith((".tcl", ".py", ".sh", ".t", ".lua"))
    ]
    kinds = Counter(name.rpartition(".")[2] for name in scripts)
    if not kinds or kinds.most_common(1)[0][1] <= own:
        return None
    ending, count = kinds.most_common(1)[0]
    example = next(name for name in scripts if name.endswith(f".{ending}"))
    return f"*.{ending} scripts in {_test_folder(example)}/", example, count


def _is_most_of_its_folder(ground: Ground, tests: list[str]) -> bool:
    scripts = [name for name in ground.names if _test_folder(name) and _SCRIPT.search(name)]
    return len(tests) >= len(scripts)


def _many_parents(tests: list[str], folder: str) -> bool:
    parents = {name.partition(f"{folder}/")[0] for name in tests if f"{folder}/" in name}
    return len(parents) > 1


def _name_shape(name: str, family: str) -> str:
    base = name.rpartition("/")[2]
    if family == "python":
        return "test_*.py" if base.startswith("test_") else "*_test.py" if base.endswith("_test.py") else ""
    if family == "javascript":
        found = _JS_NAME.search(base)
        return f"*.{found.group(1)}.{found.group(2)}" if found else ""
    if family == "go":
        return "*_test.go"
    if family == "ruby":
        return "*_spec.rb" if base.endswith("_spec.rb") else "*_test.rb" if base.endswith("_test.rb") else ""
    if family == "java":
        found = re.search(r"(Tests?|IT|Spec)\.(java|kt)$", base)
        return f"*{found.group(1)}.{found.group(2)}" if found else ""
    if family == "cpp":
        extension = base.rpartition(".")[2]
        if extension in ("h", "hpp"):
            return ""
        return (
            f"test_*.{extension}"
            if base.startswith("test_")
            else f"*_test.{extension}"
            if "_test." in base
            else f"*.{extension}"
        )
    found = re.search(r"_?[tT]ests?\.\w+$", base)
    return f"*{found.group()}" if found else ""


def _test_folder(name: str) -> str:
    """The folder that holds the tests: from the top of the tree or of a part of it."""
    found = re.search(r"(?:^|/)(src/test|__tests__|tests|test|spec|unit_tests|unittests)/", name)
    return found.group(1) if found else ""


def _style(family: str, own: list[Seen], tests: list[str], scope: str) -> list[Convention]:
    def files(sign: str, among: list[Seen] | None = None) -> int:
        return sum(sign in one.signs for one in (own if among is None else among))

    def times(sign: str) -> int:
        return sum(one.signs.get(sign, 0) for one in own)

    found: list[Convention] = []
    named = [name for name in tests if _name_shape(name, family)] or tests
    where = [Evidence(name) for name in named[len(named) // 2 :][:1]]

    def add(category: str, pattern: str, count: int, counter: int, example: str = "") -> None:
        found.append(
            convention(
                category,
                pattern,
                (count + 1) / (count + counter + 2),
                *where,
                example=example,
                scope=scope,
                count=count,
                counter=counter,
            )
        )

    def practised(pattern: str, count: int, among: int, example: str = "") -> None:
        """Something that many tests do and none has to."""
        sure = min(0.95, 0.6 + 0.5 * count / max(among, 1))
        found.append(
            convention("test_style", pattern, sure, *where, example=example, scope=scope, count=count)
        )

    test_files = [one for one in own if one.is_test]
    n = len(test_files)
    if family == "python" and n >= 3:
        functions, classes = times("test_function"), times("test_class") + times("testcase")
        if times("testcase") >= 3 and times("testcase") > functions / 4:
            add(
                "test_style",
                "unittest.TestCase classes",
                times("testcase"),
                functions // 5,
                "class TestX(TestCase)",
            )
        elif functions > 4 * classes and functions >= 5:
            add("test_style", "plain test functions, not classes", functions, classes, "def test_x():")
        if times("assert") + times("assert_method") >= 20:
            plain, methods = times("assert"), times("assert_method")
            if max(plain, methods) >= 0.8 * (plain + methods):
                name = "bare assert" if plain > methods else "self.assert* methods"
                add("assertion_style", name, max(plain, methods), min(plain, methods))
        if files("fixture") >= max(2, 0.1 * n):
            practised("pytest fixtures", files("fixture"), n, "@pytest.fixture")
        if files("parametrize", test_files) >= max(2, 0.15 * n):
            practised("parametrized tests", files("parametrize", test_files), n, "@pytest.mark.parametrize")
    if family == "javascript" and n >= 3:
        it, test = times("it"), times("test")
        if it + test >= 15 and max(it, test) >= 0.8 * (it + test):
            name = "describe/it blocks" if it > test else "test() blocks"
            add("test_style", name, max(it, test), min(it, test))
        using = sum("node:test" in one.imports or "test" in one.imports for one in test_files)
        if using >= max(2, 0.5 * n):
            add("test_runner", "node --test", using, 0, 'import test from "node:test"')
        if files("snapshot") >= 3:
            add("snapshot_tests", "toMatchSnapshot / toMatchInlineSnapshot", files("snapshot"), 0)
    if family == "go" and n >= 3:
        tables = sum("table_test" in one.signs and "subtest" in one.signs for one in test_files)
        if tables >= max(2, 0.15 * n):
            practised("table-driven tests with t.Run", tables, n, "for _, tt := range tests { t.Run(…) }")
        parallel = sum("parallel" in one.signs for one in test_files)
        if parallel >= 0.4 * n:
            practised("t.Parallel() in tests", parallel, n, "t.Parallel()")
        require, check, plain = times("require"), times("assert"), times("plain_check")
        helper = require + check
        if helper + plain >= 20 and max(helper, plain) >= 0.75 * (helper + plain):
            both = "testify require and assert" if require and check > 0.1 * helper else "testify require"
            if helper > plain and check > 4 * require:
                both = "testify assert"
            add(
                "assertion_style",
                both if helper > plain else "plain t.Errorf / t.Fatalf",
                max(helper, plain),
                min(helper, plain),
            )
    if family == "rust":
        inline, apart = files("unit_tests"), sum("test" in one.signs and one.is_test for one in own)
        inside = sum(one.signs.get("test", 0) for one in own if not one.is_test)
        outside = sum(one.signs.get("test", 0) for one in own if one.is_test)
        if inside + outside >= 5:
            if outside > inside:
                add(
                    "test_style",
                    "integration tests in tests/ over unit tests",
                    outside,
                    inside,
                    tests[0] if tests else "",
                )
            if inline >= 2:
                pattern = "unit tests in #[cfg(test)] modules beside the code"
                pattern += ", integration tests in tests/" if apart >= 2 else ""
                add("test_layout", pattern, inline, 0, "#[cfg(test)] mod tests")
            elif apart >= 2:
                add("test_layout", "integration tests in tests/", apart, inline)
    if family == "java":
        for label, module in (
            ("JUnit 5", "org.junit.jupiter"),
            ("JUnit 4", "org.junit.Test"),
            ("TestNG", "org.testng"),
        ):
            using = sum(any(name.startswith(module) for name in one.imports) for one in test_files)
            if using >= max(2, 0.5 * n):
                add("test_runner", label, using, 0, f"import {module}")
                break
    if family == "java" and n >= 3:
        fluent, classic = times("assert_that"), times("assert_equals")
        if fluent + classic >= 15 and max(fluent, classic) >= 0.75 * (fluent + classic):
            add(
                "assertion_style",
                "assertThat (fluent)" if fluent > classic else "assertEquals and its kin",
                max(fluent, classic),
                min(fluent, classic),
            )
    if family == "cpp":
        included = {name.lower() for one in own for name in one.imports}
        if files("gtest") >= 2 and any("gtest" in name or "gmock" in name for name in included):
            add("test_runner", "GoogleTest", files("gtest"), 0, "TEST(Suite, Name)")
        if files("catch_test") >= 2 and any("catch" in name or "doctest" in name for name in included):
            add("test_runner", "Catch2 / doctest", files("catch_test"), 0, "TEST_CASE(…)")
    return found
