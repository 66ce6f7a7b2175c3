"""The delay, jitter, loss and rate of the lab's WAN: by the kernel's netem, or by the lab's own relay without it.

Only this module chooses between them. With netem a link is one veth whose two ends shape what they send. With the relay
both ends of a link lead to the namespace `weft-wan`, where `build/bin/wanrelay` passes the frames on; unlike netem it
keeps their order under jitter. A link without delay, jitter, loss and rate is a plain cable either way.
"""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

from lab import netns
from lab.plan import Line

LIMIT_PACKETS = 10000
NAMESPACE = f"{netns.PREFIX}wan"


class Emulator(StrEnum):
    NETEM = "netem"
    RELAY = "relay"


def choose() -> Emulator:
    """Return netem where the kernel has it, else the relay."""
    return Emulator.NETEM if netns.supports_netem() else Emulator.RELAY


def cables(lines: Sequence[Line], emulator: Emulator) -> list[tuple[tuple[str, str], tuple[str, str]]]:
    """Return the veth pairs to make, each end as (namespace, interface)."""
    made = []
    for line in lines:
        a = (netns.PREFIX + line.a.node, line.a.name)
        b = (netns.PREFIX + line.b.node, line.b.name)
        if line.link.shaped and emulator is Emulator.RELAY:
            inner_a, inner_b = _inner(line)
            made += [(a, (NAMESPACE, inner_a)), (b, (NAMESPACE, inner_b))]
        else:
            made.append((a, b))
    return made


def shape(lines: Sequence[Line], emulator: Emulator, links: Path) -> list[str] | None:
    """Apply the WAN's figures. Return the relay's command line, to be started in `weft-wan`, if it is used. `links` is
    the file that the relay reads.
    """
    shaped = [line for line in lines if line.link.shaped]
    if emulator is Emulator.NETEM:
        for line in shaped:
            for port in (line.a, line.b):
                netns.execute(netns.PREFIX + port.node, netem(line, port.name), check=True)
        return None
    if not shaped:
        return None
    inner = [name for line in shaped for name in _inner(line)]
    # The namespace itself must stay silent: it must send no router solicitations or MLD on any wire.
    silent = {"net.ipv6.conf.all.disable_ipv6": "1", "net.ipv6.conf.default.disable_ipv6": "1"}
    netns.configure(NAMESPACE, sysctl=silent, ip=[f"link set {name} up" for name in inner], plain=inner)
    links.write_text("".join(relay(line) + "\n" for line in shaped))
    return ["-f", str(links)]


def netem(line: Line, interface: str) -> list[str]:
    """Return tc's command line for one end of a link."""
    link = line.link
    argv = ["tc", "qdisc", "replace", "dev", interface, "root", "netem", "limit", str(LIMIT_PACKETS)]
    if link.delay_ms:
        argv += ["delay", f"{link.delay_ms:g}ms"]
    if link.jitter_ms:
        argv += [f"{link.jitter_ms:g}ms"]
    if link.loss_percent:
        argv += ["loss", f"{link.loss_percent:g}%"]
    if link.rate_mbit:
        argv += ["rate", f"{link.rate_mbit:g}mbit"]
    return argv


def relay(line: Line) -> str:
    """Return the relay's line for a link (`lab/wan/relay.c`)."""
    link = line.link
    figures = (link.delay_ms * 1000, link.jitter_ms * 1000, link.loss_percent * 10000, (link.rate_mbit or 0) * 1000)
    numbers = ",".join(str(round(figure)) for figure in figures)
    return f"{link.a}-{link.b},{','.join(_inner(line))},{numbers},{LIMIT_PACKETS}"


def _inner(line: Line) -> tuple[str, str]:
    return f"w{line.number}a", f"w{line.number}b"
