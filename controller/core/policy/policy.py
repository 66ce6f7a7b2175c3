"""A policy with its text's places, so that whatever is wrong with it later can still be shown where it stands."""

from dataclasses import dataclass, field
from typing import Any

from controller.core.policy.document import Document, Path, field_name
from controller.core.policy.errors import PolicyError
from controller.core.policy.model import PolicyVcp, Rules

_NO_DOCUMENT = Document({}, {(): (1, 1)}, {})


@dataclass(frozen=True)
class Policy:
    """A policy that is right in itself; whether the names exist in the region is for `plan` to say. `warnings` are what
    is allowed and probably not meant."""

    file: str
    rules: Rules
    document: Document = field(default=_NO_DOCUMENT, compare=False, repr=False)
    warnings: tuple[PolicyError, ...] = field(default=(), compare=False)

    @property
    def vcps(self) -> tuple[PolicyVcp, ...]:
        """The pools, by name."""
        return tuple(self.rules.vcps[name] for name in sorted(self.rules.vcps))

    def error(self, path: Path, message: str, suggestion: str = "") -> PolicyError:
        """An error about what stands at `path`. What has keys of its own stands where its name does."""
        named = path in self.document.keys and isinstance(self.at(path), dict | list)
        place = self.document.place_of_key(path) if named else self.document.place(path)
        return PolicyError(self.file, *place, field_name(path), message, suggestion)

    def order(self, section: str, upper: str, upper_value: float, lower: str, lower_value: float) -> PolicyError:
        """An error about two thresholds, at whichever of them is written."""
        written = {key: self.has((section, key)) for key in (upper, lower)}
        said = {key: "" if written[key] else ", the default" for key in (upper, lower)}
        return self.error(
            (section, upper if written[upper] else lower),
            f"{upper} ({upper_value:g}{said[upper]}) is below {lower} ({lower_value:g}{said[lower]}); "
            f"write both, in the right order",
        )

    def has(self, path: Path) -> bool:
        """Whether the text says anything at `path`."""
        return path in self.document.values

    def at(self, path: Path) -> Any:
        """The plain data at `path`."""
        data: Any = self.document.data
        for part in path:
            data = data[part]
        return data
