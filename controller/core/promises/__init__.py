"""The check of a policy's `tests` against a region: usually the one that would follow from the policy. Pure.

Without a region (`alone`) a test is run as far as the policy and the facts in the test allow, and skipped otherwise:
only the inventory knows who is in a pool by label or by distance, how LANs are numbered and where cloudlets are."""

from controller.core.promises.neighbours import pairs
from controller.core.promises.region import Measured, Region, alone
from controller.core.promises.run import Outcome, Result, run

__all__ = ["Measured", "Outcome", "Region", "Result", "alone", "pairs", "run"]
