"""What a project is made of, from real folders on disk and from the traces of a session."""

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.knowledge import manifests
from holdfast.knowledge.stack import Stack, stack_from_evidence, stack_of

pytestmark = pytest.mark.promise("L2")

Project = Callable[[dict[str, str]], Path]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    def build(files: dict[str, str]) -> Path:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return tmp_path

    return build


def package(**tables: object) -> str:
    return json.dumps(tables)


GO = """module acme/shop

require (
\tgithub.com/go-chi/chi/v5 v5.0.1
\tgithub.com/gin-gonic/gin v1.9 // indirect
)
"""

CHECKOUTS: list[tuple[str, str, dict[str, str]]] = [
    ("go", "go", {"go.mod": "module acme/tool\n", "main.go": ""}),
    ("go", "chi", {"go.mod": GO, "main.go": ""}),
    ("rust", "axum", {"Cargo.toml": '[dependencies]\naxum = "0.7"\ntokio = "1"\n', "src/main.rs": ""}),
    ("python", "django", {"requirements.txt": "Django>=5\ncelery\n", "shop/views.py": ""}),
    (
        "python",
        "fastapi",
        {"pyproject.toml": '[project]\nname="a"\ndependencies=["fastapi[all]>=0.1"]\n', "a.py": ""},
    ),
    ("python", "flask", {"pyproject.toml": '[project]\nname="Flask"\ndependencies=["click"]\n', "a.py": ""}),
    ("python", "celery", {"Pipfile": '[packages]\ncelery = "*"\n', "a.py": ""}),
    ("python", "click", {"setup.cfg": "[options]\ninstall_requires =\n    click>=8\n    rich\n", "a.py": ""}),
    ("python", "pytorch", {"setup.py": "setup(install_requires=['torch>=2'])", "a.py": ""}),
    ("typescript", "next", {"package.json": package(dependencies={"next": "1", "react": "1"}), "a.tsx": ""}),
    ("javascript", "express", {"package.json": package(dependencies={"express": "5"}), "a.js": ""}),
    ("typescript", "ink", {"package.json": package(dependencies={"ink": "5", "react": "1"}), "a.tsx": ""}),
    (
        "typescript",
        "svelte",
        {"package.json": package(devDependencies={"svelte": "5", "express": "5"}), "a.ts": ""},
    ),
    ("ruby", "rails", {"Gemfile": 'source "x"\ngem "rails", "~> 8"\n', "app/a.rb": ""}),
    ("php", "laravel", {"composer.json": package(require={"laravel/framework": "11"}), "a.php": ""}),
    ("java", "spring", {"pom.xml": "<groupId>org.springframework.boot</groupId>", "src/A.java": ""}),
    ("kotlin", "ktor", {"build.gradle.kts": 'implementation("io.ktor:ktor-server")', "src/A.kt": ""}),
    ("kotlin", "android", {"app/build.gradle": "plugins { id 'com.android.application' }", "app/A.kt": ""}),
    ("dart", "flutter", {"pubspec.yaml": "dependencies:\n  flutter:\n    sdk: flutter\n", "lib/a.dart": ""}),
    ("elixir", "phoenix", {"mix.exs": '[{:phoenix, "~> 1.7"}]', "lib/a.ex": ""}),
    ("csharp", "aspnet", {"Web/Web.csproj": '<Project Sdk="Microsoft.NET.Sdk.Web">', "Web/A.cs": ""}),
    ("csharp", "maui", {"A.csproj": "<UseMaui>true</UseMaui>", "A.cs": ""}),
    (
        "swift",
        "vapor",
        {"Package.swift": '.package(url: "https://github.com/vapor/vapor.git")', "A.swift": ""},
    ),
    ("cpp", "qt", {"CMakeLists.txt": "find_package(Qt6 REQUIRED)", "a.cpp": "", "a.h": ""}),
    ("c", "c", {"Makefile": "", "a.c": "", "a.h": "", "b.h": ""}),
    ("scala", "play", {"build.sbt": '"com.typesafe.play" %% "play" % "2"', "A.scala": ""}),
    ("haskell", "servant", {"a.cabal": "build-depends: base, servant", "A.hs": ""}),
    ("terraform", "terraform", {"main.tf": "", "README.md": ""}),
    ("ansible", "ansible", {"tasks/main.yml": "", "README.md": ""}),
    ("helm", "helm", {"charts/a/Chart.yaml": "", "README.md": ""}),
    ("docker", "docker", {"Dockerfile": "", "README.md": ""}),
    ("docs", "mkdocs", {"mkdocs.yml": "", "docs/a.md": ""}),
    ("docs", "docs", {"README.md": "", "a.md": ""}),
    ("shell", "shell", {"install.sh": "", "README.md": ""}),
    ("javascript", "javascript", {"package.json": "{}"}),
]


