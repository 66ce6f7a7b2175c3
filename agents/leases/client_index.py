"""An index of the devices by MAC, client id and name, as far as this agent knows them."""

from agents.leases.pair import Device, Kind
from controller.wire.delegations import Client


class ClientIndex:
    """An index of devices by their clients and names."""

    def __init__(self) -> None:
        self._by_id: dict[str, tuple[Device, Kind]] = {}
        self._by_mac: dict[str, tuple[Device, Kind]] = {}
        self._named: dict[str, Device] = {}

    def who(self, client: Client) -> tuple[Device, Kind] | None:
        """Return the device and kind of a client, by its client id or, if that is unknown, by its MAC (RFC 2131,
        section 4.2)."""
        by_id = self._by_id.get(client.client_id) if client.client_id else None
        return by_id or (self._by_mac.get(client.mac) if client.mac else None)

    def all_of(self, client: Client) -> list[tuple[Device, Kind]]:
        """Return every device and kind with this client id or this MAC."""
        by_id = self._by_id.get(client.client_id) if client.client_id else None
        by_mac = self._by_mac.get(client.mac) if client.mac else None
        return [found for found in (by_id, by_mac) if found is not None]

    def named(self, name: str) -> Device | None:
        """Return the device to which the controller gives this name."""
        return self._named.get(name)

    def add(self, device: Device) -> None:
        """Add a device as it is now."""
        if device.name is not None:
            self._named[device.name] = device
        for kind, client in device.clients.items():
            if client.client_id:
                self._by_id[client.client_id] = device, kind
            if client.mac:
                self._by_mac[client.mac] = device, kind

    def remove(self, device: Device) -> None:
        """Forget a device. Call this before its name or clients change."""
        if device.name is not None and self._named.get(device.name) is device:
            del self._named[device.name]
        for client in device.clients.values():
            for index, key in ((self._by_id, client.client_id), (self._by_mac, client.mac)):
                if key and key in index and index[key][0] is device:
                    del index[key]
