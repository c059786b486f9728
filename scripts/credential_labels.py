"""Makes the labelled examples that scripts/train_credentials.py learns from: credentials, and what looks like them.

Values are random, drawn from the shapes in holdfast.guard.token_shapes and from families of alphabets, prefixes and
lengths that services use. Each stands in one of many wrappers under a name, so that kinds and wrappers can be left out.
No value was ever issued by anybody.
"""

from __future__ import annotations

import base64
import itertools
import random
import re
import string
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))
from holdfast.guard.token_shapes import SHAPES

LOWER, UPPER, DIGITS = string.ascii_lowercase, string.ascii_uppercase, string.digits
HEX, LOWER36, UPPER36 = DIGITS + "abcdef", LOWER + DIGITS, UPPER + DIGITS
BASE62 = LOWER + UPPER + DIGITS
URLSAFE, BASE64, BASE32 = BASE62 + "-_", BASE62 + "+/", UPPER + "234567"
BASE58 = "".join(sign for sign in BASE62 if sign not in "0OIl")
_PRINTABLE = "".join(map(chr, range(33, 127)))
_UNBOUNDED = 24  # how much further than the least an open repetition goes


class Example(NamedTuple):
    """A run of characters in a text: `text[start:end]`."""

    text: str
    start: int
    end: int
    secret: bool
    kind: str
    wrapper: str
    gap: str = ""
    pieces: tuple[str, ...] = ()


# Values.

Random = random.Random
Make = Callable[[Random], str]


def _run(rng: Random, alphabet: str, length: int) -> str:
    return "".join(rng.choices(alphabet, k=length))


def drawn(rng: Random, pattern: str) -> str:
    """A text that a pattern matches; what it looks around for is left out."""
    return _drawn(rng, parser.parse(pattern))


def _drawn(rng: Random, tree: Any) -> str:
    pieces: list[str] = []
    for operator, value in tree:
        if operator is sre.LITERAL:
            pieces.append(chr(value))
        elif operator is sre.IN:
            pieces.append(rng.choice(_members(value)))
        elif operator is sre.SUBPATTERN:
            pieces.append(_drawn(rng, value[3]))
        elif operator is sre.BRANCH:
            pieces.append(_drawn(rng, rng.choice(value[1])))
        elif operator in {sre.MAX_REPEAT, sre.MIN_REPEAT}:
            least, most, part = value
            count = rng.randint(least, min(int(most), least + _UNBOUNDED))
            pieces += (_drawn(rng, part) for _ in range(count))
    return "".join(pieces)


def _members(items: Any) -> str:
    signs: set[str] = set()
    negated = False
    for operator, value in items:
        if operator is sre.NEGATE:
            negated = True
        elif operator is sre.LITERAL:
            signs.add(chr(value))
        elif operator is sre.RANGE:
            signs |= set(map(chr, range(value[0], value[1] + 1)))
        elif value is sre.CATEGORY_DIGIT:
            signs |= set(DIGITS)
        elif value is sre.CATEGORY_WORD:
            signs |= set(BASE62 + "_")
    if negated:
        signs = set(BASE62) - signs
    return "".join(sorted(signs))


SYLLABLES = [
    "ac",
    "me",
    "zen",
    "do",
    "flo",
    "ri",
    "ver",
    "sta",
    "ck",
    "pay",
    "hub",
    "ly",
    "bit",
    "cloud",
    "lo",
    "gi",
    "ca",
    "po",
    "ta",
    "mi",
    "na",
    "so",
    "ve",
    "ra",
    "ke",
    "ti",
    "lu",
    "no",
    "da",
    "vo",
    "pi",
    "xa",
    "qu",
    "en",
    "or",
    "al",
    "tra",
    "net",
    "send",
    "fy",
    "ship",
    "data",
    "box",
    "ed",
    "mo",
    "ni",
    "bel",
    "tur",
    "go",
    "ci",
    "fi",
    "wa",
    "sy",
    "nc",
    "op",
    "sen",
    "try",
    "ma",
    "il",
    "che",
    "fo",
    "ge",
    "hy",
    "ja",
]
SERVICES = [
    "acme",
    "stripe",
    "twilio",
    "datadog",
    "okta",
    "fastly",
    "snyk",
    "sonar",
    "gitlab",
    "github",
    "heroku",
    "netlify",
    "vercel",
    "render",
    "railway",
    "mapbox",
    "algolia",
    "segment",
    "amplitude",
    "mixpanel",
    "sentry",
    "bugsnag",
    "rollbar",
    "pagerduty",
    "opsgenie",
    "zendesk",
    "intercom",
    "hubspot",
    "salesforce",
    "jira",
    "confluence",
    "slack",
    "discord",
    "telegram",
    "teams",
    "zoom",
    "dropbox",
    "box",
    "asana",
    "linear",
    "notion",
    "airtable",
    "figma",
    "miro",
    "shopify",
    "square",
    "paypal",
    "braintree",
    "adyen",
    "plaid",
    "coinbase",
    "binance",
    "kraken",
    "infura",
    "alchemy",
    "etherscan",
    "openai",
    "anthropic",
    "cohere",
    "mistral",
    "groq",
    "pinecone",
    "weaviate",
    "qdrant",
    "huggingface",
    "replicate",
    "azure",
    "aws",
    "gcp",
    "google",
    "digitalocean",
    "linode",
    "vultr",
    "hetzner",
    "cloudflare",
    "akamai",
    "postgres",
    "mysql",
    "mongo",
    "redis",
    "rabbitmq",
    "kafka",
    "elastic",
    "kibana",
    "grafana",
    "prometheus",
    "loki",
    "influx",
    "snowflake",
    "databricks",
    "airflow",
    "jenkins",
    "circleci",
    "travis",
    "buildkite",
    "drone",
    "docker",
    "quay",
    "harbor",
    "artifactory",
    "nexus",
    "npm",
    "pypi",
    "rubygems",
    "vault",
    "consul",
    "nomad",
    "terraform",
    "pulumi",
    "ansible",
    "smtp",
    "sendgrid",
    "mailgun",
    "postmark",
    "ldap",
    "wifi",
    "vpn",
    "wireguard",
    "openvpn",
    "router",
    "firewall",
    "switch",
    "camera",
    "nas",
    "jira",
    "bamboo",
    "teamcity",
    "firebase",
    "supabase",
    "fauna",
    "planetscale",
    "upstash",
    "neon",
    "pusher",
    "ably",
    "pubnub",
    "twitch",
    "youtube",
    "spotify",
    "steam",
    "maps",
    "weather",
    "geocode",
    "sms",
    "fax",
    "crm",
    "erp",
    "billing",
]
STAGES = [
    "live",
    "test",
    "prod",
    "dev",
    "sandbox",
    "staging",
    "pat",
    "sk",
    "pk",
    "rk",
    "api",
    "key",
    "secret",
    "token",
    "v1",
    "v2",
    "v3",
    "at",
    "rt",
    "us",
    "eu",
    "oauth",
    "app",
    "svc",
    "ci",
    "sa",
]


