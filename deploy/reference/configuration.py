"""The reference of all settings: of the controller, the agent, the route server and `weft`."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from agents.settings import Settings as AgentSettings
from controller.cli.variables import VARIABLES
from controller.settings import OidcSettings, RouteServerSettings
from controller.settings import Settings as ControllerSettings
from deploy.reference.markdown import code, table, text
from deploy.reference.programs import Help, page
from deploy.reference.settings_tables import HEAD, settings_table, tables_of

_DEFAULT = re.compile(r"\s*\(default(?: ([^()]*)|: ([^()]*))\)")
"""A default, as Go prints it, or as the option's own words say it."""

_REQUIRED = " (required)"

_KINDS: Mapping[str, tuple[str, str, str]] = {
    "": ("true or false", "", "false"),
    "time": ("duration", "", "0s"),
    "bytes": ("integer", "bytes", "0"),
    "connections": ("number", "per second", "0"),
    "hops": ("integer", "hops", "0"),
    "number": ("integer", "", "0"),
    "port": ("integer", "", "0"),
    "routes": ("integer", "routes", "0"),
}
"""The type and unit of a Go option, by the placeholder of its value, and the default that Go does not print."""

_INTRO = """# Settings

Every setting of each program, with type, unit, default and meaning. A duration is a number with its unit: `500ms`,
`90s`, `5m`, `1h30m`.

{made}
"""
_CONTROLLER = """## Controller

Environment variables; those that are not set come from the file of `--env-file`, which the package's unit keeps at
`/etc/weft/controller.env`. Lists and objects are JSON. `weft-controller check` tries the settings.
"""
_AGENT = """## Agent

A TOML file, `/etc/weft/agent.toml` of the package. Unknown keys are errors. `weft-agent check` tries the settings.
"""
_ROUTE_SERVER = """## Route server

Options of `weft-routeserver`. The package's unit takes some from `/etc/weft/routeserver.env`:
"""
_WEFT = """## weft

Environment variables of the command; its options are in [Commands](cli.md).
"""
_DRIVERS = """The drivers' own `options`: [qemu](../operate/qemu.md#options), [libvirt](../operate/libvirt.md),
[containers](../operate/containers.md)."""


def configuration(root: Path, go: Help, made: str) -> str:
    """Return the page. Raises ValueError for a setting without a description, and the errors of `go`."""
    parts = [
        _INTRO.format(made=made),
        _CONTROLLER,
        settings_table(ControllerSettings, "WEFT_"),
        "### WEFT_ROUTE_SERVERS",
        f"{RouteServerSettings.__doc__}",
        settings_table(RouteServerSettings),
        "### WEFT_OIDC",
        f"{OidcSettings.__doc__}",
        settings_table(OidcSettings),
        _AGENT,
        settings_table(AgentSettings),
    ]
    for name, model in tables_of(AgentSettings):
        parts += [f"### [{name}]", f"{model.__doc__}", settings_table(model)]
    parts += [_DRIVERS, _ROUTE_SERVER, table(("variable", "becomes", "meaning"), _variables(root))]
    parts += ["### Options", table(HEAD, _options(go)), _WEFT]
    parts.append(table(("variable", "meaning"), ((code(name), text(said)) for name, said in VARIABLES.items())))
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _options(go: Help) -> Iterator[tuple[str, str, str, str, str]]:
    [command] = page("weft-routeserver", go).commands
    for option in command.options:
        name, _, value = option.names.partition(" ")
        kind, unit, zero = _KINDS.get(value, (value, "", ""))
        meaning, default = option.help, code(zero)
        if _REQUIRED in meaning:
            meaning, default = meaning.replace(_REQUIRED, ""), "required"
        elif found := _DEFAULT.search(meaning):
            printed, said = found[1], found[2]
            meaning, default = _DEFAULT.sub("", meaning), code(printed.strip('"')) if printed else text(said)
        yield code(name), kind, unit, default, text(meaning.strip())


def _variables(root: Path) -> Iterator[tuple[str, str, str]]:
    """Yield the variables of the unit's file, with the comment before each."""
    unit = (root / "deploy/systemd/weft-routeserver.service").read_text().replace("\\\n", " ")
    command = next(line for line in unit.splitlines() if line.startswith("ExecStart="))
    meaning: list[str] = []
    for line in (root / "deploy/packages/files/routeserver.env").read_text().splitlines():
        if not line:
            meaning = []
        elif line.startswith("#"):
            meaning.append(line.removeprefix("#").strip())
        else:
            name = line.partition("=")[0]
            uses = re.findall(rf"(--[\w-]+) (\S*\$\{{{name}\}}\S*)", command)
            becomes = ", ".join(code(f"{option} {value}") for option, value in uses) or code(f"${name}")
            yield code(name), becomes, text(" ".join(meaning))
            meaning = []
