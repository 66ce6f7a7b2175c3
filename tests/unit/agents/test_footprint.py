"""Modules that an agent has no use for take no memory."""

import subprocess
import sys

UNUSED = (
    *("rich", "pygments", "click", "typer", "sqlalchemy", "sqlite3", "fastapi", "starlette", "jsonschema"),
    *("prometheus_client", "pyroute2.ndb", "pyroute2.plan9"),
)


def test_an_agent_imports_only_what_it_needs() -> None:
    code = f"import sys, agents.main, agents.agent; print([m for m in {UNUSED!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
