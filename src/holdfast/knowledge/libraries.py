"""The library chosen for a job that several could do: from manifests, weighted by the number of importing files."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.knowledge.findings import convention
from holdfast.knowledge.ground import Ground
from holdfast.knowledge.source import SourceSigns
from holdfast.model.knowledge import Convention, Evidence

# job: dependency[=name shown], by language. A colon gives the import where it is not the dependency's name.
_JOBS = {
    "python": """
web_framework: fastapi django flask litestar sanic starlette tornado pyramid bottle aiohttp quart falcon
http_client: httpx requests aiohttp urllib3 niquests
orm: sqlalchemy sqlmodel django peewee tortoise-orm:tortoise pony beanie mongoengine
cli: typer click argparse docopt fire cyclopts
validation: pydantic attrs:attr marshmallow msgspec cerberus
logging: structlog loguru
serialization: orjson ujson msgpack pyyaml:yaml
mocking: pytest-mock responses respx:respx freezegun requests-mock:requests_mock
property_tests: hypothesis
task_queue: celery dramatiq rq arq
templates: jinja2 mako chevron
async_runtime: anyio trio
data_frames: pandas polars
terminal: rich textual
retries: tenacity backoff
settings: pydantic-settings dynaconf python-dotenv:dotenv
build_backend: -
""",
    "javascript": """
web_framework: next nuxt @nestjs/core=nestjs fastify express hono koa @hapi/hapi=hapi elysia @sveltejs/kit=sveltekit astro @remix-run/react=remix
ui_framework: react vue svelte solid-js=solid preact @angular/core=angular lit
http_client: axios got ky node-fetch undici ofetch superagent
orm: @prisma/client=prisma drizzle-orm=drizzle typeorm sequelize mongoose knex kysely @mikro-orm/core=mikro-orm
validation: zod yup joi valibot ajv arktype io-ts typebox superstruct class-validator
state_management: zustand redux @reduxjs/toolkit=redux-toolkit jotai recoil mobx pinia vuex xstate valtio
data_fetching: @tanstack/react-query=tanstack-query swr @apollo/client=apollo urql @trpc/client=trpc
router: react-router react-router-dom=react-router @tanstack/react-router=tanstack-router vue-router wouter
styling: tailwindcss styled-components @emotion/react=emotion sass unocss @vanilla-extract/css=vanilla-extract
cli: commander yargs cac citty @oclif/core=oclif meow clipanion gunshi
logging: pino winston consola bunyan tslog loglevel
terminal: ink chalk picocolors kleur
dates: date-fns dayjs luxon moment
test_helpers: @testing-library/react=testing-library @vue/test-utils=vue-test-utils @testing-library/dom=testing-library supertest
mocking: msw sinon nock
utilities: lodash lodash-es=lodash ramda radash es-toolkit remeda
i18n: i18next react-intl next-intl vue-i18n
forms: react-hook-form formik
errors: neverthrow effect
""",
    "go": """
router: github.com/go-chi/chi=chi github.com/gorilla/mux=gorilla/mux github.com/gin-gonic/gin=gin github.com/labstack/echo=echo github.com/gofiber/fiber=fiber github.com/julienschmidt/httprouter=httprouter
http_client: github.com/go-resty/resty=resty github.com/hashicorp/go-retryablehttp=go-retryablehttp github.com/imroc/req=req
orm: gorm.io/gorm=gorm entgo.io/ent=ent github.com/uptrace/bun=bun
database: github.com/jackc/pgx=pgx github.com/jmoiron/sqlx=sqlx github.com/lib/pq=lib/pq modernc.org/sqlite=sqlite github.com/mattn/go-sqlite3=go-sqlite3
cli: github.com/spf13/cobra=cobra github.com/urfave/cli=urfave/cli github.com/alecthomas/kong=kong github.com/peterbourgon/ff=ff github.com/alecthomas/kingpin=kingpin
configuration: github.com/spf13/viper=viper github.com/knadh/koanf=koanf github.com/kelseyhightower/envconfig=envconfig github.com/caarlos0/env=caarlos0/env
logging: log/slog=slog github.com/sirupsen/logrus=logrus go.uber.org/zap=zap github.com/rs/zerolog=zerolog github.com/charmbracelet/log=charmbracelet/log
test_helpers: github.com/stretchr/testify=testify gotest.tools/v3=gotest.tools github.com/onsi/gomega=gomega github.com/google/go-cmp=go-cmp github.com/matryer/is=is github.com/alecthomas/assert=alecthomas/assert
mocking: go.uber.org/mock=gomock github.com/golang/mock=gomock github.com/vektra/mockery=mockery
rpc: google.golang.org/grpc=grpc connectrpc.com/connect=connect
terminal: github.com/charmbracelet/bubbletea=bubbletea github.com/rivo/tview=tview github.com/charmbracelet/lipgloss=lipgloss
dependency_injection: go.uber.org/fx=fx github.com/google/wire=wire
validation: github.com/go-playground/validator=validator
""",
    "rust": """
web_framework: axum actix-web:actix_web rocket warp poem
http_client: reqwest ureq isahc
async_runtime: tokio async-std:async_std smol
cli: clap argh structopt bpaf
error_library: anyhow thiserror eyre color-eyre:color_eyre miette snafu
serialization: serde
logging: tracing log slog
orm: diesel sea-orm:sea_orm
database: sqlx rusqlite
parallelism: rayon
test_helpers: rstest proptest insta assert_cmd pretty_assertions wiremock mockall
terminal: ratatui crossterm
dates: chrono jiff time
""",
    "java": """
