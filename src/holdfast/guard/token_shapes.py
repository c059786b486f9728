"""The shapes of tokens that vendors give a recognisable form."""

from __future__ import annotations

from typing import NamedTuple


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
SHAPES = (
    TokenShape("aws-key", "AKIA ASIA ABIA ACCA A3T", r"[A-Z0-9]{16,17}(?![A-Za-z0-9])", wordy=True),
    TokenShape("aws-key", "ABSK bedrock-api-key-", r"[A-Za-z0-9+/]{80,3000}={0,2}"),
    TokenShape("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9]{30,255}(?:[._][\w-]{8,400}){0,3}"),
    TokenShape("github-token", "github_pat_", r"[A-Za-z0-9_]{22,255}"),
    TokenShape(
        "gitlab-token",
        "glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glsoat- glimt- glagent- gloas- glffct- glwt-",
        r"[\w.-]{16,300}",
    ),
    TokenShape("gitlab-token", "GR1348941", r"[\w-]{20,60}"),
    TokenShape("slack-token", "xox", r"[abcdeoprs](?:\.xox[bp])?-[A-Za-z0-9%/+=-]{10,400}"),
    TokenShape("slack-token", "xapp-", r"\d-[A-Za-z0-9-]{20,400}"),
    TokenShape("webhook", "hooks.slack.com/", r"(?:services|workflows|triggers)/[\w/-]{20,200}", wordy=True),
    TokenShape(
        "webhook",
        "discord.com/api/ discordapp.com/api/ ptb.discord.com/api/ canary.discord.com/api/",
        r"(?:v\d{1,2}/)?webhooks/\d{5,25}/[\w-]{30,120}",
        wordy=True,
    ),
    TokenShape("webhook", ".webhook.office.com/webhookb2/", r"[\w@/-]{40,400}", wordy=True),
    TokenShape(
        "webhook",
        "outlook.office.com/webhook/ outlook.office365.com/webhook/ maker.ifttt.com/trigger/ "
        "events.pagerduty.com/integration/",
        r"[\w@/-]{30,400}",
        wordy=True,
    ),
    TokenShape("webhook", ".tines.com/webhook/", r"[\w/]{30,200}", wordy=True),
    TokenShape(
        "webhook",
        "hook.eu1.make.com/ hook.eu2.make.com/ hook.us1.make.com/ hook.us2.make.com/ hook.integromat.com/",
        r"[a-z0-9]{24,40}",
    ),
    TokenShape("webhook", "hooks.zapier.com/hooks/catch/", r"[\w/]{8,100}", wordy=True),
    TokenShape(
        "stripe-key", "sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_", r"[A-Za-z0-9_]{14,300}"
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
    TokenShape("api-key", "lsv2_", r"(?:pt|sk)_[0-9a-fA-F]{32}_[0-9a-fA-F]{10}"),
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
    TokenShape("rubygems-key", "rubygems_", r"[0-9a-z]{40,64}"),
    TokenShape("docker-token", "dckr_pat_ dckr_oat_", r"[\w-]{20,100}"),
    TokenShape("crates-token", "cio", r"[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    TokenShape("nuget-key", "oy2", r"[a-z0-9]{43}(?![A-Za-z0-9])"),
    TokenShape("twilio-key", "SK", r"[0-9a-fA-F]{32}(?![A-Za-z0-9])"),
    TokenShape("sendgrid-key", "SG.", r"[\w=-]{16,40}\.[\w=-]{16,64}"),
    TokenShape("mailgun-key", "key-", r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    TokenShape("mailgun-key", "-", r"[0-9a-f]{8}-[0-9a-f]{8}(?![\w-])", before=r"(?<![0-9a-f])[0-9a-f]{32}"),
    TokenShape("mailchimp-key", "-us", r"\d{1,2}(?!\d)", before=r"(?<![0-9a-f])[0-9a-f]{32}"),
    TokenShape("brevo-key", "xkeysib- xsmtpsib-", r"[0-9a-fA-F]{64}-[A-Za-z0-9]{12,20}"),
    TokenShape(
        "discord-token",
        ".",
        r"[\w-]{6}\.[\w-]{27,40}(?![\w.-])",
        before=r"(?<![A-Za-z0-9+])[MNO][A-Za-z0-9_-]{22,27}",
    ),
    TokenShape("telegram-token", ":A", r"[\w-]{33,40}(?![\w-])", before=r"(?<!\d)\d{5,14}"),
    TokenShape("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", r"[0-9a-f]{40,80}"),
    TokenShape("heroku-key", "HRKU-", r"[\w-]{30,100}"),
    TokenShape(
        "azure-secret",
        "0Q~ 1Q~ 2Q~ 3Q~ 4Q~ 5Q~ 6Q~ 7Q~ 8Q~ 9Q~",
        r"[\w~.-]{30,40}",
        before=r"(?<!~)[\w~.-]{3}",
    ),
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
    TokenShape("postman-key", "PMAK-", r"[0-9a-zA-Z]{20,30}-[0-9a-zA-Z]{30,40}"),
    TokenShape("newrelic-key", "NRAK- NRII- NRJS- NRRA- NRIQ-", r"[\w-]{18,48}"),
    TokenShape("newrelic-key", "NRAL", r"(?![A-Za-z0-9])", before=r"[0-9a-f]{30,40}"),
    TokenShape("cloudflare-key", "v1.0-", r"[0-9a-z]{20,70}-[0-9a-z._-]{100,260}"),
    TokenShape("cloudflare-token", "cfut_ cfat_ cfk_", r"[A-Za-z0-9_-]{30,100}"),
    TokenShape("terraform-token", ".atlasv1.", r"[\w=-]{40,120}", before=r"(?<!\.)[A-Za-z0-9]{10,20}"),
    TokenShape("airtable-token", "pat", r"[A-Za-z0-9]{14}\.[0-9a-z]{64}"),
    TokenShape("hubspot-token", "pat-", r"(?:na|eu|ap)\d-[0-9a-zA-Z-]{36}"),
    TokenShape("figma-token", "figd_ figo_ figu_ figor_", r"[\w-]{24,80}"),
    TokenShape("dropbox-token", "sl.", r"[\w.-]{100,1500}"),
    TokenShape("atlassian-token", "ATATT3 ATCTT3 ATBB ATSTT3", r"[\w=-]{20,400}"),
    TokenShape("grafana-token", "glsa_ glc_", r"[\w+/=-]{32,400}"),
    TokenShape("grafana-token", "eyJrIjoi", r"[A-Za-z0-9+/=_-]{40,400}"),
    TokenShape("planetscale-token", "pscale_tkn_ pscale_pw_ pscale_oauth_", r"[\w.=-]{30,80}"),
    TokenShape("pulumi-token", "pul-", r"[0-9a-z]{40}"),
    TokenShape(
        "api-token", "pnu_ nfp_ rnd_ vcp_ vck_ vca_ vcr_ napi_ sgp_ tfp_ phx_ aio_ bkua_", r"[\w-]{24,100}"
    ),
    TokenShape(
        "api-token", "CCIPAT_ CFPAT- CLOJARS_ rdme_ p8e- duffel_live_ duffel_test_", r"[\w=-]{24,140}"
    ),
    TokenShape("api-token", "EZAK EZTK", r"[A-Za-z0-9]{54}"),
    TokenShape("api-token", "FLWSECK", r"(?:_TEST)?-[A-Za-z0-9-]{12,60}"),
    TokenShape(
        "api-token",
        "shippo_live_ shippo_test_ waka_ tskey- ico- fio-u- lob_live_ ops_eyJ",
        r"[\w+/=-]{20,1200}",
    ),
    TokenShape(
        "api-token",
        "odt_ shltm_ flb_live_ ak_live_ ak_test_ sm_aat_ sm_pat_ sm_sat_ CCIPRJ_ bkct_ dbtu_ dbtc_ "
        "snyk_uat. xaat- xapt-",
        r"[\w-]{16,140}",
    ),
    TokenShape("api-token", "ion_", r"[\w-]{16,140}", before=r"(?<![A-Za-z])"),  # "session_…" is a name
    TokenShape(
        "api-token",
        "pdl_live_apikey_ pdl_sdbx_apikey_ polar_oat_ mlsn. cal_live_ tr_prod_ tr_dev_ "
        "signkey-prod- signkey-test- sktsec_",
        r"[\w-]{20,140}",
    ),
    TokenShape(
        "api-token",
        "BBDC- ddp_ ddw_ ddo_ CCDB1_ tk-us- syt_ ATTA mdb_sa_sk_ essu_ essp_ essa_",
        r"[\w+/=-]{32,140}",
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
    TokenShape("artifactory-token", "cmVmd", r"[A-Za-z0-9]{44,80}(?![A-Za-z0-9])"),
    TokenShape("clickhouse-key", "4b1d", r"[A-Za-z0-9]{38}(?![A-Za-z0-9])"),
    TokenShape(
        "maxmind-key", "_mmk", r"(?![A-Za-z0-9])", before=r"(?<![A-Za-z0-9])[A-Za-z0-9]{6}_[A-Za-z0-9]{29}"
    ),
    TokenShape("salesforce-token", "00D", r"[A-Za-z0-9]{12,15}![\w.]{80,160}"),
    TokenShape("firebase-key", ":APA91b", r"[\w-]{120,200}", before=r"[A-Za-z0-9_-]{11,22}"),
    TokenShape("fauna-key", "fnA", r"[A-Za-z0-9_-]{37,50}(?![\w-])"),
    TokenShape("vault-token", "s.", r"(?=[A-Za-z]{0,22}\d[A-Za-z]{0,22}\d)[A-Za-z0-9]{24}(?![\w.-])"),
    TokenShape("asana-token", "1/ 2/", r"\d{14,18}(?:/\d{14,18})?:[0-9a-f]{32}(?![A-Za-z0-9])"),
    TokenShape("facebook-token", "|", r"[\w-]{27}(?![\w-])", before=r"(?<!\d)\d{15,16}"),
    TokenShape("plaid-token", "access-", r"(?:sandbox|development|production)-[0-9a-f-]{36}"),
    TokenShape("alibaba-key", "LTAI", r"[A-Za-z0-9]{16,24}(?![A-Za-z0-9])"),
    TokenShape("tencent-key", "AKID", r"[A-Za-z0-9]{28,40}(?![A-Za-z0-9])"),
    TokenShape("dynatrace-token", "dt0", r"[a-z]\d\d\.[A-Za-z0-9]{8,32}\.[A-Za-z0-9]{40,80}"),
    TokenShape("jfrog-key", "AKC", r"[A-Za-z0-9]{61,80}"),
    TokenShape(
        "launchdarkly-key", "sdk- mob- api-", r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    ),
    TokenShape("api-token", "BBFF- BBUS-", r"[A-Za-z0-9]{30,36}"),
    TokenShape("api-token", "na1. eu1.", r"[A-Za-z0-9+/=]{60,160}"),
    TokenShape(
        "api-token",
        "sc_ ext_ scauth_ authress_",
        r"[a-z0-9]{5,30}\.[a-z0-9]{4,6}\.acc[_-][a-z0-9-]{10,32}\.[a-z0-9+/_=-]{30,120}",
    ),
    TokenShape("session", "_gitlab_session=", r"[0-9a-z]{32}"),
    TokenShape("api-token", "AstraCS:", r"[\w:.-]{24,140}"),
    TokenShape("api-token", "configcat-sdk-1/ configcat-proxy/", r"[\w-]{22}/[\w-]{22}", wordy=True),
    TokenShape("api-token", "api_live. api_live_ca. api_live_us. api_sandbox.", r"[\w-]{16,60}"),
    TokenShape("swarm-key", "SWMTKN-1- SWMKEY-1-", r"[A-Za-z0-9+/-]{30,100}"),
    TokenShape("alibaba-key", "STS.", r"[A-Za-z0-9]{16,40}(?![\w.])"),
    TokenShape("exoscale-key", "EXO", r"[A-Za-z0-9]{24,28}(?![A-Za-z0-9])"),
    TokenShape("zhipu-key", ".", r"[A-Za-z0-9]{16}(?![\w.-])", before=r"(?<![A-Za-z0-9])[0-9a-f]{32}"),
    TokenShape("openshift-token", "sha256~", r"[\w-]{43}"),
    TokenShape("sonar-token", "squ_ sqp_ sqa_ sqb_", r"[0-9a-z]{40}"),
    TokenShape("twitter-token", "AAAAAAAAAAAAAAAAAAA", r"[A-Za-z0-9%]{40,200}"),
    TokenShape("yandex-key", "AQVN", r"[\w-]{30,50}"),
    TokenShape("mapbox-token", "sk.eyJ", r"[\w-]{20,400}\.[\w-]{10,80}"),
    TokenShape(
        "jwt",
        "eyJ eyA ewo ew0K",
        r"[\w-]{8,1000}\.(?:eyJ|eyA|ewo|ew0K)[\w-]{4,16000}(?:\.[\w-]{0,4000}){0,3}",
        wordy=True,
    ),
    TokenShape("jwt", "eyJ", r"[\w-]{8,1000}\.[\w-]{8,4000}\.[\w-]{8,4000}(?:\.[\w-]{4,4000}){0,2}"),
    TokenShape("password-hash", "$2a$ $2b$ $2y$ $2x$", r"\d\d?\$[./A-Za-z0-9]{53}", wordy=True),
    TokenShape(
        "password-hash",
        "$apr1$ $1$ $5$ $6$ $y$ $7$ $8$ $9$ $gy$",
        r"[^\s:$\"']{1,40}\$(?:[^\s:$\"']{1,40}\$)?[./A-Za-z0-9]{20,100}",
    ),
    TokenShape("password-hash", "$argon2", r"(?:id|i|d)\$[^\s:\"']{30,300}", wordy=True),
    TokenShape("password-hash", "{SHA} {SSHA} {SSHA256}", r"[A-Za-z0-9+/]{20,80}={0,2}"),
    TokenShape(
        "password-hash",
        "$krb5asrep$ $krb5tgs$ $scrypt$ $pbkdf2-sha256$ $pbkdf2-sha512$ $pbkdf2$ $sha1$ $bcrypt-sha256$",
        r"[^\s:\"'`]{40,4000}",
        wordy=True,
    ),
    TokenShape(
        "password-hash",
        "pbkdf2:sha256 pbkdf2:sha1 pbkdf2:sha512 scrypt:",
        r":?[\d:]{4,20}\$[^\s$\"']{4,60}\$[0-9a-f]{40,128}",
    ),
    TokenShape(
        "password-hash",
        "pbkdf2_sha256$ pbkdf2_sha1$ pbkdf2_sha512$ argon2$ scrypt$",
        r"\d{1,8}\$[^\s$\"']{4,60}\$[A-Za-z0-9+/=]{20,100}",
    ),
)
