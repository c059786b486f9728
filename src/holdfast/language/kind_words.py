"""The words that people use to request a kind of work, in several languages. Data for `kind.py`."""

from __future__ import annotations

import re

from holdfast.core.patterns import PrefilteredRegex, lazy_regex
from holdfast.model.ledger import Kind

CONVENTIONAL: dict[str, Kind] = {
    "feat": Kind.FEATURE,
    "feature": Kind.FEATURE,
    "fix": Kind.BUGFIX,
    "bugfix": Kind.BUGFIX,
    "hotfix": Kind.BUGFIX,
    "bug": Kind.BUGFIX,
    "debug": Kind.BUGFIX,
    "refactor": Kind.REFACTOR,
    "perf": Kind.REFACTOR,
    "style": Kind.REFACTOR,
    "cleanup": Kind.REFACTOR,
    "docs": Kind.DOCS,
    "doc": Kind.DOCS,
    "test": Kind.TEST,
    "tests": Kind.TEST,
    "ci": Kind.CONFIG,
    "build": Kind.CONFIG,
    "chore": Kind.CONFIG,
    "deps": Kind.CONFIG,
    "migration": Kind.MIGRATION,
    "migrate": Kind.MIGRATION,
    "review": Kind.REVIEW,
    "brainstorm": Kind.EXPLORATION,
    "research": Kind.EXPLORATION,
    "q": Kind.EXPLORATION,
    "question": Kind.EXPLORATION,
}

# A word in the name of a slash command, and the kind of work that it requests.
SLASH_COMMANDS: tuple[tuple[str, Kind], ...] = (
    ("review", Kind.REVIEW),
    ("refactor", Kind.REFACTOR),
    ("simplify", Kind.REFACTOR),
    ("clean", Kind.REFACTOR),
    ("migrat", Kind.MIGRATION),
    ("upgrade", Kind.MIGRATION),
    ("fix", Kind.BUGFIX),
    ("debug", Kind.BUGFIX),
    ("bug", Kind.BUGFIX),
    ("test", Kind.TEST),
    ("tdd", Kind.TEST),
    ("doc", Kind.DOCS),
    ("readme", Kind.DOCS),
    ("changelog", Kind.DOCS),
    ("init", Kind.DOCS),
    ("explain", Kind.EXPLORATION),
    ("explore", Kind.EXPLORATION),
    ("research", Kind.EXPLORATION),
    ("brainstorm", Kind.EXPLORATION),
    ("investigate", Kind.EXPLORATION),
    ("plan", Kind.EXPLORATION),
    ("feature", Kind.FEATURE),
    ("implement", Kind.FEATURE),
)

_TEST_NOUN = (
    r"(?:unit |integration |e2e |regression |end-to-end |smoke |snapshot )?(?:tests?|"
    r"test cases?|specs?|test coverage|coverage)"
)
# Words between a verb and its object; a conjunction ends the object.
_OBJECT = r"(?:(?!(?:with|and|for|to|in|that|so|then|which|from)\b)[\w'’`./-]+ ){0,4}?"
_CI = (
    r"(?:(?<![:\w-])ci(?!\w)|ci/cd|lint(?:er|ing|s)?|eslint|ruff|mypy|prettier|"
    r"golangci\S*|clippy|formatt(?:er|ing)|github actions?|gh actions?|"
    r"workflows?|pipelines?|pre-commit|dependabot|renovate|typecheck)"
)
_CONFIG_NOUN = (
    rf"(?:{_CI}|docker(?:file)?|docker[- ]compose|makefile|justfile|\.?gitignore|"
    r"codeowners|tsconfig\S*|package\.json|pyproject\S*|"
    r"dependenc(?:y|ies)|deps|build scripts?|build (?:config\S*|setup|system)|"
    r"webpack(?: config\S*)?|vite config|goreleaser|release (?:workflow|action|"
    r"config\S*)|devcontainer|editorconfig|env(?:ironment)? (?:vars?|variables?)|config(?:uration)? files?)"
)
_DOC_NOUN = (
    r"(?:readme\S*|docs?|documentation|change-?log|docstrings?|code comments?|"
    r"user guide|guide|tutorial|wiki|adr|claude\.md|agents\.md|"
    r"contributing\S*|product requirements documents?|prd\b|requirements? documents?|javadoc|jsdoc|godoc"
    r"|api reference|doku\w*|docstring|\w[\w-]*\.(?:mdx?|rst|adoc))"
)
_MAKE = (
    r"(?:add|write|create|implement|extend|improve|generate|increase|expand|include|"
    r"need|build|backfill|cover|draft|have|do)"
)

