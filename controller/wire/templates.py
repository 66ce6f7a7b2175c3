"""The door to Jinja: text from templates that are files of a package."""

from functools import cache
from importlib.resources import files

from jinja2 import Environment, StrictUndefined, Template


def written(package: str, name: str, **values: object) -> str:
    """Return the text of a package's template with these values; a name without a value is an error. It ends with one
    newline."""
    return _template(package, name).render(**values).rstrip("\n") + "\n"


@cache
def _template(package: str, name: str) -> Template:
    environment = Environment(
        trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined, keep_trailing_newline=True
    )
    return environment.from_string((files(package) / name).read_text())
