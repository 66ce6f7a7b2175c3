"""A policy with the places in its text, so that later errors can still be shown at their place."""

from dataclasses import dataclass, field

from controller.core.policy.model import PolicyVcp, Rules
from controller.core.yaml_document.errors import DocumentError
from controller.core.yaml_document.placed import Placed


@dataclass(frozen=True)
class Policy(Placed):
    """A policy without errors in itself; `controller.core.policies` checks that the names exist in the region.
    `warnings` are about things that are allowed and probably not meant."""

    rules: Rules
    warnings: tuple[DocumentError, ...] = field(default=(), compare=False)

    @property
    def vcps(self) -> tuple[PolicyVcp, ...]:
        """The pools, by name."""
        return tuple(self.rules.vcps[name] for name in sorted(self.rules.vcps))

    def order(self, section: str, upper: str, upper_value: float, lower: str, lower_value: float) -> DocumentError:
        """Return an error about two thresholds, at the place of one that is written."""
        written = {key: self.has((section, key)) for key in (upper, lower)}
        said = {key: "" if written[key] else ", the default" for key in (upper, lower)}
        return self.error(
            (section, upper if written[upper] else lower),
            f"{upper} ({upper_value:g}{said[upper]}) is below {lower} ({lower_value:g}{said[lower]}); "
            f"write both, in the right order",
        )
