"""Policies that were applied."""

from controller.db.applied_texts import AppliedText, AppliedTexts


class PolicyRow(AppliedText):
    """One row per applied policy."""

    __tablename__ = "policies"


POLICIES = AppliedTexts(PolicyRow)
"""The policies, of which the latest is in force."""
