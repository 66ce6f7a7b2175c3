"""A pair as an agent knows it, and the form in which the journal has it."""

from dataclasses import dataclass, field
from typing import Any, Literal

from controller.wire.delegations import Client

Kind = Literal["md", "vm"]
KINDS: tuple[Kind, Kind] = ("md", "vm")


@dataclass
class Half:
    """One address of a pair. It is leased to `client` until `until`, 0: to nobody; no other client gets it before
    `promised`. Times are in seconds since the machine started. `version` is that of the last change, 0: none yet."""

    client: Client | None = None
    hostname: str | None = None
    until: float = 0.0
    promised: float = 0.0
    version: int = 0


@dataclass
class Device:
    """The device of a pair. `name` is the controller's, None until it has given one; `number` is the pair's. `asked`:
    when the controller last said who this is."""

    name: str | None = None
    clients: dict[Kind, Client] = field(default_factory=dict)
    number: int | None = None
    asked: float = float("-inf")


@dataclass
class Pair:
    """A pair and its device. `confirmed`: it is certain that no other device has got the pair since."""

    number: int
    device: Device
    halves: dict[Kind, Half] = field(default_factory=lambda: {"md": Half(), "vm": Half()})
    confirmed: bool = True

    def promised(self, now: float) -> bool:
        """Return whether a client may be using an address of the pair."""
        return any(half.promised > now for half in self.halves.values())

    def document(self) -> dict[str, Any]:
        """Return the form in which the journal has the pair."""
        return {
            "device": self.device.name,
            "clients": {kind: _document(client) for kind, client in self.device.clients.items()},
            "halves": {
                kind: [_document(half.client), half.hostname, half.until, half.promised, half.version]
                for kind, half in self.halves.items()
                if half.promised or half.version
            },
            "confirmed": self.confirmed,
        }

    @classmethod
    def of(cls, number: int, document: dict[str, Any]) -> "Pair":
        """Return the pair from its form in the journal."""
        clients: dict[Kind, Client] = {k: Client(**document["clients"][k]) for k in KINDS if k in document["clients"]}
        pair = cls(number, Device(document["device"], clients, number), confirmed=document["confirmed"])
        for kind in KINDS:
            if kind in document["halves"]:
                client, *rest = document["halves"][kind]
                pair.halves[kind] = Half(Client(**client) if client else None, *rest)
        return pair


def same(one: Client, other: Client) -> bool:
    """Return whether two are one client: by client id or, where one has none, by MAC."""
    if one.client_id and other.client_id:
        return one.client_id == other.client_id
    return one.mac is not None and one.mac == other.mac


def _document(client: Client | None) -> dict[str, str | None] | None:
    return {"mac": client.mac, "client_id": client.client_id} if client else None
