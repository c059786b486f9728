"""Tables for `stack.py`: which name says which language or framework. The earlier entry wins."""

from __future__ import annotations

from holdfast.core.patterns import PrefilteredRegex


def _pairs(block: str) -> tuple[tuple[str, str], ...]:
    return tuple(
        (name, framework or name) for name, _, framework in (item.partition("=") for item in block.split())
    )


LANGUAGE_OF_EXTENSION: dict[str, str] = {
    extension: language
    for language, extensions in {
        "go": "go",
        "rust": "rs",
        "python": "py pyi pyx ipynb",
        "typescript": "ts tsx mts cts",
        "javascript": "js jsx mjs cjs vue svelte astro",
        "java": "java",
        "kotlin": "kt kts",
        "scala": "scala sc",
        "groovy": "groovy",
        "ruby": "rb erb",
        "php": "php",
        "csharp": "cs razor",
        "fsharp": "fs",
        "vb": "vb",
        "c": "c h",
        "cpp": "cc cpp cxx hpp hh hxx ino",
        "objective-c": "m mm",
        "swift": "swift",
        "dart": "dart",
        "elixir": "ex exs heex",
        "erlang": "erl",
        "haskell": "hs",
        "ocaml": "ml mli",
        "clojure": "clj cljs cljc",
        "lua": "lua",
        "r": "r rmd",
        "julia": "jl",
        "perl": "pl pm",
        "zig": "zig",
        "nim": "nim",
        "crystal": "cr",
        "solidity": "sol",
        "gdscript": "gd",
        "elm": "elm",
        "shell": "sh bash zsh fish bats",
        "powershell": "ps1",
        "terraform": "tf",
        "nix": "nix",
        "sql": "sql",
        "html": "html css scss",
        "docs": "md mdx rst adoc",
        "latex": "tex",
    }.items()
    for extension in extensions.split()
}

# What carries little weight beside a language that programs are written in.
LIGHT_LANGUAGES: dict[str, float] = {
    "docs": 0.01,
    "html": 0.05,
    "latex": 0.05,
    "sql": 0.1,
    "nix": 0.2,
    "shell": 0.3,
    "powershell": 0.3,
}

# Languages whose frameworks serve each other's projects.
FAMILIES: tuple[frozenset[str], ...] = (
    frozenset({"typescript", "javascript"}),
    frozenset({"java", "kotlin", "scala", "groovy"}),
    frozenset({"c", "cpp"}),
    frozenset({"csharp", "fsharp", "vb"}),
    frozenset({"swift", "objective-c"}),
    frozenset({"elixir", "erlang"}),
)