web_framework: org.springframework.boot=spring-boot:org.springframework io.quarkus=quarkus io.micronaut=micronaut io.javalin=javalin io.ktor=ktor
orm: spring-boot-starter-data-jpa=spring-data-jpa:org.springframework.data jakarta.persistence=jpa:jakarta.persistence hibernate-core=hibernate:org.hibernate mybatis:org.mybatis jooq:org.jooq org.jetbrains.exposed=exposed
boilerplate: lombok:lombok
test_helpers: assertj-core=assertj:org.assertj truth:com.google.common.truth hamcrest:org.hamcrest testcontainers:org.testcontainers
mocking: mockito-core=mockito:org.mockito mockk:io.mockk wiremock:com.github.tomakehurst
logging: slf4j-api=slf4j:org.slf4j log4j-core=log4j:org.apache.logging
json: jackson-databind=jackson:com.fasterxml.jackson gson:com.google.gson moshi:com.squareup.moshi
http_client: okhttp:okhttp3 retrofit:retrofit2
cli: picocli
mapping: mapstruct:org.mapstruct
""",
    "ruby": """
web_framework: rails sinatra hanami grape roda
orm: activerecord sequel rom
http_client: faraday httparty http rest-client typhoeus
background_jobs: sidekiq resque good_job solid_queue delayed_job
test_helpers: factory_bot_rails=factory_bot factory_bot shoulda-matchers
mocking: webmock vcr mocha
authorization: pundit cancancan
authentication: devise
web_server: puma unicorn
database: pg mysql2 sqlite3 trilogy
cli: thor
""",
    "cpp": """
test_helpers: gtest=GoogleTest:gtest catch2=Catch2:catch2 doctest
logging: spdlog glog
formatting: fmt
json: nlohmann_json=nlohmann/json:nlohmann rapidjson
""",
}
_JOBS["typescript"] = _JOBS["javascript"]
_JOBS["kotlin"] = _JOBS["java"]
_JOBS["c"] = _JOBS["cpp"]
_STANDARD = {"log/slog": "go", "argparse": "python"}  # in the standard library: no manifest names them
_OF_TESTS = frozenset({"test_helpers", "mocking", "property_tests", "e2e_tool"})
_SEVERAL = frozenset({"test_helpers", "mocking", "terminal", "error_library", "database", "serialization"})


def library_conventions(ground: Ground, seen: Mapping[str, SourceSigns]) -> list[Convention]:
    conventions: dict[tuple[str, str], Convention] = {}
    for language in ground.main[:3]:
        files = {path: file.imports for path, file in seen.items() if file.language == language}
        program = {path: imports for path, imports in files.items() if not seen[path].is_test}
        for line in _JOBS.get(language, "").strip().splitlines() if files else ():
            job, _, names = line.partition(": ")
            among = files if job in _OF_TESTS else program
            for choice in _chosen(ground, job, names.split(), among, language):
                conventions.setdefault((choice.category, choice.pattern), choice)
    return list(conventions.values())


def _chosen(
    ground: Ground, job: str, names: list[str], files: Mapping[str, tuple[str, ...]], language: str
) -> list[Convention]:
    several = job in _SEVERAL
    uses: list[tuple[int, str, Evidence, list[str]]] = []
    for word in names:
        spec, _, module = word.partition(":")
        dependency, _, label = spec.partition("=")
        versions = (f"{dependency}/v{n}" for n in range(2, 12) if language == "go")
        where = ground.dependency(dependency, *versions)
        if where is None and _STANDARD.get(dependency) != language:
            continue
        module = module or dependency
        importing = [
            path for path, imports in files.items() if any(_is_from(name, module) for name in imports)
        ]
        if where is None and len(importing) >= 3:
            where = Evidence(importing[0])
        if where is not None and (importing or "/" not in where.path):
            # A Gemfile requires its gems: no file of the program has to import them.
            count = len(importing) or int(where.path == "Gemfile")
            uses.append((count, label or dependency, where, importing[:1]))
    uses.sort(key=lambda use: -use[0])
    most = uses[0][0] if uses else 0
    choices = []
    for count, label, where, example in uses[: 4 if several else 1]:
        others = 0 if several else sum(use[0] for use in uses if use[1] != label)
        few = count < 2 if several else count < 0.25 * most
        if count == 0 or (few and most > 1) or count < 0.6 * (count + others):
            continue  # hardly imported, or one of several: not a choice
        if count == 1 and (
            others or "/" in where.path or not (job in _OF_TESTS or ground.runs_with(where.field))
        ):
            continue
        confidence = 0.6 + 0.38 * (count + 1) / (count + others + 2)
        alternatives = ", ".join(use[1] for use in uses if use[1] != label and use[0])
        choices.append(
            convention(job, label, confidence if count > 1 else 0.6, where, *map(Evidence, example), count=count,
                       counter=others, scope=ground.scope(language),
                       example=f"{where.path}: {where.field}" + (f" (beside {alternatives})" if alternatives and others else ""))
        )  # fmt: skip
    return choices


def _is_from(name: str, module: str) -> bool:
    """Whether an import is from a module: `serde::de`, `@scope/x/sub`, `org.assertj.core`, `httpx`."""
    plain = module.replace("-", "_") if "/" not in module and "." not in module else module
    return name in (plain, module) or (
        name.startswith((plain, module))
        and name[len(plain) : len(plain) + 1] in "/.:"
        and len(name) > len(plain)
    )
