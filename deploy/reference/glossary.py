"""The glossary, from the docstrings of the packages `controller` and `agents`."""

import inspect
import re
from collections.abc import Iterator, Mapping
from types import ModuleType

import agents
import controller
from deploy.reference.markdown import table, text

_HEADING = re.compile(r"^(Glossary[^\n]*)\n-+\n", re.MULTILINE)

_INTRO = """# Glossary

The words of Weft; one word means one thing. They come from the docstrings of `controller` and `agents`.

{made}
"""


def glossary(made: str) -> str:
    """Return the page. Raises ValueError if a docstring has no glossary."""
    parts = [_INTRO.format(made=made).strip()]
    for title, module in (("The region", controller), ("The data plane", agents)):
        rows = ((f"**{text(term)}**", text(meaning)) for term, meaning in terms(module).items())
        parts += [f"## {title}", table(("term", "meaning"), rows)]
    return "\n\n".join(parts) + "\n"


def terms(module: ModuleType) -> Mapping[str, str]:
    """Return the terms of a package's docstring. Raises ValueError if it has none."""
    return dict(_terms(inspect.getdoc(module) or "", module.__name__))


def _terms(docstring: str, name: str) -> Iterator[tuple[str, str]]:
    found = _HEADING.search(docstring)
    if found is None:
        raise ValueError(f"the docstring of {name} has no glossary")
    for entry in re.split(r"\n(?=\S)", docstring[found.end() :].partition("\n\n")[0]):
        term, _, meaning = re.sub(r"\s*\n\s*", " ", entry).partition("  ")
        if not meaning:
            term, _, meaning = term.partition(" ")
        yield term, meaning.strip()
