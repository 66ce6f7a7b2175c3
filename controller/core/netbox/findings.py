"""Errors of an import, each with the object of NetBox that it is about."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Finding:
    """One error: the page of the object in NetBox, its kind and name, the fault, and the remedy."""

    url: str
    thing: str
    message: str
    remedy: str

    @property
    def said(self) -> str:
        """The whole sentence, without the page."""
        between = " " if self.message.endswith("?") else "; "
        return f"{self.thing}: {self.message.removesuffix('.')}{between}{self.remedy}"

    def __str__(self) -> str:
        return f"{self.url}: {self.said}"


class NotImportable(ValueError):  # noqa: N818 - it says what is, as the field does
    """A NetBox of which no inventory can be made, with every error."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings: tuple[Finding, ...] = tuple(sorted(set(findings)))
        super().__init__("\n".join(map(str, self.findings)))
