"""Tests that need what this machine's kernel may lack, and then run under Debian's, in a guest."""

import os
import sys

from lab.debian_kernel.run import run


def pass_there(file: str, seconds: float) -> None:
    """Check that the tests of a file, but for those whose names have `debians_kernel`, pass in the guest, all of
    them."""
    own = ["-k", "not debians_kernel", "-p", "no:cacheprovider", "-q", "-rs"]
    environment = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    ended = run([sys.executable, "-m", "pytest", *own, file], environment | {"HOME": "/root"}, seconds)
    assert ended.code == 0 and "skipped" not in ended.output, ended.output
