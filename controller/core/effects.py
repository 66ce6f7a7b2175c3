"""What a change comes to at PEs and agents. Pure; worked out when it is first asked for, which takes a while in a large
region."""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property

from controller.core.affected import concerned
from controller.core.filters import FilterDifference, differences
from controller.core.intent import Intent


@dataclass(frozen=True)
class Effects:
    """Of the change from one intent to another."""

    before: Intent
    after: Intent

    @cached_property
    def filters(self) -> tuple[FilterDifference, ...]:
        """What PEs filter otherwise, by endpoint."""
        return tuple(differences(self.before, self.after))

    @cached_property
    def told(self) -> tuple[str, ...]:
        """The cloudlets whose agents are told something, by name."""
        return tuple(sorted(concerned(self.before, self.after)))

    @cached_property
    def digest(self) -> str:
        """The same for the same effects."""
        said = [[[one.endpoint, one.gone, one.new] for one in self.filters], self.told]
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()
