"""The CPU that guests see: QEMU's name of it in libvirt's form. Pure."""

import re
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

from agents.hypervisors.hypervisor import Refused

_MODES = {"host": "host-passthrough", "max": "maximum"}
_FEATURE = re.compile(r"(?P<sign>[+-])(?P<flag>[\w.-]+)|(?P<name>[\w.-]+)=(?P<value>on|off)")

# libvirt's names of features that QEMU calls otherwise (cpu_map/x86_features.xml).
_NAMES = {"pclmulqdq": "pclmuldq"}
_UNDERSCORES = "ds-cpl tsc-adjust fxsr-opt lahf-lm cmp-legacy nodeid-msr perfctr-core perfctr-nb"
_NAMES |= {name: name.replace("-", "_") for name in _UNDERSCORES.split()}


def models(capabilities: str) -> frozenset[str]:
    """Return the named models that libvirt knows, from the XML of a domain's capabilities (formatdomaincaps.html). QEMU
    knows better which of them the host can run."""
    found = ElementTree.fromstring(capabilities).iterfind("cpu/mode[@name='custom']/model")
    return frozenset(model.text for model in found if model.text)


def processor(cpu: str) -> str:
    """Return the `cpu` element for `NAME[,+FEATURE|-FEATURE|FEATURE=on|off]…`. Raises Refused on words for which
    libvirt has no form."""
    name, *features = cpu.split(",")
    lines = []
    for feature in features:
        match = _FEATURE.fullmatch(feature)
        if match is None:
            raise Refused(f"CPU {cpu}: libvirt cannot be told {feature!r}")
        wanted = match["sign"] == "+" or match["value"] == "on"
        flag = match["flag"] or match["name"]
        policy = "require" if wanted else "disable"
        lines.append(f'<feature policy="{policy}" name={quoteattr(_NAMES.get(flag, flag))}/>')
    inner = "".join(lines)
    if name in _MODES:
        return f'<cpu mode="{_MODES[name]}" check="none">{inner}</cpu>'
    model = f'<model fallback="forbid">{escape(name)}</model>'
    return f'<cpu mode="custom" match="exact" check="none">{model}{inner}</cpu>'
