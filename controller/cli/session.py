"""The settings of one run of `weft`: the controller's URL, and the form of the output."""

from dataclasses import dataclass
from enum import StrEnum


class Output(StrEnum):
    """`table` for users; `json` and `yaml`, which have all that there is, for programs; `csv` and `name` (the first
    column) of lists and single objects."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"
    CSV = "csv"
    NAME = "name"


class Color(StrEnum):
    """Colours: depending on the terminal and its environment, always, or never."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


@dataclass
class Session:
    """The settings of a run, set by the options before a command runs. Options after the command replace those before
    it."""

    url: str | None = None
    context: str | None = None
    """The name of the context that `--context` gives."""
    output: Output = Output.TABLE
    columns: tuple[str, ...] = ()
    """The titles of the columns to show, in this order; empty: all."""
    color: Color = Color.AUTO
    program: str = "weft"
    """The name of the running program."""
    source: str = ""
    """The source of the answer in work; empty before there is one."""

    @property
    def documents(self) -> bool:
        """Whether a program reads the whole answers."""
        return self.output in (Output.JSON, Output.YAML)

    @property
    def prose(self) -> bool:
        """Whether a user reads the output, so that sentences may follow a table."""
        return self.output is Output.TABLE


session = Session()


def begin() -> None:
    """Forget the settings of an earlier run."""
    session.url, session.output, session.color, session.source = None, Output.TABLE, Color.AUTO, ""
    session.columns, session.context = (), None
