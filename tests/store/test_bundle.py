"""Archives of a memory: what was written comes back, and a hostile or damaged one is refused before anything is written."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.core.errors import FormatTooNew, HoldfastError, StoreError
from holdfast.store import bundle
from holdfast.store.bundle import Manifest, Source, check_bundle, unpack_bundle, write_bundle

NAMES = ("memory/current.md", "memory/name", "memory/projects/shop/log.md", "shared/ledger.md")
Entry = tuple[tarfile.TarInfo, bytes]


def manifest_for(sources: list[Source], **values: Any) -> Manifest:
    given = {"format": 1, "holdfast": "0.1.0", "made": "2026-11-15T10:00:00+00:00", "title": "shop"}
    members = tuple(source.member() for source in sources)
    return Manifest(**{**given, "memory_format": 1, "members": members, **values})


def written(path: Path, contents: dict[str, bytes] | None = None) -> Manifest:
    wanted = contents or {name: f"# {name}\n".encode() * 40 for name in NAMES}
    sources = [Source(name, data) for name, data in sorted(wanted.items())]
    manifest = manifest_for(sources)
    write_bundle(path, manifest, sources, force=True)
    return manifest


def plain(name: str, data: bytes = b"x", **fields: Any) -> Entry:
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    for field, value in fields.items():
        setattr(entry, field, value)
    return entry, data


def listed(name: str, data: bytes = b"x", **fields: Any) -> dict[str, Any]:
    return {"path": name, "size": len(data), "sha256": sha256(data).hexdigest(), **fields}


def forged(path: Path, members: list[dict[str, Any]], entries: list[Entry], **manifest: Any) -> Path:
    """An archive as an attacker would write it, with the manifest and the members that they like."""
    told = {"format": 1, "holdfast": "0.1.0", "made": "2026-11-15T10:00:00+00:00", "title": "shop"}
    text = json.dumps({**told, "memory_format": 1, "members": members, **manifest}).encode()
    with tarfile.open(path, "w:gz") as archive:
        for entry, data in [plain("manifest.json", text), *entries]:
            archive.addfile(entry, io.BytesIO(data))
    return path


@pytest.mark.promise("M9")
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    contents=st.dictionaries(
        st.lists(st.text("abcäß中 -_.", min_size=1, max_size=60), min_size=1, max_size=4)
        .map(lambda parts: "memory/" + "/".join(f"x{part}x" for part in parts)),
        st.binary(max_size=3000),
        max_size=6,
    )
)  # fmt: skip
def test_any_files_go_in_and_come_out_the_same(tmp_path: Path, contents: dict[str, bytes]) -> None:
    names = [name for name in contents if not any(other.startswith(f"{name}/") for other in contents)]
    contents = {name: contents[name] for name in names}
    path, folder = tmp_path / "a.tar.gz", tmp_path / f"out-{len(list(tmp_path.iterdir()))}"
    manifest = written(path, contents or {"memory/name": b"shop\n"})
    assert check_bundle(path) == manifest
    unpack_bundle(path, manifest, folder)
    found = {
        file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()
    }
    assert found == (contents or {"memory/name": b"shop\n"})


def test_the_same_memory_gives_the_same_bytes_with_the_manifest_first(tmp_path: Path) -> None:
    written(tmp_path / "one"), written(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    with tarfile.open(tmp_path / "one") as archive:
        assert archive.getnames() == ["manifest.json", *sorted(NAMES)]


def test_nothing_is_overwritten_unasked_and_nothing_half_is_left(tmp_path: Path) -> None:
    path = tmp_path / "a.tar.gz"
    path.write_bytes(b"mine")
    sources = [Source("memory/name", b"shop\n")]
    with pytest.raises(StoreError, match="already exists"):
        write_bundle(path, manifest_for(sources), sources, force=False)
    # The manifest promises what is not there: the archive is read back, and does not take its place.
    with pytest.raises(StoreError, match="is missing"):
        write_bundle(path, manifest_for([*sources, Source("memory/x", b"y")]), sources, force=True)
    assert path.read_bytes() == b"mine"
    assert list(tmp_path.iterdir()) == [path]
    write_bundle(path, manifest_for(sources), sources, force=True)
    assert path.stat().st_mode & 0o777 == 0o600


BAD_NAMES = [
    "../evil.md",
    "memory/../../evil.md",
    "memory/a/../../../evil.md",
    "/etc/passwd",
    "memory//etc/passwd",
    "memory/./x",
    "memory/..",
    "memory/",
    "memory",
    "",
    "manifest.json",
    "elsewhere/x.md",
    "shared/other.md",
    "memory/a\\..\\b",
    "memory/\x1b[31mred",
    "memory/line\nbreak",
    "memory/\u202egnp.md",
    "memory/" + "n" * 300,
    "memory/" + "d/" * 600 + "x",
    "memory/switches.json",
    "memory/locks/import.lock",
    "memory/inbox/letter.json",
    "memory/hot.db",
    "memory/hot.words",
    "memory/index.db",
    "memory/vectors.npy",
    "memory/root",
    "memory/format",
    "memory/capture.db-wal",
]


@pytest.mark.promise("M9", "G4")
@pytest.mark.parametrize("name", BAD_NAMES, ids=ascii)
def test_a_name_that_leads_elsewhere_or_that_no_export_writes_is_refused(tmp_path: Path, name: str) -> None:
    path = forged(tmp_path / "a.tar.gz", [listed(name)], [plain(name)])
    with pytest.raises(StoreError, match=r"it holds .*: "):
        check_bundle(path)
    assert list(tmp_path.iterdir()) == [path]


LINKS = {
    "symbolic link": plain("memory/x", b"", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
    "hard link": plain("memory/x", b"", type=tarfile.LNKTYPE, linkname="manifest.json"),
    "character device": plain("memory/x", b"", type=tarfile.CHRTYPE, devmajor=1, devminor=5),
    "block device": plain("memory/x", b"", type=tarfile.BLKTYPE),
    "FIFO": plain("memory/x", b"", type=tarfile.FIFOTYPE),
    "folder": plain("memory/x", b"", type=tarfile.DIRTYPE),
    "contiguous file": plain("memory/x", b"", type=tarfile.CONTTYPE),
}


@pytest.mark.promise("M9", "G4")
@pytest.mark.parametrize("kind", LINKS)
def test_anything_but_a_plain_file_is_refused(tmp_path: Path, kind: str) -> None:
    path = forged(tmp_path / "a.tar.gz", [listed("memory/x", b"")], [LINKS[kind]])
    with pytest.raises(StoreError, match="is a link, a device or another special file"):
        check_bundle(path)


def _twice(path: Path) -> None:
    forged(path, [listed("memory/x"), listed("memory/x")], [plain("memory/x"), plain("memory/x")])


def _below_a_file(path: Path) -> None:
    forged(path, [listed("memory/x"), listed("memory/x/y")], [plain("memory/x"), plain("memory/x/y")])


def _one_more(path: Path) -> None:
    forged(path, [listed("memory/x")], [plain("memory/x"), plain("memory/y")])


def _one_less(path: Path) -> None:
    forged(path, [listed("memory/x"), listed("memory/y")], [plain("memory/x")])


def _other_order(path: Path) -> None:
    forged(path, [listed("memory/x"), listed("memory/y")], [plain("memory/y"), plain("memory/x")])


def _wrong_hash(path: Path) -> None:
    forged(path, [listed("memory/x", b"x")], [plain("memory/x", b"y")])


def _wrong_size(path: Path) -> None:
    forged(path, [listed("memory/x", size=2)], [plain("memory/x")])


def _negative_size(path: Path) -> None:
    forged(path, [listed("memory/x", size=-1)], [plain("memory/x")])


def _huge_size(path: Path) -> None:
    forged(path, [listed("memory/x", size=1 << 50)], [plain("memory/x")])


def _bomb(path: Path) -> None:
    """Eighty megabytes of nothing, in eighty kilobytes."""
    data = bytes(80 << 20)
    forged(path, [listed("memory/x", data)], [plain("memory/x", data)])


def _many_files(path: Path) -> None:
    forged(path, [listed(f"memory/{n}") for n in range(bundle.MOST_FILES + 1)], [])


def _hidden_header(path: Path) -> None:
    """A header of a hundred megabytes in front of a small file: read whole by tarfile, were it let."""
    entry, data = plain("memory/x")
    entry.pax_headers = {"comment": "x" * (100 << 20)}
    forged(path, [listed("memory/x")], [(entry, data)])


def _hidden_tail(path: Path) -> None:
    whole = gzip.decompress(forged(path, [listed("memory/x")], [plain("memory/x")]).read_bytes())
    path.write_bytes(gzip.compress(whole + bytes(1 << 20)))


def _no_manifest(path: Path) -> None:
    with tarfile.open(path, "w:gz") as archive:
        archive.addfile(*[part if n == 0 else io.BytesIO(b"x") for n, part in enumerate(plain("memory/x"))])  # type: ignore[arg-type]


def _title(path: Path) -> None:
    forged(path, [], [], title="../../x")


def _version(path: Path) -> None:
    forged(path, [], [], holdfast="\x1b[31m1.0")


def _moment(path: Path) -> None:
    forged(path, [], [], made="yesterday\u202e")


def _deep(path: Path) -> None:
    with tarfile.open(path, "w:gz") as archive:
        text = b'{"format":1,"members":' + b"[" * 100_000
        archive.addfile(plain("manifest.json", text)[0], io.BytesIO(text))


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _text(path: Path) -> None:
    path.write_bytes(b"hello\n" * 1000)


def _gzip_of_nothing(path: Path) -> None:
    path.write_bytes(gzip.compress(b""))


def _gzip_of_text(path: Path) -> None:
    path.write_bytes(gzip.compress(b"hello\n" * 1000))


HOSTILE: list[Callable[[Path], None]] = [
    _twice, _below_a_file, _one_more, _one_less, _other_order, _wrong_hash, _wrong_size, _negative_size, _huge_size,
    _bomb, _many_files, _hidden_header, _hidden_tail, _no_manifest, _title, _version, _moment, _deep, _empty, _text,
    _gzip_of_nothing, _gzip_of_text,
]  # fmt: skip


@pytest.mark.promise("M9", "F4")
@pytest.mark.parametrize("forge", HOSTILE, ids=lambda forge: forge.__name__.strip("_"))
def test_an_archive_that_is_not_what_it_says_is_refused_in_one_line(
    tmp_path: Path, forge: Callable[[Path], None]
) -> None:
    path = tmp_path / "a.tar.gz"
    forge(path)
    with pytest.raises(StoreError) as refusal:
        check_bundle(path)
    assert "\n" not in refusal.value.line() and refusal.value.line().startswith(str(path))
    assert "\x1b" not in refusal.value.line()


@pytest.mark.parametrize("place", ["format", "memory_format"])
def test_a_newer_format_is_refused_with_what_to_do(tmp_path: Path, place: str) -> None:
    path = forged(tmp_path / "a.tar.gz", [], [], **{place: 99, "unheard_of": [1]})
    with pytest.raises(FormatTooNew, match=r"99.*Upgrade holdfast"):
        check_bundle(path)


@pytest.mark.promise("F4")
def test_an_archive_cut_off_anywhere_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.tar.gz"
    written(path)
    whole = path.read_bytes()
    for end in range(0, len(whole), max(1, len(whole) // 60)):
        path.write_bytes(whole[:end])
        with pytest.raises(StoreError):
            check_bundle(path)


@pytest.mark.promise("F4")
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_changed_byte_is_noticed_or_means_nothing(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "a.tar.gz"
    manifest = written(path)
    whole = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] ^= data.draw(st.integers(1, 255))
    path.write_bytes(whole)
    try:
        assert check_bundle(path) == manifest  # the header of gzip has bytes that say nothing
    except HoldfastError as error:
        assert isinstance(error, StoreError | FormatTooNew)


def test_what_is_no_file_is_refused_without_waiting_for_it(tmp_path: Path) -> None:
    import os

    with pytest.raises(StoreError, match="there is no such file"):
        check_bundle(tmp_path / "missing")
    with pytest.raises(StoreError, match="it is a directory"):
        check_bundle(tmp_path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(StoreError, match="not a regular file"):
            check_bundle(tmp_path / "pipe")