# Dependency or dependency=framework, per language of the manifest, the more telling first.
DEPENDENCIES: dict[str, tuple[tuple[str, str], ...]] = {
    "javascript": _pairs(
        """
        next nuxt @remix-run/react=remix @react-router/dev=react-router gatsby astro
        @sveltejs/kit=sveltekit @solidjs/start=solid @tanstack/react-start=tanstack-start
        @docusaurus/core=docusaurus vitepress expo react-native electron @tauri-apps/api=tauri
        @ionic/core=ionic @capacitor/core=capacitor @nestjs/core=nestjs @angular/core=angular
        ember-source=ember ink vscode @redwoodjs/core=redwood @adonisjs/core=adonis
        @strapi/strapi=strapi payload vue svelte solid-js=solid preact lit @builder.io/qwik=qwik react
        alpinejs=alpine phaser three @babylonjs/core=babylon fastify hono elysia express koa
        @hapi/hapi=hapi @trpc/server=trpc discord.js=discord telegraf @modelcontextprotocol/sdk=mcp
        hardhat @oclif/core=oclif commander yargs jquery
        """
    ),
    "python": _pairs(
        """
        django fastapi flask litestar sanic starlette pyramid tornado bottle apache-airflow=airflow
        dagster prefect scrapy streamlit gradio dash homeassistant=home-assistant odoo kivy pyqt6=qt
        pyqt5=qt pyside6=qt pygame discord-py=discord aiogram langgraph langchain vllm lightning=pytorch
        pytorch-lightning=pytorch torch=pytorch tensorflow jax transformers scikit-learn pyspark=spark
        celery textual mcp fastmcp=mcp aiohttp typer click pandas
        """
    ),
    "go": _pairs(
        """
        github.com/gin-gonic/gin=gin github.com/labstack/echo=echo github.com/gofiber/fiber=fiber
        github.com/go-chi/chi=chi github.com/gorilla/mux=gorilla github.com/beego/beego=beego
        github.com/go-kratos/kratos=kratos github.com/zeromicro/go-zero=go-zero
        github.com/go-kit/kit=go-kit github.com/gobuffalo/buffalo=buffalo
        github.com/wailsapp/wails=wails fyne.io/fyne=fyne github.com/hajimehoshi/ebiten=ebiten
        sigs.k8s.io/controller-runtime=controller-runtime github.com/cosmos/cosmos-sdk=cosmos-sdk
        github.com/hashicorp/terraform-plugin-framework=terraform-plugin
        github.com/hashicorp/terraform-plugin-sdk=terraform-plugin
        github.com/charmbracelet/bubbletea=bubbletea github.com/rivo/tview=tview
        google.golang.org/grpc=grpc connectrpc.com/connect=connect github.com/spf13/cobra=cobra
        github.com/urfave/cli=urfave-cli github.com/alecthomas/kong=kong
        """
    ),
    "rust": _pairs(
        """
        tauri axum actix-web=actix rocket warp poem salvo loco-rs=loco leptos dioxus yew bevy iced
        eframe=egui slint gtk4=gtk ratatui embassy-executor=embassy anchor-lang=anchor pyo3 napi tonic
        wasm-bindgen clap tokio
        """
    ),
    "ruby": _pairs(
        """
        rails railties=rails hanami sinatra roda grape jekyll thor
        """
    ),
    "php": _pairs(
        """
        laravel/framework=laravel illuminate/support=laravel symfony/framework-bundle=symfony
        slim/slim=slim cakephp/cakephp=cakephp codeigniter4/framework=codeigniter yiisoft/yii2=yii
        drupal/core=drupal drupal/core-recommended=drupal typo3/cms-core=typo3 magento/framework=magento
        roots/wordpress=wordpress johnpbloch/wordpress=wordpress livewire/livewire=laravel
        symfony/console=symfony
        """
    ),
    "java": _pairs(
        """
        com.android.application=android com.android.library=android org.springframework.boot=spring
        spring-boot=spring org.springframework=spring io.quarkus=quarkus io.micronaut=micronaut
        io.ktor=ktor io.dropwizard=dropwizard io.vertx=vertx io.javalin=javalin jakarta.ee=jakarta
        org.jetbrains.compose=compose org.openjfx=javafx javafx fabric-loom=fabric
        net.minecraftforge=forge io.papermc=paper com.badlogicgames.gdx=libgdx org.apache.spark=spark
        org.apache.flink=flink org.jetbrains.intellij=intellij com.typesafe.play=play
        org.playframework=play akka org.http4s=http4s dev.zio=zio info.picocli=picocli
        """
    ),
    "dart": _pairs(
        """
        flutter serverpod dart_frog=dart-frog shelf
        """
    ),
    "elixir": _pairs(
        """
        phoenix phoenix_live_view=phoenix ash_phoenix=phoenix nerves ash plug
        """
    ),
    "csharp": _pairs(
        """
        microsoft.net.sdk.blazorwebassembly=blazor usemaui=maui avalonia usewpf=wpf
        usewindowsforms=winforms microsoft.net.sdk.web=aspnet microsoft.aspnetcore.app=aspnet
        microsoft.azure.functions.worker=azure-functions monogame.framework.desktopgl=monogame
        godot.net.sdk=godot
        """
    ),
    "swift": _pairs(
        """
        vapor hummingbird swift-composable-architecture=tca swift-argument-parser=argument-parser
        """
    ),
    "cpp": _pairs(
        """
        qt6=qt qt5=qt ament_cmake=ros catkin=ros wxwidgets gtkmm=gtk juce sdl2=sdl sdl3=sdl zephyr cuda
        opencv boost idf=esp-idf arduino
        """
    ),
    "haskell": _pairs(
        """
        yesod servant scotty brick
        """
    ),
    "r": _pairs(
        """
        shiny
        """
    ),
}
DEPENDENCIES["typescript"] = DEPENDENCIES["javascript"]
DEPENDENCIES["kotlin"] = DEPENDENCIES["scala"] = DEPENDENCIES["groovy"] = DEPENDENCIES["java"]
DEPENDENCIES["c"] = DEPENDENCIES["cpp"]
DEPENDENCIES["fsharp"] = DEPENDENCIES["vb"] = DEPENDENCIES["csharp"]

