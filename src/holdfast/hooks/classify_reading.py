"""Takes a prompt apart for the classifier: what is said, in sentences of plain words, and what was pasted among it."""

from __future__ import annotations

# What is wanted is said at the start or at the end, however much is pasted between: characters, and words of each.
MOST_HEAD = 2_500
MOST_TAIL = 700
MOST_WORDS = 130
LONGEST_QUOTE = 40  # words; a quotation mark that is never closed must not swallow the rest
EDGES = "+\"'`*_~()[]{}<>,.!?;:…“”‘’«»¿¡、。？！，"
ENDS = ".!?;:…。？！；"
ARROWS = ("->", "→", "=>")
DASHES = ("-", "–", "—", "--", *ARROWS)
MANNERS = (
    "please",
    "pls",
    "plz",
    "thanks",
    "thank you",
    "thx",
    "many thanks",
    "cheers",
    "bitte",
    "danke",
    "merci",
    "stp",
    "svp",
)
AFTERTHOUGHT = " \n\t,.!:)🙏"
CODE = "`"  # stands in a sentence for any name of a file or of a thing in code
TRACE_STARTS = (
    "at ", 'file "', "traceback ", "caused by", "--> ", "panic:", "goroutine ", "failed ", "fail:", "--- fail", "e   ",
    "error[", "error:", "npm err", "warning:", "warning[", "fatal:", "thread '", "exception in ", "uncaught ", "✗", "✘",
    "❌", "× ", "⨯", "segmentation fault", "err!", "[error]", "unhandled ", "assertionerror",
)  # fmt: skip
REQUEST = "## My request for Codex:"  # an editor puts the files that are open before what is said
BEGINS = frozenset(("Can", "Could", "Please", "Also"))  # a sentence, with or without a full stop before it
LEVELS = ("[info", "[debug", "[warn", "[20")
BARE_LEVELS = ("INFO ", "DEBUG ", "WARN ")  # "debug the basket" is an order
PASTED_STARTS = (
    "{", "[{", '["', "<", "|", "$ ", "➜", "❯", "% ", "+++", "@@", "diff --git", "─", "│", "┌", "└", "===", "#!",
    "//", ">",
)  # fmt: skip


BARE = {
    "wont": "won't", "dont": "don't", "doesnt": "doesn't", "didnt": "didn't", "isnt": "isn't", "arent": "aren't",
    "wasnt": "wasn't", "shouldnt": "shouldn't", "couldnt": "couldn't", "wouldnt": "wouldn't", "hasnt": "hasn't",
    "havent": "haven't", "cant": "can't", "im": "i'm", "ive": "i've", "thats": "that's", "whats": "what's",
}  # fmt: skip


