"""Which tools a repository is built, tested, checked and documented with, each with the files that show it."""

from __future__ import annotations

import re
from collections import Counter

from msgspec import Struct

from holdfast.core.patterns import lazy_regex
from holdfast.knowledge.commands import CI, GUIDE, HOOK, README, TASK, RepositoryCommand
from holdfast.knowledge.findings import convention
from holdfast.knowledge.ground import Ground, field_of
from holdfast.knowledge.languages import is_aside, is_test, language_of
from holdfast.model.knowledge import Convention, Evidence


class DevelopmentTool(Struct, frozen=True):
    category: str
    name: str
    languages: tuple[str, ...]
    command: re.Pattern[str] | None
    dependencies: tuple[str, ...]
    files: re.Pattern[str] | None
    tables: tuple[str, ...]


# Category, name, languages, and what shows the tool: pattern of a command, dependencies, pattern of a file, tables of
# pyproject.toml.
_LINES = r"""
test_runner | pytest | python | \b(?:pytest|py\.test)\b | pytest | (?:^|/)pytest\.ini$ | pytest
test_runner | unittest | python | \bpython3? -m unittest\b|\bmanage\.py test\b | - | - | -
test_runner | vitest | javascript typescript | \bvitest\b | vitest | (?:^|/)vitest\.(?:config|workspace)\.\w+$ | -
test_runner | jest | javascript typescript | (?<![\w@/.-])jest\b(?!-) | jest ts-jest | (?:^|/)jest\.config\.\w+$ | -
test_runner | mocha | javascript typescript | (?<![\w@/-])mocha\b | mocha | (?:^|/)\.mocharc\.\w+$ | -
test_runner | ava | javascript typescript | (?:^| )ava\b | ava | (?:^|/)ava\.config\.\w+$ | -
test_runner | node --test | javascript typescript | \bnode [^|]*--test\b|\btsx --test\b | - | - | -
test_runner | borp | javascript typescript | (?:^| )borp\b | borp | - | -
test_runner | tap | javascript typescript | (?:^| )tap\b(?! ?=) | tap | (?:^|/)\.taprc$ | -
test_runner | uvu | javascript typescript | (?:^| )uvu\b | uvu | - | -
test_runner | bun test | javascript typescript | \bbun test\b | - | - | -
test_runner | deno test | javascript typescript | \bdeno test\b | - | - | -
test_runner | karma | javascript typescript | \bkarma start\b|\bng test\b | karma | (?:^|/)karma\.conf\.\w+$ | -
test_runner | go test | go | \bgo test\b | - | _test\.go$ | -
test_runner | gotestsum | go | \bgotestsum\b | - | - | -
test_runner | ginkgo | go | \bginkgo\b | github.com/onsi/ginkgo github.com/onsi/ginkgo/v2 | - | -
test_runner | cargo nextest | rust | \bcargo nextest\b | - | (?:^|/)\.config/nextest\.toml$ | -
test_runner | cargo test | rust | \bcargo (?:\+\w+ )?test\b | - | - | -
test_runner | RSpec | ruby | \brspec\b | rspec rspec-rails | (?:^|/)\.rspec$ | -
test_runner | minitest | ruby | \brails test\b|\brake test\b|\bruby -I ?test\b | minitest | - | -
test_runner | JUnit | java kotlin | - | org.junit.jupiter junit-jupiter junit spring-boot-starter-test | - | -
test_runner | TestNG | java kotlin | - | testng org.testng | - | -
test_runner | Kotest | kotlin | - | io.kotest | - | -
test_runner | PHPUnit | php | \bphpunit\b | phpunit/phpunit | (?:^|/)phpunit\.xml(?:\.dist)?$ | -
test_runner | Pest | php | \bpest\b | pestphp/pest | - | -
test_runner | ExUnit | elixir | \bmix test\b | - | _test\.exs$ | -
test_runner | CTest | c cpp | \bctest\b | - | - | -
test_runner | dotnet test | csharp | \bdotnet test\b | xunit nunit mstest.testframework | - | -
test_runner | swift test | swift | \bswift test\b | - | - | -
test_runner | flutter test | dart | \bflutter test\b | flutter_test | - | -
test_runner | dart test | dart | \bdart test\b | - | - | -
test_runner | Bats | shell | \bbats\b | - | \.bats$ | -
linter | ruff | python | \bruff (?:check|--fix|\.)|hook:ruff(?:-check)?$|\bruff$ | ruff | (?:^|/)\.?ruff\.toml$ | ruff
linter | flake8 | python | \bflake8\b | flake8 | (?:^|/)\.flake8$ | flake8
linter | pylint | python | \bpylint\b | pylint | (?:^|/)\.?pylintrc$ | pylint
linter | bandit | python | \bbandit\b | bandit | - | bandit
linter | eslint | javascript typescript | (?<![\w@/-])eslint(?:_d)?\b(?!-) | eslint | (?:^|/)(?:\.eslintrc[\w.]*|eslint\.config\.\w+)$ | -
linter | biome | javascript typescript | \bbiome (?:ci|check|lint)\b | @biomejs/biome | (?:^|/)biome\.jsonc?$ | -
linter | oxlint | javascript typescript | \boxlint\b | oxlint | (?:^|/)\.?oxlintrc\.json$ | -
linter | xo | javascript typescript | (?:^| )xo\b | xo | - | -
linter | standard | javascript | (?:^| )standard\b | standard | - | -
linter | tslint | typescript | \btslint\b | tslint | (?:^|/)tslint\.json$ | -
linter | stylelint | javascript typescript | \bstylelint\b | stylelint | (?:^|/)\.stylelintrc[\w.]*$|(?:^|/)stylelint\.config\.\w+$ | -
linter | deno lint | javascript typescript | \bdeno lint\b | - | - | -
linter | golangci-lint | go | \bgolangci-lint\b(?! version) | - | (?:^|/)\.golangci\.(?:ya?ml|toml|json)$ | -
linter | go vet | go | \bgo vet\b | - | - | -
linter | staticcheck | go | \bstaticcheck\b | honnef.co/go/tools | (?:^|/)staticcheck\.conf$ | -
linter | clippy | rust | \bcargo (?:\+\w+ )?clippy\b | - | (?:^|/)\.?clippy\.toml$ | -
linter | RuboCop | ruby | (?:^|exec |/|hook:)rubocop\b(?!-) | rubocop rubocop-rails rubocop-rails-omakase | (?:^|/)\.rubocop\.yml$ | -
linter | Standard Ruby | ruby | \bstandardrb\b | standard standardrb | (?:^|/)\.standard\.yml$ | -
linter | Checkstyle | java kotlin | \bcheckstyle\b | checkstyle maven-checkstyle-plugin | (?:^|/)checkstyle[\w-]*\.xml$ | -
linter | SpotBugs | java | \bspotbugs\w*\b | com.github.spotbugs spotbugs-maven-plugin | - | -
linter | PMD | java | \bpmd(?:Main)?\b | maven-pmd-plugin | - | -
linter | detekt | kotlin | \bdetekt\b | io.gitlab.arturbosch.detekt | (?:^|/)detekt[\w-]*\.yml$ | -
linter | ktlint | kotlin | \bktlint\b | org.jlleitschuh.gradle.ktlint | - | -
linter | clang-tidy | c cpp | \b(?:run-)?clang-tidy\b | - | (?:^|/)\.clang-tidy$ | -
linter | cppcheck | c cpp | \bcppcheck\b | - | - | -
linter | PHPStan | php | \bphpstan\b | phpstan/phpstan larastan/larastan nunomaduro/larastan | (?:^|/)phpstan\.neon(?:\.dist)?$ | -
linter | Credo | elixir | \bmix credo\b | credo | (?:^|/)\.credo\.exs$ | -
linter | SwiftLint | swift | \bswiftlint\b | - | (?:^|/)\.swiftlint\.yml$ | -
linter | dart analyze | dart | \b(?:dart|flutter) analyze\b | flutter_lints lints | (?:^|/)analysis_options\.yaml$ | -
linter | shellcheck | shell | \bshellcheck\b | - | (?:^|/)\.shellcheckrc$ | -
linter | markdownlint | docs | \bmarkdownlint(?:-cli2?)?\b | markdownlint-cli markdownlint-cli2 | (?:^|/)\.markdownlint[\w.-]*$ | -
linter | typos | any | (?:^|hook:)typos\b | - | (?:^|/)[._]?typos\.toml$ | -
linter | codespell | any | \bcodespell\b | codespell | (?:^|/)\.codespellrc$ | codespell
linter | actionlint | any | \bactionlint\b | - | (?:^|/)\.github/actionlint\.ya?ml$ | -
linter | hadolint | any | \bhadolint\b | - | (?:^|/)\.hadolint\.ya?ml$ | -
linter | buf lint | any | \bbuf lint\b | - | - | -
linter | knip | javascript typescript | \bknip\b | knip | (?:^|/)knip\.\w+$ | -
linter | cargo-deny | rust | \bcargo deny\b | - | (?:^|/)deny\.toml$ | -
formatter | ruff | python | \bruff format\b|hook:ruff-format | - | - | ruff.format
formatter | black | python | (?:^|[ :])black\b | black | - | black
formatter | isort | python | \bisort\b | isort | (?:^|/)\.isort\.cfg$ | isort
formatter | yapf | python | \byapf\b | yapf | (?:^|/)\.style\.yapf$ | yapf
formatter | autopep8 | python | \bautopep8\b | autopep8 | - | -
formatter | prettier | javascript typescript | (?<![\w@/-])prettier\b(?!-) | prettier | (?:^|/)(?:\.prettierrc[\w.]*|prettier\.config\.\w+)$ | -
formatter | biome | javascript typescript | \bbiome (?:ci|check|format)\b | - | (?:^|/)biome\.jsonc?$ | -
formatter | dprint | javascript typescript rust | \bdprint\b | dprint | (?:^|/)\.?dprint\.jsonc?$ | -
formatter | oxfmt | javascript typescript | \boxfmt\b | oxfmt | (?:^|/)\.?oxfmtrc\.jsonc?$ | -
formatter | deno fmt | javascript typescript | \bdeno fmt\b | - | - | -
formatter | gofumpt | go | \bgofumpt\b(?!@) | - | - | -
formatter | goimports | go | \bgoimports\b(?!@) | - | - | -
formatter | gci | go | \bgci (?:write|diff)\b | - | - | -
formatter | gofmt | go | \b(?:gofmt|go fmt)\b | - | - | -
formatter | golangci-lint fmt | go | \bgolangci-lint fmt\b | - | - | -
formatter | rustfmt | rust | \bcargo (?:\+[\w.-]+ )?fmt\b|\brustfmt\b | - | (?:^|/)\.?rustfmt\.toml$ | -
formatter | RuboCop | ruby | \brubocop -[aA]\b|\brubocop --auto | - | - | -
formatter | Standard Ruby | ruby | \bstandardrb --fix\b | - | - | -
formatter | Spotless | java kotlin | \bspotless\w*\b | com.diffplug.spotless spotless-maven-plugin | - | -
formatter | google-java-format | java | \bgoogle-java-format\b | - | - | -
formatter | spring-javaformat | java | \bspring-javaformat\b | spring-javaformat-maven-plugin io.spring.javaformat | - | -
formatter | ktlint | kotlin | \bktlint(?:Format)?\b | - | - | -
formatter | clang-format | c cpp | \b(?:git-)?clang-format\b | - | (?:^|/)\.clang-format$ | -
formatter | PHP-CS-Fixer | php | \bphp-cs-fixer\b | friendsofphp/php-cs-fixer | (?:^|/)\.php-cs-fixer(?:\.dist)?\.php$ | -
formatter | Pint | php | \bpint\b | laravel/pint | (?:^|/)pint\.json$ | -
formatter | mix format | elixir | \bmix format\b | - | (?:^|/)\.formatter\.exs$ | -
formatter | swift-format | swift | \bswift-?format\b | - | (?:^|/)\.swift-?format$ | -
formatter | dart format | dart | \bdart format\b | - | - | -
formatter | dotnet format | csharp | \bdotnet format\b | - | - | -
formatter | shfmt | shell | \bshfmt\b | - | - | -
formatter | taplo | any | \btaplo\b | - | (?:^|/)\.?taplo\.toml$ | -
type_checker | mypy | python | \bd?mypy\b | mypy | (?:^|/)\.?mypy\.ini$ | mypy
type_checker | pyright | python | (?<!based)\bpyright\b | pyright | (?:^|/)pyrightconfig\.json$ | pyright
type_checker | basedpyright | python | \bbasedpyright\b | basedpyright | - | basedpyright
type_checker | ty | python | \bty check\b | ty | (?:^|/)ty\.toml$ | ty
type_checker | pyre | python | \bpyre check\b | pyre-check | (?:^|/)\.pyre_configuration$ | -
type_checker | pyrefly | python | \bpyrefly\b | pyrefly | (?:^|/)pyrefly\.toml$ | pyrefly
type_checker | pytype | python | \bpytype\b | pytype | - | -
type_checker | vue-tsc | typescript | \bvue-tsc\b | vue-tsc | - | -
type_checker | svelte-check | typescript | \bsvelte-check\b | svelte-check | - | -
type_checker | tsgo | typescript | \btsgo\b | @typescript/native-preview | - | -
type_checker | tsc | typescript | \btsc\b | - | - | -
type_checker | Sorbet | ruby | \bsrb tc\b | sorbet sorbet-static-and-runtime | (?:^|/)sorbet/config$ | -
type_checker | Dialyzer | elixir | \bmix dialyzer\b | dialyxir | - | -
type_checker | Flow | javascript | \bflow check\b | flow-bin | (?:^|/)\.flowconfig$ | -
e2e_tool | Playwright | any | \bplaywright\b | @playwright/test playwright pytest-playwright | (?:^|/)playwright\.config\.\w+$ | -
e2e_tool | Cypress | any | \bcypress (?:run|open)\b | cypress | (?:^|/)cypress\.config\.\w+$ | -
e2e_tool | Puppeteer | any | - | puppeteer | - | -
e2e_tool | Selenium | any | - | selenium selenium-webdriver | - | -
e2e_tool | WebdriverIO | any | \bwdio\b | webdriverio @wdio/cli | (?:^|/)wdio\.conf\.\w+$ | -
e2e_tool | Capybara | ruby | - | capybara | - | -
e2e_tool | Detox | any | \bdetox\b | detox | - | -
snapshot_tests | insta | rust | \bcargo insta\b | insta | - | -
snapshot_tests | syrupy | python | - | syrupy | - | -
snapshot_tests | inline-snapshot | python | - | inline-snapshot | - | -
snapshot_tests | go-snaps | go | - | github.com/gkampitakis/go-snaps | - | -
snapshot_tests | cupaloy | go | - | github.com/bradleyjkemp/cupaloy | - | -
snapshot_tests | expect-test | rust | - | expect-test | - | -
docs_tool | MkDocs | any | \bmkdocs\b | mkdocs mkdocs-material | (?:^|/)mkdocs\.ya?ml$ | -
docs_tool | Sphinx | any | \bsphinx-build\b | sphinx | (?:^|/)docs?/(?:\w+/)?conf\.py$ | -
docs_tool | Zensical | any | \bzensical\b | zensical | (?:^|/)zensical\.toml$ | -
docs_tool | pdoc | any | \bpdoc\b | pdoc | - | -
docs_tool | Docusaurus | any | \bdocusaurus\b | @docusaurus/core | (?:^|/)docusaurus\.config\.\w+$ | -
docs_tool | VitePress | any | \bvitepress\b | vitepress | (?:^|/)\.vitepress/config\.\w+$ | -
docs_tool | Starlight | any | - | @astrojs/starlight | - | -
docs_tool | Nextra | any | - | nextra | - | -
docs_tool | Fumadocs | any | - | fumadocs-core fumadocs-ui | - | -
docs_tool | Mintlify | any | \bmint(?:lify)? dev\b | mintlify | (?:^|/)(?:mint|docs)\.json$ | -
docs_tool | mdBook | any | \bmdbook\b | - | (?:^|/)book\.toml$ | -
docs_tool | TypeDoc | any | \btypedoc\b | typedoc | (?:^|/)typedoc\.\w+$ | -
docs_tool | Storybook | any | \bstorybook\b | storybook @storybook/react | (?:^|/)\.storybook/main\.\w+$ | -
docs_tool | Doxygen | any | \bdoxygen\b | - | (?:^|/)Doxyfile(?:\.in)?$ | -
docs_tool | Hugo | any | \bhugo\b | - | (?:^|/)hugo\.(?:toml|ya?ml)$ | -
docs_tool | Jekyll | any | \bjekyll (?:build|serve)\b | jekyll | - | -
docs_tool | YARD | any | \byard\b | yard | (?:^|/)\.yardopts$ | -
docs_tool | Javadoc | any | \bmvn javadoc\b|\bgradlew? javadoc\b | - | - | -
docs_tool | ExDoc | any | \bmix docs\b | ex_doc | - | -
git_hooks | pre-commit | any | \bpre-commit (?:run|install|autoupdate)\b | pre-commit | (?:^|/)\.pre-commit-config\.yaml$ | -
git_hooks | prek | any | \bprek\b | prek | - | -
git_hooks | husky | any | \bhusky\b | husky | (?:^|/)\.husky/ | -
git_hooks | lefthook | any | \blefthook\b | lefthook | (?:^|/)\.?lefthook\.ya?ml$ | -
git_hooks | simple-git-hooks | any | - | simple-git-hooks | - | -
git_hooks | hk | any | \bhk (?:check|fix|install)\b | - | (?:^|/)hk\.pkl$ | -
git_hooks | lint-staged | any | \blint-staged\b | lint-staged nano-staged | - | -
task_runner | make | any | - | - | ^(?:GNU)?[mM]akefile$ | -
task_runner | just | any | ^just [a-z] | - | ^\.?[jJ]ustfile$ | -
task_runner | task (Taskfile) | any | - | - | ^[tT]askfile\.ya?ml$ | -
task_runner | mise | any | \bmise (?:run|r) \b | - | - | -
task_runner | turbo | javascript typescript | \bturbo(?: run)? \w | turbo | ^turbo\.jsonc?$ | -
task_runner | nx | javascript typescript | \bnx (?:run|affected|build|test)\b | nx | ^nx\.json$ | -
task_runner | moon | any | \bmoon run\b | - | ^\.moon/ | -
task_runner | lerna | javascript typescript | \blerna run\b | lerna | ^lerna\.json$ | -
task_runner | wireit | javascript typescript | - | wireit | - | -
task_runner | gulp | javascript typescript | (?:^| )gulp\b | gulp | ^gulpfile\.\w+$ | -
task_runner | tox | python | (?:^| )tox\b | tox tox-uv | ^tox\.ini$ | tox
task_runner | nox | python | (?:^| )nox\b | nox | ^noxfile\.py$ | -
task_runner | invoke | python | \binvoke \w|\binv \w | invoke | ^tasks\.py$ | -
task_runner | poe | python | \bpoe \w | poethepoet | - | poe
task_runner | hatch | python | \bhatch (?:run|test|fmt)\b | - | - | hatch.envs
task_runner | pixi | python | \bpixi run\b | - | ^pixi\.toml$ | pixi.tasks
task_runner | rake | ruby | \brake \w | - | ^Rakefile$ | -
task_runner | cargo xtask | rust | \bcargo xtask\b | - | ^xtask/ | -
task_runner | mage | go | ^mage\b | github.com/magefile/mage | ^[mM]agefile\.go$ | -
build_tool | Bazel | any | \bbazel(?:isk)? (?:build|test|run)\b | - | ^(?:WORKSPACE|MODULE)(?:\.bazel)?$ | -
task_runner | earthly | any | \bearthly \+ | - | ^Earthfile$ | -
coverage | coverage.py | python | \bcoverage (?:run|report|xml)\b|--cov\b | coverage pytest-cov | (?:^|/)\.coveragerc$ | coverage
coverage | c8 | javascript typescript | (?:^| )c8\b | c8 | - | -
coverage | nyc | javascript typescript | \bnyc\b | nyc | - | -
coverage | vitest coverage | javascript typescript | - | @vitest/coverage-v8 @vitest/coverage-istanbul | - | -
coverage | cargo-llvm-cov | rust | \bcargo llvm-cov\b | - | - | -
coverage | tarpaulin | rust | \bcargo tarpaulin\b | - | - | -
coverage | SimpleCov | ruby | - | simplecov | - | -
coverage | JaCoCo | java kotlin | - | jacoco jacoco-maven-plugin org.jacoco | - | -
changelog | changesets | any | \bchangeset\b | @changesets/cli | ^\.changeset/ | -
changelog | towncrier | any | \btowncrier\b | towncrier | - | towncrier
changelog | git-cliff | any | \bgit-cliff\b | git-cliff | ^cliff\.toml$ | -
release | semantic-release | any | \bsemantic-release\b | semantic-release python-semantic-release | (?:^|/)\.releaserc[\w.]*$ | semantic_release
release | GoReleaser | any | \bgoreleaser\b | - | (?:^|/)\.goreleaser\.ya?ml$ | -
release | cargo-dist | any | \bcargo dist\b|\bdist build\b | - | ^dist-workspace\.toml$ | -
release | release-please | any | - | - | ^\.?release-please-config\.json$ | -
release | release-plz | any | \brelease-plz\b | - | ^release-plz\.toml$ | -
build_tool | vite | javascript typescript | (?<![\w@/-])vite build\b | vite | (?:^|/)vite\.config\.\w+$ | -
build_tool | webpack | javascript typescript | \bwebpack\b | webpack | (?:^|/)webpack\.config\.\w+$ | -
build_tool | rollup | javascript typescript | \brollup -c\b | rollup | (?:^|/)rollup\.config\.\w+$ | -
build_tool | esbuild | javascript typescript | \besbuild\b | - | (?:^|/)esbuild[\w.]*\.[cm]?[jt]s$ | -
build_tool | tsup | javascript typescript | \btsup\b | tsup | (?:^|/)tsup\.config\.\w+$ | -
build_tool | tsdown | javascript typescript | \btsdown\b | tsdown | (?:^|/)tsdown\.config\.\w+$ | -
build_tool | rolldown | javascript typescript | \brolldown -c\b | - | (?:^|/)rolldown\.config\.\w+$ | -
build_tool | unbuild | javascript typescript | \bunbuild\b | unbuild | (?:^|/)build\.config\.\w+$ | -
build_tool | CMake | c cpp | \bcmake\b | - | (?:^|/)CMakeLists\.txt$ | -
build_tool | Autotools | c cpp | \bautoreconf\b|(?:^|/)configure\b | - | ^configure\.(?:ac|in)$ | -
build_tool | Meson | c cpp | \bmeson\b | - | (?:^|/)meson\.build$ | -
build_tool | Maven | java kotlin | \bmvnw?\b | - | ^pom\.xml$ | -
build_tool | Gradle | java kotlin | \bgradlew?\b | - | ^(?:build|settings)\.gradle(?:\.kts)?$ | -
build_tool | maturin | python rust | \bmaturin\b | maturin | - | maturin
build_tool | sbt | scala | \bsbt\b | - | ^build\.sbt$ | -
code_generation | buf | any | \bbuf generate\b | - | (?:^|/)buf\.gen\.yaml$ | -
code_generation | protoc | any | \bprotoc\b | - | \.proto$ | -
code_generation | sqlc | any | \bsqlc generate\b | - | (?:^|/)sqlc\.ya?ml$ | -
code_generation | go generate | go | \bgo generate\b | - | - | -
code_generation | GraphQL codegen | any | \bgraphql-codegen\b | @graphql-codegen/cli | - | -
migrations | Alembic | python | \balembic\b | alembic | (?:^|/)alembic\.ini$ | alembic
migrations | Prisma Migrate | any | \bprisma migrate\b | - | - | -
migrations | Flyway | java | - | flyway-core org.flywaydb | - | -
migrations | Liquibase | java | - | liquibase-core org.liquibase | - | -
migrations | goose | go | \bgoose (?:up|down|create)\b | github.com/pressly/goose/v3 | - | -
migrations | golang-migrate | go | \bmigrate -path\b | github.com/golang-migrate/migrate/v4 | - | -
migrations | drizzle-kit | any | \bdrizzle-kit\b | drizzle-kit | (?:^|/)drizzle\.config\.\w+$ | -
environment | Nix | any | \bnix (?:develop|build|flake)\b | - | ^flake\.nix$ | -
environment | Dev Containers | any | - | - | ^\.devcontainer/ | -
environment | Docker Compose | any | \bdocker[- ]compose\b | - | ^(?:docker-)?compose[\w.-]*\.ya?ml$ | -
environment | mise | any | \bmise install\b | - | ^\.?mise\.toml$ | -
environment | direnv | any | - | - | ^\.envrc$ | -
"""