@pytest.mark.parametrize(("language", "framework", "files"), CHECKOUTS, ids=lambda value: str(value)[:24])
def test_a_checkout_says_its_language_and_framework(
    project: Project, language: str, framework: str, files: dict[str, str]
) -> None:
    found = stack_of(project(files))
    assert (found.project_type, found.framework) == (language, framework)


def test_an_indirect_dependency_is_no_framework(project: Project) -> None:
    assert stack_of(project({"go.mod": GO, "main.go": ""})).framework == "chi"


def test_the_evidence_says_where_it_was_seen(project: Project) -> None:
    found = stack_of(project({"go.mod": GO, "main.go": "", "b.go": ""}))
    assert found.evidence == ("chi in go.mod", "go.mod", "2 go files")


def test_of_several_manifests_the_one_where_the_code_is_counts(project: Project) -> None:
    files = {
        "package.json": package(devDependencies={"prettier": "3"}),
        "go.mod": "module a\n",
        "web/a.js": "",
    }
    assert stack_of(project(files | {f"pkg/a{at}.go": "" for at in range(9)})).project_type == "go"


def test_typescript_needs_its_files_and_not_only_its_compiler(project: Project) -> None:
    files = {
        "package.json": package(devDependencies={"typescript": "5"}),
        "tsconfig.json": "{}",
        "types.ts": "",
    }
    assert stack_of(project(files | {f"lib/a{at}.js": "" for at in range(9)})).project_type == "javascript"


def test_a_monorepo_is_what_most_of_its_parts_are(project: Project) -> None:
    files = {"package.json": package(workspaces=["packages/*"], devDependencies={"vitest": "1", "vue": "3"})}
    for name, framework in (("a", "react"), ("b", "react"), ("c", "hono")):
        files[f"packages/{name}/package.json"] = package(dependencies={framework: "1"})
        files[f"packages/{name}/a.ts"] = ""
    assert stack_of(project(files)) == Stack(
        "typescript", "react", ("react in packages/a/package.json", "package.json", "3 typescript files")
    )


def test_vendored_generated_and_example_files_do_not_count(project: Project) -> None:
    files = {"go.mod": "module a\n", "main.go": "", "api.go": ""}
    files |= {f"vendor/x/{at}.py": "" for at in range(50)} | {f"gen/{at}.ts": "" for at in range(50)}
    files |= {f"web/node_modules/x/{at}.js": "" for at in range(50)} | {"web/app.min.js": ""}
    files |= {"examples/next/package.json": package(dependencies={"next": "1"})}
    assert stack_of(project(files)).project_type == "go"


def test_with_git_only_tracked_files_count(project: Project) -> None:
    root = project({"main.go": "", "go.mod": "module a\n"})
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    subprocess.run(["git", "add", "."], cwd=root, check=True)
    project({f"scratch{at}.py": "" for at in range(20)})
    assert stack_of(root).project_type == "go"


def test_a_repository_cannot_have_a_program_run(project: Project) -> None:
    root = project({"main.go": ""})
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    subprocess.run(["git", "add", "."], cwd=root, check=True)
    marker = root / "ran"
    hook = root / "hook.sh"
    hook.write_text(f"#!/bin/sh\ntouch {marker}\n", encoding="utf-8")
    hook.chmod(0o755)
    subprocess.run(["git", "config", "core.fsmonitor", str(hook)], cwd=root, check=True)
    assert stack_of(root).project_type == "go"
    assert not marker.exists()


def test_nothing_there_means_no_evidence(tmp_path: Path) -> None:
    assert stack_of(tmp_path) == Stack(None, None, ())
    assert stack_of(tmp_path / "gone") == Stack()
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert stack_of(tmp_path / "file") == Stack()


