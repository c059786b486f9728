"""The shapes of tokens that vendors give a recognisable form, found without any context."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from holdfast.core.patterns import lazy_regex
from holdfast.guard.not_secret import SecretSpan, is_common_word, is_hash_or_uuid, is_placeholder, is_wordlike

_SHORT = 4_000  # characters; up to here two hundred searches for a literal take less than compiling the sweep
_first_few = iter(range(24))  # short texts; with more of them compiling the sweep saves time

_LONGEST_BEFORE = 120

_LONGEST_BLOCK = 100_000
_BEGIN = lazy_regex(r"-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d:")
_END = lazy_regex(r"-----END (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----|Private-MAC: ?[0-9a-f]{0,64}")
# One line of a block without an end: line numbers, quotes and escapes around it are part of it.
_BODY_LINE = lazy_regex(
    r"""(?:\\{1,4}[nrt]|[\s"'+,|>\#*;]|\d{1,6}[→:|\t]){0,60}+
        (?:[A-Za-z0-9+/=]{24,20000}+|(?:Proc-Type|DEK-Info|Version|Comment|Hash|Encryption):[^\n\\]{0,100}+)""",
    re.VERBOSE,
)
_LAST_LINE = lazy_regex(
    r"""(?:\\{1,4}[nrt]|[\s"'+,|>\#*;]|\d{1,6}[→:|\t]){1,60}+(?=[A-Za-z+/]*[A-Z0-9+/=])[A-Za-z0-9+/=]{5,23}+(?=$|[\s"'\\])"""
)


class TokenShape(NamedTuple):
    """A token begins with one of the `anchors` (literals) and goes on as `body`; `before` ends at the anchor.

    `wordy` says that the form alone is proof, so that looking like words is no excuse.
    """

    kind: str
    anchors: str
    body: str
    before: str = ""
    wordy: bool = False


# Every repetition has an upper bound: a text full of anchors must not cost more than its length allows.
_SHAPES = (
    TokenShape("aws-key", "AKIA ASIA ABIA ACCA", r"[A-Z0-9]{16}(?![A-Za-z0-9])", wordy=True),
    TokenShape("aws-key", "ABSK bedrock-api-key-", r"[A-Za-z0-9+/]{80,3000}={0,2}"),
    TokenShape("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9]{30,255}(?:[._][\w-]{8,400}){0,3}"),
    TokenShape("github-token", "github_pat_", r"[A-Za-z0-9_]{22,255}"),
    TokenShape(
        "gitlab-token",
        "glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glsoat- glimt- glagent- gloas- glffct- glwt-",
        r"[\w.-]{16,300}",
    ),
    TokenShape("gitlab-token", "GR1348941", r"[\w-]{20,60}"),
    TokenShape("slack-token", "xox", r"[abceoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,400}"),
    TokenShape("slack-token", "xapp-", r"\d-[A-Za-z0-9-]{20,400}"),
    TokenShape("webhook", "hooks.slack.com/", r"(?:services|workflows|triggers)/[\w/-]{20,200}", wordy=True),
    TokenShape(
        "webhook",
        "discord.com/api/ discordapp.com/api/ ptb.discord.com/api/ canary.discord.com/api/",
        r"(?:v\d{1,2}/)?webhooks/\d{5,25}/[\w-]{30,120}",
        wordy=True,
    ),
    TokenShape("webhook", ".webhook.office.com/webhookb2/", r"[\w@/-]{40,400}", wordy=True),
    TokenShape("webhook", "hooks.zapier.com/hooks/catch/", r"[\w/]{8,100}", wordy=True),
    TokenShape(
        "stripe-key", "sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_", r"[A-Za-z0-9_]{16,300}"
    ),
    TokenShape("webhook-secret", "whsec_", r"[A-Za-z0-9+/=_-]{20,200}"),
    TokenShape("google-key", "AIza", r"[\w-]{30,60}"),
    TokenShape("google-token", "ya29.", r"[\w.-]{20,600}"),
    TokenShape("google-secret", "GOCSPX-", r"[\w-]{20,60}"),
    TokenShape("google-token", "1//0", r"[\w-]{30,200}"),
    TokenShape("google-key", "AQ.", r"[\w-]{40,120}(?![\w.-])"),
    TokenShape("anthropic-key", "sk-ant-", r"[\w-]{20,300}"),
    TokenShape("openai-key", "sk-proj- sk-svcacct- sk-admin- sk-None-", r"[\w-]{20,300}"),
    TokenShape("openrouter-key", "sk-or-v1-", r"[0-9a-f]{32,100}"),
    TokenShape("api-key", "sk-", r"(?=[\w-]{0,100}\d)[\w-]{20,300}"),
    TokenShape("api-key", "sk_ pk_", r"(?:[0-9a-f]{40,64}|\d{5,12}_[A-Z0-9]{32})(?![A-Za-z0-9])"),
    TokenShape("huggingface-token", "hf_ api_org_", r"[A-Za-z0-9]{28,60}"),
    TokenShape("api-key", "xai- gsk_ pplx- nvapi- tgp_v1_ r8_ jina_ pcsk_ csk- tvly- fw_", r"[\w-]{24,200}"),
    TokenShape("api-key", "lsv2_", r"(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"),
    TokenShape("api-key", "e2b_ fc-", r"[0-9a-f]{32,64}(?![A-Za-z0-9])"),
    TokenShape("api-key", "re_", r"[A-Za-z0-9]{6,12}_[A-Za-z0-9]{18,40}"),
    TokenShape("wandb-key", "wandb_v1_", r"[\w-]{30,200}"),
    TokenShape(
        "api-key",
        "rpa_ apify_api_ bb_live_ bb_test_ dtn_ KGAT_ sk-lf- sk-helicone- crsr_ jsrp_ hcaik_ hcxik_",
        r"[\w-]{24,200}",
    ),
    TokenShape("api-key", "BSA", r"[A-Za-z0-9_-]{28}(?![\w-])"),
    TokenShape("api-key", "key_", r"[0-9a-f]{64}(?![A-Za-z0-9])"),
    TokenShape("npm-token", "npm_", r"[A-Za-z0-9]{30,80}"),
    TokenShape("pypi-token", "pypi-", r"[\w-]{50,400}"),
    TokenShape("rubygems-key", "rubygems_", r"[0-9a-f]{40,64}"),
    TokenShape("docker-token", "dckr_pat_ dckr_oat_", r"[\w-]{20,100}"),
    TokenShape("crates-token", "cio", r"[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    TokenShape("nuget-key", "oy2", r"[a-z0-9]{43}(?![A-Za-z0-9])"),
    TokenShape("twilio-key", "SK", r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    TokenShape("sendgrid-key", "SG.", r"[\w-]{16,32}\.[\w-]{16,64}"),
    TokenShape("mailgun-key", "key-", r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    TokenShape("mailgun-key", "-", r"[0-9a-f]{8}-[0-9a-f]{8}(?![\w-])", before=r"(?<![0-9a-f])[0-9a-f]{32}"),
    TokenShape("mailchimp-key", "-us", r"\d{1,2}(?!\d)", before=r"(?<![0-9a-f])[0-9a-f]{32}"),
    TokenShape("brevo-key", "xkeysib- xsmtpsib-", r"[0-9a-f]{64}-[A-Za-z0-9]{12,20}"),
    TokenShape(
        "discord-token",
        ".",
        r"[\w-]{6}\.[\w-]{27,40}(?![\w.-])",
        before=r"(?<![A-Za-z0-9+/])[MNO][A-Za-z0-9_-]{22,27}",
    ),
    TokenShape("telegram-token", ":AA", r"[\w-]{32,40}", before=r"(?<!\d)\d{8,11}"),
    TokenShape("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", r"[0-9a-f]{40,80}"),
    TokenShape("heroku-key", "HRKU-", r"[\w-]{30,100}"),
    TokenShape("azure-secret", "8Q~ 7Q~ 9Q~", r"[\w~.-]{30,40}", before=r"(?<!~)[\w~.-]{3}"),
    TokenShape(
        "azure-key",
        "AzFu AzSe ACDb +ASt +ACR +AEh +ARm",
        r"[A-Za-z0-9+/]{4,12}={0,2}(?![A-Za-z0-9+/=])",
        before=r"[A-Za-z0-9+/]{38,84}",
    ),
    TokenShape("azure-token", "AZDO", r"[A-Za-z0-9]{4}(?![A-Za-z0-9])", before=r"[A-Za-z0-9]{76}"),
    TokenShape(
        "azure-key",
        "AAAB AAAA",
        r"AC[A-Za-z0-9]{2}[A-Za-z0-9]{4}(?![A-Za-z0-9])",
        before=r"(?<![A-Za-z0-9])[A-Za-z0-9]{32,80}JQQJ99[A-Z]{3}AC[A-Za-z0-9]{1,10}",
    ),
    TokenShape("databricks-token", "dapi", r"[0-9a-f]{32}(?:-\d)?"),
    TokenShape("shopify-token", "shpat_ shpca_ shppa_ shpss_ shptka_", r"[0-9a-fA-F]{28,64}"),
    TokenShape("square-token", "EAAA sq0atp- sq0csp- sq0idp-", r"[\w-]{22,90}"),
    TokenShape("facebook-token", "EAAC EAAB EAAG EAAE EAAD EAAM IGQV", r"[A-Za-z0-9]{60,300}"),
    TokenShape("linear-key", "lin_api_ lin_oauth_ lin_wh_", r"[A-Za-z0-9]{30,100}"),
    TokenShape("notion-token", "ntn_", r"[A-Za-z0-9]{36,80}"),
    TokenShape("notion-token", "secret_", r"[A-Za-z0-9]{40,60}(?![A-Za-z0-9])"),
    TokenShape("sentry-token", "sntrys_ sntryu_", r"[\w+/=-]{40,400}"),
    TokenShape("vault-token", "hvs. hvb. hvr.", r"[\w-]{20,300}"),
    TokenShape("doppler-token", "dp.", r"(?:pt|st|ct|sa|scim|audit)\.(?:[\w-]{1,40}\.)?[A-Za-z0-9]{36,60}"),
    TokenShape("age-key", "AGE-SECRET-KEY-1", r"[A-Z0-9]{40,80}"),
    TokenShape("fly-token", "fo1_ fm1_ fm1a_ fm1r_ fm2_", r"[\w+/=,-]{30,4000}"),
    TokenShape("supabase-key", "sbp_ sb_secret_", r"[\w-]{24,80}"),
    TokenShape("postman-key", "PMAK-", r"[0-9a-f]{20,30}-[0-9a-f]{30,40}"),
    TokenShape("newrelic-key", "NRAK- NRII- NRJS- NRRA- NRIQ-", r"[\w-]{18,48}"),
    TokenShape("newrelic-key", "NRAL", r"(?![A-Za-z0-9])", before=r"[0-9a-f]{30,40}"),
    TokenShape("cloudflare-key", "v1.0-", r"[0-9a-f]{20,30}-[0-9a-f]{100,200}"),
    TokenShape("cloudflare-token", "cfut_ cfat_ cfk_", r"[A-Za-z0-9_-]{30,100}"),
    TokenShape("terraform-token", ".atlasv1.", r"[\w-]{40,100}", before=r"(?<!\.)[A-Za-z0-9]{10,20}"),
    TokenShape("airtable-token", "pat", r"[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    TokenShape("hubspot-token", "pat-", r"(?:na|eu|ap)\d-[0-9a-f-]{36}"),
    TokenShape("figma-token", "figd_ figo_ figu_ figor_", r"[\w-]{24,80}"),
    TokenShape("dropbox-token", "sl.", r"[\w.-]{100,1500}"),
    TokenShape("atlassian-token", "ATATT3 ATCTT3 ATBB ATSTT3", r"[\w=-]{20,400}"),
    TokenShape("grafana-token", "glsa_ glc_", r"[\w+/=-]{32,400}"),
    TokenShape("grafana-token", "eyJrIjoi", r"[A-Za-z0-9+/=_-]{40,400}"),
    TokenShape("planetscale-token", "pscale_tkn_ pscale_pw_ pscale_oauth_", r"[\w.=-]{30,80}"),
    TokenShape("pulumi-token", "pul-", r"[0-9a-f]{40}"),
    TokenShape(
        "api-token", "pnu_ nfp_ rnd_ vcp_ vck_ vca_ vcr_ napi_ sgp_ tfp_ phx_ aio_ bkua_", r"[\w-]{24,100}"
    ),
    TokenShape("api-token", "CCIPAT_ CFPAT- CLOJARS_ rdme_ p8e- duffel_live_ duffel_test_", r"[\w-]{24,140}"),
    TokenShape("api-token", "EZAK EZTK", r"[A-Za-z0-9]{54}"),
    TokenShape("api-token", "FLWSECK", r"(?:_TEST)?-[A-Za-z0-9-]{12,60}"),
    TokenShape(
        "api-token", "shippo_live_ shippo_test_ waka_ tskey- ico- fio-u- lob_live_ ops_eyJ", r"[\w-]{20,800}"
    ),
    TokenShape(
        "api-token",
        "odt_ shltm_ flb_live_ ion_ ak_live_ ak_test_ sm_aat_ sm_pat_ sm_sat_ CCIPRJ_ bkct_ dbtu_ dbtc_ "
        "snyk_uat. xaat- xapt-",
        r"[\w-]{16,140}",
    ),
    TokenShape(
        "api-token",
        "pdl_live_apikey_ pdl_sdbx_apikey_ polar_oat_ mlsn. cal_live_ tr_prod_ tr_dev_ "
        "signkey-prod- signkey-test- sktsec_",
        r"[\w-]{20,140}",
    ),
    TokenShape(
        "api-token",
        "BBDC- ddp_ ddw_ CCDB1_ AIVEN-SECRET- tk-us- syt_ ATTA HF_ glsa- mdb_sa_sk_",
        r"[\w-]{32,140}",
    ),
    TokenShape("api-token", "secret-live- secret-test- slk_ live_", r"[\w=-]{36,80}(?![\w=-])"),
    TokenShape(
        "api-token", "scp-live- scp-test- s-s4t2ud- s-s4t2af- ck_ cs_", r"[0-9a-f]{32,64}(?![A-Za-z0-9])"
    ),
    TokenShape("api-token", "dnkey-", r"[\w=-]{26}-[\w=-]{52}"),
    TokenShape("api-token", "sec-c-", r"[A-Za-z0-9]{30,60}"),
    TokenShape("api-token", "hawk.", r"[\w-]{20}\.[\w-]{20}"),
    TokenShape("api-token", "tkn.v1_", r"[A-Za-z0-9]{60,80}=?"),
    TokenShape("api-token", "VF.", r"(?:(?:DM|WS)\.)?[a-fA-F0-9]{24}\.[A-Za-z0-9]{16}"),
    TokenShape("api-token", "1000.", r"[0-9a-f]{32}\.[0-9a-f]{32}"),
    TokenShape("api-token", "p.eyJ tk.eyJ", r"[\w-]{20,400}\.[\w-]{10,80}"),
    TokenShape(
        "api-token",
        "access_token$production$ access_token$sandbox$",
        r"[0-9a-z]{16}\$[0-9a-f]{32}",
        wordy=True,
    ),
    TokenShape("harness-token", "pat. sat.", r"[\w-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}"),
    TokenShape(
        "onepassword-key", "A3-", r"[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}"
    ),
    TokenShape("octopus-key", "API-", r"[A-Z0-9]{25,32}(?![A-Za-z0-9])"),
    TokenShape("artifactory-token", "cmVmdGtuOj", r"[A-Za-z0-9]{40,70}"),
    TokenShape("clickhouse-key", "4b1d", r"[A-Za-z0-9]{38}(?![A-Za-z0-9])"),
    TokenShape(
        "maxmind-key", "_mmk", r"(?![A-Za-z0-9])", before=r"(?<![A-Za-z0-9])[A-Za-z0-9]{6}_[A-Za-z0-9]{29}"
    ),
    TokenShape("salesforce-token", "00D", r"[A-Za-z0-9]{12,15}![\w.]{80,160}"),
    TokenShape("firebase-key", ":APA91b", r"[\w-]{120,200}", before=r"[A-Za-z0-9_-]{11,22}"),
    TokenShape("fauna-key", "fnA", r"[A-Za-z0-9_-]{37,50}(?![\w-])"),
    TokenShape(
        "vault-token", "s.", r"(?=[A-Za-z0-9]{0,24}\d)(?=[A-Za-z0-9]{0,24}[A-Z])[A-Za-z0-9]{24}(?![\w.-])"
    ),
    TokenShape("asana-token", "1/ 2/", r"\d{14,18}(?:/\d{14,18})?:[0-9a-f]{32}(?![A-Za-z0-9])"),
    TokenShape("facebook-token", "|", r"[\w-]{27}(?![\w-])", before=r"(?<!\d)\d{15,16}"),
    TokenShape("plaid-token", "access-", r"(?:sandbox|development|production)-[0-9a-f-]{36}"),
    TokenShape("alibaba-key", "LTAI", r"[A-Za-z0-9]{16,24}(?![A-Za-z0-9])"),
    TokenShape("tencent-key", "AKID", r"[A-Za-z0-9]{28,40}(?![A-Za-z0-9])"),
    TokenShape("dynatrace-token", "dt0c01. dt0s16. dt0s01.", r"[A-Z0-9]{8,24}\.[A-Z0-9]{40,80}"),
    TokenShape("jfrog-key", "AKCp", r"[A-Za-z0-9]{60,80}"),
    TokenShape(
        "launchdarkly-key", "sdk- mob- api-", r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    ),
    TokenShape("openshift-token", "sha256~", r"[\w-]{43}"),
    TokenShape("sonar-token", "squ_ sqp_ sqa_ sqb_", r"[0-9a-f]{40}"),
    TokenShape("twitter-token", "AAAAAAAAAAAAAAAAAAA", r"[A-Za-z0-9%]{40,200}"),
    TokenShape("yandex-key", "AQVN", r"[\w-]{30,50}"),
    TokenShape("mapbox-token", "sk.eyJ", r"[\w-]{20,400}\.[\w-]{10,80}"),
    TokenShape("jwt", "eyJ", r"[\w-]{8,1000}\.eyJ[\w-]{4,16000}(?:\.[\w-]{0,4000}){0,3}", wordy=True),
    TokenShape("jwt", "eyJ", r"[\w-]{8,1000}\.[\w-]{8,4000}\.[\w-]{8,4000}(?:\.[\w-]{4,4000}){0,2}"),
    TokenShape("password-hash", "$2a$ $2b$ $2y$", r"\d\d\$[./A-Za-z0-9]{53}", wordy=True),
    TokenShape(
        "password-hash",
        "$apr1$ $1$ $5$ $6$ $y$ $7$",
        r"[^\s:$\"']{1,40}\$(?:[^\s:$\"']{1,40}\$)?[./A-Za-z0-9]{20,100}",
    ),
    TokenShape("password-hash", "$argon2", r"(?:id|i|d)\$[^\s:\"']{30,300}", wordy=True),
    TokenShape("password-hash", "{SHA} {SSHA} {SSHA256}", r"[A-Za-z0-9+/]{20,80}={0,2}"),
    TokenShape(
        "password-hash", "pbkdf2_sha256$ pbkdf2_sha1$", r"\d{1,8}\$[^\s$\"']{4,60}\$[A-Za-z0-9+/=]{20,100}"
    ),
)


class _Matcher(NamedTuple):
    """Sources and not patterns: there are two hundred, and a text seldom needs one of them."""

    kind: str
    source: str
    before: str
    wordy: bool


@cache
def _compiled(source: str) -> re.Pattern[str]:
    return re.compile(source, re.ASCII)


@cache
def _matchers() -> tuple[dict[str, list[_Matcher]], dict[str, list[_Matcher]]]:
    """Matchers by anchor: those that begin a word (found in one sweep), and those that do not."""
    leading: dict[str, list[_Matcher]] = {}
    inner: dict[str, list[_Matcher]] = {}
    for shape in _SHAPES:
        # A `before` that names its own boundary may be glued to what comes ahead of it.
        boundary = "" if shape.before.startswith("(?<!") else "(?<![A-Za-z0-9+/_])"
        before = rf"{boundary}{shape.before}\Z" if shape.before else ""
        for anchor in shape.anchors.split():
            source = re.escape(anchor) + shape.body
            table = leading if anchor[0].isalnum() and not before else inner
            table.setdefault(anchor, []).append(_Matcher(shape.kind, source, before, shape.wordy))
    return _by_shortest_anchor(leading), inner


def _by_shortest_anchor(matchers: dict[str, list[_Matcher]]) -> dict[str, list[_Matcher]]:
    """The sweep reports the shortest anchor at a place; under it stand the longer ones too, longest first."""
    under: dict[str, list[str]] = {}
    root = ""
    for anchor in sorted(matchers):  # an anchor stands right before those that begin with it
        if not root or not anchor.startswith(root):
            root = anchor
        under.setdefault(root, []).append(anchor)
    return {
        root: [matcher for anchor in sorted(anchors, key=len, reverse=True) for matcher in matchers[anchor]]
        for root, anchors in under.items()
    }


@cache
def _sweep() -> re.Pattern[str]:
    """All word-leading anchors as one prefix tree: far cheaper than trying two hundred literals in turn."""
    tree: dict[str, Any] = {}
    for anchor in _matchers()[0]:
        node = tree
        for char in anchor:
            node = node.setdefault(char, {})
    # A token is not the middle of a longer word: base64 of a picture holds every short anchor somewhere.
    # Which letters begin one is asked first, which spares most places the way through the tree.
    first = "".join(sorted(tree))
    return re.compile(rf"(?<![A-Za-z0-9])(?=[{first}]){_tree_pattern(tree)}")


def _tree_pattern(node: dict[str, Any]) -> str:
    branches = [re.escape(char) + _tree_pattern(child) for char, child in sorted(node.items())]
    if not branches:
        return ""
    return branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})"


def _anchors_in(text: str, leading: dict[str, list[_Matcher]]) -> Iterator[re.Match[str]]:
    """Where anchors begin a word. Of a few short texts that hold no anchor at all, none needs a pattern."""
    if len(text) > _SHORT or next(_first_few, None) is None:
        return _sweep().finditer(text)
    present = [anchor for anchor in leading if anchor in text]
    if not present:
        return iter(())
    # No anchor is the beginning of another, so their order says nothing.
    return _compiled(rf"(?<![A-Za-z0-9])(?:{'|'.join(map(re.escape, present))})").finditer(text)


def find_tokens(text: str) -> Iterator[SecretSpan]:
    """Every token of a known shape, placeholders left out."""
    leading, inner = _matchers()
    done = 0
    for hit in _anchors_in(text, leading):
        if hit.start() < done:
            continue
        for matcher in leading[hit[0]]:
            finding = _match_at(text, hit.start(), matcher)
            if finding:
                yield finding
                done = finding.end
                break
    for anchor, matchers in inner.items():
        if anchor not in text:
            continue
        for matcher in matchers:
            for match in _compiled(matcher.source).finditer(text):
                finding = _match_at(text, match.start(), matcher)
                if finding:
                    yield finding


# Glued to a word or letter, only an anchor of some length, before a body that no word or id has, is a token.
_LONG_RUN = lazy_regex(r"[A-Za-z0-9_-](?<![A-Za-z0-9_-].)[A-Za-z0-9_-]{19,}+")
# Alone these would be too short; what follows them is of one length, or of a great one.
_STRICT_ANCHORS = frozenset(
    {"AKIA", "ASIA", "AIza", "xox", "eyJ", "dapi", "EAAA", "ATATT3", "ATCTT3", "pat", "SK", "LTAI"}
)
_LONGEST_GLUED = 24
_LONGEST_ANCHOR = 16


@cache
def _glued_anchors() -> re.Pattern[str]:
    leading = _matchers()[0]
    glued = [root for root in leading if (len(root) > 2 and not root.isalnum()) or root in _STRICT_ANCHORS]
    tree: dict[str, Any] = {}
    for anchor in glued:
        node = tree
        for char in anchor:
            node = node.setdefault(char, {})
    return re.compile(f"(?<=[A-Za-z0-9]){_tree_pattern(tree)}")


def find_glued_tokens(text: str) -> Iterator[SecretSpan]:
    """Every token right after a letter or digit: `tokenghp_…`. The sweep takes only those that begin a word."""
    leading = _matchers()[0]
    for run in _LONG_RUN.finditer(text):
        low = max(0, run.start() - _LONGEST_ANCHOR)
        for hit in _glued_anchors().finditer(
            text, low, min(run.end(), run.start() + _LONGEST_GLUED + _LONGEST_ANCHOR)
        ):
            ahead = _WORD_BEFORE.match(text[max(0, hit.start() - _LONGEST_GLUED - 1) : hit.start()][::-1])
            glue = ahead[0][::-1] if ahead else ""
            if len(glue) > _LONGEST_GLUED or (len(glue) > 3 and not is_wordlike(glue)):
                continue
            findings = (_match_at(text, hit.start(), matcher) for matcher in leading[hit[0]])
            if (found := next(filter(None, findings), None)) and _is_random(
                text[hit.end() : found.end], hit[0]
            ):
                yield found
                break


_WORD_BEFORE = lazy_regex(r"[A-Za-z0-9]{1,30}")


def _is_random(body: str, anchor: str) -> bool:
    if anchor in _STRICT_ANCHORS:
        return True
    if sum(map(str.isdigit, body)) < 2 or not any(map(str.isalpha, body)):
        return False
    # `task-` and a hash is an id.
    return (len(anchor) > 3 and not is_common_word(anchor.strip("-_"))) or not is_hash_or_uuid(body)


def _match_at(text: str, position: int, matcher: _Matcher) -> SecretSpan | None:
    match = _compiled(matcher.source).match(text, position)
    if not match:
        return None
    start = position
    if matcher.before:
        ahead = _compiled(matcher.before).search(text[max(0, position - _LONGEST_BEFORE) : position])
        if not ahead:
            return None
        start = position - len(ahead[0])
    body = text[start : match.end()]
    if is_placeholder(body) or (not matcher.wordy and is_wordlike(body)):
        return None
    return SecretSpan(matcher.kind, start, match.end())


# Private-key blocks (PEM, OpenSSH, PGP), whole or cut off, in files, listings and JSON strings.


def find_private_keys(text: str) -> Iterator[SecretSpan]:
    """Every block from its first line to its last, or as far as it looks like one."""
    if "PRIVATE KEY" not in text and "PuTTY-User-Key" not in text:
        return
    begins = list(_BEGIN.finditer(text))
    for i, begin in enumerate(begins):
        limit = begins[i + 1].start() if i + 1 < len(begins) else len(text)
        limit = min(limit, begin.start() + _LONGEST_BLOCK)
        end = _END.search(text, begin.end(), limit)
        stop = end.end() if end else _end_of_body(text, begin.end(), limit)
        body = text[begin.end() : end.start() if end else stop]
        if sum(char.isalnum() for char in body[:200]) >= 12 and not is_placeholder(body[:300]):
            yield SecretSpan("private-key", begin.start(), stop)


def _end_of_body(text: str, position: int, limit: int) -> int:
    lines = 0
    while line := _BODY_LINE.match(text, position, limit):
        position = line.end()
        lines += 1
    last = _LAST_LINE.match(text, position, limit) if lines else None
    return last.end() if last else position