def _tool(line: str) -> DevelopmentTool:
    category, name, languages, rest = (part.strip() for part in line.split(" | ", 3))
    command, dependencies, files, tables = (part.strip() for part in rest.rsplit(" | ", 3))
    return DevelopmentTool(
        category,
        name,
        tuple(languages.split()),
        None if command == "-" else lazy_regex(command),
        () if dependencies == "-" else tuple(dependencies.split()),
        None if files == "-" else lazy_regex(files),
        () if tables == "-" else tuple(tables.split()),
    )


TOOLS = tuple(_tool(line) for line in _LINES.strip().splitlines())


_LEAST = 0.55
_PLACES = {TASK: 0.85, CI: 0.75, HOOK: 0.7, GUIDE: 0.6, README: 0.45}
# A repository chooses one of these: a mere dependency does not count beside a tool that is clearly in use.
_ONE = frozenset(
    {
        "test_runner",
        "formatter",
        "linter",
        "type_checker",
        "docs_tool",
        "build_tool",
        "task_runner",
        "e2e_tool",
    }
)
_INSTALLING = lazy_regex(
    r"\b(?:pip3?|pipx|uv tool|uv pip|npm|brew|apt(?:-get)?|cargo|go|gem|mise|asdf|conda|mamba|choco|scoop|rustup"
    r"|pnpm|yarn|bun)\b.{0,40}\b(?:install|add|use)\b|\bgo get\b|\b(?:curl|wget|which|command -v|rm|cp|mv|cat|ls|git) "
)