QUESTION = PrefilteredRegex(
    r"^\W*(?:so |ok(?:ay)? |hey |hi |and |but |hmm\w* |claude )*(?:why|how|what|"
    r"what['’]?s|whats|where|when (?:is|are|does|do|did|will|was)|which|who|is|"
    r"are|was|were|does|do (?:we|you|i|they|the|these|all)|did|has|explain|"
    r"investigate|explore|understand|analy[sz]e|research|compare|brainstorm|describe|"
    r"summari[sz]e|walk me|trace|thoughts on|evaluate|assess|tell me|"
    r"show me|look (?:at|into|through)|check (?:if|whether|what|how|when|why)|"
    r"find out|figure out|can it be|could it be|search|read|diagnose|propose|"
    r"audit|review|explica|erkläre?|explique)\b"
    r"|\b(?:help me understand|tell me|let me know (?:if|what|whether)|what['’]?s the reason|"
    r"can you (?:check|tell|explain|read|see|find|look into|re-?check)|"
    r"double check|is there (?:a|any)|are there|what happens|genuine question|"
    r"any (?:idea|thoughts)|do (?:we|you) (?:have|know)|investigate|why (?:is|"
    r"are|does|do|did|was|would))\b|\?\s*$",
    re.IGNORECASE,
)
# Openings of a question; a later verb is then its topic, unless it is requested.
PURE_QUESTION = PrefilteredRegex(
    r"^\W*(?:q: *|so |and |but |hmm\w* |(?:on|in|at|for) )*(?:why|how|what(?! (?:i|"
    r"we)\b| i['’])|what['’]?s|whats|where|when (?:is|are|does|do|did|will|was)|"
    r"which|who|is|are|was|were|does|do (?:we|you|i|they)|did|has|"
    r"investigate|review|check|explain|compare|analy[sz]e|describe|explore)\b",
    re.IGNORECASE,
)
REQUEST = PrefilteredRegex(
    r"(?:\b(?:can|could|should|would) (?:we|you)|\blet['’]?s|\blets|\bplease|"
    r"\bwe should|\b(?:want|like|need) (?:us |you )?to|\bsuggest we)\b.{0,60}",
    re.IGNORECASE,
)
# Politeness before the verb.
POLITE = lazy_regex(
    r"^(?:[\s,.]*(?:(?:can|could|would|will) (?:you|we)|please|pls|let['’]?s|"
    r"lets|i(?:['’]d| would)? (?:want|like|need)(?: you| us)?(?: to)?|"
    r"we (?:need|should|want)(?: to)?|help me|now|ok(?:ay)?|hey|hi|then|just|also|first|claude)\b[\s,.-]*)+",
    re.IGNORECASE,
)
# Running something does not change the checkout, so it has no kind of its own.
OPERATION = PrefilteredRegex(
    r"^\W*(?:run|start|execute|launch|push|commit|merge|rebase|pull|fetch|checkout|"
    r"check out|switch to|open|publish|deploy|release|stop|restart|install|"
    r"create (?:me )?(?:a |the )?(?:draft )?(?:pr|pull request|branch|issue|commit|worktree)|"
    r"(?:git|give|write|generate) me (?:a |the )?(?:commit|summary|pr)|use the \S+(?: \S+)? skill)\b|"
    r"\b(?:delete|remove|clean up) (?:\w+ ){0,3}?branch(?:es)?\b",
    re.IGNORECASE,
)


def _said(words: str, pattern: str) -> PrefilteredRegex:
    """Build a pattern; every match contains one of the words. '' if they would be too many or too common."""
    return PrefilteredRegex(pattern, re.IGNORECASE, words=words)


