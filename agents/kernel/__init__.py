"""The kernel and its desired state: plan.py computes the operations, operations.py defines them, netlink.py applies
them."""

import sys
from importlib.util import find_spec, module_from_spec

# pyroute2's own __init__ imports all of it, a database and a file server among the rest: 6 MB of the agent's memory. A
# package whose __init__ is not run has the same modules, each imported by its own name.
if "pyroute2" not in sys.modules and (_spec := find_spec("pyroute2")) is not None:
    sys.modules["pyroute2"] = module_from_spec(_spec)
