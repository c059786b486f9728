"""What each agent's edits wrote, by the arguments it records."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.model.events import Action, AgentTurn, Began, ToolCall, ToolResult, UserTurn
from holdfast.provenance.collect import EditCollector
from holdfast.provenance.line_hashes import fragment_hash, fragments_in, hash_of, is_telling, squeezed
from holdfast.provenance.written import Writing, writings

OLD, NEW = "a = 1\nb = 2\n", "a = 1\nc = 3\nd = 4\n"
ADDED = ("c = 3", "d = 4")
PATCH = """*** Begin Patch
*** Update File: src/x.py
@@ def f
 a = 1
-b = 2
+c = 3
+d = 4
*** Add File: y.py
+e = 5
*** Delete File: z.py
*** Update File: old.py
*** Move to: new.py
@@
-f = 6
+g = 7
*** End Patch"""


def written(given: Any, *, action: Action = "edit", target: str = "x.py", said: str = "") -> list[Writing]:
    paths = (target,) if action == "edit" else ()
    return writings(ToolCall(None, "c", "tool", action, target, paths, given=given), said)


@pytest.mark.parametrize(
    "given",
    [
        {"file_path": "x.py", "old_string": OLD, "new_string": NEW},  # Claude Code, Gemini, Qwen, Cursor
        {"filePath": "x.py", "oldString": OLD, "newString": NEW},  # OpenCode
        {"path": "x.py", "old_str": OLD, "new_str": NEW},  # Copilot, Goose
        {"path": "x.py", "oldText": OLD, "newText": NEW},  # Pi
        {"path": "x.py", "edits": [{"oldText": OLD, "newText": NEW}]},
        {"file_path": "x.py", "edits": [{"old_string": OLD, "new_string": NEW}]},  # MultiEdit
        {"path": "x.py", "diff": f"<<<<<<< SEARCH\n{OLD}=======\n{NEW}>>>>>>> REPLACE\n"},  # Roo
        {"path": "x.py", "diff": f"------- SEARCH\n{OLD}=======\n{NEW}+++++++ REPLACE\n"},  # Cline
    ],
)
def test_a_replacement_wrote_the_lines_that_were_not_there_before(given: dict[str, Any]) -> None:
    (writing,) = written(given)
    assert (writing.path, writing.lines, writing.whole) == ("x.py", ADDED, False)


@pytest.mark.parametrize("name", ["content", "file_text", "contents"])
def test_a_whole_file(name: str) -> None:
    assert written({"path": "x.py", name: NEW}) == [Writing("x.py", ("a = 1", "c = 3", "d = 4"), whole=True)]


@pytest.mark.parametrize("given", [PATCH, {"patchText": PATCH}, {"input": PATCH}])
def test_a_patch_writes_into_each_of_its_files(given: Any) -> None:
    assert [(one.path, one.lines) for one in written(given)] == [
        ("src/x.py", ADDED),
        ("y.py", ("e = 5",)),
        ("new.py", ("g = 7",)),
    ]


def test_aider_says_its_edit_in_the_message_before() -> None:
    said = f"Sure.\n\nx.py\n```python\n<<<<<<< SEARCH\n{OLD}=======\n{NEW}>>>>>>> REPLACE\n```\n"
    assert [(one.path, one.lines) for one in written("", said=said)] == [("x.py", ADDED)]
    assert [one.lines for one in written("", target="other.py", said=said)] == [()]


def test_marks_for_what_stays_are_no_lines() -> None:
    (writing,) = written({"path": "x.py", "code_edit": "// ... existing code ...\nlet a = 1;\n# ...\n"})
    assert writing.lines == ("let a = 1;",)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cat > x.py <<'EOF'\na = 1\nb = $HOME\nEOF", [("x.py", ("a = 1", "b = $HOME"))]),
        ("cat <<EOF >> x.py\na = 1\nb = $HOME\nc = 2\nEOF\necho done", [("x.py", ("a = 1", "c = 2"))]),
        ("cd src && tee -a x.py <<'EOF'\na = 1\nEOF", [("src/x.py", ("a = 1",))]),
        ("echo 'a = 1' >> x.py", [("x.py", ("a = 1",))]),
        ('echo "a = $b" >> x.py', []),
        ("python - <<'EOF'\nopen('x.py', 'w').write('a = 1')\nEOF", []),
        ("cat > $FILE <<'EOF'\na = 1\nEOF", []),
        ("make test > /dev/null", []),
    ],
)
def test_a_shell_command_whose_text_is_certain(command: str, expected: list[Any]) -> None:
    assert [(one.path, one.lines) for one in written("", action="shell", target=command)] == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("sed -i 's/old_name/the_new_name/g' src/x.py", [("src/x.py", ("the_new_name",))]),
        ("sed -i '' 's|a/b|c/d/e|' x.py", [("x.py", ("c/d/e",))]),
        ("sed -i 's/\\(a\\)/\\1b/' x.py", []),
        ("sed 's/a/b/' x.py", []),
    ],
)
def test_sed_in_place(command: str, expected: list[Any]) -> None:
    assert [(one.path, one.parts) for one in written("", action="shell", target=command)] == expected


def test_only_calls_that_succeeded_count_and_belong_to_their_prompt() -> None:
    collector = EditCollector("claude-code")
    events = [
        Began(1.0, session="s", cwd="/w"),
        UserTurn(1.0, "first"),
        ToolCall(2.0, "1", "Write", "edit", "x.py", ("x.py",), given={"content": "alpha = 1"}),
        ToolResult(3.0, "1", True),
        UserTurn(4.0, "no, not so", feedback=True),
        UserTurn(5.0, "second"),
        AgentTurn(5.0, "ok"),
        ToolCall(6.0, "2", "Write", "edit", "/w/y.py", ("/w/y.py",), given={"content": "beta = 1"}),
        ToolResult(7.0, "2", None),
        ToolCall(8.0, "3", "Write", "edit", "z.py", ("z.py",), given={"content": "gamma = 1"}),
        ToolResult(9.0, "3", False),
        ToolCall(9.0, "4", "Write", "edit", "z.py", ("z.py",), given={"content": "delta = 1"}),
    ]
    found = collector.take_all(events)
    assert [(edit.path, edit.prompt, edit.at) for edit in found.edits] == [
        ("/w/x.py", 1, 3.0),
        ("/w/y.py", 2, 7.0),
    ]
    assert [prompt.text for prompt in found.prompts] == ["first", "second"]


def test_white_space_does_not_count() -> None:
    assert hash_of(squeezed("\tif a:  b()\r")) == hash_of(squeezed("if a: b()"))


@pytest.mark.parametrize("line", ["", "}", "return nil", "    pass", "-----------------", "});"])
def test_lines_that_say_nothing_by_themselves(line: str) -> None:
    assert not is_telling(squeezed(line))


def test_a_fragment_is_found_in_a_line() -> None:
    part = fragment_hash("retry(limit, jitter)")
    assert part is not None
    assert part in set(fragments_in("    await retry(limit,  jitter) or fail()", [part[0]]))
    assert fragment_hash("a + b") is None