@pytest.mark.parametrize(
    "name",
    [
        "package.json",
        "pyproject.toml",
        "Cargo.toml",
        "composer.json",
        "Pipfile",
        "go.mod",
        "pom.xml",
        "mix.exs",
    ],
)
@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe\x00{", b"[1, 2", b"[" * 100_000, b'{"dependencies": 3, "name": 4}']
)
def test_a_broken_manifest_still_names_its_language(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    found = stack_of(tmp_path)
    assert found.project_type is not None
    assert found.framework == found.project_type


def test_a_manifest_beyond_a_megabyte_is_not_read(project: Project) -> None:
    huge = package(dependencies={"next": "1"}, padding="x" * 1_100_000)
    assert stack_of(project({"package.json": huge, "a.ts": ""})).framework == "typescript"


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_links_that_lead_out_or_round_are_not_followed(tmp_path: Path) -> None:
    outside, root = tmp_path / "outside", tmp_path / "root"
    outside.mkdir()
    root.mkdir()
    (outside / "package.json").write_text(package(dependencies={"next": "1"}), encoding="utf-8")
    (outside / "a.py").write_text("", encoding="utf-8")
    (root / "package.json").symlink_to(outside / "package.json")
    (root / "away").symlink_to(outside)
    (root / "loop").symlink_to(root)
    (root / "a.ts").write_text("", encoding="utf-8")
    assert stack_of(root).framework == "typescript"


@pytest.mark.skipif(os.name == "nt", reason="such names cannot exist there")
def test_names_that_are_no_text_are_survived(tmp_path: Path) -> None:
    try:
        (tmp_path / os.fsdecode(b"caf\xe9.go")).write_text("", encoding="utf-8")
    except OSError:
        pytest.skip("this file system refuses such names")
    found = stack_of(tmp_path)
    assert found.project_type == "go"
    assert all(item.encode("utf-8") for item in found.evidence)


@pytest.mark.parametrize(
    ("language", "framework", "paths", "commands"),
    [
        ("go", "go", ["cmd/a.go"], ["go test ./..."]),
        ("go", "go", [], ["cd x && go build"]),
        ("rust", "rust", [], ["cargo clippy"]),
        ("python", "python", [], ["pytest -q"]),
        ("typescript", "typescript", [], ["npx vitest run", "npm install"]),
        ("python", "django", ["shop/views.py"], ["python manage.py migrate"]),
        ("php", "laravel", [], ["php artisan migrate"]),
        ("typescript", "next", ["app/a.ts"], ["npx next dev"]),
        ("dart", "flutter", [], ["flutter run"]),
        ("ruby", "rails", ["app/models/cart.rb"], []),
        ("elixir", "phoenix", [], ["mix phx.server"]),
        ("typescript", "react", ["src/App.tsx", "README.md"], ["npm test"]),
        ("go", "go", ["a.go", "b.go"], ["npm run lint", "python -m http.server"]),
        ("helm", "helm", ["deploy/Chart.yaml"], []),
    ],
)
def test_a_session_without_a_checkout_shows_its_stack(
    language: str, framework: str, paths: list[str], commands: list[str]
) -> None:
    found = stack_from_evidence(paths, commands)
    assert (found.project_type, found.framework) == (language, framework)


def test_dependencies_that_were_named_tell_the_framework() -> None:
    found = stack_from_evidence(["main.go"], [], ["github.com/gin-gonic/gin", "left-pad"])
    assert (found.project_type, found.framework) == ("go", "gin")
    assert stack_from_evidence(["a.py"], [], ["react"]).framework == "python"


def test_touching_a_file_that_every_project_has_says_nothing() -> None:
    assert stack_from_evidence(["README.md", "Dockerfile", "docs/a.md"], []) == Stack()


def test_commands_that_only_look_say_nothing() -> None:
    assert stack_from_evidence([], ["cat src/App.tsx", "ls node_modules", "git status"]) == Stack(
        None, None, ()
    )
    assert stack_from_evidence([], []) == Stack()


@given(
    st.lists(st.text(st.characters(), max_size=30), max_size=5), st.lists(st.text(max_size=30), max_size=5)
)
def test_any_traces_give_a_stack(paths: list[str], commands: list[str]) -> None:
    found = stack_from_evidence(paths, commands, commands)
    assert (found.project_type is None) == (found.framework is None)
    assert found == stack_from_evidence(paths, commands, commands)


@pytest.mark.parametrize(
    "pattern", [pattern for pattern, _, _ in manifests._READERS], ids=lambda p: p.pattern
)
def test_every_manifest_has_one_of_the_endings_that_are_asked_first(pattern: re.Pattern[str]) -> None:
    @settings(max_examples=8, deadline=None)
    @given(st.from_regex(re.compile(pattern.pattern, pattern.flags), fullmatch=True))
    def ends_so(path: str) -> None:
        assert manifests.manifest_language(path)

    ends_so()
