"""Secrets and look-alikes, put together at run time so that no secret's likeness stands in the repository."""

from __future__ import annotations

import base64
import json
import random
import re
import string
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

HEX = "0123456789abcdef"
DIGITS = string.digits
LOWER36 = string.ascii_lowercase + DIGITS
UPPER36 = string.ascii_uppercase + DIGITS
BASE62 = string.ascii_letters + DIGITS
URLSAFE = BASE62 + "_-"
BASE64 = BASE62 + "+/"
BASE32 = string.ascii_uppercase + "234567"
TYPED = BASE62 + "!#%^*+?~@$&"


class Sample(NamedTuple):
    """A text, and the random bodies in it that must not survive."""

    kind: str
    carrier: str
    text: str
    bodies: tuple[str, ...]


# Known shapes: `{62:36}` is 36 characters of base62. The pieces in braces are the random bodies.
SHAPES: dict[str, tuple[str, ...]] = {
    "aws access key": ("AK" + "IA{32:16}", "AS" + "IA{32:16}"),
    "github classic": ("gh" + "p_{62:36}",),
    "github oauth": ("gh" + "o_{62:36}", "gh" + "s_{62:36}"),
    "github fine-grained": ("github" + "_pat_{62:22}_{62:59}",),
    "gitlab": ("gl" + "pat-{url:20}", "gl" + "rt-{url:20}"),
    "slack bot": ("xo" + "xb-{10:12}-{10:12}-{62:24}",),
    "slack user": ("xo" + "xp-{10:12}-{10:12}-{10:12}-{16:32}",),
    "slack webhook": ("https://hooks." + "slack.com/services/T{U:8}/B{U:10}/{62:24}",),
    "stripe": ("sk" + "_live_{62:24}", "rk" + "_live_{62:24}", "sk" + "_test_{62:99}"),
    "stripe webhook": ("wh" + "sec_{62:32}",),
    "google api": ("AI" + "za{url:35}",),
    "google oauth": ("ya" + "29.{url:80}", "GOC" + "SPX-{url:28}"),
    "openai": ("sk" + "-{62:48}", "sk" + "-proj-{url:74}T3BlbkFJ{url:74}"),
    "anthropic": ("sk" + "-ant-api03-{url:93}AA",),
    "openrouter": ("sk" + "-or-v1-{16:64}",),
    "huggingface": ("hf" + "_{62:34}",),
    "groq": ("gs" + "k_{62:52}",),
    "replicate": ("r8" + "_{62:37}",),
    "npm": ("np" + "m_{62:36}",),
    "pypi": ("py" + "pi-AgEIcHlwaS5vcmc{url:120}",),
    "docker": ("dckr" + "_pat_{url:27}",),
    "rubygems": ("ruby" + "gems_{16:48}",),
    "twilio": ("S" + "K{16:32}",),
    "sendgrid": ("S" + "G.{url:22}.{url:43}",),
    "mailgun": ("ke" + "y-{16:32}",),
    "mailchimp": ("{16:32}-" + "us12",),
    "discord bot": ("M{62:23}.{62:6}.{url:38}",),
    "discord webhook": ("https://discord.com/api/" + "webhooks/{10:18}/{url:68}",),
    "telegram": ("{10:10}:" + "AA{url:33}",),
    "digitalocean": ("do" + "p_v1_{16:64}",),
    "azure secret": ("{62:3}8" + "Q~{url:34}",),
    "jwt": ("ey" + "J{62:33}.ey" + "J{url:80}.{url:43}",),
    "databricks": ("da" + "pi{16:32}",),
    "shopify": ("shp" + "at_{16:32}",),
    "square": ("sq0" + "atp-{url:22}", "EA" + "AA{url:60}"),
    "linear": ("lin" + "_api_{62:40}",),
    "notion": ("nt" + "n_{62:46}", "sec" + "ret_{62:43}"),
    "sentry dsn": ("https:" + "//{16:32}:{16:32}@o{10:6}.ingest." + "sentry.io/{10:7}",),
    "vault": ("hv" + "s.{url:90}",),
    "doppler": ("dp" + ".pt.{62:43}",),
    "age": ("AGE-" + "SECRET-KEY-1{U:58}",),
    "fly": ("fo" + "1_{url:43}", "Fly" + "V1 fm2_{64:120}"),
    "supabase": ("sb" + "p_{16:40}",),
    "postman": ("PM" + "AK-{16:24}-{16:34}",),
    "new relic": ("NR" + "AK-{U:27}",),
    "terraform": ("{62:14}." + "atlasv1.{url:67}",),
    "airtable": ("pa" + "t{62:14}.{16:64}",),
    "figma": ("fi" + "gd_{url:40}",),
    "dropbox": ("s" + "l.{url:136}",),
    "atlassian": ("ATA" + "TT3{url:180}",),
    "grafana": ("gl" + "sa_{62:32}_{16:8}",),
    "pulumi": ("pu" + "l-{16:40}",),
    "planetscale": ("psc" + "ale_tkn_{url:43}",),
    "tailscale": ("tsk" + "ey-auth-{62:12}CNTRL-{62:32}",),
    "heroku new": ("HR" + "KU-{url:60}",),
    "bcrypt": ("$2" + "b$12${62:53}",),
}

