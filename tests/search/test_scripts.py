"""Questions in other scripts than Latin: found by what stands in a text, and not by how its letters look."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import holdfast.search
from holdfast.search import FLOOR, Chunk, Index, lexical
from holdfast.search import lexical as spaceless
from holdfast.search.embed.static import latin

NOTES = {
    "zh": "修复了缓存失效的问题：过期时间设置错误，导致用户登录后读取旧数据。",
    "zh-names": "修改了config.py文件，使用pytest运行全部测试，Redis缓存仍在。",
    "ja": "認証トークンの有効期限が切れたときに更新する。人々の声。",
    "ja-db": "データベースの接続数を増やした。",
    "ko": "로그인 페이지에서 비밀번호를 잊은 경우를 처리했다.",
    "ko-names": "API를 호출하면 5433포트를 연다.",
    "ru": "Исправлена ошибка авторизации: токен истекал слишком рано.",
    "el": "Διορθώθηκε το σφάλμα σύνδεσης στη βάση δεδομένων.",
    "fr": "La réauthentification échoue après une déconnexion.",
    "emoji": "Deployed the release 🚀 and all was green ✅️",
    "th": "แก้ไขปัญหาการเข้าสู่ระบบ",
    "en": "The pool of database connections holds twenty.",
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    with holdfast.search.open(tmp_path_factory.mktemp("scripts") / "index.db") as made:
        made.put_many(Chunk(id=id, text=text) for id, text in NOTES.items())
        yield made


@pytest.mark.parametrize(
    ("query", "first", "words"),
    [
        ("缓存失效", "zh", "缓存失效"),
        ("缓存失效怎么办", "zh", "缓存失效"),
        ("过期", "zh", "过期"),
        ("误", "zh", "误"),
        ("config.py", "zh-names", "config"),
        ("pytest", "zh-names", "pytest"),
        ("Redis缓存", "zh-names", "redis"),
        ("認証", "ja", "認証"),
        ("証", "ja", "証"),
        ("人々", "ja", "人々"),
        ("データベース", "ja-db", "データベース"),
        ("로그인", "ko", "로그인"),
        ("비밀번호", "ko", "비밀번호"),
        ("API", "ko-names", "api"),
        ("5433", "ko-names", "5433"),
        ("авторизации", "ru", "авторизации"),
        ("σύνδεσης", "el", "σύνδεσης"),
        ("réauthentification", "fr", "réauthentification"),
        ("reauthentification", "fr", "reauthentification"),
        ("🚀", "emoji", "🚀"),
        ("✅", "emoji", "✅"),
        ("✅️", "emoji", "✅"),
        ("ระบบ", "th", ""),
    ],
)
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_question_in_any_script_finds_the_text_that_holds_it(
    index: Index, query: str, first: str, words: str, form: str
) -> None:
    (hit, *_) = index.search(unicodedata.normalize(form, query), fitting=True)
    assert hit.id == first and words in hit.why


@pytest.mark.parametrize(
    "query", ["トマト栽培", "量子力学", "양자역학", "кулинария", "κηπουρική", "🎉", "园"]
)
def test_what_no_text_holds_is_not_answered_by_letters_that_look_alike(index: Index, query: str) -> None:
    assert index.search(query, fitting=True) == []
    assert index.search(query, floor=FLOOR) == []


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_text_is_found_however_its_accents_were_typed(tmp_path: Path, form: str) -> None:
    with holdfast.search.open(tmp_path / "index.db") as index:
        for id, text in NOTES.items():
            index.put(id, unicodedata.normalize(form, text))
        for query, id in (("データベース", "ja-db"), ("비밀번호", "ko"), ("réauthentification", "fr")):
            assert index.search(query, fitting=True)[0].id == id


def test_of_many_that_hold_a_character_those_of_the_scope_answer_newest_first(tmp_path: Path) -> None:
    with holdfast.search.open(tmp_path / "index.db") as index:
        index.put_many(Chunk(id=f"{n:04d}", text=f"第{n}次部署", when=n * 86_400.0) for n in range(400))
        index.put("fact", "部", "fact")
        assert [hit.id for hit in index.search("署", 3)] == ["0399", "0398", "0397"]
        assert [hit.id for hit in index.search("署", 2, before=86_400 * 9)] == ["0008", "0007"]
        assert [hit.id for hit in index.search("部", kinds=["fact"])] == ["fact"]


def test_a_character_far_down_a_long_text_is_shown_where_it_stands(tmp_path: Path) -> None:
    text = "\n".join(f"Line {number} says nothing new about the weather." for number in range(200))
    with holdfast.search.open(tmp_path / "index.db") as index:
        index.put("long", f"{text}\n部署完成\n{text}", line=1)
        (hit,) = index.search("署")
    assert "部署完成" in hit.text


def test_a_question_with_words_is_not_looked_for_letter_by_letter(index: Index) -> None:
    assert index.search("walrus 🚀", fitting=True) == []
    assert spaceless.sought_as_it_stands("a -> b ... ??") == []


def test_an_embedder_is_asked_only_what_it_can_read() -> None:
    assert latin("naïve café über ﬁle") == "naïve café über ﬁle"
    assert latin("login страница 缓存 로그인").split() == ["login"]


@given(st.text(alphabet="缓存失效データ로그인abcé .-_/", max_size=40))
def test_every_pair_of_a_text_is_among_its_names_and_terms(text: str) -> None:
    found = set(lexical.names(text).split())
    asked = set(lexical.query_terms(text))
    for token in lexical.composed(text).split():
        assert set(spaceless.pairs(token)) <= found and set(spaceless.pairs(token)) <= asked


@given(st.text(max_size=30))
def test_any_question_is_answered(text: str) -> None:
    assert isinstance(spaceless.sought_as_it_stands(text), list)
    assert isinstance(lexical.held([("缓存", "缓存")], text, 5), list)


def test_an_index_of_the_format_before_is_filled_again(tmp_path: Path) -> None:
    import sqlite3

    path = tmp_path / "index.db"
    with holdfast.search.open(path) as index:
        index.put("a", "walrus")
        index.set_mark("mine")
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version=2")
    with holdfast.search.open(path) as index:
        assert index.mark() == "" and index.search("walrus") == []  # whoever has the texts puts them again
        assert index.put("a", "walrus") and index.search("walrus")[0].id == "a"
