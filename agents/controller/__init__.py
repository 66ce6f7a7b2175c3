"""The controller as an agent uses it: the client of its API, and the report."""

import sys

# httpx imports its own command line program if it can, and with it rich and pygments, which `weft` brings along: 5 MiB
# for nothing. None says that there is no such module (Python's reference, "The module cache").
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