# Values without a shape of their own, each with names that tell.
NAMED: dict[str, tuple[str, tuple[str, ...]]] = {
    "aws secret": ("{64:40}", ("AWS_SECRET_ACCESS_KEY", "aws_secret_access_key", "secretAccessKey")),
    "heroku": ("{uuid:1}", ("HEROKU_API_KEY", "heroku_api_key", "herokuApiKey")),
    "datadog": ("{16:32}", ("DD_API_KEY", "datadog_api_key", "ddApiKey")),
    "cloudflare": ("{url:40}", ("CLOUDFLARE_API_TOKEN", "cf_api_token", "cloudflareToken")),
    "algolia": ("{16:32}", ("ALGOLIA_ADMIN_KEY", "algolia_api_key", "algoliaAdminKey")),
    "azure storage": ("{64:86}==", ("AZURE_STORAGE_KEY", "account_key", "AccountKey")),
    "twilio auth": ("{16:32}", ("TWILIO_AUTH_TOKEN", "twilio_auth_token", "authToken")),
    "client secret": ("{62:32}", ("OAUTH_CLIENT_SECRET", "client_secret", "clientSecret")),
    "django": ("{typed:50}", ("DJANGO_SECRET_KEY", "SECRET_KEY", "secret_key")),
    "jwt secret": ("{36:40}", ("JWT_SECRET", "jwt_secret", "jwtSecret")),
    "database password": ("{typed:16}", ("DB_PASSWORD", "db_password", "dbPassword")),
    "short password": ("{62:10}", ("SMTP_PASSWORD", "password", "adminPassword")),
    "passphrase": ("{typed:14}", ("KEY_PASSPHRASE", "passphrase", "sshPassphrase")),
    "access token": ("{62:40}", ("ACCESS_TOKEN", "access_token", "accessToken")),
    "encryption key": ("{16:64}", ("ENCRYPTION_KEY", "encryption_key", "encryptionKey")),
    "webhook secret": ("{36:32}", ("WEBHOOK_SECRET", "webhook_secret", "webhookSecret")),
}

_ALPHABETS = {
    "10": DIGITS,
    "16": HEX,
    "32": BASE32,
    "36": LOWER36,
    "62": BASE62,
    "64": BASE64,
    "U": UPPER36,
    "url": URLSAFE,
    "typed": TYPED,
}


def body(rng: random.Random, alphabet: str, length: int) -> str:
    """Random characters; the first and the last are letters or digits, and a password has a digit."""
    if alphabet == "uuid":
        return str(uuid.UUID(int=rng.getrandbits(128), version=4))
    letters = _ALPHABETS[alphabet]
    edges = [char for char in letters if char.isalnum()]
    middle = "".join(rng.choices(letters, k=max(0, length - 3)))
    digit = rng.choice([char for char in letters if char.isdigit()])
    return rng.choice(edges) + middle + digit + rng.choice(edges)


_FIELD = re.compile(r"\{(10|16|32|36|62|64|U|url|typed|uuid):(\d+)\}")


