"""VLANs of a trunk (IEEE 802.1Q) as access ports. An endpoint names one `TRUNK.VID`, such as `eth1.100`. Pure."""

import re
from dataclasses import dataclass

GROUP = 0x57454656
"""The interface group of the VLAN devices that the agent has made. It removes no others."""

_NAME = 15  # characters of an interface's name
_LAST = 4094  # 0 and 4095 are no VLANs
_FORM = re.compile(r"([^*?\[\]]{1,15})\.([1-9]\d{0,3})")


@dataclass(frozen=True, slots=True, order=True)
class Vlan:
    """VLAN `vid` (1 to 4094) of the interface `trunk`."""

    trunk: str
    vid: int

    def __str__(self) -> str:
        return f"{self.trunk}.{self.vid}"

    @property
    def device(self) -> str:
        """The name of the VLAN's interface: TRUNK.VID, without those first characters of the trunk that would make it
        too long. The first ones say what kind of interface the trunk is, the last ones which."""
        return str(self)[-_NAME:]


def parse(port: str) -> Vlan | None:
    """Return the VLAN that a port of an endpoint names, or None if it is a name or pattern of interfaces."""
    found = _FORM.fullmatch(port)
    if found is None or int(found[2]) > _LAST:
        return None
    return Vlan(found[1], int(found[2]))
