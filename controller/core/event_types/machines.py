"""Events about VMs and images at cloudlets."""

from collections.abc import Mapping

from controller.core.event_types.event_type import EventType

_CONDITION = ("cloudlet", "before")
_IMAGE = ("image", "digest")


def _now(condition: str) -> EventType:
    """Return a type about a VM's condition, as its cloudlet's agent reports it."""
    return EventType(f"A VM is {condition}, by its agent's report.", "VM", "agent", _CONDITION)


MACHINES: Mapping[str, EventType] = {
    "vm-added": EventType("A VM was added to a device.", "VM", "operator", ("device", "endpoint")),
    "vm-changed": EventType("A VM that does not run was changed.", "VM", "operator"),
    "vm-removed": EventType("A VM was removed.", "VM", "operator", ("device", "endpoint")),
    "vm-starting": EventType("A VM is to start.", "VM", "operator"),
    "vm-stopping": EventType("A VM is to stop.", "VM", "operator"),
    "vm-not-started": EventType("A VM could not be started; not tried again if `final`.", "VM", "agent", ("final",)),
    "vm-not-stopped": EventType("A VM could not be stopped; not tried again if `final`.", "VM", "agent", ("final",)),
    "vm-running": _now("running"),
    "vm-paused": _now("paused"),
    "vm-waiting": _now("waiting for its state from another cloudlet"),
    "vm-moved": _now("stopped for good because its state is at another cloudlet"),
    "vm-stopped": _now("stopped, as asked or by itself"),
    "vm-gone": _now("unknown to its hypervisor"),
    "vm-unresponsive": _now("behind a hypervisor that does not answer; it may run"),
    "vm-initiated": EventType(
        "A VM that started anew at another cloudlet serves.",
        "VM",
        "controller",
        ("move", "seconds", "device", "endpoint", "address", "old"),
    ),
    "initiation-asked": EventType(
        "The policy asks an operator whether a VM is to start anew where its device is.",
        "VM",
        "device",
        ("decision", "endpoint"),
    ),
    "image-there": EventType("An image has come to a cloudlet.", "cloudlet", "agent", _IMAGE),
    "image-failed": EventType("An image has not come; the agent tries again.", "cloudlet", "agent", _IMAGE),
    "image-refused": EventType("An image cannot come; the text says why.", "cloudlet", "agent", _IMAGE),
}
