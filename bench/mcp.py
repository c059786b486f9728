"""The MCP server from cold: until it has answered `initialize`, and `tools/list`, against loading the SDK alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from bench.measuring import report

RUNS = 8
SDK = "from mcp.server.lowlevel import Server"
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


def bench_mcp(folder: Path) -> bool:
    bare, hello, tools = [], [], []
    for _ in range(RUNS):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", SDK], check=True, env=_env())
        bare.append(time.perf_counter() - start)
        first, second = _server(folder)
        hello.append(first)
        tools.append(second)
    # The least of many: what others do on this machine is larger than what is measured.
    least = min(bare)
    more = {
        "ms": round(1000 * min(hello)),
        "worst_ms": round(1000 * max(hello)),
        "sdk_ms": round(1000 * least),
    }
    kept = report("mcp_initialize", min(hello) / least, f'x python -c "{SDK}"', 1.6, **more)
    more = {"ms": round(1000 * min(tools)), "worst_ms": round(1000 * max(tools))}
    return report("mcp_tools_list", min(tools) / least, f'x python -c "{SDK}"', 1.6, **more) and kept


def _server(folder: Path) -> tuple[float, float]:
    start = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "holdfast", "mcp"],
        cwd=folder,
        env=_env(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as server:
        assert server.stdin is not None and server.stdout is not None
        times = []
        for number, (method, params) in enumerate([("initialize", HELLO), ("tools/list", {})]):
            call = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            server.stdin.write(json.dumps(call).encode() + b"\n")
            server.stdin.flush()
            assert "result" in json.loads(server.stdout.readline())
            times.append(time.perf_counter() - start)
            if number == 0:
                server.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        server.stdin.close()
    return times[0], times[1]


def _env() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
