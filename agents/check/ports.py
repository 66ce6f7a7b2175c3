"""Ports that the agent and the daemons beside it have to get."""

import re
from dataclasses import dataclass

from agents import command
from agents.settings import Settings
from controller.wire.checks import Result, failed, ok

_SECONDS = 10.0
_USERS = re.compile(r'\("([^"]+)",pid=')
_BGP = frozenset({"gobgpd", "bgpd"})
_AGENT = frozenset({"weft-agent", "python3"})
_CHARON = frozenset({"charon"})


@dataclass(frozen=True)
class Port:
    """A port of `ss`'s kind `tcp` or `udp`, the programs that may have it, and its use."""

    kind: str
    number: int
    allowed: frozenset[str]
    use: str


def wanted(settings: Settings) -> list[Port]:
    """Return the ports for these settings."""
    found = [
        Port("udp", 67, _AGENT, "DHCP"),
        Port("udp", 547, _AGENT, "DHCPv6"),
        Port("udp", 862, _AGENT, "round trips"),
        Port("tcp", 179, _BGP, "BGP"),
    ]
    if settings.ipsec is not None:
        found += [Port("udp", 500, _CHARON, "IKE"), Port("udp", 4500, _CHARON, "IKE and ESP behind NAT")]
    if settings.images.port:
        found.append(Port("tcp", settings.images.port, frozenset({"weft-images"}), "images for other cloudlets"))
    return found


async def results(settings: Settings) -> list[Result]:
    """Return a result for each port that another program has, or one for all of them."""
    found, ports = list[Result](), wanted(settings)
    for port in ports:
        try:
            flag = "-Hlnup" if port.kind == "udp" else "-Hlntp"
            ended = await command.run("ss", flag, f"sport = :{port.number}", seconds=_SECONDS)
        except (OSError, TimeoutError) as error:
            return [failed("ports", f"ss cannot be run: {error}", "apt install iproute2")]
        if others := held(ended.out, port):
            programs = ", ".join(sorted(others))
            said = f"{port.kind.upper()} {port.number} ({port.use}) belongs to {programs}"
            found.append(failed("ports", said, f"stop {programs} on this host, or bind it to other interfaces"))
    numbers = ", ".join(f"{port.kind.upper()} {port.number}" for port in ports)
    return found or [ok("ports", f"free, or ours: {numbers}")]


def held(said: str, port: Port) -> set[str]:
    """Return the other programs that have a port on every interface, by the output of `ss -Hln`. A program that has
    bound it to one interface or address is in nobody's way."""
    found: set[str] = set()
    for line in said.splitlines():
        words = line.split()
        if len(words) < 5:
            continue
        local = next((word for word in words if word.endswith(f":{port.number}")), "")
        if local.rpartition(":")[0] in ("0.0.0.0", "*", "[::]"):
            found |= set(_USERS.findall(line)) or {"another program"}
    return found - port.allowed