# Frameworks that are a tool of the trade when only a developer's dependency.
NOT_FROM_DEV = frozenset(
    {
        "express",
        "koa",
        "fastify",
        "hono",
        "commander",
        "yargs",
        "jquery",
        "oclif",
        "trpc",
        "mcp",
        "three",
        "ink",
    }
)

# A file name or path that only one framework has: (pattern, language, framework).
TELLING_PATHS: tuple[tuple[str, str, str], ...] = (
    (r"(?:^|/)next\.config\.\w+$", "typescript", "next"),
    (r"(?:^|/)nuxt\.config\.\w+$", "typescript", "nuxt"),
    (r"(?:^|/)angular\.json$", "typescript", "angular"),
    (r"(?:^|/)nest-cli\.json$", "typescript", "nestjs"),
    (r"(?:^|/)astro\.config\.\w+$|\.astro$", "typescript", "astro"),
    (r"(?:^|/)remix\.config\.\w+$", "typescript", "remix"),
    (r"(?:^|/)gatsby-config\.\w+$", "javascript", "gatsby"),
    (r"(?:^|/)src/routes/\+(?:page|layout|server)\S*$", "typescript", "sveltekit"),
    (r"(?:^|/)src-tauri/", "rust", "tauri"),
    (r"(?:^|/)manage\.py$", "python", "django"),
    (r"(?:^|/)artisan$|(?:^|/)app/Http/(?:Controllers|Middleware)/", "php", "laravel"),
    (r"(?:^|/)bin/console$|(?:^|/)symfony\.lock$", "php", "symfony"),
    (r"(?:^|/)wp-(?:config|load)\.php$|(?:^|/)wp-content/", "php", "wordpress"),
    (
        r"(?:^|/)bin/rails$|(?:^|/)config/(?:routes|application)\.rb$|(?:^|/)app/(?:models|controllers)/\S+\.rb$",
        "ruby",
        "rails",
    ),
    (r"(?:^|/)lib/\w+_web/|(?:^|/)\w+_web\.ex$", "elixir", "phoenix"),
    (r"(?:^|/)AndroidManifest\.xml$", "kotlin", "android"),
    (r"\.razor$", "csharp", "blazor"),
    (r"(?:^|/)ProjectSettings/ProjectVersion\.txt$", "csharp", "unity"),
    (r"\.uproject$", "cpp", "unreal"),
    (r"(?:^|/)project\.godot$", "gdscript", "godot"),
    (r"(?:^|/)platformio\.ini$", "cpp", "platformio"),
    (r"(?:^|/)\.metadata$|(?:^|/)lib/main\.dart$|(?:^|/)ios/Runner/", "dart", "flutter"),
    (r"(?:^|/)foundry\.toml$", "solidity", "foundry"),
    (r"\.vue$", "typescript", "vue"),
    (r"\.svelte$", "typescript", "svelte"),
    (r"\.[jt]sx$", "typescript", "react"),
)

# For a checkout without program code: (pattern, project type, framework).
PLAIN_PROJECTS: tuple[tuple[str, str, str], ...] = (
    (r"^(?:.*/)?Chart\.yaml$", "helm", "helm"),
    (
        r"^(?:ansible\.cfg|galaxy\.ya?ml|(?:.*/)?playbooks?/[^/]+\.ya?ml|(?:.*/)?tasks/main\.ya?ml)$",
        "ansible",
        "ansible",
    ),
    (r"^(?:.*/)?kustomization\.ya?ml$", "kubernetes", "kustomize"),
    (r"^hugo\.(?:toml|ya?ml|json)$|^archetypes/default\.md$", "docs", "hugo"),
    (r"^_config\.ya?ml$", "docs", "jekyll"),
    (r"^mkdocs\.ya?ml$", "docs", "mkdocs"),
    (r"^(?:.*/)?(?:Dockerfile[^/]*|Containerfile|docker-compose\.ya?ml|compose\.ya?ml)$", "docker", "docker"),
)

