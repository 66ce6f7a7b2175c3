"""Events about devices, their leases, pairs and places."""

from collections.abc import Mapping

from controller.core.event_types.event_type import EventType

_LEASE = ("endpoint", "address", "kind", "mac")

ADDRESSES: Mapping[str, EventType] = {
    "device-registered": EventType("A device was registered.", "device", "operator"),
    "device-changed": EventType("Values of a device were changed.", "device", "operator"),
    "device-forgotten": EventType("A device was removed, with its pairs.", "device", "operator"),
    "device-seen": EventType(
        "A device has settled at another LAN.", "device", "device", ("endpoint", "before", "how", "after_seconds")
    ),
    "device-spoofed": EventType(
        "A machine with another MAC uses a device's address.", "device", "device", ("endpoint", "address", "mac", "how")
    ),
    "cloned-client": EventType("Two MACs use one DHCP client identifier.", "endpoint", "device", ("client_id", "uses")),
    "lease-granted": EventType("A new lease began.", "device", "device", _LEASE),
    "lease-released": EventType(
        "A lease was given up: by its client, an operator, or the end of a move.",
        "device",
        "device, operator, controller",
        _LEASE,
    ),
    "lease-expired": EventType("A lease ended without renewal.", "device", "device", _LEASE),
    "lease-clash": EventType(
        "An agent had leased an address of a pair that now belongs to a static host.",
        "endpoint",
        "device",
        ("address", "mac"),
    ),
    "address-declined": EventType(
        "A client found its address in use; nobody gets the address before `until`.",
        "device, endpoint",
        "device",
        (*_LEASE, "until"),
    ),
    "address-freed": EventType("A declined address may be given out again.", "endpoint", "controller", ("address",)),
    "pair-reserved": EventType(
        "A pair was reserved for a device, by request or for a move.", "device", "operator, controller", ("endpoint",)
    ),
    "pair-freed": EventType("A reservation ended before its time.", "device", "operator, controller", ("endpoint",)),
    "statics-taken-over": EventType("Static hosts were imported.", "endpoint", "operator, tenant"),
    "static-given-up": EventType("A static host was removed.", "endpoint", "operator, tenant"),
    "lan-filling": EventType("A LAN is 90 % leased, or will be full within a week.", "endpoint", "device"),
    "lan-eased": EventType("A LAN that was filling has room again.", "endpoint", "device"),
}
