"""Hooks in Claude Code's settings: added in the file's own manner, taken out to the byte, never at others' cost."""

from __future__ import annotations

import io
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import holdfast.hot as hot
from holdfast.agent_kit.host_contract import SCOPES, Where, Wired
from holdfast.agent_kit.json_config import JsonFile
from holdfast.agent_kit.json_hooks import with_groups, without_groups
from holdfast.agents.claude_code.host import TIMEOUTS, ClaudeCode
from holdfast.agents.registry import HOSTS
from holdfast.core.errors import ConfigError, HoldfastError
from holdfast.core.json_text import append, parse, remove
from holdfast.flows.hosts import host_for, install, plan_install, plan_uninstall, uninstall, wired
from holdfast.hooks.host_protocol import CAPTURED, MOMENT
from holdfast.hot import hook_entry
from holdfast.store.machine import Machine
from holdfast.store.switches import switches_of
from holdfast.terminal.run import run_command

FOREIGN = {"hooks": [{"type": "command", "command": "afplay done.aiff"}]}
STYLES = {
    "two spaces": '{\n  "model": "opus",\n  "permissions": {"allow": ["Bash(ls:*)"]}\n}\n',
    "four, no newline at the end": '{\n    "model": "opus"\n}',
    "tabs": '{\n\t"model": "opus",\n\t"hooks": {\n\t\t"Stop": [\n\t\t\tFOREIGN\n\t\t]\n\t}\n}\n',
    "CRLF": '{\r\n  "model": "opus"\r\n}\r\n',
    "one line": '{"model": "opus", "hooks": {"Stop": [FOREIGN]}}',
    "minified": '{"model":"opus","hooks":{"Stop":[]}}\n',
    "empty object": "{}\n",
    "empty": "",
    "white space": "\n\n",
    "BOM": '\ufeff{\n  "model": "ö"\n}\n',
    "hooks last and first": '{\n  "hooks": {\n    "PreToolUse": []\n  },\n  "zeta": 1,\n  "alpha": "ü\\u00fc"\n}\n',
    "duplicate keys": '{\n  "hooks": {},\n  "hooks": {\n    "Stop": []\n  }\n}\n',
}

STYLES = {name: text.replace("FOREIGN", json.dumps(FOREIGN)) for name, text in STYLES.items()}


@pytest.fixture
def machine(repo: Path) -> Machine:
    return Machine(cwd=repo)


@pytest.fixture
def settings_file(home: Path) -> Path:
    path = home / ".claude" / "settings.json"
    path.parent.mkdir()
    return path


def wire(machine: Machine, scope: str = "user") -> bool:
    plan = plan_install(machine, machine.project(), "claude-code", scope)  # type: ignore[arg-type]
    install(machine, machine.project(), plan)
    return any(change.changes for change in plan.changes)


def unwire(machine: Machine) -> bool:
    plan = plan_uninstall(machine, machine.project(), "claude-code")
    uninstall(machine, plan)
    return any(change.changes for change in plan.changes)


def states(machine: Machine) -> list[Wired]:
    return [state for state in wired(machine, machine.project()) if state.agent == "claude-code"]


@pytest.mark.parametrize("text", STYLES.values(), ids=STYLES)
def test_what_was_there_stays_and_comes_back_to_the_byte(
    machine: Machine, settings_file: Path, text: str
) -> None:
    settings_file.write_bytes(text.encode())
    assert wire(machine)
    changed = settings_file.read_bytes().decode()
    after = json.loads(changed.removeprefix("\ufeff"))
    before = json.loads(text.removeprefix("\ufeff") or "{}") if text.strip() else {}
    for event in TIMEOUTS:
        groups = after["hooks"][event]
        assert groups[:-1] == (before.get("hooks") or {}).get(event, [])
        assert groups[-1]["hooks"][0]["timeout"] == TIMEOUTS[event]
    assert {k: v for k, v in after.items() if k != "hooks"} == {
        k: v for k, v in before.items() if k != "hooks"
    }
    if text.strip("{} \n"):
        assert changed.endswith("\n") == text.endswith("\n")
    assert changed.count("\r\n") == (changed.count("\n") if "\r\n" in text else 0)
    assert not wire(machine), "installing again changes nothing"
    assert settings_file.read_bytes().decode() == changed
    assert unwire(machine)
    assert settings_file.read_bytes() == text.encode()
    assert not unwire(machine)


