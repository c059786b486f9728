"""Draws docs/how-it-works.svg: from transcripts to the next session, in one picture. `--check` only compares."""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path

TARGET = Path(__file__).parents[1] / "docs" / "how-it-works.svg"
WIDTH, HEIGHT = 1080, 270
BOX = (176, 96)
STEPS = (
    ("Agents' own files", ("Claude Code, Codex,", "Gemini, OpenCode …")),
    ("Gate", ("secrets, private parts", "and what was forgotten", "are taken out")),
    ("Sessions", ("row, log entry,", "decisions, facts,", "dead ends")),
    ("Markdown you own", (".holdfast/: read, edit,", "delete a line")),
    ("The next session", ("of any agent: the few", "lines that fit, or", "nothing")),
)
BELOW = (
    (1, 4, "holdfast forget, undo, audit: you decide what stays"),
    (4, 5, "why, backtest: its worth"),
)


def main() -> int:
    text = picture()
    if "--check" in sys.argv[1:]:
        same = TARGET.is_file() and TARGET.read_text(encoding="utf-8") == text
        if not same:
            print("docs/how-it-works.svg is out of date: run make docs and commit it.", file=sys.stderr)
        return 0 if same else 1
    TARGET.write_text(text, encoding="utf-8", newline="\n")
    return 0


def picture() -> str:
    gap = (WIDTH - 40 - len(STEPS) * BOX[0]) / (len(STEPS) - 1)
    lefts = [20 + number * (BOX[0] + gap) for number in range(len(STEPS))]
    parts = [part for left, step in zip(lefts, STEPS, strict=True) for part in box(left, 70, *step)]
    for left in lefts[:-1]:
        parts.append(arrow(left + BOX[0] + 6, 70 + BOX[1] / 2, left + BOX[0] + gap - 6))
    for first, last, said in BELOW:
        parts += brace(lefts[first], lefts[last - 1] + BOX[0], 206, said)
    head = text(20, 36, "From what your agents did to what the next one knows", "head")
    style = (
        "<style>text{font:13px system-ui,sans-serif;fill:#1f2933}.head{font-size:19px;font-weight:600}"
        ".title{font-weight:600}.box{fill:#f4f7fa;stroke:#9fb3c8}.line{stroke:#486581;fill:none;stroke-width:1.5}"
        "@media(prefers-color-scheme:dark){text{fill:#e4e7eb}.box{fill:#1f2933;stroke:#52606d}"
        ".line{stroke:#9fb3c8}}</style>"
    )
    label = "Agents' own files, the gate, sessions, markdown that you own, the next session"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(label)}">{style}{head}{"".join(parts)}</svg>\n'
    )


def box(left: float, top: float, title: str, lines: tuple[str, ...]) -> list[str]:
    shape = f'<rect class="box" x="{left:.0f}" y="{top}" width="{BOX[0]}" height="{BOX[1]}" rx="8"/>'
    said = [text(left + 10, top + 44 + 17 * number, line) for number, line in enumerate(lines)]
    return [shape, text(left + 10, top + 23, title, "title"), *said]


def arrow(left: float, middle: float, right: float) -> str:
    return f'<path class="line" d="M{left:.0f} {middle:.0f}H{right:.0f}m-6 -5l6 5l-6 5"/>'


def brace(left: float, right: float, top: float, said: str) -> list[str]:
    path = f'<path class="line" d="M{left:.0f} {top - 18}v8H{right:.0f}v-8"/>'
    return [path, text(left, top + 10, said)]


def text(left: float, top: float, said: str, kind: str = "") -> str:
    name = f' class="{kind}"' if kind else ""
    return f'<text x="{left:.0f}" y="{top:.0f}"{name}>{escape(said)}</text>'


if __name__ == "__main__":
    sys.exit(main())
