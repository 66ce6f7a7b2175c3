"""The CPU that guests see: QEMU's name of it in libvirt's words. Pure."""

import re
from xml.sax.saxutils import escape, quoteattr

from agents.hypervisors.hypervisor import Refused

_MODES = {"host": "host-passthrough", "max": "maximum"}
_FEATURE = re.compile(r"(?P<sign>[+-])(?P<flag>[\w.-]+)|(?P<name>[\w.-]+)=(?P<value>on|off)")


def processor(cpu: str) -> str:
    """From `NAME[,+FEATURE|-FEATURE|FEATURE=on|off]…`. Raises Refused on what libvirt has no words for."""
    name, *features = cpu.split(",")
    lines = []
    for feature in features:
        match = _FEATURE.fullmatch(feature)
        if match is None:
            raise Refused(f"option 'cpu': libvirt cannot be told {feature!r}")
        wanted = match["sign"] == "+" or match["value"] == "on"
        policy = "require" if wanted else "disable"
        lines.append(f'<feature policy="{policy}" name={quoteattr(match["flag"] or match["name"])}/>')
    inner = "".join(lines)
    if name in _MODES:
        return f'<cpu mode="{_MODES[name]}" check="none">{inner}</cpu>'
    model = f'<model fallback="forbid">{escape(name)}</model>'
    return f'<cpu mode="custom" match="exact" check="none">{model}{inner}</cpu>'
