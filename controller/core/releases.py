"""Releases of Weft, and which of them work together (docs/operate/upgrade.md). Pure."""

from dataclasses import dataclass

from packaging.version import InvalidVersion, Version


@dataclass(frozen=True)
class Release:
    """A release, as a program reports it: `1.4.2`, or `1.4.3.dev7+g0123abc`, which leads to 1.4.3."""

    text: str
    version: Version

    @property
    def minor(self) -> tuple[int, int]:
        """The minor release that it belongs to."""
        return self.version.major, self.version.minor

    def older(self, than: "Release") -> bool:
        """Return whether it lacks messages that the other one may send. The patches of one minor release send the same;
        a development version may send what an earlier one does not."""
        if self.minor == than.minor and not (self.version.is_devrelease or than.version.is_devrelease):
            return False
        return self.version.public != than.version.public and self.version < than.version

    def apart(self, other: "Release") -> bool:
        """Return whether a minor release lies between them, as far as their numbers tell: 1.9 and 2.0 are consecutive,
        1.9 and 2.1 are not."""
        (low, of), (high, to) = sorted((self.minor, other.minor))
        return to - of > 1 if low == high else (high - low, to) != (1, 0)


def release(text: str) -> Release | None:
    """Return the release that a program reports, or None if the text names none: "0" is a tree that was never
    installed."""
    try:
        version = Version(text.replace("~", "."))
    except InvalidVersion:
        return None
    return None if text == "0" else Release(text, version)
