"""The layout of the tree: module roots, workspaces, well-known layouts, language versions and module systems."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from holdfast.core.patterns import lazy_regex
from holdfast.knowledge.findings import convention
from holdfast.knowledge.ground import Ground, field_of
from holdfast.knowledge.languages import KIN, is_aside, is_test, shown
from holdfast.model.knowledge import Convention, Evidence

_TOP_GUIDE = lazy_regex(
    r"(?i)^(?:\.github/|docs?/)?(?:contributing|readme|developing|development|hacking)[\w.]*$"
)
_FEATURE_FOLDERS = ("features", "modules", "domains", "apps", "slices")
_STRICT = (
    ("tool.mypy.strict", True, "mypy strict mode"),
    ("tool.pyright.typeCheckingMode", "strict", "pyright strict mode"),
)
_LAYERS = (
    ("controllers, services, repositories", ("controller", "service", "repository")),
    ("controllers, models, views", ("controllers", "models", "views")),
    ("handlers, services, stores", ("handler", "service", "store")),
)


def organisation_conventions(ground: Ground) -> list[Convention]:
    return [*_roots(ground), *_layouts(ground), *_workspaces(ground), *_versions(ground), *_sign_off(ground)]


def _sign_off(ground: Ground) -> list[Convention]:
    """Whether a guide asks for sign-offs; the log may not show them, because merging often drops them."""
    for name in ground.configs:
        if _TOP_GUIDE.search(name) and re.search(
            r"(?i)signed[- ]off[- ]by|git commit (?:-s|--signoff)\b", ground.text(name)
        ):
            rule = "Signed-off-by in every commit (DCO)"
            return [convention("commit_sign_off", rule, 0.85, Evidence(name), example="git commit -s")]
    return []


def _roots(ground: Ground) -> list[Convention]:
    """A language whose manifest is not at the top: its commands run in that folder."""
    conventions = []
    for language in ground.main[:3]:
        family = KIN.get(language, language)
        manifests = [m for m in ground.manifests if m.language == family and not is_aside(m.path)]
        if not manifests or any(not manifest.folder for manifest in manifests):
            continue
        sources = [
            name
            for name, source_language in ground.languages.items()
            if KIN.get(source_language, source_language) == family
        ]
        holding = {m.path: sum(name.startswith(f"{m.folder}/") for name in sources) for m in manifests}
        best = max(manifests, key=lambda manifest: holding[manifest.path])
        if holding[best.path] >= 0.6 * len(sources):
            what = "module" if language == "go" else "package" if language == "python" else "project"
            conventions.append(
                convention(
                    "language_root",
                    f"{shown(language)} {what} root {best.folder}/",
                    0.95,
                    Evidence(best.path),
                    example=f"cd {best.folder}",
                    count=holding[best.path],
                    counter=len(sources) - holding[best.path],
                )
            )
    return conventions


def _layouts(ground: Ground) -> list[Convention]:
    tops = Counter(name.partition("/")[0] for name in ground.languages if "/" in name)
    own = [
        name
        for name, source_language in ground.languages.items()
        if not is_test(name, source_language) and not is_aside(name)
    ]
    total = max(len(own), 1)
    main = set(ground.main)
    of_js = {"javascript", "typescript"} & main
    of_c = {"c", "cpp"} & set(ground.main[:1])
    layouts: list[Convention] = []

    def add(pattern: str, confidence: float, count: int, *places: str, scope: str = "") -> None:
        layouts.append(
            convention(
                "structure",
                pattern,
                confidence,
                *map(Evidence, places),
                count=count,
                counter=max(total - count, 0),
                example=places[0] if places else "",
                scope=scope,
            )
        )

    def below(*folders: str) -> list[str]:
        return [name for name in own if name.startswith(folders)]

    if "go" in main:
        folders = [manifest.folder for manifest in ground.manifests if manifest.language == "go"]
        root = f"{folders[0]}/" if folders and "" not in folders else ""
        parts = [part for part in ("cmd", "internal", "pkg") if below(f"{root}{part}/")]
        count = len(below(*(f"{root}{part}/" for part in parts)))
        if len(parts) >= 2 and count >= 0.25 * total:
            places = [below(f"{root}{part}/")[0] for part in parts]
            add(f"{root}{'/'.join(parts)} layout", 0.9, count, *places, scope="Go")
    if "python" in main:
        inside = [name for name in own if re.match(r"src/\w+/", name) and name.endswith(".py")]
        flat = [name for name in own if re.fullmatch(r"(?!test|doc|src/)[^/]+/__init__\.py", name)]
        if len(inside) >= 2 and any(name.endswith("__init__.py") for name in inside):
            add("src layout (src/<package>)", 0.95, len(inside), inside[0], scope="Python")
        elif flat:
            package = flat[0].partition("/")[0] + "/"
            add(f"package at the top ({package})", 0.85, len(below(package)), flat[0], scope="Python")
    if "rust" in main and tops["crates"] >= 2:
        crates = below("crates/")
        add("Cargo workspace with crates/*", 0.95, len(crates), next(iter(crates), ""), scope="Rust")
    if {"java", "kotlin"} & main and (inside := [name for name in own if "src/main/" in name]):
        add("Maven layout (src/main, src/test)", 0.95, len(inside), inside[0])
    for top in ("packages", "apps", "libs") if of_js else ():
        members = {name.split("/")[1] for name in below(f"{top}/") if name.count("/") >= 2}
        if len(members) >= 2:
            add(f"monorepo: {top}/* ({len(members)} packages)", 0.9, tops[top], below(f"{top}/")[0])
    if (of_c or of_js) and own and tops["src"] >= 0.5 * total:
        add("sources in src/", 0.9, tops["src"], next(iter(below("src/")), ""))
    if of_c and len(headers := below("include/")) >= 3:
        add("public headers in include/", 0.9, len(headers), headers[0])
    if "ruby" in main and (models := below("app/models/")):
        add("Rails layout (app/models, app/controllers, …)", 0.95, tops["app"], models[0])
    for folder in _FEATURE_FOLDERS:
        parts_of = {name: part[1] for name in own if (part := re.search(rf"(?:^|/){folder}/([\w-]+)/", name))}
        if len(set(parts_of.values())) >= 4 and len(parts_of) >= 0.3 * total:
            add(f"feature folders ({folder}/*)", 0.85, len(parts_of), next(iter(parts_of)))
            break
    segments = Counter(part.lower() for name in own for part in set(name.split("/")[:-1]))
    for label, words in _LAYERS if "ruby" not in main else ():
        counts = [max(segments[word], segments[word + "s"], segments[word.rstrip("s")]) for word in words]
        if min(counts) >= 2:
            add(f"layers as folders: {label}", 0.8, sum(counts))
            break
    return layouts


def _first(ground: Ground, base: str) -> tuple[str, dict[str, Any]]:
    """The manifest of this name that is nearest to the top, and its content."""
    return next(iter(ground.tables(base)), ("", {}))


def _workspaces(ground: Ground) -> list[Convention]:
    conventions: list[Convention] = []

    def add(name: str, members: Any, path: str, field: str) -> None:
        named = f" ({', '.join(map(str, members[:4]))})" if members else ""
        conventions.append(convention("workspace", f"{name}{named}", 0.97, Evidence(path, field)))

    if "pnpm-workspace.yaml" in ground.everything:
        text = ground.text("pnpm-workspace.yaml").partition("catalog")[0]
        members = re.findall(r"^\s*-\s*['\"]?([^'\"\n#]+?)['\"]?\s*$", text, re.MULTILINE)
        add("pnpm workspace", members, "pnpm-workspace.yaml", "packages")
    path, table = _first(ground, "package.json")
    named = field_of(table, "workspaces.packages") or table.get("workspaces")
    if "/" not in path and isinstance(named, list) and named and not conventions:
        add(f"{ground.runner.split()[0]} workspaces", named, path, "workspaces")
    path, table = _first(ground, "Cargo.toml")
    if "/" not in path and (members := field_of(table, "workspace.members")):
        add("Cargo workspace", members, path, "workspace.members")
    path, table = _first(ground, "pyproject.toml")
    if members := field_of(table, "tool.uv.workspace.members"):
        add("uv workspace", members, path, "tool.uv.workspace.members")
    if "go.work" in ground.everything:
        conventions.append(convention("workspace", "Go workspace (go.work)", 0.95, Evidence("go.work")))
    return conventions


def _versions(ground: Ground) -> Iterator[Convention]:
    def made(category: str, pattern: str, path: str, field: str) -> Convention:
        return convention(category, pattern, 0.97, Evidence(path, field))

    python, pyproject = _first(ground, "pyproject.toml")
    wanted = field_of(pyproject, "project.requires-python")
    if isinstance(wanted, str) and "/" not in python:
        yield made("language_version", f"Python {wanted}", python, "project.requires-python")
    path, table = _first(ground, "package.json")
    if isinstance(node := field_of(table, "engines.node"), str):
        yield made("language_version", f"Node {node}", path, "engines.node")
    if table.get("type") == "module" and {"javascript", "typescript"} & set(ground.main):
        yield made("module_system", "ES modules", path, "type")
    path = next((name for name in ground.configs if name.endswith("go.mod")), "")
    if version := re.search(r"^go (\d+\.\d+)", ground.text(path) if path else "", re.MULTILINE):
        yield made("language_version", f"Go {version.group(1)}", path, "go")
    path, table = _first(ground, "Cargo.toml")
    for package in ("package", "workspace.package"):
        edition, rust = (field_of(table, f"{package}.{field}") for field in ("edition", "rust-version"))
        if isinstance(edition, str):
            more = f", Rust {rust}+" if isinstance(rust, str) else ""
            yield made("language_version", f"Rust edition {edition}{more}", path, "package.edition")
            break
    configs = [*ground.tables("tsconfig.json"), *ground.tables("tsconfig.base.json")]
    strict = (path for path, table in configs if field_of(table, "compilerOptions.strict") is True)
    if "typescript" in ground.main and (path := next(strict, "")):
        yield made("type_checking", "TypeScript strict mode", path, "compilerOptions.strict")
    for field, value, pattern in _STRICT:
        if field_of(pyproject, field) == value:
            yield made("type_checking", pattern, python, field)
