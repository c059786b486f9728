"""Values that commands return are facts where they last; what is new at each call is none."""

from __future__ import annotations

import pytest
from tests.sessions.test_harvest import Told, harvested

from holdfast.sessions.returned_values import is_worth_keeping

TENANT = "6c0a282a-886f-458d-a426-93d95104b4a6"


def facts(*runs: tuple[str, str]) -> list[tuple[str, str, str]]:
    story = Told().ask("set it up")
    for command, output in runs:
        story.run(command, output)
    return [(fact.text, fact.command, fact.evidence) for fact in harvested(story.say("It is set up.")).facts]


@pytest.mark.promise("C4", "M3")
@pytest.mark.parametrize(
    ("command", "line", "value"),
    [
        ("aws sts get-caller-identity", '"Account": "123456789012",', "account 123456789012"),
        ("az account show", f'"tenantId": "{TENANT}",', f"tenant id {TENANT}"),
        (
            "terraform output",
            "api_url = https://api.shop-staging.net/v1",
            "api url https://api.shop-staging.net/v1",
        ),
        ("npm run dev", "  ➜  Local:   http://localhost:5173/", "local http://localhost:5173"),
    ],
)
def test_a_lasting_value_is_kept_with_the_command_that_returned_it(
    command: str, line: str, value: str
) -> None:
    (fact,) = facts((command, f"some\n{line}\nmore"))
    assert fact == (f"`{command}` gives {value}", command, " ".join(line.split()))


@pytest.mark.promise("C4", "M3")
@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("agent run --json", f'"session_id": "{TENANT}",'),
        ("deploy start", f"request id: {TENANT}"),
        ("queue push", f"message_id={TENANT}"),
        ("serve &", "pid: 48213771"),
        ("gh run list", '"databaseId": 27750045134,'),
        ("cat .env", "API_URL=https://api.shop-staging.net/v1"),
        ("npm ci", "For more: url: https://npmjs.com/support"),
    ],
)
def test_what_is_new_at_each_call_and_what_a_file_says_are_none(command: str, output: str) -> None:
    assert facts((command, output), (f"{command} ", output)) == []


def test_an_id_counts_where_commands_use_it_and_not_in_an_agents_own_paths() -> None:
    used = facts((f"shopctl show {TENANT}", f"{TENANT} is up"), (f"shopctl stop {TENANT} --now", "stopped"))
    assert [text for text, *_ in used] == [f"{TENANT} is in use here"]
    path = f"/home/ada/.claude/projects/shop/{TENANT}/tool-results/a.txt"
    assert facts((f"tail -5 {path}", f"{path}: x"), (f"wc -l {path}", f"3 {path}")) == []
    resumed = ((f"claude --resume {TENANT} -p x", f"session {TENANT}"), (f"codex resume {TENANT}", TENANT))
    assert facts(*resumed) == []


def test_an_endpoint_counts_where_it_answered() -> None:
    url = "http://localhost:3001/api/orders"
    refused = (
        (f"curl -s {url}", "curl: (7) Failed to connect to localhost port 3001"),
        (f"curl {url}", "{}"),
    )
    assert facts(*refused) == []
    answered = ((f"curl -s {url}", '{"orders": []}'), (f"curl -si {url}?limit=2", "HTTP/1.1 200 OK"))
    assert [text for text, *_ in facts(*answered)] == [f"{url} answers here"]


@pytest.mark.parametrize(
    ("url", "worth"),
    [
        ("http://127.0.0.1:8080/health", True),
        ("https://db.shop.internal/x", True),
        ("https://api.shop-staging.net/v1/orders", True),
        ("https://api.github.com/repos/ada/shop/issues", False),
        ("https://docs.framework.dev/guide/index.md", False),
        ("https://shop-staging.net/assets/index-C61kRL1_.js", False),
        ("https://www.framework.dev/guide", False),
    ],
)
def test_an_address_of_everybody_is_no_fact(url: str, worth: bool) -> None:
    assert is_worth_keeping(url) is worth


def test_of_a_check_the_line_that_proves_it_is_of_its_own_kind() -> None:
    (tests,) = facts(
        ("npm test && npm run typecheck", "Tests 131 passed (131)\n"), ("npm test", "Tests 131 passed (131)")
    )
    assert tests[0] == "`npm test` runs the tests here"
    assert [text for text, *_ in facts(("go vet ./...", ""))] == ["`go vet ./...` lints here"]
    assert facts(("E2E_BIN=/nonexistent/path make test", "12 passed")) == []