def fill(rng: random.Random, template: str) -> tuple[str, tuple[str, ...]]:
    """The template with its fields filled, and the random bodies of at least six characters."""
    bodies: list[str] = []

    def random_part(field: re.Match[str]) -> str:
        part = body(rng, field[1], int(field[2]))
        # Account numbers and the like are no secrets by themselves.
        if field[1] != "10" and len(part) >= 6:
            bodies.append(part)
        return part

    return _FIELD.sub(random_part, template), tuple(bodies)


SHAPE_CARRIERS: dict[str, str] = {
    "bare": "%s",
    "shell": "curl -s -H 'X-Thing: %s' https://api.internal.test/v1/items | jq .",
    "env": "export SERVICE_CREDENTIAL=%s",
    "json": '{"region": "eu-west-1", "value": "%s", "retries": 3}',
    "escaped json": '{"content": "{\\"setting\\": \\"%s\\"}"}',
    "yaml": "service:\n  endpoint: internal\n  setting: %s\n  retries: 3\n",
    "python": "client = Client('%s', timeout=30)",
    "prose": "I had to paste %s into the form before it worked.",
    "url": "GET https://api.internal.test/v1/items?limit=10&k=%s&page=2",
    "log": "2025-03-04T10:11:12Z ERROR request refused for %s after 3 retries",
}

NAMED_CARRIERS: dict[str, str] = {
    "env": "{UPPER}={value}",
    "export": "export {UPPER}='{value}'",
    "dotenv quoted": '# settings\n{UPPER}="{value}"\nDEBUG=1\n',
    "json": '{{"host": "db.internal", "{camel}": "{value}", "port": 5432}}',
    "escaped json": '{{"content": "{{\\"{lower}\\":\\"{value}\\"}}"}}',
    "yaml": "database:\n  host: db.internal\n  {lower}: {value}\n  port: 5432\n",
    "yaml quoted": 'settings:\n  {lower}: "{value}"\n',
    "python": '{lower} = "{value}"',
    "keyword argument": "client = connect(host, {lower}='{value}', timeout=3)",
    "typescript": "const {camel}: string = '{value}';",
    "k8s env": "env:\n- name: {UPPER}\n  value: {value}\n",
    "docker run": "docker run -d -e {UPPER}={value} -p 80:80 nginx",
    "option": "deploy --{dashed} {value} --region eu",
    "powershell": '$env:{UPPER} = "{value}"',
    "log": "2025-03-04 10:11:12 DEBUG config {lower}={value} host=db.internal",
    "markdown": "- **{UPPER}**: `{value}`",
    "xml": "<settings><{camel}>{value}</{camel}></settings>",
    "php": "define('{UPPER}', '{value}');",
}