def test_lines_that_were_there_are_not_touched(machine: Machine, settings_file: Path) -> None:
    settings_file.write_text(STYLES["two spaces"], encoding="utf-8")
    change, _ = plan_install(machine, machine.project(), "claude-code", "user").changes
    removed = [line for line in change.diff().splitlines() if line.startswith("-") and line[:3] != "---"]
    assert removed == ['-  "permissions": {"allow": ["Bash(ls:*)"]}'], "only a comma is added to it"


def test_a_file_that_was_not_there_is_not_there_afterwards(machine: Machine, home: Path) -> None:
    assert wire(machine)
    assert json.loads((home / ".claude" / "settings.json").read_bytes())["hooks"].keys() == TIMEOUTS.keys()
    assert unwire(machine)
    assert not (home / ".claude").exists()


@pytest.mark.parametrize("text", STYLES.values(), ids=STYLES)
def test_in_a_file_that_changed_meanwhile_only_our_entries_go(
    machine: Machine, settings_file: Path, text: str
) -> None:
    settings_file.write_bytes(text.encode())
    wire(machine)
    changed = settings_file.read_bytes()
    mine = changed.rstrip().removesuffix(b"}") + b', "added": true}'
    settings_file.write_bytes(mine)
    assert unwire(machine)
    left = settings_file.read_bytes().decode()
    assert "hook_entry" not in left
    before = json.loads(text.removeprefix("\ufeff")) if text.strip() else {}
    after = json.loads(left.removeprefix("\ufeff"))
    assert after.pop("added") is True
    empty = {name: groups for name, groups in (before.pop("hooks", None) or {}).items() if groups}
    kept = {name: groups for name, groups in after.pop("hooks", {}).items() if groups}
    assert (after, kept) == (before, empty)


def test_a_hook_that_somebody_put_beside_ours_stays(machine: Machine, settings_file: Path) -> None:
    wire(machine)
    content = json.loads(settings_file.read_bytes())
    content["hooks"]["Stop"][0]["hooks"].append({"type": "command", "command": "true"})
    settings_file.write_text(json.dumps(content, indent=1), encoding="utf-8")
    assert unwire(machine)
    assert json.loads(settings_file.read_bytes()) == {
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}
    }


def test_hooks_of_an_older_interpreter_are_replaced(machine: Machine, settings_file: Path) -> None:
    wire(machine)
    old = settings_file.read_text(encoding="utf-8").replace(sys.executable, "/gone/python")
    settings_file.write_text(old, encoding="utf-8")
    assert wire(machine)
    content = json.loads(settings_file.read_bytes())
    assert {len(groups) for groups in content["hooks"].values()} == {1}
    assert "/gone/python" not in json.dumps(content)


BROKEN = {
    "comments": ('{\n  // mine\n  "model": "opus"\n}\n', "comments"),
    "trailing comma": ('{\n  "model": "opus",\n}\n', "settings.json:3"),
    "torn": ('{"model": ', "not valid JSON"),
    "a list": ("[]", "not a JSON object"),
    "not utf-8": (b"\xff\xfe{\x00}\x00", "not UTF-8"),
    "hooks is a list": ('{"hooks": []}', "hooks is not an object"),
    "an event is an object": ('{"hooks": {"Stop": {}}}', "hooks.Stop is not a list"),
    "deep": ("[" * 200_000, "nested too deeply"),
}