def _brand(rng: Random) -> str:
    if rng.random() < 0.3:
        return rng.choice(SERVICES)[: rng.choice([3, 4, 5, 12])]
    if rng.random() < 0.4:
        return _run(rng, LOWER, rng.randint(2, 4))
    return "".join(rng.choices(SYLLABLES, k=rng.choice([1, 2, 2, 3])))


def _prefix(rng: Random, sign: str) -> str:
    parts = [_brand(rng)]
    if rng.random() < 0.55:
        parts.append(rng.choice(STAGES))
    if rng.random() < 0.1:
        parts.append(rng.choice(STAGES))
    text = sign.join(parts) + sign
    return text.upper() if rng.random() < 0.12 else text


def _length(rng: Random) -> int:
    return rng.choice(
        [
            16,
            20,
            20,
            22,
            24,
            24,
            27,
            28,
            30,
            32,
            32,
            32,
            35,
            36,
            40,
            40,
            43,
            44,
            48,
            52,
            56,
            60,
            64,
            64,
            72,
            80,
            86,
            96,
            128,
        ]
    )


def _prefixed(alphabet: str, sign: str) -> Make:
    return lambda rng: _prefix(rng, sign) + _run(rng, alphabet, _length(rng))


def _typed(rng: Random) -> str:
    word = rng.choice(SYLLABLES) + rng.choice(SYLLABLES)
    forms: tuple[Callable[[], str], ...] = (
        lambda: (
            word.title() + _run(rng, DIGITS, rng.randint(2, 4)) + rng.choice("!@#$%") + _run(rng, BASE62, 3)
        ),
        lambda: _run(rng, BASE62, rng.randint(9, 16)),
        lambda: rng.choice("-_.").join(_run(rng, LOWER36, 5) for _ in range(3)),
        lambda: word + rng.choice("-_.") + _run(rng, BASE62, 6) + rng.choice(["", "!", "#"]),
    )
    return rng.choice(forms)()


def _groups(alphabet: str, size: int, count: int, sign: str = "-") -> Make:
    return lambda rng: sign.join(_run(rng, alphabet, size) for _ in range(count))


def _padded(size: int) -> Make:
    return lambda rng: base64.b64encode(rng.randbytes(size)).decode()


CREDENTIALS: dict[str, Make] = {
    **{f"prefix_{name}_{sign}": _prefixed(alphabet, sign) for sign in "_-." for name, alphabet in
       (("hex", HEX), ("36", LOWER36), ("62", BASE62), ("url", URLSAFE), ("upper", UPPER36))},
    "prefix_none": lambda rng: _brand(rng) + _run(rng, BASE62, _length(rng)),
    "hex32": lambda rng: _run(rng, HEX, 32),
    "hex40": lambda rng: _run(rng, HEX, 40),
    "hex64": lambda rng: _run(rng, HEX, 64),
    "hex_any": lambda rng: _run(rng, HEX, rng.choice([16, 20, 24, 30, 36, 48, 50, 56, 96, 128])),
    "HEX": lambda rng: _run(rng, DIGITS + "ABCDEF", rng.choice([16, 24, 32, 40, 64])),
    "36": lambda rng: _run(rng, LOWER36, _length(rng)),
    "36short": lambda rng: _run(rng, LOWER36, rng.randint(10, 20)),
    "62": lambda rng: _run(rng, BASE62, _length(rng)),
    "62short": lambda rng: _run(rng, BASE62, rng.randint(10, 20)),
    "url": lambda rng: _run(rng, URLSAFE, _length(rng)),
    "64": lambda rng: _run(rng, BASE64, _length(rng)),
    "64pad": lambda rng: base64.b64encode(rng.randbytes(rng.choice([16, 20, 24, 32, 32, 48, 64]))).decode(),
    "58": lambda rng: _run(rng, BASE58, rng.choice([22, 32, 44, 51, 52, 88])),
    "32": lambda rng: _run(rng, BASE32, rng.choice([16, 26, 32, 52])),
    "upper": lambda rng: _run(rng, UPPER36, rng.choice([16, 20, 24, 25, 32, 40])),
    "letters": lambda rng: _run(rng, LOWER + UPPER, _length(rng)),
    "uuid": lambda rng: str(uuid.UUID(int=rng.getrandbits(128), version=4)),
    "uuid_more": lambda rng: f"{uuid.UUID(int=rng.getrandbits(128))}{rng.choice('-:_.')}{_run(rng, BASE62, 12)}",
    "typed": _typed,
    "licence5": lambda rng: _groups(UPPER36, rng.choice([4, 5, 6]), rng.choice([4, 5, 6]))(rng),
    "groups_lower": lambda rng: _groups(LOWER36, rng.choice([4, 5, 6, 8]), rng.choice([3, 4, 5]))(rng),
    "dots2": lambda rng: f"{_run(rng, BASE62, rng.randint(8, 24))}.{_run(rng, URLSAFE, rng.randint(20, 60))}",
    "dots3": lambda rng: ".".join(_run(rng, URLSAFE, rng.randint(10, 40)) for _ in range(3)),
    "version": lambda rng: f"v{rng.randint(1, 4)}.{rng.choice(['0', 'local', 'public', 'k8s'])}{rng.choice('.-')}{_run(rng, URLSAFE, _length(rng))}",
    "jwe": lambda rng: "eyJ" + _run(rng, URLSAFE, 30) + ".." + _run(rng, URLSAFE, 40),
    "base64_pair": lambda rng: base64.b64encode(f"{_brand(rng)}:{_run(rng, BASE62, 20)}".encode()).decode(),
    "number_and_hash": lambda rng: f"{rng.randint(10**5, 10**10)}{rng.choice('_-.|/')}{_run(rng, BASE62, rng.choice([24, 32, 40]))}",
    **{f"shape{number}": (lambda rng, shape=shape: drawn(rng, shape.before.replace(r"(?<!", "(?<!")) + rng.choice(shape.anchors.split()) + drawn(rng, shape.body))
       for number, shape in enumerate(SHAPES) if shape.kind not in {"webhook", "password-hash", "session"}},
}  # fmt: skip

