"""What holds for one run of `weft`: where the controller is, and for whom to print."""

from dataclasses import dataclass
from enum import StrEnum


class Output(StrEnum):
    """`table` for people, `json` for programs."""

    TABLE = "table"
    JSON = "json"


class Color(StrEnum):
    """Colours: as the terminal and its environment are, or in any case, or not at all."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


@dataclass
class Session:
    """Set by the options before a command runs; options after the command win over those before it."""

    url: str | None = None
    output: Output = Output.TABLE
    color: Color = Color.AUTO
    program: str = "weft"
    """How the program is called that runs."""
    source: str = ""
    """Whose answer is being worked on; empty before there is one."""

    @property
    def json(self) -> bool:
        """Whether a program reads what is printed."""
        return self.output is Output.JSON


session = Session()


def begin() -> None:
    """Forget what an earlier run set."""
    session.url, session.output, session.color, session.source = None, Output.TABLE, Color.AUTO, ""