# Strong: decides, whatever was edited. The earliest match in the text wins; on a tie, the first listed.
STRONG: tuple[tuple[Kind, str, PrefilteredRegex], ...] = (
    (
        Kind.REVIEW,
        "asks for a review",
        _said(
            "review",
            r"\b(?:code|security|peer|pr|design) review\b(?! (?:comment|feedback|note))",
        ),
    ),
    (
        Kind.REVIEW,
        "asks for a review",
        _said(
            "review",
            r"\breview(?:ing)?\b(?! (?:comment|feedback|note|agent))"
            + r"(?= (?:[\w/'’`#.-]+ ){0,6}?(?:prs?\b|pull request|mr\b|merge request|"
            r"branch|diff|changes?|commits?|code\b|files?\b|scripts?\b|implementation|patch|tests\b|contribution|"
            r"this\b|my\b|it\b|plan\b|design)|\s*$| https?:)",
        ),
    ),
    (
        Kind.REVIEW,
        "works through review comments",
        _said(
            "comment|feedback|finding|note|suggestion",
            r"\b(?:respond|reply|address|work|go|start|resolve|fix|handle|consider|got)\b.{0,40}\b(?:(?:pr|"
            r"review|reviewer|code review|copilot|bugbot)"
            r" (?:comments?|feedback|findings?|notes?|suggestions?)|feedback (?:on|for) (?:the|"
            r"this|my|our) (?:pr|branch|changes?))",
        ),
    ),
    (
        Kind.TEST,
        "asks for tests",
        _said(
            "test|spec|coverage",
            rf"\b{_MAKE} {_OBJECT}{_TEST_NOUN}\b(?! (?:repo|skill|button|mode|data|env\w*|"
            r"server|runner|flag|harness|is|are|fail))",
        ),
    ),
    (
        Kind.TEST,
        "asks for tests",
        _said(
            "test",
            r"\b(?:tests? (?:for|covering|should (?:check|cover|include))|test suite .{0,40}should)\b",
        ),
    ),
    (
        Kind.BUGFIX,
        "a test fails",
        _said(
            "test",
            r"\b(?:fix|repair|sort out|resolve|debug|unbreak)\b (?:[\w:'’-]+ ){0,4}tests?\b|"
            r"\btests?\b(?: suite)?(?: \w+){0,4}? (?:fail\w*|broken|flaky|red|break\w*|"
            r"crash\w*)"
            r"|\b(?:failing|failed|flaky|broken) (?:\w+ ){0,2}tests?\b",
        ),
    ),
    (
        Kind.CONFIG,
        "about the build or its checks",
        _said(
            "fix|resolve|repair|address",
            rf"\b(?:fix|resolve|repair|address)\b (?:[\w'’-]+ ){{0,3}}{_CI}\b",
        ),
    ),
    (
        Kind.CONFIG,
        "about the build or its checks",
        _said(
            "fail|error|broken|is red",
            rf"\b{_CI}\b(?:\s\w+){{0,3}} (?:fail\w*|errors?|broken|is red)\b|\bwhy (?:\w+ ){{0,2}}{_CI} fail",
        ),
    ),
    (
        Kind.CONFIG,
        "about configuration or dependencies",
        _said(
            "",
            r"\b(?:set ?up|configure|add|update|upgrade|bump|pin|create|enable|use|change|"
            rf"remove|tweak|install)\b (?!.{{0,30}}\b(?:command|page|endpoint)\b){_OBJECT}{_CONFIG_NOUN}(?!\s*-|"
            r"\w)",
        ),
    ),
    (
        Kind.CONFIG,
        "raises a version",
        _said(
            "bump|update|upgrade|pin",
            r"\b(?:bump|update|upgrade|pin)\b (?!.{0,40}\bmajor\b)[\w@/.-]+(?: \w+){0,6}? (?:to|"
            r"from) (?:version )?v?\d+\.\d+",
        ),
    ),
    (
        Kind.MIGRATION,
        "moves to something newer or different",
        _said(
            "migrat|port|upgrad|bump|move|switch|convert|transition",
            r"\bmigrat(?:e|ing)\b|\bmigration (?:to|from|of)\b|\bport(?:ing)? (?:\S+ ){0,6}?(?:to|"
            r"from|over)\b|\bupgrad(?:e|ing) (?!to\b)|"
            r"\bbump\b.{0,40}\bmajor\b|\b(?:move|switch|convert|transition)(?:ing)? (?:\S+ ){0,5}?from "
            r".{1,60}? to\b|\bconvert (?:\S+ ){1,6}?to (?:typescript|python ?3|esm|rust|"
            r"go|kotlin|swift|async)\b",
        ),
    ),
    (
        Kind.DOCS,
        "asks for documentation",
        _said(
            "doc|readme|prd|change-log|changelog|comment|guide|tutorial|wiki|adr|.md|contributing"
            "|api reference|doku|.rst",
            r"\b(?:update|write|add|improve|edit|creat(?:e|ing)|rewrite|translate|fix|restore|"
            r"extend|expand|tighten|adjust|correct|generate|include|review|refresh)\b "
            rf"(?:(?!(?:with|so|then|which|from|for|that)\b)[\w'’`/-]+ ){{0,6}}?{_DOC_NOUN}(?![\w-])|"
            rf"\bcomments? .{{0,30}}\b(?:outdated|stale|misleading)\b|\bdocument (?:the|"
            r"how|our|this|all|these|it|every|what|api)\b",
        ),
    ),
    (
        Kind.REFACTOR,
        "asks to reshape code",
        _said(
            "refactor|renam|restructur|reorgani|duplicat|clean|simplif|tidy|unify|consolidat|modulari"
            "|decoupl|flatten|inline|rewrite|extract |split |move |unused|dead|redundant|legacy"
            "|unreachable|obsolete|replace the |complex|extracted into",
            r"\b(?:refactor\w*|renam(?:e|ing)|restructur\w+|reorgani[sz]\w+|de-?duplicat\w+|"
            r"clean(?:ing)?[- ]?up|simplif\w+|tidy|unify|consolidat\w+|modulari[sz]e|"
            r"decoupl\w+|flatten|inline|rewrite)\b|\bextract (?!text|data|info|from)|\bextracted into\b|"
            r"\bsplit (?:\S+ ){1,5}?(?:into|up)\b|\bmove (?:\S+ ){1,5}?(?:into|out of|"
            r"to (?:its|a|the) (?:own )?(?:\w+ )?(?:module|package|file|folder|class))\b|"
            r"\b(?:remove|delete|drop)\b (?:\S+ ){0,3}?(?:unused|dead|redundant|duplicate\w*|"
            r"legacy|unreachable|obsolete)\b|\breplace the (?:custom|hand)|"
            r"\b(?:un-?necessar\w+|reduce) (?:\w+ )?(?:complex\w*|duplication)",
        ),
    ),
    (
        Kind.BUGFIX,
        "reports something broken",
        _said(
            "",
            r"(?<![/\w-])(?:fix(?:e[sd]|ing)?(?![/\w-])|bugs?|buggy|debug(?:ging)? (?:this|"
            r"why|the)|hotfix|broken|crash(?:es|ed|ing)?|regression|race condition|deadlock|"
            r"memory leak|"
            r"segfault|traceback|stack ?trace|hangs?|stuck|"
            r"(?:does|did|wo)(?:n['’]?t| not) (?!need|matter|require|have to|"
            r"only|just|necessar|the best|used|duplicat)\w+|(?:is|are|was)(?:n['’]?t| not) (?:work|load|show"
            r"|render|respond|updat"
            r"|sav|send|trigger|call|find|found|pick|display|apply|appl|run|visible|correct|right)\w*"
            r"|not (?:working|being|creating|"
            r"showing|found)|"
            r"there (?:are|is) (?:\w+ ){0,3}errors?\b|lost (?:my|the|all)|worked (?:once|before)"
            r"|should have (?:been )?\w+ .{0,60}\bbut\b|"
            r"expected .{0,80}\b(?:but|not|instead)\b|stop(?:s|ped) working|no longer works|"
            r"merge conflicts?|"
            r"(?:get|got|getting|gives?|see|seeing|this|these|following|throws?|having) (?:(?:an?"
            r"|the) )?(?:\w+ ){0,3}?(?:error|"
            r"errors|exception|failure|failures)\b(?! (?:handling|message|log))|"
            r"fail(?:s|ed|ing)\b|wrong\b|incorrect(?:ly)?|this (?:produces|causes|leads to|"
            r"results in)|over-?match\w*|silently (?:returns?|fails?|drops?)|couldn['’]?t find|"
            r"bombing|messed up|unexpected(?:ly)?|(?:a|the) problem with)",
        ),
    ),
)


