"""`python -m holdfast`: the same as the `holdfast` command."""

from __future__ import annotations

from holdfast.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