WORDS = [
    "user",
    "session",
    "token",
    "manager",
    "handler",
    "config",
    "provider",
    "factory",
    "request",
    "response",
    "cache",
    "index",
    "page",
    "view",
    "model",
    "state",
    "store",
    "reducer",
    "action",
    "button",
    "input",
    "form",
    "table",
    "column",
    "row",
    "cell",
    "chart",
    "render",
    "update",
    "create",
    "delete",
    "fetch",
    "load",
    "parse",
    "build",
    "compile",
    "bundle",
    "deploy",
    "release",
    "branch",
    "commit",
    "merge",
    "test",
    "spec",
    "mock",
    "stub",
    "fixture",
    "helper",
    "util",
    "service",
    "client",
    "server",
    "router",
    "route",
    "path",
    "file",
    "folder",
    "name",
    "title",
    "label",
    "message",
    "error",
    "warning",
    "info",
    "debug",
    "trace",
    "log",
    "event",
    "queue",
    "worker",
    "task",
    "job",
    "thread",
    "process",
    "timer",
    "date",
    "time",
    "zone",
    "locale",
    "lang",
    "text",
    "string",
    "number",
    "array",
    "list",
    "map",
    "set",
    "tree",
    "node",
    "graph",
    "edge",
    "vertex",
    "matrix",
    "vector",
    "image",
    "icon",
    "color",
    "theme",
    "style",
    "layout",
    "grid",
    "panel",
    "modal",
    "dialog",
    "menu",
    "item",
    "option",
    "value",
    "default",
    "global",
    "local",
    "remote",
    "host",
    "port",
    "proxy",
    "socket",
    "stream",
    "buffer",
    "byte",
    "block",
    "chunk",
    "frame",
    "packet",
    "header",
    "body",
    "footer",
    "internal",
    "external",
    "public",
    "private",
    "abstract",
    "base",
    "core",
    "common",
    "shared",
    "legacy",
    "next",
    "async",
    "sync",
    "batch",
    "single",
    "multi",
    "validate",
    "normalize",
    "serialize",
    "encode",
    "decode",
    "encrypt",
    "decrypt",
    "compress",
    "register",
    "login",
    "logout",
    "password",
    "secret",
    "key",
    "auth",
]
ENDINGS = [
    "js",
    "mjs",
    "ts",
    "tsx",
    "py",
    "css",
    "json",
    "map",
    "png",
    "svg",
    "woff2",
    "html",
    "md",
    "go",
    "rs",
    "java",
    "lock",
    "yml",
]


def _camel(rng: Random) -> str:
    words = rng.choices(WORDS, k=rng.randint(2, 5))
    text = "".join(word.title() for word in words)
    text = text if rng.random() < 0.5 else text[0].lower() + text[1:]
    return text + (str(rng.randint(0, 999)) if rng.random() < 0.5 else "")


def _snake(rng: Random) -> str:
    sign = rng.choice("__-.")
    words = rng.choices(WORDS, k=rng.randint(2, 6))
    words.insert(
        rng.randrange(len(words)),
        rng.choice(
            [
                "v2",
                "2",
                "s3",
                "k8s",
                "sha256",
                "oauth2",
                "utf8",
                "x509",
                "3d",
                "i18n",
                "ipv4",
                "base64",
                "ed25519",
                "x86_64",
            ]
        ),
    )
    text = sign.join(words)
    return text.upper() if rng.random() < 0.2 else text


def _path(rng: Random) -> str:
    folders = [
        rng.choice([_camel, _snake])(rng) if rng.random() < 0.4 else rng.choice(WORDS)
        for _ in range(rng.randint(1, 4))
    ]
    return rng.choice(["", "/", "./", "../", "src/"]) + "/".join(folders) + f".{rng.choice(ENDINGS)}"


def _minified(rng: Random) -> str:
    return "".join(
        rng.choice([f"{_run(rng, LOWER, 1)}.{_run(rng, LOWER, 2)}", f"{_run(rng, LOWER, 1)}={_run(rng, DIGITS, 2)}", _run(rng, LOWER, 2)])
        + rng.choice("./+-") for _ in range(rng.randint(5, 12))
    ).strip("=./+-")  # fmt: skip


_ALGORITHMS = [
    "ED25519",
    "SHA256",
    "SHA512",
    "AES256-GCM",
    "aes-128-cbc",
    "RSA2048",
    "HS512",
    "RS256",
    "x86_64",
    "ecdsa-sha2-nistp256",
    "curve25519-sha256",
    "hmac-sha2-512",
    "PBKDF2-SHA256",
    "chacha20-poly1305",
    "TLS_AES_128_GCM_SHA256",
    "ECDHE-RSA-AES256-GCM-SHA384",
    "utf8mb4",
    "base64url",
    "gss-group14-sha1-toWM5Slw5Ew8Mqkay+al2g==",
    "diffie-hellman-group14-sha256",
    "secp256k1",
    "oauth2",
    "argon2id",
    "md5crypt",
    "win32",
    "sntrup761x25519-sha512",
    "rsa-sha2-512",
    "BLAKE2b",
    "X25519",
    "pkcs1v15",
    "p256",
    "i386",
    "amd64",
    "arm64v8",
    "3DES-EDE",
    "RIPEMD160",
]