# Whole contexts, each with one random body in braces.
CONTEXTS: dict[str, tuple[str, ...]] = {
    "url password": (
        "postgres" + "://app:{typed:14}@db.internal:5432/app",
        "DATABASE_URL=mysql" + "://root:{62:12}@10.0.0.4/shop?ssl=true",
        "redis" + "://:{62:18}@cache:6379/0",
        "git clone https" + "://deploy:{62:20}@git.internal/team/app.git",
        "amqp" + "://svc:{62:9}@mq:5672/%2f",
        "mongodb+srv" + "://app:{62:16}@cluster0.abcde.mongodb.net/?retryWrites=true",
    ),
    "authorization": (
        "Authorization: " + "Bearer {62:40}",
        "curl -H 'Authorization: " + "Basic {64:28}' https://api.internal/x",
        'headers = {"Authorization": "' + 'token {16:40}"}',
        "authorization: " + "Bearer {url:64}",
        '-H "X-Api-Key: {62:32}" ',
        'req.Header.Set("X-Auth-Token", "{62:32}")',
    ),
    "command": (
        "curl -u " + "admin:{62:14} https://nexus.internal/repo",
        "curl -sS --user " + "'ci:{62:20}' https://jenkins.internal/job",
        "mysql -h db -u root -p" + "{62:12} shop < dump.sql",
        "sshpass -p " + "'{typed:12}' ssh deploy@10.0.0.9",
        "docker login -u ci -p " + "{62:24} registry.internal",
        "redis-cli -h cache -a " + "{62:16} ping",
        "PGPASSWORD=" + "{62:12} psql -h db -U app",
        "aws configure set aws_secret_access_key " + "{64:40}",
        "npm config set //registry.npmjs.org/:_authToken=" + "{62:36}",
        "htpasswd -bc /etc/nginx/.htpasswd admin " + "{62:12}",
        "openssl rsa -in k.pem -passin pass:" + "{62:14}",
    ),
    "cookie": (
        "Cookie: session=" + "{62:40}; theme=dark",
        "Set-Cookie: sid=" + "{url:43}; Path=/; HttpOnly; SameSite=Lax",
        "curl -b 'auth=" + "{16:64}' https://app.internal/",
    ),
    "prose": (
        "The password is " + "{typed:12}, please do not share it.",
        "the token is: " + "{62:32}",
        "My API key is `" + "{62:32}` by the way",
        "Log in as admin with password " + "{typed:11} and look at the page.",
        "use " + "{62:14} as the password for staging",
        "Password for the staging account: " + "{62:12}",
        "the db password was changed to " + "{62:12} yesterday",
    ),
    "connection string": (
        "Server=tcp:sql.internal,1433;Database=shop;User Id=sa;Password=" + "{62:16};Encrypt=true",
        "DefaultEndpointsProtocol=https;Account" + "Name=shop;AccountKey=" + "{64:86}==;EndpointSuffix=x",
        "Endpoint=sb://bus.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=" + "{64:43}=",
        '"ConnectionStrings": {"Default": "Host=db;Username=app;Password=' + '{62:18}"}',
        "https://shop.blob.core.windows.net/c?sv=2022-11-02&se=2025-01-01&sr=c&sp=rl&sig=" + "{62:43}%3D",
    ),
    "netrc": (
        "machine api.internal login ci password " + "{62:16}",
        "machine h\n  login ci\n  password " + "{62:16}\n",
    ),
    "npmrc": ("//registry.internal/:_authToken=" + "{62:36}", "_auth=" + "{64:40}"),
    "htpasswd": ("admin:$" + "apr1${62:8}${62:22}", "root:$" + "6${62:16}${62:86}:19000:0:99999:7:::"),
    "kubeconfig": ("    client-key-data: " + "{64:400}", "  user:\n    token: " + "{62:64}"),
    "aws pair": ("AK" + "IA{32:16}\n{64:40}\n", "key AK" + "IA{32:16} / {64:40} for the bucket"),
    "sql": (
        "ALTER USER app WITH PASSWORD '" + "{62:16}';",
        "CREATE USER 'app'@'%' IDENTIFIED BY '" + "{62:16}';",
    ),
    "code pair": (
        'requests.get(url, auth=("admin", "' + '{62:14}"))',
        "smtp.login('bot', '" + "{62:16}')",
        'os.environ["STRIPE_KEY_SECRET"] = "' + '{62:24}"',
        'config.setPassword("' + '{62:14}");',
        '<add key="ApiKey" value="' + '{62:32}" />',
        'api_key: str = Field(default="' + '{62:32}")',
    ),
    "private key": (
        "-----BEGIN RSA "
        + "PRIVATE KEY-----\n{64:64}\n{64:64}\n{64:40}==\n-----END RSA PRIV"
        + "ATE KEY-----",
        "-----BEGIN OPENSSH " + "PRIVATE KEY-----\n{64:70}\n{64:70}\n{64:30}",
        '"private_key": "-----BEGIN '
        + "PRIVATE KEY-----\\n{64:64}\\n{64:64}\\n-----END "
        + 'PRIVATE KEY-----\\n"',
        "     1\t-----BEGIN EC " + "PRIVATE KEY-----\n     2\t{64:64}\n     3\t{64:64}\n",
        "-----BEGIN PGP "
        + "PRIVATE KEY BLOCK-----\n\n{64:64}\n{64:64}\n=ab1d\n-----END PGP "
        + "PRIVATE KEY BLOCK-----",
    ),
}