class Use(Struct, frozen=True):
    """A tool, how certain it is that it is in use, and what shows it."""

    tool: DevelopmentTool
    score: float
    evidence: tuple[Evidence, ...]
    commands: tuple[RepositoryCommand, ...]


def tools_in_use(ground: Ground) -> list[Use]:
    """Every tool with enough evidence, the most certain first."""
    commands = [command for command in ground.commands if not _INSTALLING.search(command.text)]
    languages = _languages(ground)
    uses = [_use(ground, tool, commands) for tool in TOOLS if languages.intersection(tool.languages)]
    uses += _defaults(ground, uses)
    kept = [use for use in uses if use.score >= _LEAST and not _is_ruled_out(ground, use.tool)]
    best = {
        (use.tool.category, language): use.score
        for use in sorted(kept, key=lambda use: use.score)
        for language in use.tool.languages
    }
    kept = [
        use
        for use in kept
        if use.tool.category not in _ONE
        or use.score >= 0.8
        or not any(best[use.tool.category, language] - use.score >= 0.12 for language in use.tool.languages)
    ]
    return sorted(kept, key=lambda use: -use.score)


def tool_conventions(uses: list[Use]) -> list[Convention]:
    conventions = []
    for use in uses:
        example = min((command.task for command in use.commands if command.task), key=len, default="")
        example = example or next(
            (command.text for command in use.commands if ":" not in command.text[:6]), ""
        )
        conventions.append(
            convention(use.tool.category, use.tool.name, use.score, *use.evidence, example=example[:120])
        )
    return conventions


