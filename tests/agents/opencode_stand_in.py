"""Stands in for the hook: notes what it was asked in a folder, and answers what lies there for the event."""

import json
import os
import sys
import time
from pathlib import Path

folder = Path(sys.argv[1])
host, event = sys.argv[2:]
payload = json.loads(sys.stdin.buffer.read())
env = {name: os.environ.get(name) for name in ("HOLDFAST_HOST_PID", "HOLDFAST_PROJECT_DIR")}
note = {"host": host, "event": event, "payload": payload, "env": env, "parent": os.getppid()}
with open(folder / "asked.jsonl", "a", encoding="utf-8") as file:
    file.write(json.dumps(note) + "\n")
if (folder / f"{event}.slow").exists():
    time.sleep(600)
answer = folder / f"{event}.answer"
if answer.exists():
    sys.stdout.buffer.write(answer.read_bytes())
if (folder / f"{event}.noise").exists():
    sys.stderr.write("noise\n" * 10_000)
    sys.exit(2)
