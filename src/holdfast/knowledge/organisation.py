"""How the tree is laid out: roots of modules, workspaces, well-known layouts, versions and kinds of modules."""

from __future__ import annotations

import re
from collections import Counter

from holdfast.core.patterns import lazy_regex
from holdfast.knowledge.ground import Ground, convention
from holdfast.knowledge.manifests import KIN, is_aside, is_test, shown
from holdfast.model.knowledge import Convention, Evidence

_TOP_GUIDE = lazy_regex(
    r"(?i)^(?:\.github/|docs?/)?(?:contributing|readme|developing|development|hacking)[\w.]*$"
)
_FEATURE_FOLDERS = ("features", "modules", "domains", "apps", "slices")
_LAYERS = (
    ("controllers, services, repositories", ("controller", "service", "repository")),
    ("controllers, models, views", ("controllers", "models", "views")),
    ("handlers, services, stores", ("handler", "service", "store")),
)


def organisation_conventions(ground: Ground) -> list[Convention]:
    return [*_roots(ground), *_layouts(ground), *_workspaces(ground), *_versions(ground), *_sign_off(ground)]


def _sign_off(ground: Ground) -> list[Convention]:
    """Where a guide asks for it in so many words, whatever the log shows: merging often drops it."""
    for name in ground.configs:
        if _TOP_GUIDE.search(name) and re.search(
            r"(?i)signed[- ]off[- ]by|git commit (?:-s|--signoff)\b", ground.text(name)
        ):
            told = "Signed-off-by in every commit (DCO)"
            return [convention("commit_sign_off", told, 0.85, Evidence(name), example="git commit -s")]
    return []