class Said:
    """`sentences` are (words, whether it ended with a question mark); the rest are counts."""

    def __init__(self, prompt: str) -> None:
        text = prompt.strip()
        if text.startswith("[Image"):
            text = text.partition("]")[2].strip() or text
        text = _without_manners(text.rpartition(REQUEST)[2].strip() or text)
        tail = ""
        if len(text) > MOST_HEAD + MOST_TAIL:
            text, tail = text[:MOST_HEAD], text[-MOST_TAIL:]
        self.sentences: list[tuple[list[str], bool]] = []
        self.traces = self.pasted = self.headings = self.arrows = self.words = self.code = self.quoted = 0
        self.command = self.arguments = ""
        self.text = " ".join(f"{text} {tail}".lower().replace("’", "'").split())
        if text.startswith("/"):
            self._read_command(text)
        self._read_lines(text)
        if tail:
            self._read_lines(tail)
        if not self.sentences and self.quoted:  # nothing but a quotation: then that is what is said
            self._read_lines(text.replace('"', " ").replace("“", " "))

    def _read_command(self, text: str) -> None:
        parts = text[1:].split(None, 1)
        name = parts[0].rstrip(".,!?:") if parts else ""
        if name and "/" not in name and "." not in name and name[0].isalpha():
            self.command, self.arguments = name.lower(), parts[1] if len(parts) > 1 else ""

    def _read_lines(self, text: str) -> None:
        fenced = False
        self._in_quote = 0
        self._most = self.words + MOST_WORDS
        for line in text.split("\n"):
            bare = line.strip()
            if bare.startswith(("```", "~~~", '"""')):
                fenced = not fenced
                self.pasted += 1
            elif not bare:
                self._in_quote = 0
            elif not self._is_pasted(bare, fenced) and self.words < self._most:
                self._read(bare)

    def _is_pasted(self, bare: str, fenced: bool) -> bool:
        low = bare[:60].lower()
        first = low.partition(" ")[0]
        if low.startswith(TRACE_STARTS) or first.endswith(("error:", "exception:")):
            self.traces += 1
            return True
        long_and_dense = len(bare) > 200 and bare.count(" ") < len(bare) // 40
        dated = bare[:4].isdigit() and bare[4:5] in ("-", "/")
        if dated or low.startswith(LEVELS) or bare.startswith(BARE_LEVELS):
            self.pasted += 1
            return True
        if (
            fenced
            or long_and_dense
            or bare.startswith(PASTED_STARTS)
            or bare.endswith("\\")
            or (low.startswith("export ") and "=" in low)
        ):
            self.pasted += 1
            return True
        if bare.startswith("#") and bare.lstrip("#").startswith(" "):
            self.headings += 1
            return self.headings > 1
        return False

    def _read(self, bare: str) -> None:
        sentence: list[str] = []
        for raw in _without_marker(bare).replace("’", "'").split():
            self.words += 1
            if self.words > self._most:
                break
            if raw.isalpha() and raw.islower() and not self._in_quote:
                sentence.append(BARE.get(raw, raw))  # as most words are: neither quoted nor code, and no end
                continue
            if self._is_quoted(raw) or raw == "/":
                continue
            if raw in BEGINS and sentence and sentence[-1] != ",":
                self._close(sentence, False)
                sentence = []
            core = raw.strip(EDGES)
            self.arrows += raw in ARROWS
            if core:
                is_code = _is_code(raw, core)
                self.code += is_code
                self.traces += core.endswith(("Error", "Exception")) and core not in ("Error", "Exception")
                low = core.lower()
                sentence.append(CODE if is_code else BARE.get(low, low))
            if raw[-1] == ",":
                sentence.append(",")
            elif raw[-1] in ENDS or raw in DASHES or raw.endswith(("?)", '?"', '."', ".)")):
                self._close(sentence, "?" in raw or "？" in raw)
                sentence = []
        self._close(sentence, False)

    def _close(self, sentence: list[str], asked: bool) -> None:
        if any(word != "," for word in sentence):
            self.sentences.append((sentence, asked))
        elif asked and self.sentences:  # "… ?", set apart as the French do
            self.sentences[-1] = (self.sentences[-1][0], True)

    def _is_quoted(self, raw: str) -> bool:
        """Whether a word stands in a quotation of several words: what another said is nobody's order."""
        opens, closes = raw[0] in '"“', raw.rstrip(",.;:!?)")[-1:] in ('"', "”")
        if self._in_quote:
            self._in_quote = 0 if closes or self._in_quote > LONGEST_QUOTE else self._in_quote + 1
            return True
        if opens and not (closes and len(raw) > 1):
            self._in_quote = 1
            self.quoted += 1
            return True
        return False


def _without_manners(text: str) -> str:
    """Without "please" in front and "thanks" behind, unless that is all there is."""
    for _ in range(3):
        head, tail = text[:12].lower(), text[-20:].lower().rstrip(AFTERTHOUGHT)
        bare = text
        for word in MANNERS:
            if head.startswith((f"{word} ", f"{word},", f"{word}\n")):
                bare = bare[len(word) :].lstrip(" ,\n")
                break
        for word in MANNERS:
            if tail.endswith((f" {word}", f"\n{word}", f",{word}")):
                bare = bare.rstrip(AFTERTHOUGHT)[: -len(word)].rstrip(" \n\t,")
                break
        if bare == text or not bare.strip(" ,.!?\n"):
            return text
        text = bare
    return text


def _without_marker(bare: str) -> str:
    """A line without the bullet or the number it begins with."""
    if bare[0] in "-*•+" and bare[1:2] == " ":
        return bare[2:]
    digits = len(bare) - len(bare.lstrip("0123456789"))
    if (
        0 < digits < 3
        and bare[digits : digits + 1] in (".", ")")
        and len(bare) > digits + 1
        and not bare[digits + 1].isdigit()
    ):
        return bare[digits + 1 :]
    return bare


def _is_code(raw: str, core: str) -> bool:
    """Names of files and things in code: paths, calls, snake_case, camelCase, what stands in backquotes."""
    if (
        "`" in raw
        or "_" in core
        or "(" in core
        or "::" in core
        or raw.startswith(("@", "--", "~/", "/", "./"))
    ):
        return True
    if "/" in core:
        return core.count("/") > 1 or "." in core
    if "." in core[1:-1]:
        return core.rpartition(".")[2].isalnum() and not core.replace(".", "").isdigit()
    inner = core[1:]
    return (
        inner != inner.lower()
        and inner != inner.upper()
        and "'" not in core
        and core.isascii()
        and core[-2:] != "Rs"
    )
