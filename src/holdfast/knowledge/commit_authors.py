"""Who made a commit, and whether a program did: bots are no memory."""

from __future__ import annotations

from holdfast.core.patterns import lazy_regex

# `[bot]` is how GitHub marks an app; others carry it in their name or address. The rest are services that do not.
# People are called Talbot, Jenkins, Travis and Gerrit.
_BOT = lazy_regex(
    r"(?i)\[bot\]|(?:^|[\s._+-])(?:ro)?bots?(?:$|[\s._+-])|(?-i:[a-z0-9]Bot$)|^(?:jenkins|travis|gerrit|bors"
    r"|homu|git|github|gitlab|root|ci|actions-user)$"
    r"|\b(?:dependabot|renovate|greenkeeper|snyk|github[- ]actions?|pre-commit-ci|mergify|codecov|imgbot"
    r"|allcontributors|transifex|weblate|crowdin"
    r"|semantic[- ]release|release[- ]please|changesets?|(?:jenkins|travis|circle|gitlab|build|drone)[- ]?ci"
    r"|buildkite|azure pipelines|copybara|autoroller"
    r"|auto[- ]?roll|automation|autobuild|automated|scripted|ci user|build user|buildmaster|service account)\b"
)
_MACHINE_ADDRESS = lazy_regex(
    r"(?i)^(?:no-?reply|donotreply|do-not-reply|actions?|ci|builds?|builder|automation|bot|robot|releases?"
    r"|deploy|jenkins|buildbot|autobuild)"
    r"(?:[.+_-][\w.+-]*)?@(?!users\.noreply\.)"
)
# An agent's address is not its person's, but what it commits is work and no upkeep.
_AGENT_ADDRESS = lazy_regex(r"(?i)@(?:anthropic|openai|cursor)\.com$")
# Subjects that tools write: new versions of dependencies, releases, generated files, plain merges.
_VERSION = r"(?:v\d+\.\d+|\d+\.\d+\.\d+)[\w.+-]*"
_AT_END = r"\W*(?:release)?\s*(?:\(#\d+\))?\s*$"
GENERATED_SUBJECT = lazy_regex(
    r"(?i)^(?:\[[\w -]+\]\s*|[\w./@-]+(?:\([^)]*\))?!?:\s+)*(?:"
    r"bumps? \S.*\b(?:from|to|by)\b.*\d|bump (?:the )?\S+ group\b|(?:bump(?:ed|ing)? (?:the )?version|version bump)\b"
    r"|(?:update|upgrade|pin) (?:dependency|module|rust crate|docker|github[- ]actions?|actions?/\S+"
    r"|\S+ (?:action|digest))\b.*\b(?:to|from|digest|tag)\b.*"
    rf"|(?:update|upgrade) \S+ (?:from \S+ )?to {_VERSION}{_AT_END}"
    r"|(?:update|upgrade|refresh|pin) (?:all |non-major |major |minor )*(?:dependencies|deps|lock ?files?)\b.{0,20}$"
    r"|lock file maintenance"
    rf"|(?:(?:prepare|release|publish|cut|tag|begin|start|version|for|to|the|of|new)\s+)*(?:\w+ )?{_VERSION}{_AT_END}"
    rf"|(?:version packages|release|new release|changelog){_AT_END}"
    r"|(?:auto[- ]?)?(?:update|regenerate|generate|refresh) (?:the )?(?:changelog|translations?|snapshots?|contributors"
    r"|submodules?|generated files?)\b.{0,20}$"
    r"|pre-commit autoupdate|squashed '|autoroll|roll \S+ from|import translations|initial commit\W*$|first commit\W*$"
    r"|merged? (?:branch|remote|tag|commit|master|main|develop|upstream)\b"
    r")|^\[(?:pre-commit|automated|auto|bot)\b"
)
_EMPTY_SUBJECT = lazy_regex(
    r"(?i)^\W*(?:wip|fix(?:ed|es|up)?!?|tmp|temp|test(?:s|ing)?|stuff|misc|minor|update[sd]?|cleanup|clean up"
    r"|typos?|lint\w*|format\w*|fmt|style|nits?|oops|asdf|save"
    r"|checkpoint|changes?|edits?|more|work|progress|\.+|squash!.*|fixup!.*|amend!.*|(?:fix|fixes|fixed|address(?:ed|ing)?|apply|suggestions?"
    r"|correct|minor|small|some|more|tiny|quick|update|updated|add|remove"
    r"|the|a|for|in|and|of|to|ci|build|tests?|docs?|readme(?:\.\w+)?|changelog(?:\.\w+)?|typos?|spelling"
    r"|grammar|wording|comments?|lint\w*|format\w*|whitespace"
    r"|warnings?|clippy|review|pr|feedback|comments|nits?|conflicts?|merge|issues?|bugs?|errors?|things?"
    r"|stuff|code|cleanups?|version|changes|up|again)(?:[\s,&/]+|$)){1,12}\W*$"
)


def is_bot(name: str, email: str) -> bool:
    """Whether a program made this commit, by its author's name and address."""
    if _AGENT_ADDRESS.search(email):
        return "[bot]" in name
    local = email.partition("@")[0]
    return bool(_BOT.search(name) or _BOT.search(local) or "[bot]" in email or _MACHINE_ADDRESS.match(email))


def is_generated(subject: str) -> bool:
    return GENERATED_SUBJECT.match(subject) is not None


def is_empty_subject(subject: str) -> bool:
    """Whether a subject says nothing: `wip`, `fix typo`, `address review comments`."""
    return _EMPTY_SUBJECT.match(subject) is not None
