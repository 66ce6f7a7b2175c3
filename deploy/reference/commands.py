"""The reference of all commands, as the programs' own command lines have them."""

from deploy.reference.markdown import markdown
from deploy.reference.programs import PROGRAMS, Help, page

_INTRO = """# Commands

Every command and option. The same is in `--help` and in the manual pages: `man weft`. Output, names and exit codes of
`weft`: [the `weft` command](../operate/cli.md).

{made}
"""


def commands(go: Help, made: str) -> str:
    """Return the page. Raises the errors of `go`."""
    return "\n".join([_INTRO.format(made=made), *(markdown(page(program, go)) for program in PROGRAMS)])