# Weak: requests a change; the edited files may overrule it.
WEAK: tuple[tuple[Kind, str, PrefilteredRegex], ...] = (
    (
        Kind.FEATURE,
        "asks for something new",
        _said(
            "",
            r"\b(?:add|adding|implement\w*|create|build|support|introduce|allow|enable|"
            r"make|show|display|include|extend|integrate|develop|expose|"
            r"provide|ensure|handle|print|prevent|improve|hide|track|invert|finish|adopt|"
            r"prototype|disable|change|adjust|adapt|store|send|write|generate|"
            r"insert|be able to|optimi[sz]e|cache|let users|should (?:be|have|not|also|"
            r"only|support|show|add|return|use|include)|missing|wire|patch|set ?up|need an?|"
            r"update|restrict|speed up|fill out|modify|switch)\b",
        ),
    ),
    (
        Kind.REFACTOR,
        "asks to take away or replace",
        _said(
            "",
            r"\b(?:remove|delete|drop|get rid of|strip|replace|move|chang(?:e|ing) .{1,40} from)\b",
        ),
    ),
)


# Languages that the patterns above do not cover: verbs and nouns that request a kind.
OTHER_LANGUAGES: tuple[tuple[Kind, PrefilteredRegex], ...] = (
    (
        Kind.TEST,
        _said(
            "test|prueba|тест|测试|測試|テスト|테스트",
            r"(?:schreibe?|ergänze|füge|erstelle) (?:\w+ ){0,3}?(?:unit-?|integrations?-?)?tests?\b|"
            r"(?:écris|écrire|ajoute[rz]?|rédige) (?:\w+ ){0,3}?tests?\b|"
            r"(?:escrib\w+|añad\w+|agreg\w+|cre(?:a|ar|e)) (?:\w+ ){0,3}?(?:tests?|pruebas)\b|"
            r"(?:escrev\w+|adicion\w+|cri\w+) (?:\w+ ){0,3}?testes?\b|"
            r"(?:scrivi|aggiungi) (?:\w+ ){0,3}?test\b|(?:напиши|добавь) (?:\w+ ){0,3}?тест|"
            r"(?:写|編寫|编写|添加|补充|增加|新增)[^，。]{0,12}(?:测试|測試)|"
            r"テスト(?:コード|ケース)?を?(?:書|追加|作成|実装)|테스트(?: ?코드)?[를을]? ?(?:작성|추가)",
        ),
    ),
    (
        Kind.BUGFIX,
        _said(
            "beheb|reparier|korrigier|fixe|fehl|kaputt|funktioniert nicht|corrige|répare|résou|bogue"
            "|marche|fonctionne|plante|arregl|correg|corrij|solucion|este error|problema|desaparecer|funciona"
            "|falla|consert|risolvi"
            "|funziona|herstel|repareer|werkt niet|исправ|почини|ошибк"
            "|修|解决|报错|崩溃|直|バグ|不具合|エラー|고쳐|수정|버그|오류",
            r"\b(?:beheb\w+|repariere?n?|korrigiere?n?|fixe|fehler|kaputt|schlägt fehl|"
            r"funktioniert nicht)\b|\b(?:corrige[rz]?|répare[rz]?|résou\w+|bogue|ne (?:marche|"
            r"fonctionne) p(?:as|lus)|plante)\b|"
            r"\b(?:arregl\w+|correg\w+|corrij\w+|solucion\w+|no funciona|falla|este error|el problema"
            r"|un problema|deber[ií]a desaparecer)\b|\b(?:corrij\w+|"
            r"consert\w+|não funciona)\b|\b(?:correggi|risolvi|non funziona)\b|\b(?:herstel|"
            r"repareer|werkt niet)\b|"
            r"исправ\w+|почини\w*|ошибк\w+|修复|修復|修正|修好|解决[^，。]{0,16}(?:问题|"
            r"错误|bug)|报错|崩溃|直して|直す|バグ|不具合|エラー|고쳐|수정해|버그|오류",
        ),
    ),
    (
        Kind.REFACTOR,
        _said(
            "refaktor|benenne|räum|vereinfach|aufräumen|refactor|renomme|simplifi|nettoie|nettoyer"
            "|réorganise|renombr|limpia|reorganiz|refator|renomei|rinomina|semplifica|hernoem"
            "|vereenvoudig|рефактор|переименуй|упрост|重构|重構|重命名|简化|簡化|整理|提取|リファクタ|リネーム|名前を変更|簡略化|리팩터"
            "|리팩토|이름 변경",
            r"\b(?:refaktor\w+|benenne\b.{0,60}\bum|umbenennen|räume?\b.{0,40}\bauf|vereinfach\w+|"
            r"aufräumen)|\b(?:refactoris\w+|refactore[rz]?|renomme[rz]?|simplifie[rz]?|"
            r"nettoie|nettoyer|réorganise)\b|"
            r"\b(?:refactoriz\w+|renombr\w+|simplific\w+|limpia\w*|reorganiz\w+|refator\w+|"
            r"renomei\w+|rinomina|semplifica|hernoem|vereenvoudig)|"
            r"отрефактор\w+|рефактор\w+|переименуй|упрост\w+|重构|重構|重命名|简化|簡化|"
            r"整理代码|提取|リファクタ|リネーム|名前を変更|簡略化|整理して|리팩터|리팩토|"
            r"이름 변경",
        ),
    ),
    (
        Kind.MIGRATION,
        _said(
            "migr|portier|aktualisiere|met|actualiza|мигрир|迁移|遷移|升级|升級|移行|アップグレード|マイグレーション|마이그레이션",
            r"\b(?:migriere?n?|portiere?n?|migre[rz]?|migrar?|migra)\b|\b(?:aktualisiere|"
            r"mets? à (?:jour|niveau)|actualiza)\b.{0,40}\b(?:auf|vers|a) (?:version )?\S*\d|"
            r"мигрир\w+|迁移|遷移|升级|升級|移行|アップグレード|マイグレーション|마이그레이션",
        ),
    ),
    (
        Kind.REVIEW,
        _said(
            "prüfe|begutachte|relis|relire|revue|revois|revis|reveja|проверь|ревью|审查|評審|评审|看|做|レビュー|리뷰",
            r"\b(?:überprüfe|begutachte|prüfe)\b.{0,30}\b(?:pr|pull request|branch|code|"
            r"änderungen)\b|\b(?:relis|relire|passe en revue|revois)\b|\b(?:revis[ae]r?|"
            r"reveja)\b.{0,30}\b(?:pr|pull request|código|cambios|rama|alterações)\b|"
            r"проверь (?:пр|pr|код)|сделай ревью|审查|評審|评审|(?:看|做).{0,6}review|"
            r"コードレビュー|レビューして|리뷰",
        ),
    ),
    (
        Kind.DOCS,
        _said(
            "document|dokument|readme|doku|документац|文档|文檔|ドキュメント|문서",
            r"\b(?:dokumentiere?n?|documente[rz]?|documentar?|documenta)\b|(?:aktualisiere|"
            r"mets? à jour|actualiza|atualiz\w+|ajust\w+|aggiorna|обнови|更新|補充|补充|修改|更新して).{0,24}(?:readme|"
            r"doku|documentation|documentación|documentação|документац\w+|文档|文檔)|"
            r"(?:编写|写|撰写).{0,10}(?:文档|文檔)|ドキュメント|README(?:を|の)|문서",
        ),
    ),
    (
        Kind.EXPLORATION,
        _said(
            "erklär|warum|wieso|funktioniert|untersuche|analys|analise|expli|pourquoi|comment |por qu|funciona"
            "|investiga|analiza|spiega|perché|leg uit|waarom|объясни|почему|работает|解释|解釋|为什么|為什麼|怎么"
            "|怎麼|如何|说明一下|分析|什么是|説明|なぜ|どうして|調|教えて|とは何|설명|왜|어떻게",
            r"\b(?:erkläre?|warum|wieso|wie funktioniert|untersuche|analysiere)\b|\b(?:explique[rz]?|"
            r"pourquoi|comment (?:fonctionne|marche)|analyse[rz]?)\b|"
            r"\b(?:explica\w*|analise o|por qué|por que|cómo funciona|como funciona|investiga|analiza|"
            r"spiega|perché|leg uit|waarom)\b|объясни|почему|как работает|解释|解釋|为什么|"
            r"為什麼|怎么|怎麼|如何|说明一下|分析|什么是|"
            r"説明して|なぜ|どうして|調査|調べて|教えて|とは何|설명|왜|어떻게",
        ),
    ),
    (
        Kind.FEATURE,
        _said(
            "füg|erstell|implement|bau|ergänze|ajoute|implémente|cré|intègre|añad|agreg|crea|adicion"
            "|crie|aggiungi|voeg|добав|реализ|созда|添加|增加|新增|实现|實現|支持|创建|創建|加上|追加|実装|作成|対応|작성|추가|구현|만들어",
            r"\b(?:füge?\b.{0,80}\bhinzu|hinzufügen|erstelle?n?|implementiere?n?|baue?n?|"
            r"ergänze)\b|\b(?:ajoute[rz]?|implémente[rz]?|crée[rz]?|créer|intègre)\b|"
            r"\b(?:añad\w+|agreg\w+|implement(?:a|ar|e|en)\b|crea|crear|adicion\w+|crie|"
            r"aggiungi|voeg)\b|"
            r"добав\w+|реализ\w+|созда\w+|添加|增加|新增|实现|實現|支持|创建|創建|加上|"
            r"追加|実装|作成|対応|작성|추가|구현|만들어",
        ),
    ),
)
