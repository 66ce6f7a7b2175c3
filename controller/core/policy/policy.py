"""A policy with the places in its text, so that later errors can still be shown at their place."""

from dataclasses import dataclass, field
from typing import Any

from controller.core.policy.document import Document, Path, field_name
from controller.core.policy.errors import PolicyError
from controller.core.policy.model import PolicyVcp, Rules

_NO_DOCUMENT = Document({}, {(): (1, 1)}, {})


@dataclass(frozen=True)
class Policy:
    """A policy without errors in itself; `controller.core.policies` checks that the names exist in the region.
    `warnings` are about things that are allowed and probably not meant."""

    file: str
    rules: Rules
    document: Document = field(default=_NO_DOCUMENT, compare=False, repr=False)
    warnings: tuple[PolicyError, ...] = field(default=(), compare=False)

    @property
    def vcps(self) -> tuple[PolicyVcp, ...]:
        """The pools, by name."""
        return tuple(self.rules.vcps[name] for name in sorted(self.rules.vcps))

    def error(self, path: Path, message: str, suggestion: str = "") -> PolicyError:
        """Return an error about the value at `path`. A mapping or list is shown at the place of its name."""
        named = path in self.document.keys and isinstance(self.at(path), dict | list)
        place = self.document.place_of_key(path) if named else self.document.place(path)
        return PolicyError(self.file, *place, field_name(path), message, suggestion)

    def order(self, section: str, upper: str, upper_value: float, lower: str, lower_value: float) -> PolicyError:
        """Return an error about two thresholds, at the place of one that is written."""
        written = {key: self.has((section, key)) for key in (upper, lower)}
        said = {key: "" if written[key] else ", the default" for key in (upper, lower)}
        return self.error(
            (section, upper if written[upper] else lower),
            f"{upper} ({upper_value:g}{said[upper]}) is below {lower} ({lower_value:g}{said[lower]}); "
            f"write both, in the right order",
        )

    def has(self, path: Path) -> bool:
        """Return whether the text has a value at `path`."""
        return path in self.document.values

    def at(self, path: Path) -> Any:
        """Return the plain data at `path`."""
        data: Any = self.document.data
        for part in path:
            data = data[part]
        return data
