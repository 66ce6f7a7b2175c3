"""The effects of a change at PEs and agents. Pure; computed at first use, which takes a while in a large region."""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property

from controller.core.affected import concerned
from controller.core.filters import FilterDifference, differences
from controller.core.intent import Intent


@dataclass(frozen=True)
class Effects:
    """The effects of the change from one intent to another."""

    before: Intent
    after: Intent

    @cached_property
    def filters(self) -> tuple[FilterDifference, ...]:
        """The differences in the filters of PEs, by endpoint."""
        return tuple(differences(self.before, self.after))

    @cached_property
    def told(self) -> tuple[str, ...]:
        """The cloudlets, sorted by name, whose agents receive another desired state."""
        return tuple(sorted(concerned(self.before, self.after)))

    @cached_property
    def digest(self) -> str:
        """A digest that is the same for the same effects."""
        said = [[[one.endpoint, one.gone, one.new] for one in self.filters], self.told]
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()