def _roots(ground: Ground) -> list[Convention]:
    """A language whose manifest is not at the top: commands have to be run from its folder."""
    found = []
    for language in ground.main[:3]:
        family = KIN.get(language, language)
        own = [m for m in ground.manifests if m.language == family and not is_aside(m.path)]
        if not own or any(not manifest.folder for manifest in own):
            continue
        sources = [name for name, said in ground.languages.items() if KIN.get(said, said) == family]
        holding = {m.path: sum(name.startswith(f"{m.folder}/") for name in sources) for m in own}
        best = max(own, key=lambda manifest: holding[manifest.path])
        if holding[best.path] >= 0.6 * len(sources):
            what = "module" if language == "go" else "package" if language == "python" else "project"
            found.append(
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
    return found


def _layouts(ground: Ground) -> list[Convention]:
    tops = Counter(name.partition("/")[0] for name in ground.languages if "/" in name)
    own = {
        name: said
        for name, said in ground.languages.items()
        if not is_test(name, said) and not is_aside(name)
    }
    total = max(len(own), 1)
    found: list[Convention] = []

    def add(pattern: str, confidence: float, count: int, *places: str, scope: str = "") -> None:
        found.append(
            convention(
                "structure",
                pattern,
                confidence,
                *(Evidence(place) for place in places),
                count=count,
                counter=max(total - count, 0),
                example=places[0] if places else "",
                scope=scope,
            )
        )

    def first(prefix: str) -> str:
        return next((name for name in own if name.startswith(prefix)), "")

    if "go" in ground.main:
        root = next((m.folder + "/" for m in ground.manifests if m.language == "go" and m.folder), "")
        root = "" if any(m.language == "go" and not m.folder for m in ground.manifests) else root
        parts = [
            part for part in ("cmd", "internal", "pkg") if any(n.startswith(f"{root}{part}/") for n in own)
        ]
        count = sum(name.startswith(tuple(f"{root}{part}/" for part in parts)) for name in own)
        if len(parts) >= 2 and count >= 0.25 * total:
            add(
                f"{root}{'/'.join(parts)} layout",
                0.9,
                count,
                *(first(f"{root}{part}/") for part in parts),
                scope="Go",
            )
    if "python" in ground.main:
        inside = [name for name in own if re.match(r"src/\w+/", name) and name.endswith(".py")]
        flat = [
            name
            for name in own
            if name.endswith("/__init__.py")
            and name.count("/") == 1
            and not name.startswith(("test", "doc", "src/"))
        ]
        if len(inside) >= 2 and any(n.endswith("__init__.py") for n in inside):
            add("src layout (src/<package>)", 0.95, len(inside), inside[0], scope="Python")
        elif flat:
            package = flat[0].partition("/")[0]
            add(
                f"package at the top ({package}/)",
                0.85,
                sum(n.startswith(f"{package}/") for n in own),
                flat[0],
                scope="Python",
            )
    if "rust" in ground.main and tops["crates"] >= 2:
        count = sum(name.startswith("crates/") for name in own)
        add("Cargo workspace with crates/*", 0.95, count, first("crates/"), scope="Rust")
    if {"java", "kotlin"} & set(ground.main) and (inside := [n for n in own if "src/main/" in n]):
        add("Maven layout (src/main, src/test)", 0.95, len(inside), inside[0])
    if {"javascript", "typescript"} & set(ground.main):
        for top in ("packages", "apps", "libs"):
            members = {
                name.split("/")[1] for name in own if name.startswith(f"{top}/") and name.count("/") >= 2
            }
            if len(members) >= 2:
                add(f"monorepo: {top}/* ({len(members)} packages)", 0.9, tops[top], first(f"{top}/"))
    of_c = {"c", "cpp"} & set(ground.main[:1])
    if (of_c or {"javascript", "typescript"} & set(ground.main)) and own and tops["src"] >= 0.5 * total:
        add("sources in src/", 0.9, tops["src"], first("src/"))
    headers = [name for name in own if name.startswith("include/")] if of_c else []
    if len(headers) >= 3:
        add("public headers in include/", 0.9, len(headers), headers[0])
    if "ruby" in ground.main and any(n.startswith("app/models/") for n in own):
        add("Rails layout (app/models, app/controllers, …)", 0.95, tops["app"], first("app/models/"))
    for folder in _FEATURE_FOLDERS:
        parts_of = {n: part[1] for n in own if (part := re.search(rf"(?:^|/){folder}/([\w-]+)/", n))}
        if len(set(parts_of.values())) >= 4 and len(parts_of) >= 0.3 * total:
            add(f"feature folders ({folder}/*)", 0.85, len(parts_of), next(iter(parts_of)))
            break
    segments = Counter(part.lower() for name in own for part in set(name.split("/")[:-1]))
    for label, words in _LAYERS:
        counts = [max(segments[word], segments[word + "s"], segments[word.rstrip("s")]) for word in words]
        if min(counts) >= 2 and "ruby" not in ground.main:
            add(f"layers as folders: {label}", 0.8, sum(counts), scope="")
            break
    return found


def _workspaces(ground: Ground) -> list[Convention]:
    found: list[Convention] = []

    def add(told: str, members: list[object], path: str, field: str) -> None:
        named = f" ({', '.join(map(str, members[:4]))})" if members else ""
        found.append(convention("workspace", f"{told}{named}", 0.97, Evidence(path, field)))

    if "pnpm-workspace.yaml" in ground.everything:
        text = ground.text("pnpm-workspace.yaml").partition("catalog")[0]
        listed = re.findall(r"^\s*-\s*['\"]?([^'\"\n#]+?)['\"]?\s*$", text, re.MULTILINE)
        add("pnpm workspace", listed, "pnpm-workspace.yaml", "packages")
    for path, table in ground.tables("package.json")[:1]:
        named = table.get("workspaces")
        named = named.get("packages") if isinstance(named, dict) else named
        if "/" not in path and isinstance(named, list) and named and not found:
            add(f"{ground.runner.split()[0]} workspaces", named, path, "workspaces")
    for path, table in ground.tables("Cargo.toml")[:1]:
        members = table.get("workspace", {}).get("members", [])
        if "/" not in path and members:
            add("Cargo workspace", members, path, "workspace.members")
    for path, table in ground.tables("pyproject.toml")[:1]:
        if members := table.get("tool", {}).get("uv", {}).get("workspace", {}).get("members", []):
            add("uv workspace", members, path, "tool.uv.workspace.members")
    if "go.work" in ground.everything:
        found.append(convention("workspace", "Go workspace (go.work)", 0.95, Evidence("go.work")))
    return found


def _versions(ground: Ground) -> list[Convention]:
    found: list[Convention] = []

    def add(category: str, pattern: str, path: str, field: str) -> None:
        found.append(convention(category, pattern, 0.97, Evidence(path, field)))

    for path, table in ground.tables("pyproject.toml")[:1]:
        wanted = table.get("project", {}).get("requires-python")
        if isinstance(wanted, str) and "/" not in path:
            add("language_version", f"Python {wanted}", path, "project.requires-python")
    for path, table in ground.tables("package.json")[:1]:
        engines = table.get("engines")
        if isinstance(engines, dict) and isinstance(engines.get("node"), str):
            add("language_version", f"Node {engines['node']}", path, "engines.node")
        if table.get("type") == "module" and {"javascript", "typescript"} & set(ground.main):
            add("module_system", "ES modules", path, "type")
    for path in [name for name in ground.configs if name.endswith("go.mod")][:1]:
        if version := re.search(r"^go (\d+\.\d+)", ground.text(path), re.MULTILINE):
            add("language_version", f"Go {version.group(1)}", path, "go")
    for path, table in ground.tables("Cargo.toml")[:1]:
        package = table.get("package", {})
        if not isinstance(package.get("edition"), str):
            package = table.get("workspace", {}).get("package", {})
        if isinstance(package.get("edition"), str):
            rust = package.get("rust-version")
            more = f", Rust {rust}+" if isinstance(rust, str) else ""
            add("language_version", f"Rust edition {package['edition']}{more}", path, "package.edition")
    if "typescript" in ground.main:
        for path, table in [*ground.tables("tsconfig.json"), *ground.tables("tsconfig.base.json")]:
            options = table.get("compilerOptions")
            if isinstance(options, dict) and options.get("strict") is True:
                add("type_checking", "TypeScript strict mode", path, "compilerOptions.strict")
                break
    for path, table in ground.tables("pyproject.toml")[:1]:
        for name, field, strict in (("mypy", "strict", True), ("pyright", "typeCheckingMode", "strict")):
            own = table.get("tool", {}).get(name)
            if isinstance(own, dict) and own.get(field) == strict:
                add("type_checking", f"{name} strict mode", path, f"tool.{name}.{field}")
    return found