def _languages(ground: Ground) -> set[str]:
    total = sum(ground.counts.values())
    enough = {language for language, count in ground.counts.items() if count >= max(2, 0.02 * total)}
    if "typescript" in enough:
        enough.add("javascript")
    texts = Counter(map(language_of, ground.names))
    return enough | {"any"} | {language for language in ("shell", "docs") if texts[language] >= 3}


def _use(ground: Ground, tool: DevelopmentTool, commands: list[RepositoryCommand]) -> Use:
    doubt = 1.0
    evidence: list[Evidence] = []
    run: list[RepositoryCommand] = []
    if tool.files is not None:
        names = [name for name in ground.markers if tool.files.search(name)]
        own_names = [name for name in names if not is_aside(name) or tool.category == "docs_tool"]
        own_names = [
            name
            for name in own_names
            if not is_test(name, language_of(name)) or tool.category == "test_runner"
        ]
        if own_names:
            nearest = min(own_names, key=lambda name: (name.count("/"), name))
            doubt *= 0.2 if nearest.count("/") <= 1 else 0.4
            evidence.append(Evidence(nearest))
    if tool.tables:
        for path, table in ground.tables("pyproject.toml"):
            name = next((name for name in tool.tables if field_of(table, f"tool.{name}") is not None), None)
            if name:
                doubt *= 0.3 if "/" not in path else 0.5
                evidence.append(Evidence(path, f"tool.{name}"))
                break
    if tool.dependencies and (named := ground.dependency(*tool.dependencies, languages=tool.languages)):
        doubt *= 0.4 if "/" not in named.path else 0.6
        evidence.append(named)
    if tool.command is not None:
        for place, weight in _PLACES.items():
            here = [c for c in commands if c.place == place and tool.command.search(c.text)]
            if here:
                # A single mention deep in a guide or in one script of a part is little.
                doubt *= 1 - weight * (
                    1.0
                    if len(here) > 1
                    or here[0].path.count("/") < 1
                    or here[0].path.startswith(("doc", ".github/"))
                    else 0.7
                )
                evidence.extend(Evidence(c.path, c.field) for c in here[:1])
                run.extend(here)
    return Use(tool, round(1 - doubt, 3), tuple(dict.fromkeys(evidence)), tuple(run))