ORDINARY: dict[str, Make] = {
    "algorithm": lambda rng: rng.choice(_ALGORITHMS),
    "sha1": lambda rng: _run(rng, HEX, 40),
    "sha256": lambda rng: _run(rng, HEX, 64),
    "sha512": lambda rng: _run(rng, HEX, 128),
    "md5": lambda rng: _run(rng, HEX, 32),
    "short_sha": lambda rng: _run(rng, HEX, rng.randint(7, 16)),
    "uuid": lambda rng: str(uuid.UUID(int=rng.getrandbits(128), version=4)),
    "uuid_part": lambda rng: f"{rng.choice(WORDS)}-{uuid.UUID(int=rng.getrandbits(128))}",
    "sri": lambda rng: f"sha{rng.choice([256, 384, 512])}-{base64.b64encode(rng.randbytes(rng.choice([32, 48, 64]))).decode()}",
    "digest64": lambda rng: base64.b64encode(rng.randbytes(rng.choice([16, 20, 32, 64]))).decode(),
    "picture": lambda rng: base64.b64encode(rng.choice([b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"GIF89a", b"\xff\xd8\xff\xe0", b"wOF2"]) + rng.randbytes(rng.randint(40, 400))).decode(),
    "base64_text": lambda rng: base64.b64encode(" ".join(rng.choices(WORDS, k=rng.randint(4, 20))).encode()).decode(),
    "camel": _camel,
    "snake": _snake,
    "path": _path,
    "minified": _minified,
    "vlq": lambda rng: ",".join(_run(rng, "ACEGISUW", 1) + "A" + _run(rng, BASE64, 2) for _ in range(9)).replace(",", rng.choice(["", "A"])),
    "jwt_header": lambda rng: rng.choice(["eyJhbGciOiJIUzI1NiJ9", "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9"]),
    "nanoid": lambda rng: _run(rng, URLSAFE, rng.choice([10, 12, 21])),
    "id62": lambda rng: _run(rng, BASE62, rng.choice([11, 12, 16, 17, 20, 22, 24, 28])),
    "prefixed_id": lambda rng: rng.choice(["msg", "ses", "call", "toolu", "req", "run", "evt", "usr", "org", "proj", "job", "sess", "trace", "span", "item", "doc", "page", "blk", "ord", "txn", "pod", "task", "rs", "fc", "chatcmpl", "asst", "thread", "file", "batch", "conv"]) + rng.choice("_-") + _run(rng, rng.choice([HEX, BASE62, LOWER36]), rng.choice([8, 12, 16, 22, 24, 26, 29, 32, 48])),
    "ulid": lambda rng: "01" + _run(rng, UPPER36, 24),
    "objectid": lambda rng: "6" + _run(rng, HEX, 23),
    "pod": lambda rng: f"{rng.choice(WORDS)}-{rng.choice(WORDS)}-{_run(rng, HEX, rng.choice([8, 9, 10]))}-{_run(rng, 'bcdfghjklmnpqrstvwxz2456789', 5)}",
    "hashed_file": lambda rng: f"{rng.choice(WORDS)}{rng.choice('.-')}{_run(rng, rng.choice([HEX, BASE62, URLSAFE]), rng.choice([8, 10, 16, 20]))}.{rng.choice(ENDINGS)}",
    "version": lambda rng: f"{rng.choice(WORDS)}-{rng.randint(0, 30)}.{rng.randint(0, 30)}.{rng.randint(0, 30)}{rng.choice(['', '-rc1', '-alpha.3', '+build5', '-linux-x86_64', '-py3-none-any'])}",
    "pseudo_version": lambda rng: f"v0.0.0-{rng.randint(2015, 2026)}{rng.randint(10, 12)}{rng.randint(10, 28)}{rng.randint(100000, 235959)}-{_run(rng, HEX, 12)}",
    "address": lambda rng: "0x" + _run(rng, DIGITS + "abcdefABCDEF", rng.choice([40, 64])),
    "bitcoin": lambda rng: rng.choice("13") + _run(rng, BASE58, 33),
    "cid": lambda rng: rng.choice(["Qm" + _run(rng, BASE58, 44), "bafy" + _run(rng, LOWER + "234567", 55)]),
    "nix": lambda rng: _run(rng, "0123456789abcdfghijklmnpqrsvwxyz", 32) + f"-{rng.choice(WORDS)}-{rng.randint(1, 9)}.{rng.randint(0, 20)}",
    "public_key": lambda rng: "AAAA" + rng.choice(["B3NzaC1yc2E", "C3NzaC1lZDI1NTE5"]) + _run(rng, BASE64, rng.randint(40, 300)),
    "spki": lambda rng: rng.choice(["MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A", "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE", "MIID"]) + _run(rng, BASE64, rng.randint(30, 64)),
    "publishable": lambda rng: rng.choice(["pk_live_", "pk_test_", "phc_", "sb_publishable_", "pub_", "public_"]) + _run(rng, BASE62, rng.choice([24, 32, 43])),
    "arn": lambda rng: f"arn:aws:{rng.choice(WORDS)}:eu-west-1:{rng.randint(10**11, 10**12)}:{_snake(rng)}",
    "resource": lambda rng: f"{rng.choice(['i', 'vpc', 'subnet', 'sg', 'ami', 'vol', 'eni', 'rtb', 'igw', 'lt', 'snap', 'nat', 'acl', 'eipalloc'])}-0{_run(rng, HEX, 16)}",
    "cursor": lambda rng: base64.b64encode(f"cursor:v2:{rng.randint(10**5, 10**12)}".encode()).decode(),
    "hex_bytes": lambda rng: _run(rng, HEX, rng.choice([16, 18, 24, 34, 42, 58, 66, 96, 200])),
    "digits": lambda rng: _run(rng, DIGITS, rng.randint(12, 40)),
    "date": lambda rng: f"{rng.randint(2015, 2026)}{rng.randint(10, 12)}{rng.randint(10, 28)}T{rng.randint(100000, 235959)}{rng.choice(['Z', '.123Z', ''])}",
    "locale": lambda rng: f"{rng.choice(['zh_CN', 'pt-BR', 'de_DE', 'sr-Latn-RS'])}.{rng.choice(['UTF-8', 'utf8'])}.{rng.choice(WORDS)}",
    "i18n": lambda rng: ".".join(rng.choices(WORDS, k=rng.randint(3, 6))) + str(rng.randint(1, 9)),
    "email_id": lambda rng: f"{_run(rng, BASE62, 22)}.{rng.randint(1, 9)}",
    "colours": lambda rng: "-".join(_run(rng, HEX, 6) for _ in range(rng.randint(2, 4))),
    "repeated": lambda rng: rng.choice(["ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "0123456789abcdefghijklmnopqrstuvwxyz"])[rng.randint(0, 8) :],
    "sql_alias": lambda rng: "_".join([rng.choice(WORDS), rng.choice(WORDS), _run(rng, HEX, 8), rng.choice(["fk", "idx", "uniq", "pk"])]),
    "url_part": lambda rng: f"www.{_brand(rng)}.com/{rng.choice(WORDS)}/{_run(rng, BASE62, rng.choice([6, 11, 22]))}",
    "drive": lambda rng: "1" + _run(rng, URLSAFE, rng.choice([32, 43])),
    "key_id": lambda rng: _run(rng, UPPER36, rng.choice([10, 16, 20])),
    "fingerprint": lambda rng: "SHA256:" + _run(rng, BASE64, 43),
    "service_id": lambda rng: _run(rng, LOWER36, rng.choice([20, 24, 25, 26])),
    "traceparent": lambda rng: f"00-{_run(rng, HEX, 32)}-{_run(rng, HEX, 16)}-01",
    "amz_id": lambda rng: base64.b64encode(rng.randbytes(57)).decode(),
    "handshake": lambda rng: base64.b64encode(rng.randbytes(rng.choice([16, 20]))).decode(),
    "ray": lambda rng: f"{_run(rng, HEX, 16)}-{rng.choice(['FRA', 'SJC', 'AMS'])}",
    "modulus": lambda rng: _run(rng, URLSAFE, rng.choice([43, 342, 86])),
    "challenge": lambda rng: _run(rng, URLSAFE, 43),
    "dkim": lambda rng: "MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQ" + _run(rng, BASE64, rng.randint(40, 170)),
    "parcel": lambda rng: rng.choice(["1Z" + _run(rng, UPPER36, 16), "JD" + _run(rng, DIGITS, 18), _run(rng, UPPER, 2) + _run(rng, DIGITS, 20), _run(rng, UPPER36, 17)]),
    "sku": lambda rng: f"{_run(rng, UPPER, rng.randint(2, 4))}-{_run(rng, DIGITS, rng.randint(3, 5))}-{_run(rng, UPPER36, rng.randint(2, 5))}",
    "mail_id": lambda rng: f"CA{_run(rng, URLSAFE, 40)}@mail.gmail.com",
    "verification": lambda rng: _run(rng, URLSAFE, 43),
    "css_module": lambda rng: f"{_camel(rng)}_{rng.choice(WORDS)}__{_run(rng, BASE62, 5)}",
    "css_class": lambda rng: f"{rng.choice(['css', 'sc', 'jss', 'emotion', 'svelte'])}-{_run(rng, LOWER36, rng.choice([6, 7, 8, 12]))}",
    "crate": lambda rng: f"lib{rng.choice(WORDS)}-{_run(rng, HEX, 16)}.rlib",
    "change_id": lambda rng: "I" + _run(rng, HEX, 40),
    "apple_build": lambda rng: f"{rng.randint(10, 30)}{_run(rng, UPPER, 1)}{rng.randint(100, 9999)}{_run(rng, LOWER, 1)}-{_run(rng, HEX, 10)}",
    "terraform_lock": lambda rng: rng.choice(["h1:", "zh:"]) + rng.choice([base64.b64encode(rng.randbytes(32)).decode(), _run(rng, HEX, 64)]),
    "data_url_part": lambda rng: "iVBORw0KGgoAAAANSUhEUgAA" + _run(rng, BASE64, rng.randint(30, 300)),
    "certificate": lambda rng: "MII" + _run(rng, BASE64, 61),
    "site_key": lambda rng: "6L" + _run(rng, URLSAFE, 38),
    "analytics": lambda rng: rng.choice(["G-", "GTM-", "AW-", "UA-"]) + _run(rng, UPPER36, rng.choice([7, 10])),
    "thought": lambda rng: "C" + _run(rng, BASE64, rng.choice([15, 40, 120, 400])),
    "solidity": lambda rng: "0x" + _run(rng, HEX, rng.choice([8, 64, 130])),
}  # fmt: skip

# Names. A credential may be called anything; these words say what it is.

_NOUNS = [
    "api_key",
    "token",
    "secret",
    "password",
    "api_token",
    "access_token",
    "auth_token",
    "secret_key",
    "client_secret",
    "access_key",
    "private_key",
    "signing_secret",
    "webhook_secret",
    "bearer_token",
    "pat",
    "personal_access_token",
    "deploy_token",
    "refresh_token",
    "session_token",
    "license_key",
    "encryption_key",
    "master_key",
    "passphrase",
    "credentials",
    "auth",
    "key",
    "apikey",
    "passwd",
    "pwd",
    "psk",
    "service_key",
    "admin_key",
    "bot_token",
    "app_secret",
    "shared_secret",
    "app_password",
    "integration_key",
    "ingest_key",
    "write_key",
    "read_key",
    "signing_key",
    "recovery_code",
    "backup_code",
    "unseal_key",
    "join_token",
    "community",
    "invite_code",
    "pin",
    "otp_seed",
    "totp_secret",
    "mfa_seed",
    "session_key",
    "session_cookie",
    "cookie",
    "access",
    "login",
    "private",
    "sas_token",
    "api_secret",
    "jwt",
    "storage_key",
    "account_key",
    "server_key",
    "root_token",
    "service_token",
]
_PLAIN_NAMES = [
    "session",
    "session_id",
    "conversation",
    "thread",
    "run_id",
    "job_id",
    "gpg_key",
    "key_fingerprint",
    "public_key_id",
    "key_id",
    "id",
    "sha",
    "commit",
    "hash",
    "digest",
    "checksum",
    "integrity",
    "etag",
    "revision",
    "build_id",
    "image_digest",
    "request_id",
    "trace_id",
    "span_id",
    "correlation_id",
    "node_id",
    "cache_key",
    "file_id",
    "document_id",
    "parent",
    "tree",
    "blob",
    "ref",
    "version",
    "tag",
    "fingerprint",
    "thumbprint",
    "key_id",
    "public_key",
    "client_id",
    "account_id",
    "tenant_id",
    "project_id",
    "org_id",
    "user_id",
    "device_id",
    "message_id",
    "transaction_id",
    "tx_hash",
    "block_hash",
    "address",
    "wallet",
    "contract",
    "cursor",
    "next_cursor",
    "page_token",
    "continuation",
    "nonce",
    "salt",
    "sri",
    "h1",
    "sha256",
    "md5",
    "sha512",
    "data",
    "content",
    "payload",
    "body",
    "image",
    "icon",
    "sprite",
    "font",
    "wasm",
    "mappings",
    "bytecode",
    "expected",
    "actual",
    "fixture",
    "snapshot",
    "name",
    "path",
    "file",
    "url",
    "href",
    "src",
    "slug",
    "class",
    "className",
    "selector",
    "import",
    "module",
    "package",
    "variable",
    "function",
    "label",
    "key_path",
    "query_key",
    "react_key",
    "storage_path",
    "bucket",
    "object_key",
    "migration_id",
    "schema_hash",
    "content_hash",
    "asset_hash",
    "chunk",
    "resolved",
    "tarball",
    "layer",
    "container",
    "pod",
    "instance",
    "resource",
    "arn",
    "subnet",
    "certificate",
    "cert",
    "ca_bundle",
    "kid",
    "jti",
    "serial",
]


def _styled(rng: Random, name: str, service: str) -> str:
    text = f"{service}_{name}" if service else name
    style = rng.randrange(7)
    if style == 0:
        return text.upper()
    if style == 1:
        return text.replace("_", "-")
    if style == 2:
        words = text.split("_")
        return words[0] + "".join(word.title() for word in words[1:])
    if style == 3:
        return text.replace("_", " ")
    if style == 4:
        return "".join(word.title() for word in text.split("_"))
    if style == 5:
        return text.replace("_", " ").title()
    return text


# The names that some look-alikes have.
_OWN_NAMES: dict[str, str] = {
    "service_id": "ServiceID NodeID node_id TaskID NetworkID task_id volume_id swarm_node_id cluster_id item_id ID",
    "traceparent": "traceparent trace_parent", "amz_id": "x-amz-id-2 amz_id host_id", "handshake": "sec-websocket-key Sec-WebSocket-Accept sec_websocket_key websocket_key", "ray": "cf-ray ray_id",
    "modulus": "n x y jwk_n modulus", "challenge": "code_challenge state nonce", "dkim": "p dkim_record k=rsa;p",
    "parcel": "tracking tracking_number parcel vin serial_number", "sku": "sku part_number product_code order_number",
    "mail_id": "message_id in_reply_to references", "verification": "google-site-verification site_verification",
    "change_id": "change_id", "apple_build": "build kernel os_version", "certificate": "certificate client_certificate_data ca_data x5c",
    "site_key": "recaptcha_site_key site_key", "analytics": "measurement_id tag_id container_id tracking_id",
    "thought": "thought_signature signature encrypted_content reasoning", "uuid": "session_id sessionId session uuid request_id parent_uuid",
    "prefixed_id": "id session_id call_id tool_use_id message_id request_id", "sha1": "commit sha parent tree head revision",
    "sri": "integrity", "key_id": "key_id gpg_key kid public_key_id", "id62": "id key slug video_id file_id public_id",
    "nanoid": "id key row_key react_key build_id", "terraform_lock": "hashes h1", "digest64": "integrity digest etag content-md5 nonce h1",
}  # fmt: skip


WRAPPERS: dict[str, str] = {
    "env": "{name}={value}",
    "env_quoted": '{name}="{value}"',
    "export": "export {name}={value}",
    "export_single": "export {name}='{value}'\n",
    "setenv": "setenv {name} {value}",
    "dotenv": "# {service}\n{name}={value}\nDEBUG=false\nPORT=8080\n",
    "yaml": "{service}:\n  region: eu-west-1\n  {name}: {value}\n  retries: 3\n",
    "yaml_quoted": "{name}: '{value}'",
    "yaml_list": "- name: {name}\n  value: {value}\n",
    "json": '{{"{name}": "{value}", "timeout": 30}}',
    "json_lines": '{{\n  "host": "api.internal",\n  "{name}": "{value}"\n}}\n',
    "json_compact": '{{"a":1,"{name}":"{value}","b":[]}}',
    "toml": '[{service}]\n{name} = "{value}"\n',
    "ini": "[{service}]\nhost = 10.0.0.4\n{name} = {value}\n",
    "properties": "{service}.{name}={value}",
    "xml": "<{name}>{value}</{name}>",
    "xml_attribute": '<add key="{name}" value="{value}"/>',
    "plist": "<key>{name}</key>\n<string>{value}</string>",
    "python": '{name} = "{value}"',
    "python_keyword": "client = Client(host, {name}='{value}')",
    "javascript": "const {name} = '{value}';",
    "object": "{name}: '{value}',",
    "go": '{name} := "{value}"',
    "define": '#define {name} "{value}"',
    "php": "'{name}' => '{value}',",
    "ruby": ':{name} => "{value}"',
    "setter": 'client.set("{name}", "{value}")',
    "call": '{service}.init("{value}")',
    "call_alone": "connect('{value}')",
    "option": "{service} deploy --{name} {value}",
    "option_equals": "{service} login --{name}={value} --yes",
    "short_option": "{service}-cli -k {value} list",
    "argument": "{service} auth {value}",
    "curl_header": "curl -H '{name}: {value}' https://api.{service}.com/v1/items",
    "curl_query": "curl 'https://api.{service}.com/v1/items?{name}={value}&page=2'",
    "curl_bearer": "curl -H 'Authorization: Bearer {value}' https://api.{service}.com/",
    "url_path": "https://hooks.{service}.com/{name}/{value}",
    "header": "{name}: {value}",
    "log": "2026-03-04T10:11:12Z INFO {service} {name}={value} status=200",
    "log_words": "[10:11:12] using {name} {value} for {service}",
    "table": "| {service} | {name} | {value} |",
    "table_code": "| {name} | `{value}` |",
    "csv": "{service},{name},{value},2026-03-04",
    "bullet": "- {name}: {value}",
    "bullet_bold": "* **{name}** - `{value}`",
    "prose_is": "The {service} {name} is {value} now.",
    "prose_here": "here is the {name} for {service}: {value}",
    "prose_use": "Use {value} as the {name} for {service}.",
    "prose_mine": "my {name} {value} stopped working",
    "prose_code": "I set the {name} to `{value}` in {service}",
    "prose_after": "{value} is the {name}",
    "chat": "bob: what was the {name}?\nann: {value}\n",
    "chat_paste": "ok paste this into {service}:\n\n{value}\n\nthat is the {name}",
    "comment": "// {name}: {value}",
    "comment_hash": "# old {name} {value}",
    "alone": "{value}\n",
    "alone_quoted": '"{value}"',
    "array": '["{value}", "{service}"]',
    "terminal": "$ {service} {name} show\n{value}\n",
    "diff": "-  {name}: none\n+  {name}: {value}\n",
    "sql": "INSERT INTO settings (name, {name}) VALUES ('{service}', '{value}');",
    "escaped": '{{\\"{name}\\": \\"{value}\\"}}',
    "powershell": '$env:{name} = "{value}"',
    "dockerfile": "ENV {name} {value}",
    "test": 'assert {name} == "{value}"',
    "equals_spaced": "{name} = {value}",
    "arrow": "{name} -> {value}",
    "html": '<input name="{name}" value="{value}">',
    "mail": "Your {service} {name}:\n\n    {value}\n\nKeep it safe.",
    "error": "401 Unauthorized: {name} {value} was revoked",
    "glued": "{name}{value}",
    "glued_dash": "{service}-{name}-{value}",
    "spaced": "{service} {name} {value}",
    "service_only": "{service} = {value}",
    "german": "Hier der {name}, den du wolltest: {value}\nBitte danach rotieren.",
    "german_is": "Der {name} von {service} lautet {value}, nicht weitergeben.",
    "french": "voici le {name} de {service} : {value}",
    "spanish": "El {name} que usamos en {service} es {value} y caduca el lunes",
    "portuguese": "o {name} para {service} agora é {value}",
    "polish": "nowy {name} do {service}: {value}",
    "turkish": "yeni {name}: {value} (sunucu için)",
    "russian": "вот {name} для {service}: {value}",
    "japanese": "{service}の{name}は{value}です",
    "chinese": "{service}的{name}是：{value}。",
    "you_wanted": "the {name} you asked for is {value}, please rotate it",
    "in_case": "in case you need it, {service}'s {name} was {value}",
    "colon_far": "{name} (the one from Tuesday, read only): {value}",
    "why": "{service} says 401 for {value}, why?",
    "try": "try it with {value} instead",
    "replaced": "I replaced {value} everywhere and restarted {service}",
    "parens": "the old one ({value}) is gone",
    "log_alone": "2026-03-04 10:11:12,123 DEBUG {service} sent {value}",
    "argument_alone": "{service} --verbose {value} | jq .",
}
# Where look-alikes stand beside the words for credentials.
_LIBRARIES = [
    "js-tokens",
    "keyv",
    "passport",
    "jsonwebtoken",
    "secret-stack",
    "token-types",
    "keytar",
    "auth0-js",
    "key-tree",
    "tokenizers",
    "cookie",
    "passlib",
    "session-store",
    "password-prompt",
    "token-list",
    "keycloak-js",
    "credential-plus",
    "oauth2orize",
    "pass-through",
    "api-key-manager",
]
_ORDINARY_WRAPPERS: tuple[str, ...] = (
    'resolved "https://registry.yarnpkg.com/{library}/-/{library}-4.0.0.tgz#{value}"',
    '"{library}@npm:2.0.0":\n  version: 2.0.0\n  checksum: {value}\n',
    "github.com/{library} v1.2.3 h1:{value}",
    '"node_modules/{library}": {{"version": "4.0.0", "integrity": "{value}"}}',
    '[[package]]\nname = "{library}"\nchecksum = "{value}"\n',
    "{library}==1.2.3 --hash=sha256:{value}",
    "{value} Fix the {noun} refresh",
    "commit {value}\nAuthor: Jane Roe <jane@roe.test>\n\n    Rotate the {noun}\n",
    "index {value}..{value} 100644\n--- a/{noun}.py\n",
    "https://github.com/{library}/{library}/blob/{value}/src/{noun}.py#L10",
    "https://cdn.test/{library}/{value}/{noun}.js",
    '<script src="/assets/{library}-{value}.js"></script>',
    "{noun} id: {value}",
    "{noun}_id={value}",
    '"{noun}Id": "{value}"',
    "{noun}_hash: {value}",
    "{noun} fingerprint {value}",
    "public {noun} {value}",
    '"{noun}_cursor": "{value}", "count": 3',
    "import {{ {value} }} from './{noun}';",
    "def test_{noun}_{value}(client):",
    "{noun}: {value}()",
    "{noun} = {value}.get('{noun}')",
    "see {value} for the {noun}",
    "{noun} file: {value}",
    "FAILED tests/{noun}/test_{noun}.py::{value} - AssertionError",
    "{noun}s: {{{value}: 3}}",
    "Cache key {value} of {library} not found",
    "uploaded {noun}.json to {value}",
    "x-request-id: {value}\n{noun} expired",
    "[{value}] {noun} refreshed in 12ms",
    "{value}... (truncated)",
    "{noun}: {value}...",
    "Cache restored from key: Linux-{noun}-{value}",
    "cache {noun}: {library}-{value}-v2",
    "{value}  {noun}.js\n{other}  {noun}.min.js\n{other}  {noun}/index.js\n",
    "{value}  {other}.{noun}.js\n{other}  {other}.{noun}.js\n",
    "revoked_{noun}_ids:\n  - {value}\n  - {other}\n  - {other}\n",
    "{value} Fix the {noun}\n{other} Add a {noun}\n{other} Remove the {noun}\n",
    '{{"{noun}Id": "{value}", "parent": "{other}", "count": 3}}',
    "{noun} {value} -> {other}",
    "{value}  10:30  {noun} checked\n{other}  11:15  a {noun} added\n{other}  12:00  tests of {noun}s\n",
    "{other}\\\n{value}\\\n{other}",
    "{other}\n{value}\n{other}\n",
    '{other}\n{value}"',
    "GET /{noun}/{value}/items/{other} 200",
    "request {value} {noun} ok\nrequest {other} {noun} ok\n",
    "{noun}.py:12: {value}\n{noun}.py:13: {other}\n",
    '"{noun}": ["{value}", "{other}", "{other}"]',
)
_NAMELESS = frozenset(
    {
        "alone",
        "alone_quoted",
        "array",
        "call",
        "call_alone",
        "short_option",
        "argument",
        "service_only",
        "why",
        "try",
        "replaced",
        "parens",
        "log_alone",
        "argument_alone",
        "curl_bearer",
    }
)
# What is random alone is no credential without a name: an id looks the same.
_TELLS_ITSELF = ("prefix_", "shape", "version", "jwe", "base64_pair")
# What only a name makes a credential, and what stays ordinary whatever stands beside it.
_AMBIGUOUS = frozenset(
    {
        "sha1",
        "sha256",
        "sha512",
        "md5",
        "uuid",
        "digest64",
        "id62",
        "nanoid",
        "hex_bytes",
        "key_id",
        "traceparent",
        "service_id",
        "amz_id",
        "handshake",
        "ray",
        "modulus",
        "challenge",
        "parcel",
        "sku",
        "verification",
        "css_class",
        "thought",
        "apple_build",
        "short_sha",
        "drive",
        "bitcoin",
    }
)


# What stands between the pieces of a value that was broken; `{n}` counts, `{name}` and `{word}` are random.
GAPS: dict[str, str] = {
    "line": "\n",
    "indented": "\n        ",
    "backslash": "\\\n  ",
    "escaped_line": "\\n",
    "plus": '" + "',
    "plus_single": "' + '",
    "plus_line": '" +\n        "',
    "line_plus": '"\n    + "',
    "adjacent": '"\n    "',
    "adjacent_single": "' '",
    "dot": "' . '",
    "dots": '" .. "',
    "ampersand": '" & "',
    "vb": '" & _\n        "',
    "bars": "' || '",
    "append": '"\n{name} += "',
    "append_call": '");\n{name}.append("',
    "write": '")\nsb.write("',
    "strcat": '");\nstrcat({name}, "',
    "list": '", "',
    "list_lines": '",\n    "',
    "list_single": "', '",
    "array_item": '"\n  - "',
    "yaml_item": "\n  - ",
    "shell_append": "\n{name}+=",
    "parts": '"\n{name}_{n} = "',
    "parts_env": "\n{name}_PART{n}=",
    "parts_const": '";\nconst part{n} = "',
    "parts_json": '",\n  "part{n}": "',
    "parts_yaml": "\npart{n}: ",
    "tail_name": '", tail = "',
    "suffix_name": '"; suffix = "',
    "rest": " and the rest is ",
    "then": ", then ",
    "second_half": "\nsecond half: ",
    "part_of": "\n(part {n}/3) ",
    "numbered": "\n{n}. ",
    "numbered_paren": "\n{n}) ",
    "bullets": "\n- ",
    "stars": "\n* ",
    "chat": "\nann: ",
    "chat_time": "\n[10:1{n}] ann: ",
    "quote_mail": "\n> ",
    "quote_twice": "\n> > ",
    "comment": "\n# ",
    "comment_slashes": "\n// ",
    "comment_star": "\n * ",
    "comment_inline": '" /* {word} */ "',
    "comment_end": '" + // {word} {word}\n  "',
    "html_break": "<br>",
    "html_break_line": "<br/>\n",
    "html_span": '</span><span class="{word}">',
    "html_bold": "<b></b>",
    "html_cell": "</td><td>",
    "html_comment": "<!-- {word} -->",
    "markdown_bold": "**",
    "markdown_code": "` `",
    "markdown_code_line": "`\n`",
    "cdata": "]]><![CDATA[",
    "cell": " | ",
    "cell_row": " |\n| {word} | ",
    "tabs": "\t",
    "spaces": "  ",
    "space": " ",
    "wide": "\n\n",
    "ellipsis": "...\n...",
    "arrow": " -> ",
    "diff": "\n+",
    "diff_both": '"\n+    "',
    "line_number": "\n  1{n}  ",
    "line_number_bar": "\n  1{n} | ",
    "line_number_colon": "\nsrc/{word}.py:1{n}: ",
    "log": "\n2026-03-04T10:11:1{n}Z INFO ",
    "log_words": "\nMar 04 10:11:1{n} host {word}[123]: ",
    "prompt": "\n>>> ",
    "prompt_shell": "\n$ ",
    "here_doc": "\nEOF\ncat <<EOF\n",
    "printf": "' '",
    "format": '{{}}", "',
    "template": "${{''}}",
    "template_var": "`;\nconst {name} = `",
    "braces": "}}{{",
    "brackets": "][",
    "parens": ")(",
    "semicolon": ";",
    "colon": ": ",
    "comma": ",",
    "comma_space": ", ",
    "slash_space": " / ",
    "underscore": " _ ",
    "tilde": "~\n",
    "latex": "\\\\\n",
    "latex_allow": "\\allowbreak ",
    "quoted_printable": "=\n",
    "hyphen": "-\n",
    "soft_mark": "\u2028",
    "ruled": "\n-----\n",
    "page": "\n-- page {n} --\n",
    "continued": " (continued)\n",
    "box": " \u2502\n\u2502 ",
    "fortran": "'//&\n     '",
    "cobol": "'\n      -    '",
    "excel": '"&"',
    "haskell": '" ++ "',
    "join": '", "", "',
    "newline_quoted": "\\\n",
    "r_paste": '", \n    "',
    "powershell": "'`\n + '",
    "sql_chr": "' || CHR(45) || '",
    "json_escape": '\\" + \\"',
}


def _filled(rng: Random, wrapper: str, name: str, value: str, service: str) -> tuple[str, int]:
    text = WRAPPERS[wrapper].format(name=name, value="\0", service=service)
    at = text.index("\0")
    return text.replace("\0", value), at


def examples(seed: int, count: int) -> Iterator[Example]:
    """Yield `count` credentials and twice as many others, mixed; a third of them broken."""
    rng = random.Random(seed)
    credentials, ordinary = list(CREDENTIALS), list(ORDINARY)
    shapes = [kind for kind in credentials if kind.startswith("shape")]
    families = [kind for kind in credentials if not kind.startswith("shape")]
    for _ in range(count):
        kind = rng.choice(shapes if rng.random() < 0.3 else families)
        yield _example(rng, kind, True)
        for _ in range(2):
            yield _example(rng, rng.choice(ordinary), False)


def _wrapper(rng: Random, kind: str, secret: bool) -> str:
    while True:
        wrapper = rng.choice(list(WRAPPERS))
        if not secret and wrapper == "curl_bearer":
            continue
        if (
            not secret
            or wrapper not in _NAMELESS
            or wrapper == "curl_bearer"
            or kind.startswith(_TELLS_ITSELF)
        ):
            return wrapper


def _example(rng: Random, kind: str, secret: bool) -> Example:
    service = rng.choice(SERVICES) if rng.random() < 0.6 else _brand(rng)
    make = (CREDENTIALS if secret else ORDINARY)[kind]
    value = make(rng)
    wrapper = _wrapper(rng, kind, secret)
    if not secret and kind in _OWN_NAMES and rng.random() < 0.6:
        name = rng.choice(_OWN_NAMES[kind].split())
    elif secret or (kind not in _AMBIGUOUS and rng.random() < 0.25):
        name = rng.choice(_NOUNS)
        if kind in {"uuid", "hex32", "hex40"} and name.startswith("session"):
            name = "token"  # a session's id is mostly no secret
    else:
        name = rng.choice(_PLAIN_NAMES)
    styled = _styled(rng, name, service if rng.random() < 0.4 else "")
    if not secret and rng.random() < 0.25:
        frame = rng.choice(_ORDINARY_WRAPPERS)
        noun = rng.choice(_NOUNS)
        noun = noun.split("_")[-1] if rng.random() < 0.6 else noun
        text = frame.format(value="\0", library=rng.choice(_LIBRARIES), noun=noun, other="\1")
        at = text.index("\0")
        while "\1" in text:
            text = text.replace("\1", make(rng), 1)
        last = len(text) if "{other}" in frame else at + len(value)
        return Example(
            text.replace("\0", value), at, max(last, at + len(value)), False, kind, frame, "", (value,)
        )
    gap, pieces = "", (value,)
    if rng.random() < 0.33:
        gap = rng.choice(list(GAPS))
        pieces = (
            _broken(rng, value) if secret else (value, *(make(rng) for _ in range(rng.choice([1, 1, 2, 3]))))
        )
        value = _with_gaps(rng, gap, pieces, styled)
    text, at = _filled(rng, wrapper, styled, value, service)
    if rng.random() < 0.2:
        line = " ".join(rng.choices(WORDS, k=6))
        text, at = f"{line}\n{text}", at + len(line) + 1
    return Example(text, at, at + len(value), secret, kind, wrapper, gap, pieces)


def _broken(rng: Random, value: str) -> tuple[str, ...]:
    """The value in two to four pieces, mostly of like length, sometimes cut behind its prefix."""
    count = rng.choice([2, 2, 2, 3, 3, 4])
    if len(value) < 8 * count:
        count = 2
    cuts = {round(len(value) * part / count) + rng.randint(-2, 2) for part in range(1, count)}
    prefix = re.match(r"[A-Za-z]{2,12}[_-](?:[a-z]{2,6}[_-])?", value)
    if prefix and rng.random() < 0.2:
        cuts.add(prefix.end())
    bounds = [0, *sorted(cut for cut in cuts if 0 < cut < len(value)), len(value)]
    return tuple(value[low:high] for low, high in itertools.pairwise(bounds))


def _with_gaps(rng: Random, gap: str, pieces: tuple[str, ...], name: str) -> str:
    text = pieces[0]
    name = name.replace(" ", "_")
    for number, piece in enumerate(pieces[1:], 2):
        text += GAPS[gap].format(n=number, name=name, word=rng.choice(WORDS)) + piece
    return text