@pytest.mark.parametrize(("text", "said"), BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_one_clear_error_and_stays_as_it_is(
    machine: Machine, settings_file: Path, text: str | bytes, said: str
) -> None:
    data = text if isinstance(text, bytes) else text.encode()
    settings_file.write_bytes(data)
    with pytest.raises(ConfigError) as error:
        wire(machine)
    assert said in error.value.line() and str(settings_file) in error.value.line()
    assert settings_file.read_bytes() == data
    assert not switches_of(machine.project()).enabled
    assert sorted(path.name for path in settings_file.parent.iterdir()) == ["settings.json"]


def test_both_scopes_have_their_file_and_the_configured_folder_is_honoured(
    machine: Machine, home: Path, repo: Path
) -> None:
    elsewhere = home / "my claude"
    machine.env["CLAUDE_CONFIG_DIR"] = str(elsewhere)
    wire(machine)
    wire(machine, "project")
    assert (elsewhere / "settings.json").is_file() and (repo / ".claude" / "settings.local.json").is_file()
    assert not (home / ".claude").exists()
    assert [(state.scope, state.installed, state.missing) for state in states(machine)] == [
        ("user", True, ()),
        ("project", True, ()),
    ]
    unwire(machine)
    assert not elsewhere.exists() and not (repo / ".claude").exists()
    assert not any(state.installed for state in states(machine))


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege")
def test_ones_own_settings_may_be_a_link_but_a_repositorys_may_not(
    machine: Machine, home: Path, repo: Path
) -> None:
    dotfiles = home / "dotfiles.json"
    dotfiles.write_text("{}\n", encoding="utf-8")
    for folder, name in ((home, "settings.json"), (repo, "settings.local.json")):
        (folder / ".claude").mkdir()
        (folder / ".claude" / name).symlink_to(dotfiles)
    wire(machine)
    assert (home / ".claude" / "settings.json").is_symlink() and "hook_entry" in dotfiles.read_text(
        encoding="utf-8"
    )
    with pytest.raises(HoldfastError):
        wire(machine, "project")
    unwire(machine)
    assert dotfiles.read_text(encoding="utf-8") == "{}\n"


def test_the_command_survives_the_shell(tmp_path: Path) -> None:
    interpreter = tmp_path / "my env's" / "python $HOME"
    interpreter.parent.mkdir()
    interpreter.symlink_to(sys.executable)
    command = ClaudeCode().entries(str(interpreter))["SessionStart"]["hooks"][0]["command"]
    assert shlex.split(command)[0] == str(interpreter)
    done = subprocess.run(["sh", "-c", command], input=b"{}", cwd=tmp_path, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.promise("H3")
def test_a_holdfast_that_was_removed_blocks_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "holdfast" / "hot"
    monkeypatch.setattr(hook_entry, "__file__", str(package / "hook_entry.py"))
    commands = [entry["hooks"][0]["command"] for entry in ClaudeCode().entries(sys.executable).values()]

    def codes() -> list[tuple[int, bytes]]:
        done = [
            subprocess.run(["sh", "-c", c], input=b"{}", capture_output=True, check=False) for c in commands
        ]
        return [(one.returncode, one.stdout) for one in done]

    assert codes() == [(0, b"")] * len(commands), "nothing is there"
    package.mkdir(parents=True)
    (package / "hook_entry.py").write_bytes((Path(hot.__file__).parent / "hook_entry.py").read_bytes())
    assert codes() == [(0, b"")] * len(commands), "only the script is there"


def test_every_event_that_hooks_understand_is_registered() -> None:
    assert set(TIMEOUTS) == {"SessionStart", "UserPromptSubmit", MOMENT, *CAPTURED}
    assert TIMEOUTS["SessionEnd"] == 10


@pytest.mark.promise("M10", "S12")
def test_calls_of_other_tools_start_no_process_of_ours() -> None:
    wanted = ClaudeCode().entries("/usr/bin/python3")
    assert wanted["PreToolUse"]["matcher"] == "Bash|AskUserQuestion|Read|Edit|Write"
    assert all("matcher" not in entry for event, entry in wanted.items() if event != "PreToolUse")


@pytest.fixture
def from_before(machine: Machine, settings_file: Path) -> bytes:
    """Hooks as they were installed before tool calls had one; what was there at first is given."""
    first = STYLES["two spaces"].encode()
    settings_file.write_bytes(first)
    new = dict(TIMEOUTS)
    try:
        TIMEOUTS.pop("PreToolUse")
        wire(machine)
    finally:
        TIMEOUTS.clear()
        TIMEOUTS.update(new)
    assert b"PreToolUse" not in settings_file.read_bytes()
    return first


@pytest.mark.promise("F5")
def test_an_installation_from_before_is_known_and_repaired_and_undone_to_the_byte(
    machine: Machine,
    settings_file: Path,
    from_before: bytes,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(machine.project().root)
    (user, _) = states(machine)
    assert user.installed and user.missing == ("PreToolUse",)
    assert run_command("doctor", "holdfast.cli.doctor", "x", ["--fix", "--dry-run"]) in (0, 1)
    assert b"PreToolUse" not in settings_file.read_bytes()
    assert "wire PreToolUse of claude-code" in capsys.readouterr().out
    run_command("doctor", "holdfast.cli.doctor", "x", ["--fix"])
    assert states(machine)[0].missing == ()
    assert unwire(machine)
    assert settings_file.read_bytes() == from_before


def test_what_other_tools_calls_have_of_others_stays(machine: Machine, settings_file: Path) -> None:
    theirs = {"matcher": "Bash", "hooks": [{"type": "command", "command": "guard.sh"}]}
    before = json.dumps({"hooks": {"PreToolUse": [theirs]}}, indent=2)
    settings_file.write_text(before, encoding="utf-8")
    assert wire(machine)
    groups = json.loads(settings_file.read_bytes())["hooks"]["PreToolUse"]
    assert groups[0] == theirs and len(groups) == 2
    assert unwire(machine)
    assert settings_file.read_text(encoding="utf-8") == before


def test_an_interpreter_inside_a_repository_is_warned_of(machine: Machine, repo: Path) -> None:
    plan = plan_install(machine, machine.project(), "claude-code", "user")
    inside = any((folder / ".git").exists() for folder in Path(sys.executable).parents)
    assert bool(plan.warnings) == inside


@pytest.mark.promise("H1")
@pytest.mark.parametrize("agent", HOSTS)
@pytest.mark.parametrize(
    "server", [(), ("/usr/bin/python3", "-m", "holdfast", "mcp")], ids=["hooks", "tools"]
)
def test_every_host_keeps_its_contract(agent: str, server: tuple[str, ...], home: Path, repo: Path) -> None:
    host = host_for(agent)
    where = Where(home, {}, repo, sys.executable, server)
    files = sorted(path for path in repo.rglob("*") if ".git" not in path.parts)
    for scope in SCOPES:
        changes = host.install(where, scope)
        assert any(change.changes and change.diff() for change in changes)
        assert len({change.path for change in changes}) == len(changes)
        assert any(b"hook_entry" in (change.after or b"") for change in changes)
        assert any(b'"mcp"' in (change.after or b"") for change in changes) == bool(server)
        assert not any(change.changes for change in host.uninstall(where, scope))
        assert not host.status(where, scope).installed
        assert all(isinstance(need, str) and need for need in host.needs(where, scope))
    assert not list(home.iterdir()), "planning writes nothing"
    assert sorted(path for path in repo.rglob("*") if ".git" not in path.parts) == files


@pytest.mark.promise("H1")
@pytest.mark.parametrize("agent", HOSTS)
@pytest.mark.parametrize("scopes", [("user",), ("project",), ("user", "project")], ids="+".join)
def test_every_host_comes_and_goes_to_the_byte(
    agent: str, scopes: tuple[Any, ...], machine: Machine, home: Path, repo: Path
) -> None:
    def everything() -> dict[str, bytes | None]:
        found = [path for folder in (home, repo) for path in folder.rglob("*")]
        kept = [path for path in found if not {".holdfast", ".git"} & {*path.parts}]
        return {str(path): path.read_bytes() if path.is_file() else None for path in kept}

    before = everything()
    project = machine.project()
    for scope in scopes:
        install(machine, project, plan_install(machine, project, agent, scope))
        assert not plan_install(machine, project, agent, scope).is_change, "twice is as good as once"
        (state,) = [one for one in wired(machine, project) if (one.agent, one.scope) == (agent, scope)]
        assert state.installed and state.missing == ()
    assert everything() != before
    uninstall(machine, plan_uninstall(machine, project, agent))
    assert everything() == before


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.dictionaries(st.text(max_size=6).filter(lambda key: key != "hooks"), _VALUES, max_size=4),
    st.dictionaries(
        st.sampled_from([*TIMEOUTS, "PreToolUse"]),
        st.lists(st.just(FOREIGN), min_size=1, max_size=2),
        max_size=3,
    ),
    st.sampled_from([None, 0, 1, 2, 4, "\t"]),
    st.booleans(),
)
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_adding_and_removing_leaves_any_settings_as_they_were(
    others: dict[str, Any], hooks: dict[str, Any], indent: int | str | None, ascii_only: bool
) -> None:
    content = {**others, **({"hooks": hooks} if hooks else {})}
    text = json.dumps(content, indent=indent, ensure_ascii=ascii_only)
    wanted = ClaudeCode().entries("/usr/bin/python3")
    file = JsonFile(where=Where(Path(), {}, Path(), ""), path=Path("settings.json"), title="Claude Code")
    added = with_groups(file, text, wanted)
    after = json.loads(added)
    assert all(after["hooks"][event] == [*hooks.get(event, []), entry] for event, entry in wanted.items())
    assert without_groups(file, added) == text or not content
    assert json.loads(without_groups(file, added)) == content


@given(_VALUES, st.sampled_from([None, 1, "\t"]))
def test_the_parser_knows_where_every_value_stands(value: Any, indent: int | str | None) -> None:
    text = f" {json.dumps(value, indent=indent)}\n"

    def check(span: Any) -> None:
        assert json.loads(text[span.start : span.end]) == span.value
        assert len(span.members) == (len(span.value) if isinstance(span.value, dict | list) else 0)
        for part in span.members:
            check(part.span)

    check(parse(text))


COMMENTED = """// mine
{
  // how it looks
  "theme": "dark", // at night
  /* servers */ "mcpServers": {
    "github": {"command": "gh-mcp"}, // "not": {"a": "member"},
  },
  "last": ["a", /* b */ "c"], // the last
}
"""


@pytest.mark.promise("H1")
def test_comments_stay_where_they_are_when_something_is_added_and_taken_out() -> None:
    file = JsonFile(where=Where(Path(), {}, Path(), ""), path=Path("s.json"), title="Host", comments=True)
    added = file.with_member(COMMENTED, ("mcpServers", "holdfast"), {"command": "x"})
    assert '"github": {"command": "gh-mcp"}, // "not": {"a": "member"},\n    "holdfast": {' in added
    assert added.count("//") == COMMENTED.count("//")
    added = file.with_member(added, ("hooks", "Stop"), [1])
    assert '"last": ["a", /* b */ "c"], // the last\n  "hooks": {' in added
    assert file.span(added).value["mcpServers"].keys() == {"github", "holdfast"}
    less = file.without_member(added, ("hooks", "Stop"))
    assert file.without_member(less, ("mcpServers", "holdfast")) == COMMENTED
    gone = file.without_member(COMMENTED, ("theme",))
    assert file.span(gone).value.keys() == {"mcpServers", "last"} and "// how it looks" in gone


_COMMENTS = st.sampled_from(["", " ", "\n", "// a, b }\n", "/* c: { */", ' \n  // "d"\n  '])


@given(st.data(), st.dictionaries(st.text(max_size=4), st.integers() | st.just({}), max_size=4))
def test_whatever_people_remark_a_member_comes_and_goes(data: st.DataObject, value: dict[str, Any]) -> None:
    def remark() -> str:
        return data.draw(_COMMENTS)

    members = [
        f"{remark()}{json.dumps(key)}{remark()}:{remark()}{json.dumps(one)}{remark()}"
        for key, one in value.items()
    ]
    closing = "," if members and data.draw(st.booleans()) else ""
    text = f"{remark()}{{{','.join(members)}{closing}{remark()}}}{remark()}"
    span = parse(text, comments=True)
    assert span.value == value
    added = append(text, span, [1, {"x": 2}], "ours of all names")
    after = parse(added, comments=True)
    assert after.value == {**value, "ours of all names": [1, {"x": 2}]}
    assert added.count("/") == text.count("/")
    less = remove(added, after, len(after.members) - 1)
    assert parse(less, comments=True).value == value
    assert less.count("/") == text.count("/")
    for number, member in enumerate(span.members):
        rest = parse(remove(text, span, number), comments=True).value
        assert rest == {key: one for key, one in value.items() if key != member.key}


def test_the_commands_show_ask_and_tell(
    repo: Path, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(repo)
    monkeypatch.setattr(sys, "stdin", io.StringIO())

    def run(name: str, *words: str) -> tuple[int, str, str]:
        module = {"on": "switch", "off": "switch"}.get(name, name)
        code = run_command(name, f"holdfast.cli.{module}", "about", words)
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    assert run("off")[0] == 1
    code, _, said = run("install", "claude-code")
    assert code == 2 and "--yes" in said and not (home / ".claude").exists()
    code, shown, _ = run("install", "claude-code", "--dry-run")
    assert code == 0 and "+++ " in shown and not (home / ".claude").exists()
    assert run("install", "nonsense", "--yes")[0] == 2
    code, shown, _ = run("install", "claude-code", "--yes")
    assert code == 0 and "connected" in shown
    assert json.loads(run("install", "claude-code", "--json")[1])["changes"][0]["changed"] is False
    assert "No session here has seen anything from memory" in run("why")[1]
    assert run("why", "nonsense")[0] == 1
    assert run("off")[1].endswith("sessions are neither recorded nor shown anything.\n")
    assert "would see nothing: switched off" in run("why")[1]
    assert run("on", "--capture")[1].endswith("sessions are recorded, and see nothing of memory.\n")
    assert json.loads(run("on", "--json")[1])["inject"] is True
    assert run("uninstall")[0] == 2
    code, shown, _ = run("uninstall", "--all", "--yes")
    assert code == 0 and "hooks removed" in shown and not (home / ".claude").exists()
    assert "hooks were not installed" in run("uninstall", "claude-code", "--yes")[1]
