"""What a policy's `tests` promise, held against a region: usually the one that the policy would make. Pure.

Without a region (`alone`) a test is run as far as the policy's own words and the facts in the test go, and skipped
where they do not: who is in a pool by label or by distance, how LANs are numbered and where cloudlets are, only the
inventory knows.
"""

from controller.core.promises.neighbours import pairs
from controller.core.promises.region import Measured, Region, alone
from controller.core.promises.run import Outcome, Result, run

__all__ = ["Measured", "Outcome", "Region", "Result", "alone", "pairs", "run"]