def _lines(file: str) -> list[str]:
    """One sample a line; ⏎ is a line break within one, ␟ is dropped: it keeps scanners off the templates."""
    text = (Path(__file__).parent / file).read_text(encoding="utf-8")
    return [line.replace("⏎", "\n").replace("␟", "") for line in text.splitlines() if line]


def secrets(seed: int) -> Iterator[Sample]:
    """Every kind in every carrier that suits it."""
    rng = random.Random(seed)
    for kind, templates in SHAPES.items():
        for template in templates:
            for carrier, frame in SHAPE_CARRIERS.items():
                token, bodies = fill(rng, template)
                yield Sample(kind, carrier, frame.replace("%s", token), bodies)
    for kind, (template, (upper, lower, camel)) in NAMED.items():
        for carrier, frame in NAMED_CARRIERS.items():
            value, bodies = fill(rng, template)
            names = {
                "UPPER": upper,
                "lower": lower,
                "camel": camel,
                "dashed": lower.replace("_", "-").lower(),
            }
            yield Sample(kind, carrier, frame.format(value=value, **names), bodies)
    for kind, texts in CONTEXTS.items():
        for number, template in enumerate(texts):
            text, bodies = fill(rng, template)
            yield Sample(kind, str(number), text, bodies)
    for template in _lines("secret_lines.txt"):
        text, bodies = fill(rng, template)
        yield Sample("line", template, text, bodies)


def survivors(sample: Sample, redacted: str) -> list[str]:
    """The six-character pieces of a sample's secrets that are still there."""
    return [
        random_part[i : i + 6]
        for random_part in sample.bodies
        for i in range(len(random_part) - 5)
        if random_part[i : i + 6] in redacted
    ]


def _hex(rng: random.Random, length: int) -> str:
    return "".join(rng.choices(HEX, k=length))


def _picture(rng: random.Random) -> str:
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + rng.randbytes(900)).decode()