# What a shell command says: (pattern, language, framework or "").
TELLING_COMMANDS: tuple[tuple[PrefilteredRegex, str, str], ...] = (
    (
        PrefilteredRegex(r"\bmanage\.py\b|\bdjango-admin\b", words="manage.py|django-admin"),
        "python",
        "django",
    ),
    (PrefilteredRegex(r"\bflask (?:run|--app|db|shell)\b", words="flask "), "python", "flask"),
    (PrefilteredRegex(r"\bfastapi (?:dev|run)\b", words="fastapi "), "python", "fastapi"),
    (PrefilteredRegex(r"\bstreamlit run\b", words="streamlit run"), "python", "streamlit"),
    (PrefilteredRegex(r"\bscrapy (?:crawl|startproject|runspider)\b", words="scrapy "), "python", "scrapy"),
    (PrefilteredRegex(r"\bcelery (?:-A|worker|beat)\b", words="celery "), "python", "celery"),
    (PrefilteredRegex(r"\bairflow (?:dags|tasks|db|standalone)\b", words="airflow "), "python", "airflow"),
    (PrefilteredRegex(r"\bphp artisan\b", words="php artisan"), "php", "laravel"),
    (PrefilteredRegex(r"\bbin/console\b", words="bin/console"), "php", "symfony"),
    (
        PrefilteredRegex(
            r"\bbin/rails\b|\brails (?:s|server|c|console|g|generate|db:\w+|test|new)\b", words="rails"
        ),
        "ruby",
        "rails",
    ),
    (PrefilteredRegex(r"\bmix phx\.", words="mix phx."), "elixir", "phoenix"),
    (
        PrefilteredRegex(r"\bflutter (?:run|test|build|pub|analyze|create|doctor)\b", words="flutter "),
        "dart",
        "flutter",
    ),
    (PrefilteredRegex(r"\bnext (?:dev|build|start|lint)\b", words="next "), "typescript", "next"),
    (PrefilteredRegex(r"\bnuxi?(?:t)? (?:dev|build|generate|prepare)\b", words="nux"), "typescript", "nuxt"),
    (PrefilteredRegex(r"\bng (?:serve|build|test|generate)\b", words="ng "), "typescript", "angular"),
    (PrefilteredRegex(r"\bastro (?:dev|build|check)\b", words="astro "), "typescript", "astro"),
    (PrefilteredRegex(r"\bexpo (?:start|run|prebuild|install)\b", words="expo "), "typescript", "expo"),
    (PrefilteredRegex(r"\bnest (?:start|build|generate|g)\b", words="nest "), "typescript", "nestjs"),
    (PrefilteredRegex(r"\bsvelte-(?:kit|check)\b", words="svelte-"), "typescript", "svelte"),
    (PrefilteredRegex(r"\b(?:cargo|npm run|pnpm) tauri\b", words="tauri"), "rust", "tauri"),
    (
        PrefilteredRegex(
            r"\bcargo (?:build|test|run|check|clippy|fmt|add|nextest|bench|install)\b|\brustc\b|\brustup\b",
            words="cargo |rustc|rustup",
        ),
        "rust",
        "",
    ),
    (
        PrefilteredRegex(
            r"\bgo (?:test|build|run|vet|mod|get|generate|fmt|install)\b|\bgofmt\b|\bgolangci-lint\b",
            words="go |gofmt|golangci-lint",
        ),
        "go",
        "",
    ),
    (
        PrefilteredRegex(
            r"\bpytest\b|\bpython3? -m \w|\bpip3? install\b|\buv (?:run|pip|sync|add)\b|\bpoetry\b|"
            r"\bruff\b|\bmypy\b|\btox\b",
            words="pytest|python|pip|uv |poetry|ruff|mypy|tox",
        ),
        "python",
        "",
    ),
    (
        PrefilteredRegex(
            r"\btsc\b|\btsx\b|\bts-node\b|\bvitest\b|\bdeno\b", words="tsc|tsx|ts-node|vitest|deno"
        ),
        "typescript",
        "",
    ),
    (
        PrefilteredRegex(
            r"\b(?:npm|yarn|pnpm|bun|npx|node|jest|eslint)\b", words="npm|yarn|bun|npx|node|jest|eslint"
        ),
        "javascript",
        "",
    ),
    (
        PrefilteredRegex(
            r"\bbundle (?:exec|install)\b|\brspec\b|\brubocop\b|\brake\b|\bgem install\b",
            words="bundle |rspec|rubocop|rake|gem install",
        ),
        "ruby",
        "",
    ),
    (
        PrefilteredRegex(
            r"\bcomposer (?:install|require|test|update)\b|\bphpunit\b|\bphpstan\b",
            words="composer |phpunit|phpstan",
        ),
        "php",
        "",
    ),
    (PrefilteredRegex(r"\b(?:mvn|mvnw)\b", words="mvn"), "java", ""),
    (PrefilteredRegex(r"\b(?:gradle|gradlew)\b", words="gradle"), "java", ""),
    (PrefilteredRegex(r"\bmix (?:test|deps|compile|format|ecto)\b|\biex\b", words="mix |iex"), "elixir", ""),
    (
        PrefilteredRegex(r"\bdotnet (?:build|test|run|restore|publish|format)\b", words="dotnet "),
        "csharp",
        "",
    ),
    (
        PrefilteredRegex(r"\bswift (?:build|test|run|package)\b|\bxcodebuild\b", words="swift |xcodebuild"),
        "swift",
        "",
    ),
    (PrefilteredRegex(r"\bdart (?:run|test|pub|analyze|format)\b", words="dart "), "dart", ""),
    (
        PrefilteredRegex(r"\bcmake\b|\bctest\b|\bclang\+\+|\bg\+\+", words="cmake|ctest|clang++|g++"),
        "cpp",
        "",
    ),
    (PrefilteredRegex(r"\bsbt\b", words="sbt"), "scala", ""),
    (
        PrefilteredRegex(
            r"\b(?:stack (?:build|test)|cabal (?:build|test|run)|ghc)\b", words="stack |cabal |ghc"
        ),
        "haskell",
        "",
    ),
    (PrefilteredRegex(r"\bzig (?:build|test|run)\b", words="zig "), "zig", ""),
    (
        PrefilteredRegex(
            r"\bterraform (?:init|plan|apply|validate|fmt)\b|\btofu (?:init|plan|apply)\b",
            words="terraform |tofu ",
        ),
        "terraform",
        "",
    ),
    (PrefilteredRegex(r"\bansible-(?:playbook|lint|galaxy)\b", words="ansible-"), "ansible", "ansible"),
    (PrefilteredRegex(r"\bhelm (?:install|upgrade|lint|template)\b", words="helm "), "helm", "helm"),
    (PrefilteredRegex(r"\bforge (?:build|test)\b", words="forge "), "solidity", "foundry"),
    (PrefilteredRegex(r"\bRscript\b", words="Rscript"), "r", ""),
    (PrefilteredRegex(r"\bjulia\b", words="julia"), "julia", ""),
    (PrefilteredRegex(r"\bshellcheck\b", words="shellcheck"), "shell", ""),
)

# Commands that only look at files: names in their arguments say nothing of what runs.
LOOKING_COMMANDS = frozenset(
    {
        "cat",
        "ls",
        "grep",
        "rg",
        "sed",
        "awk",
        "head",
        "tail",
        "find",
        "echo",
        "cd",
        "git",
        "gh",
        "cp",
        "mv",
        "rm",
    }
    | {
        "mkdir",
        "which",
        "less",
        "wc",
        "diff",
        "jq",
        "chmod",
        "touch",
        "open",
        "curl",
        "tree",
        "stat",
        "printf",
    }
)
