"""`weft-agent check`: whether this host can be the cloudlet that its settings describe. It changes nothing that stays.

Each module looks at one kind of thing and returns results (`controller/wire/checks.py`); `host.py` runs all.
"""

from agents.check.host import look
from controller.wire.checks import Outcome, Result

__all__ = ["Outcome", "Result", "look"]
