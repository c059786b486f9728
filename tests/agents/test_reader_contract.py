"""What every importer promises, whichever agent it reads: one suite over the registry."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.agents.builders import Read, Registry, SourceClaims, digest_of, grown, plain
from tests.agents.samples import PROMPT, SAMPLES

from holdfast.agent_kit import jsonl
from holdfast.agent_kit.contract import Glance, Importer
from holdfast.agents.registry import BY_AGENT, IMPORTERS
from holdfast.core.errors import TranscriptError
from holdfast.model.events import AgentTurn, Began, ToolCall, UsageReport, UserTurn
from holdfast.store.machine import Places

pytestmark = pytest.mark.promise("C1")

HEAD = 64 * 1024
every_importer = pytest.mark.parametrize("importer", IMPORTERS, ids=lambda importer: importer.agent)


class Sample:
    """An agent's transcript on disk and how it is read."""

    def __init__(self, importer: Importer, folder: Path) -> None:
        if importer.agent not in SAMPLES:
            pytest.fail(f"{importer.agent} has no sample: add tests/agents/samples_NAME.py")
        self.importer = importer
        self.path = SAMPLES[importer.agent](folder)
        self.data = self.path.read_bytes()

    def glance(self) -> Glance:
        (glance, *_) = self.importer.sessions(self.path, self.data[:HEAD])
        return glance

    def read(
        self,
        *,
        offset: int = 0,
        state: bytes = b"",
        claims: SourceClaims | None = None,
        part: str | None = None,
    ) -> Read:
        part = self.glance().part if part is None else part
        claims = claims or Registry().source(str(self.path))
        reading = self.importer.open(self.path, offset, state, claims, part)
        events = list(reading.events())
        return Read(events, reading.warnings, reading.position(), reading.state())


@pytest.fixture
def sample(importer: Importer, tmp_path: Path) -> Sample:
    return Sample(importer, tmp_path)


def test_every_importer_has_a_sample() -> None:
    assert set(BY_AGENT) - set(SAMPLES) == set()
    assert len(BY_AGENT) == len(IMPORTERS)


@every_importer
def test_an_importer_has_a_name_for_people_and_looks_only_where_it_is_told(
    importer: Importer, tmp_path: Path
) -> None:
    assert importer.title.strip()
    for root in importer.roots(Places(tmp_path, {})):
        assert tmp_path in root.parents


@every_importer
def test_a_sample_is_read_whole_and_without_a_warning(sample: Sample) -> None:
    done = sample.read()
    assert done.warnings == []
    assert PROMPT in [turn.text for turn in done.of(UserTurn)]
    digest = digest_of(done.events, sample.importer.agent)
    assert digest.session
    assert digest.tool_calls > 0
    if sample.importer.appends:
        assert done.position == len(sample.data)


@every_importer
def test_a_glance_says_where_and_when(sample: Sample) -> None:
    glance = sample.glance()
    done = sample.read()
    assert glance.cwd == next((began.cwd for began in done.of(Began) if began.cwd), "")
    times = [event.at for event in done.events if event.at is not None]
    if times and not sample.importer.copies:
        assert glance.started is not None
        assert abs(glance.started - min(times)) < 60


@every_importer
def test_a_file_is_a_candidate_where_the_agent_keeps_it(importer: Importer, tmp_path: Path) -> None:
    sample = Sample(importer, tmp_path)
    found = [path for root in importer.roots(Places(tmp_path, {})) for path in importer.candidates(root)]
    if sample.path not in found and not importer.copies:
        assert sample.path in list(importer.candidates(sample.path.parent))


@every_importer
def test_content_is_recognised_and_other_content_is_not(importer: Importer, tmp_path: Path) -> None:
    for agent, write in SAMPLES.items():
        if agent in BY_AGENT:
            path = write(tmp_path / agent)
            assert importer.recognise(path, path.read_bytes()[:HEAD]) is (agent == importer.agent), agent


FOREIGN = [
    b"",
    b"\n\n\n",
    b"plain text, nothing else\n" * 20,
    b"# A heading\n\nSome words.\n",
    b'[{"type":"user","sessionId":"s"}]',
    b"[]",
    b"{}",
    b"{}\n{}\n",
    b"null",
    b'{"a": {"b": [1, 2, 3]}}\n',
    b"\x00" * 512,
    bytes(range(256)) * 4,
    "\ufeff".encode("utf-16"),
    b"\x1f\x8b\x08\x00\x00",
    b"%PDF-1.7",
]


