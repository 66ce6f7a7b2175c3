"""Rules for when a guest is silent: it answered before, and does not answer any more. Pure."""

from dataclasses import dataclass, field

from controller.wire.findings import Finding

MOST = 3
"""Number of questions in a row without an answer after which a guest that answered before is silent."""


@dataclass
class Silence:
    """The guests that have answered, by the names of their machines, each with the number of questions in a row that it
    has not answered since. A guest that never answered is not among them: it may have no agent, or may still boot."""

    missed: dict[str, int] = field(default_factory=dict)

    def note(self, name: str, answered: bool) -> bool:
        """Note the result of one question. Return whether the guest has fallen silent by it, or answers again."""
        before = self.missed.get(name)
        if answered:
            self.missed[name] = 0
            return before is not None and before >= MOST
        if before is not None:
            self.missed[name] = min(before + 1, MOST)
            return before == MOST - 1
        return False

    def keep(self, names: set[str]) -> bool:
        """Forget all machines except `names`, which run here. Return whether one of the forgotten guests was silent."""
        gone = self.missed.keys() - names
        return any(self.missed.pop(name) >= MOST for name in gone)

    def findings(self) -> list[Finding]:
        """Return a finding for each guest that is silent now."""
        return [_finding(name) for name, missed in sorted(self.missed.items()) if missed >= MOST]


def _finding(name: str) -> Finding:
    text = f"{name} runs, and its guest does not answer any more: it hangs, or its agent has ended"
    return Finding(kind="guest-silent", subject=name, expected="an answer", found="none", text=text)