LOOK_ALIKES: dict[str, Callable[[random.Random], str]] = {
    "uuid": lambda r: f"session {uuid.UUID(int=r.getrandbits(128), version=4)} resumed",
    "git sha": lambda r: f"commit {_hex(r, 40)}\nAuthor: Jane Roe <jane@roe.test>\n\n    Fix token refresh",
    "short sha": lambda r: f"{_hex(r, 7)}..{_hex(r, 7)} main -> main (auth: keep password field)",
    "md5": lambda r: f"{_hex(r, 32)}  dist/key.tar.gz",
    "sha256": lambda r: f"sha256:{_hex(r, 64)}",
    "sri": lambda r: f'"integrity": "sha512-{base64.b64encode(r.randbytes(64)).decode()}",',
    "go sum": lambda r: f"golang.org/x/oauth2 v0.15.0 h1:{base64.b64encode(r.randbytes(32)).decode()}",
    "image digest": lambda r: f"image: nginx@sha256:{_hex(r, 64)}",
    "message id": lambda r: (
        f'{{"id":"msg_01{body(r, "62", 22)}","type":"message","usage":{{"input_tokens":12}}}}'
    ),
    "response id": lambda r: f'"previous_response_id": "resp_{_hex(r, 48)}"',
    "call id": lambda r: f'"call_id": "call_{body(r, "62", 24)}", "token_count": 512',
    "tool id": lambda r: f'{{"type":"tool_use","id":"toolu_01{body(r, "62", 22)}","name":"Bash"}}',
    "request id": lambda r: f"request_id=req_{body(r, '62', 24)} status=401 token expired",
    "reasoning id": lambda r: f'{{"id":"rs_{_hex(r, 48)}","type":"reasoning"}} and fc_{_hex(r, 48)}',
    "chat id": lambda r: f'"id": "chatcmpl-{body(r, "62", 29)}", "total_tokens": 4021',
    "session id": lambda r: (
        f"sessionId: {uuid.UUID(int=r.getrandbits(128))} session_id=ses_{body(r, '62', 26)}"
    ),
    "session name": lambda r: (
        f"~/.kimi-code/sessions/session_{uuid.UUID(int=r.getrandbits(128), version=4)}/"
    ),
    "picture": lambda r: f"![logo](data:image/png;base64,{_picture(r)})",
    "bare base64": lambda r: f'"data": "{_picture(r)}"',
    "version": lambda r: (
        f"secretlib=={r.randint(1, 9)}.{r.randint(0, 20)}.{r.randint(0, 9)} tokenizers>=0.15.2,<1"
    ),
    "environment lookups": lambda r: "const apiKey = process.env.API_KEY; token = os.environ['GITHUB_TOKEN']",
    "rust and go lookups": lambda r: (
        'let token = env::var("API_TOKEN")?; secret := os.Getenv("CLIENT_SECRET")'
    ),
    "shell variables": lambda r: (
        'curl -H "Authorization: Bearer $TOKEN" -u "$USER:$PASS" --password "${DB_PASSWORD}"'
    ),
    "shell substitution": lambda r: "export GITHUB_TOKEN=$(gh auth token) PASSWORD=`cat secret.txt`",
    "actions": lambda r: "env:\n  NPM_TOKEN: ${{ secrets.NPM_TOKEN }}\n  password: ${{ inputs.password }}",
    "helm": lambda r: "password: {{ .Values.postgres.password | quote }}\ntoken: {{ token }}",
    "angle placeholder": lambda r: "OPENAI_API_KEY=<YOUR_API_KEY> password: <password> --token <token>",
    "your placeholder": lambda r: 'API_KEY="your-api-key-here"\npassword: your-password-here',
    "crossed out": lambda r: "token: xxxxxxxxxxxxxxxxxxxx, password=********, api_key: sk-...",
    "change me": lambda r: (
        "POSTGRES_PASSWORD=changeme\nSECRET_KEY=change-me-in-production\nTOKEN=example-token"
    ),
    "documentation key": lambda r: "aws_access_key_id = AK" + "IAIOSFODNN7EXAMPLE",
    "types": lambda r: "def login(user: str, password: str, token: Optional[str] = None) -> Token: ...",
    "typescript types": lambda r: (
        "interface Login { password: string; token?: string; apiKey: string | undefined }"
    ),
    "nothing": lambda r: "connect(password=None, token=null, secret=undefined, api_key='')",
    "calls": lambda r: (
        "token = get_token()\nsecret = secrets.token_hex(32)\npassword = getpass.getpass('Password: ')"
    ),
    "attributes": lambda r: "password = user.password\ntoken = self._token\napi_key=settings.OPENAI_API_KEY,",
    "names": lambda r: "connect(password=password, token=access_token2, secret=client_secret_v2)",
    "paths": lambda r: (
        "key: /etc/ssl/private/server.key\nPASSWORD_FILE=/run/secrets/db_password token=./token.txt"
    ),
    "urls": lambda r: (
        "token_url = 'https://auth.internal/oauth2/token' key=https://example.test/keys/public.pem"
    ),
    "url without password": lambda r: (
        "ssh://git@github.com:22/org/repo http://localhost:3000/@vite/client user@host"
    ),
    "template url": lambda r: (
        "postgres" + "://${USER}:${PASS}@db/app and postgres" + "://user:password@localhost/db"
    ),
    "imports": lambda r: "from app.auth.tokens import TokenBucketRateLimiterConfig, password_hasher as key",
    "colours": lambda r: "--token-color: #a1b2c3; --key-colour: #ffffff80; keyword: rgb(12, 34, 56)",
    "test names": lambda r: (
        "test_password_reset_token_is_invalidated_after_login PASSED tests/test_auth.py::test_key"
    ),
    "patterns": lambda r: (
        r"re.compile(r'password\s*=\s*[A-Za-z0-9_]{20,}') token: /^gh[pousr]_[A-Za-z0-9]{36}$/"
    ),
    "secret refs": lambda r: (
        "valueFrom:\n  secretKeyRef:\n    name: my-app-credentials\n    key: database-password"
    ),
    "trailers": lambda r: f"Signed-off-by: Jane <j@roe.test>\nChange-Id: I{_hex(r, 40)}\nToken-Usage: 1234",
    "long names": lambda r: "secret = AbstractSingletonProxyFactoryBeanConfigurationTokenProvider",
    "snake names": lambda r: "token = extract_bearer_token_from_request_headers_or_none",
    "lorem": lambda r: (
        "password lorem ipsum dolor sit amet consectetur, token adipiscing elit sed do eiusmod"
    ),
    "required": lambda r: (
        "Error: password is required. The token is invalid or the key is missing; secret is empty."
    ),
    "rules": lambda r: (
        "password must be at least 8 characters; the password is case-sensitive; token is 3600s"
    ),
    "algorithms": lambda r: (
        "The password is SHA-256 hashed, token is RS256 signed, secret is base64-encoded (UTF-8)."
    ),
    "counts": lambda r: (
        '"max_tokens": 4096, "cache_read_input_tokens": 20480, tokens=128000, token_budget: 1e6'
    ),
    "labels": lambda r: (
        '{"password": "Passwort", "token": "Jeton", "password.hint": "Enter your password again"}'
    ),
    "syntax error": lambda r: (
        "SyntaxError: Unexpected token '<', \"<!DOCTYPE \"... is not valid JSON at position 0"
    ),
    "keyboard": lambda r: 'key: "ArrowDown", shortcutKey: "ctrl+shift+p", KEY_ENTER = 13, primary_key=True',
    "cache keys": lambda r: (
        f'cache_key = "user:{r.randint(1, 999)}:profile", key: node-modules-{_hex(r, 64)}'
    ),
    "public keys": lambda r: f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{body(r, '64', 43)} jane@laptop",
    "certificate": lambda r: f"-----BEGIN CERTIFICATE-----\n{body(r, '64', 64)}\n-----END CERTIFICATE-----",
    "mapped ports": lambda r: (
        "docker run -u 1000:1000 -p 8080:80 nginx && git push -u origin HEAD:main && mkdir -p a/b"
    ),
    "basic words": lambda r: (
        "Basic authentication, Bearer authentication, basic usage, Authorization: Bearer <token>"
    ),
    "cookie words": lambda r: "Cookie: theme=dark; lang=en-US; consent=accepted",
    "react": lambda r: (
        '<input type="password" name="password" placeholder="Password" autoComplete="new-password" />'
    ),
    "validation": lambda r: "password: z.string().min(8).max(64), token: Joi.string().required()",
    "timestamps": lambda r: (
        "token_expires_at: 2025-03-04T10:11:12.345Z, key_created=1709546400, auth_time: 1709546400000"
    ),
    "public ids": lambda r: (
        f"pk: 12, token_type: bearer, key_id: {_hex(r, 8)}, auth_mode: oauth2, client_id={_hex(r, 20)}"
    ),
    "escaped": lambda r: json.dumps({"code": 'password: str = Field(..., description="The password")'}),
    "public dsn": lambda r: f'Sentry.init({{ dsn: "https://{_hex(r, 32)}@o917.ingest.de.sentry.io/146" }})',
    "handshake": lambda r: f'.header("sec-websocket-key", "{body(r, "64", 22)}==")',
    "words abroad": lambda r: "cs:\n  password: Použijte\n  confirm_new_password: Potvrďte\n",
    "git log": lambda r: f"{_hex(r, 7)} feat: refresh the token\n{_hex(r, 7)} chore: bump deps\n",
    "css classes": lambda r: "sk-fading-circle sk-circle-container-large-animated sk-chase-dot-before-2",
    "git remote": lambda r: "origin\tgit@github.com:org/key-token-secret.git (fetch)",
    "lock file": lambda r: (
        f'checksum = "{_hex(r, 64)}"\nresolution: "jsonwebtoken@npm:9.0.2"\nkey-cache@^1.2.3:'
    ),
    "etag": lambda r: f'ETag: W/"{_hex(r, 32)}" x-request-id: {uuid.UUID(int=r.getrandbits(128))}',
    "already redacted": lambda r: (
        "password=[redacted:password] token: [REDACTED] key=**** secret: ***hidden***"
    ),
}


def look_alikes(seed: int) -> Iterator[Sample]:
    """Texts that must come through unchanged."""
    rng = random.Random(seed)
    for kind, make in LOOK_ALIKES.items():
        yield Sample(kind, "text", make(rng), ())
    for line in _lines("ordinary_lines.txt"):
        yield Sample(line, "line", line, ())
