"""A secret is found through the encodings that it comes in, and nothing of it survives."""

from __future__ import annotations

import base64
import html
import json
import random
from collections.abc import Callable
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.guard import secret_samples as samples

from holdfast.guard import views as module
from holdfast.guard.redact import Redactor
from holdfast.guard.views import MOST_WORK, SPARE_WORK, View, views

pytestmark = pytest.mark.promise("G1")

Encode = Callable[[random.Random, str], str]
SHAPES = [(kind, template) for kind, templates in samples.SHAPES.items() for template in templates]
TOKEN = "gh" + "p_{62:36}"


def _escaped(share: float) -> Encode:
    def encode(rng: random.Random, text: str) -> str:
        return "".join(
            f"\\u{ord(c):04x}" if ord(c) < 0x80 and rng.random() < share else json.dumps(c)[1:-1]
            for c in text
        )

    return encode


def _dump(text: str) -> str:
    """As `xxd` prints it."""
    data = text.encode()
    return "\n".join(
        f"{at:08x}: {data[at : at + 16].hex(' ', -2):<40} "
        + "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in data[at : at + 16])
        for at in range(0, len(data), 16)
    )


ENCODINGS: dict[str, Encode] = {
    "a shell's backslashes": lambda rng, text: "".join(f"\\{c}" if c in "_-=:@" else c for c in text),
    "dump": lambda rng, text: f"\n{_dump('KEY=' + text)}\n",
    "json": lambda rng, text: json.dumps({"text": f"a\n{text}"}),
    "after an escape": lambda rng, text: "\\n" + json.dumps(text)[1:-1] + "\\t",
    "some \\u": _escaped(0.3),
    "all \\u": _escaped(1),
    "\\x": lambda rng, text: "$'" + "".join(f"\\x{byte:02x}" for byte in text.encode()) + "'",
    "octal": lambda rng, text: "".join(f"\\{byte:03o}" for byte in text.encode()) if text.isascii() else text,
    "percent": lambda rng, text: "q=" + quote(text, safe=""),
    "all percent": lambda rng, text: "".join(f"%{byte:02X}" for byte in text.encode()),
    "html": lambda rng, text: html.escape(f'"{text}"'),
    "decimal entities": lambda rng, text: "".join(f"&#{ord(c)};" for c in text),
    "hex entities": lambda rng, text: "".join(f"&#x{ord(c):x};" for c in text),
    "base64": lambda rng, text: base64.b64encode(text.encode()).decode(),
    "base64url": lambda rng, text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
    "base64 in lines": lambda rng, text: base64.encodebytes(f"{text}\n{text}\n{text}".encode()).decode(),
    "base64 of utf-16": lambda rng, text: base64.b64encode(text.encode("utf-16-le")).decode(),
    "hex": lambda rng, text: text.encode().hex(),
    "spaced hex": lambda rng, text: text.encode().hex(" "),
    "zero width": lambda rng, text: "\u200b".join(text),
    "fullwidth": lambda rng, text: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text),
    "colours": lambda rng, text: f"\x1b[1;31m{text}\x1b[0m",
    "between ideographs": lambda rng, text: f"令牌{text}。",
    "after a letter": lambda rng, text: f"\\n{text}",
}
# Not over another: fullwidth of an escape is no escape any more, and utf-16 of anything but ASCII is not looked for.
STACKED = ["json", "percent", "html", "base64", "base64url", "hex", "after an escape", "colours"]


def _survives(bodies: tuple[str, ...], text: str) -> list[str]:
    """Pieces of the secret in the text or behind any of its encodings."""
    shown = [text, *(view.text for view in views(text))]
    sample = samples.Sample("", "", "", bodies)
    return [piece for one in shown for piece in samples.survivors(sample, one)]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_secret_of_every_kind_is_found_behind_this_encoding(encoding: str) -> None:
    rng = random.Random(encoding)
    redactor = Redactor()
    missed = []
    for kind, template in SHAPES:
        token, bodies = samples.fill(rng, template)
        redacted = redactor.redact(f"before it {ENCODINGS[encoding](rng, token)} and after")
        if _survives(bodies, redacted):
            missed.append(kind)
        assert redacted.startswith("before it ")
        assert redacted.endswith(" and after")
        assert redactor.redact(redacted) == redacted
    assert len(missed) <= len(SHAPES) * 0.05, missed


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(SHAPES), st.lists(st.sampled_from(STACKED), min_size=1, max_size=4), st.integers(0, 10**6)
)
def test_a_stack_of_encodings_hides_no_token(shape: tuple[str, str], stack: list[str], seed: int) -> None:
    rng = random.Random(seed)
    text, bodies = samples.fill(
        rng, TOKEN if shape[0] in {"mailchimp", "discord bot", "twilio"} else shape[1]
    )
    for encoding in stack:
        text = ENCODINGS[encoding](rng, text)
    redactor = Redactor()
    once = redactor.redact(f"see {text} there")
    assert _survives(bodies, once) == []
    assert redactor.redact(once) == once