def _is_ruled_out(ground: Ground, tool: DevelopmentTool) -> bool:
    """Whether a configuration switches the tool off, or its file means something else here."""
    if tool.name == "biome" and tool.category in ("linter", "formatter"):
        for name in ("biome.json", "biome.jsonc"):
            if name in ground.everything:
                part = ground.table(name).get(tool.category, {})
                return isinstance(part, dict) and part.get("enabled") is False
    if tool.name == "invoke":
        return "tasks.py" in ground.everything and "invoke" not in ground.text("tasks.py")
    if tool.name == "make":
        text = ground.text(
            next((n for n in ("Makefile", "makefile", "GNUmakefile") if n in ground.everything), "")
        )
        return len(re.findall(r"^[a-zA-Z][\w-]*\s*:(?!=)", text, re.MULTILINE)) < 2 and "include" not in text
    return False


def _named(category: str, name: str) -> DevelopmentTool:
    return next(tool for tool in TOOLS if (tool.category, tool.name) == (category, name))


def _defaults(ground: Ground, uses: list[Use]) -> list[Use]:
    """The tools of a language's own tool chain, if no other is configured."""
    sure = {
        (use.tool.category, language)
        for use in uses
        if use.score >= _LEAST
        for language in use.tool.languages
    }
    further: list[Use] = []

    def add(category: str, name: str, score: float, *evidence: Evidence) -> None:
        tool = _named(category, name)
        run = next((use.commands for use in uses if use.tool is tool), ())
        further.append(Use(tool, score, evidence, run))

    main = ground.main
    golangci = next((name for name in ground.everything if name.startswith(".golangci.")), "")
    text = ground.text(golangci) if golangci else ""
    for name in ("gofumpt", "goimports", "gci", "gofmt"):
        if re.search(rf"^\s*-\s*{name}\s*$", text, re.MULTILINE):
            add("formatter", name, 0.9, Evidence(golangci, "formatters"))
            sure.add(("formatter", "go"))
    go_mod = next((name for name in ground.configs if name.endswith("go.mod")), "")
    if "go" in main and ("formatter", "go") not in sure and go_mod:
        add("formatter", "gofmt", 0.75, Evidence(go_mod))
    cargo = next((name for name in ground.configs if name.endswith("Cargo.toml")), "")
    if "rust" in main and cargo:
        if ("test_runner", "rust") not in sure:
            add("test_runner", "cargo test", 0.8, Evidence(cargo))
        fields = ("lints.clippy", "workspace.lints.clippy")
        lints = next(
            (p for p, t in ground.tables("Cargo.toml") if any(field_of(t, f) is not None for f in fields)), ""
        )
        if lints and ("linter", "rust") not in sure:
            add("linter", "clippy", 0.9, Evidence(lints, "lints.clippy"))
    if "ruby" in main and ("test_runner", "ruby") not in sure:
        spec = next((name for name in ground.tests if name.endswith("_spec.rb")), "")
        plain = next((name for name in ground.tests if name.endswith("_test.rb")), "")
        if spec or plain:
            add("test_runner", "RSpec" if spec else "minitest", 0.8, Evidence(spec or plain))
    if "typescript" in main and ("type_checker", "typescript") not in sure:
        named = ground.dependency("typescript")
        config = next((name for name in ground.configs if name.endswith("tsconfig.json")), "")
        if named and config:
            add("type_checker", "tsc", 0.7, Evidence(config), named)
    return further