@every_importer
@pytest.mark.parametrize("content", FOREIGN, ids=lambda content: repr(content[:16]))
def test_what_no_agent_wrote_is_not_recognised(importer: Importer, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / SAMPLES[importer.agent](tmp_path / "own").name
    path.write_bytes(content)
    assert not importer.recognise(path, content)


@pytest.mark.promise("F4")
@every_importer
def test_recognising_never_fails_whatever_the_bytes(importer: Importer, tmp_path: Path) -> None:
    own = Sample(importer, tmp_path).data

    @given(st.one_of(st.binary(max_size=300), st.integers(0, min(len(own), HEAD)).map(lambda cut: own[:cut])))
    @settings(max_examples=60, deadline=None)
    def holds(content: bytes) -> None:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "x.jsonl"
            path.write_bytes(content)
            if importer.recognise(path, content[:HEAD]):
                list(importer.sessions(path, content[:HEAD]))

    holds()


@pytest.mark.promise("F4")
@every_importer
def test_an_empty_file_gives_nothing(sample: Sample) -> None:
    part = sample.glance().part
    sample.path.write_bytes(b"")
    try:
        done = sample.read(part=part)
    except TranscriptError:
        return
    assert done.of(UserTurn, AgentTurn, ToolCall, UsageReport) == []


@pytest.mark.promise("F4", "C2")
@every_importer
def test_a_torn_tail_loses_no_more_than_itself(sample: Sample) -> None:
    whole = sample.read()
    part = sample.glance().part
    sample.path.write_bytes(sample.data[:-20])
    try:
        done = sample.read(part=part)
    except TranscriptError:
        assert not sample.importer.appends
        return
    if sample.importer.appends:
        assert [turn.text for turn in done.of(UserTurn)] == [turn.text for turn in whole.of(UserTurn)]
        assert done.position <= len(sample.data) - 20


@pytest.mark.promise("F4")
@every_importer
def test_a_bad_byte_stops_nothing(sample: Sample) -> None:
    part = sample.glance().part
    sample.path.write_bytes(sample.data.replace(PROMPT.encode(), PROMPT.encode()[:-1] + b"\xff"))
    try:
        done = sample.read(part=part)
    except TranscriptError:
        assert not sample.importer.appends
        return
    if sample.importer.appends:
        assert len(done.of(ToolCall)) == len(Sample(sample.importer, sample.path.parent).read().of(ToolCall))
        assert len(done.warnings) <= 1


@pytest.mark.promise("F4")
@every_importer
def test_a_giant_line_is_one_warning(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    if not sample.importer.appends or not sample.data.startswith(b"{"):
        pytest.skip("not made of lines that are appended")
    monkeypatch.setattr(jsonl, "LONGEST_LINE", max(map(len, sample.data.split(b"\n"))) + 2)
    part = sample.glance().part
    sample.path.write_bytes(sample.data + b'{"type":"' + b"x" * 100_000 + b'"}\n')
    done = sample.read(part=part)
    assert [warning.code for warning in done.warnings] == ["line-too-long"]
    assert done.warnings[0].line == sample.data.count(b"\n") + 1
    assert done.position == sample.path.stat().st_size


@pytest.mark.promise("C2")
@every_importer
def test_a_copy_under_another_name_counts_nothing(sample: Sample) -> None:
    registry = Registry()
    first = sample.read(claims=registry.source("original"))
    again = sample.read(claims=registry.source("copy"))
    assert first.of(UserTurn, ToolCall) != []
    assert again.of(UserTurn, ToolCall, UsageReport) == []


@pytest.mark.promise("C2")
@every_importer
def test_reading_goes_on_from_its_state(sample: Sample) -> None:
    if not sample.importer.appends:
        pytest.skip("is read anew when it changed")
    claims = Registry().source("a")
    first = sample.read(claims=claims)
    again = sample.read(offset=first.position, state=first.state, claims=claims)
    assert again.of(UserTurn, ToolCall, UsageReport) == []
    assert again.position == first.position


@pytest.mark.promise("C2")
@every_importer
def test_a_file_read_while_it_grows_gives_what_it_gives_at_once(sample: Sample) -> None:
    if not sample.importer.appends:
        pytest.skip("is read anew when it changed")
    whole = plain(digest_of(sample.read().events, sample.importer.agent))

    @given(st.lists(st.integers(0, len(sample.data)), max_size=4))
    @settings(max_examples=30, deadline=None)
    def grows(cuts: list[int]) -> None:
        digest, warnings, position = grown(sample.importer, sample.path, sample.data, cuts)
        assert plain(digest) == whole
        assert warnings == []
        assert position == len(sample.data)

    grows()