BREAKS = {
    "wrapped by a terminal": "\n",
    "folded by yaml": "\n    ",
    "windows": "\r\n",
    "quoted mail": "\n> ",
    "continued by a shell": "\\\n",
    "quoted-printable": "=\n",
    "concatenated": '" + "',
    "over lines of code": '"\n    + "',
    "adjacent strings": '"\n    "',
    "php": "' . '",
    "box": " │\n│ ",
    "line numbers": "\n   12→",
    "a comment": "\n# ",
    "lines of grep": "\nsrc/app.py:12:",
    "a log": "\n2026-11-18T10:00:02Z INFO ",
    "a prompt": "\n... ",
    "visual basic": '" & _\n    "',
    "concat": '".concat("',
    "tags": "<wbr>",
}


@pytest.mark.parametrize("name", BREAKS)
def test_a_value_broken_over_lines_or_strings_is_one(name: str) -> None:
    rng = random.Random(name)
    redactor = Redactor()
    missed = []
    for kind, template in SHAPES:
        token, bodies = samples.fill(rng, template)
        body = max(bodies, key=len)
        middle = token.index(body) + len(body) // 2
        broken = token[:middle] + BREAKS[name] + token[middle:]
        redacted = redactor.redact(f'value: "{broken}"\nThe next line stays.')
        assert redacted.endswith("\nThe next line stays.")
        halves = (body[: len(body) // 2], body[len(body) // 2 :])
        if any(half[i : i + 6] in redacted for half in halves for i in range(len(half) - 5)):
            missed.append(kind)
    assert len(missed) <= len(SHAPES) * 0.05, missed


def test_a_value_broken_in_a_diff_is_one_and_the_next_line_stays() -> None:
    token, (body,) = samples.fill(random.Random(4), TOKEN)
    redacted = Redactor().redact(f'+first\n+value: "{token[:20]}\n+{token[20:]}"\n+The next line stays.\n')
    assert redacted.startswith('+first\n+value: "[redacted:')
    assert redacted.endswith("\n+The next line stays.\n")
    assert body[20:28] not in redacted


def test_the_text_around_an_encoded_secret_stays_as_it_is() -> None:
    token, _ = samples.fill(random.Random(1), TOKEN)
    line = json.dumps({"note": f"first\n{token}\nlast", "url": "https://a.test/?q=%22x%22&amp;y"})
    mark = "[redacted:github-token]"
    assert Redactor().redact(line) == line.replace(token, mark)
    run = base64.b64encode(f"token {token}".encode()).decode()
    assert Redactor().redact(f"data: {run}, and %2F \\n \u200b\x1b[0m stay") == (
        f"data: {mark}, and %2F \\n \u200b\x1b[0m stay"
    )


ORDINARY = st.sampled_from(
    [
        "\n",
        "",
        "",
        "",
        "\\n",
        "\\t",
        '\\"',
        "\\\\",
        "%20",
        "%2F",
        "&amp;",
        "&lt;",
        "\u200b",
        "ｆｕｌｌ",
        "\x1b[32m",
        "\x1b[0m",
        "中文",
        'printf("%d\\n")',
        "C:\\new\\table",
        "a\\u00e9b\n",
        "",
        "",
        "",
        "path/to/file.py",
        '"one"',
        "+",
        '"two"',
        "'a'",
        "'b'",
        "SGVsbG8gd29ybGQsIHRoaXMgaXM=",
        "48656c6c6f20776f726c6421",
        "=3D",
        "\\\n",
        "",
        "",
        "",
        "https://docs.test/a%20b?c=d&amp;e=f",
        "$'x'",
        "return",
        "x_1",
        "&&",
        "y;",
        "0x1f",
        "\n",
        "\r\n",
        "|",
        ">",
        "#\n",
        "",
        "",
        "",
        "",
    ]
)


@settings(deadline=None)
@given(st.lists(ORDINARY, max_size=60))
def test_text_without_a_secret_is_unchanged_byte_for_byte(words: list[str]) -> None:
    text = " ".join(words)
    assert Redactor().redact(text) == text


@given(st.text(alphabet=st.sampled_from("\\nu0041%2F&#;x{}\"'+ \n=\u200bＡ\x1b[mZGVm"), max_size=200))
def test_every_position_of_a_view_maps_into_the_text(text: str) -> None:
    for view in views(text):
        for start in range(0, len(view.text), 3):
            for end in (start + 1, min(len(view.text), start + 20)):
                for low, high in view.origin(start, end):
                    assert 0 <= low <= high <= len(text)


def test_what_was_not_decoded_maps_to_itself() -> None:
    text = "abc \\u0064ef ghi\\njkl"
    view = next(iter(views(text)))
    assert view.text == "abc def ghi\njkl"
    for word in ("abc", "ghi", "jkl"):
        at = view.text.index(word)
        ((low, high),) = view.origin(at, at + len(word))
        assert text[low:high] == word
    assert view.origin(4, 7) == [(4, 12)]


def _bomb() -> str:
    text = "x" * 200
    for _ in range(12):
        text = base64.b64encode(text.encode()).decode()
    return text


HOSTILE: dict[str, Callable[[int], str]] = {
    "backslashes": lambda n: "\\" * n,
    "escapes": lambda n: "\\u005c" * (n // 6),
    "percent of percent": lambda n: "%25" * (n // 3),
    "nested percent": lambda n: "%" + "25" * (n // 2),
    "entities": lambda n: "&amp;" * (n // 5),
    "nested entities": lambda n: "&" + "amp;" * (n // 4),
    "base64 bombs": lambda n: (_bomb() + " ") * (n // (len(_bomb()) + 1)),
    "one base64 run": lambda n: "QUFB" * (n // 4),
    "base64 runs": lambda n: "QUFBQUFBQUFBQUFB " * (n // 17),
    "hex": lambda n: "41" * (n // 2),
    "hex of hex": lambda n: "3431" * (n // 4),
    "spaced hex": lambda n: "41 " * (n // 3),
    "broken lines": lambda n: "x9Kq2\n" * (n // 6),
    "strings": lambda n: '"a" + ' * (n // 6),
    "quotes": lambda n: '"' * n,
    "zero width": lambda n: "\u200b" * n,
    "fullwidth": lambda n: "Ａ" * n,
    "colours": lambda n: "\x1b[" * (n // 2),
    "blanks": lambda n: " \n" * (n // 2),
    "glued anchors": lambda n: "xghp_" * (n // 5),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_the_work_on_a_megabyte_of_hostile_text_is_bounded(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted, not timed: the characters of all views, and the edits that were tried."""
    text = HOSTILE[name](1_000_000)
    edits = 0
    shown = module._shown

    def counted(code: str) -> str:
        nonlocal edits
        edits += 1
        return shown(code)

    monkeypatch.setattr(module, "_shown", counted)
    made: list[View] = list(views(text))
    assert sum(len(view.text) for view in made) <= MOST_WORK * len(text) + SPARE_WORK
    assert len(made) <= 3**3
    assert edits <= 3 * len(text)


def test_a_bomb_of_nested_encodings_ends() -> None:
    token, _ = samples.fill(random.Random(2), TOKEN)
    text = token
    for _ in range(30):
        text = quote(text.replace("%", "%25"), safe="%")
    assert sum(len(view.text) for view in views(f"%41{text}")) <= MOST_WORK * (len(text) + 3) + SPARE_WORK


@pytest.mark.parametrize("glue", ["bot", "x", "token", "令牌", "\\n", "%22", "%3D", "&quot;", "_", "7"])
def test_no_letter_before_a_token_hides_it(glue: str) -> None:
    rng = random.Random(glue)
    redactor = Redactor()
    for template in (
        "{10:10}:" + "AA{url:33}",
        TOKEN,
        "sk" + "-ant-api03-{url:93}AA",
        "xo" + "xb-{10:12}-{62:24}",
    ):
        if glue == "7" and template.startswith("{10"):
            continue  # one more digit of the bot's number
        token, bodies = samples.fill(rng, template)
        assert _survives(bodies, redactor.redact(f"https://api.test/{glue}{token}/getMe")) == [], template
