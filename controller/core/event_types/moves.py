"""Events about moves of VMs: decisions, schedules, and each step."""

from collections.abc import Mapping

from controller.core.event_types.event_type import EventType
from controller.core.saga import Step

_STEP = ("vm", "state", "source", "destination")
_END = ("vm", "source", "destination", "reason")
_SCHEDULED = ("vm", "endpoint")

_STEPS: Mapping[Step, str] = {
    Step.AUTHORISE: "the destination is active, fits, and admits the tenant",
    Step.CONNECT: "both endpoints share a pool",
    Step.RESERVE: "the device has its pair at the destination",
    Step.INITIATE: "the VM starts anew at the destination",
    Step.PREPARE: "the destination's machine waits for the state",
    Step.DISK: "the disk is copied while the VM runs",
    Step.MEMORY: "the memory is copied while the VM runs",
    Step.SWITCHOVER: "the VM is stopped, and all its state is at the destination",
    Step.ACTIVATE: "the VM runs at the destination under its old address",
    Step.JOIN: "the device has joined the new address",
    Step.LEAVE: "the old address is no longer used, and is gone",
    Step.DISCARD: "the source has removed the machine",
    Step.NORMAL: "nothing is left to be done",
    Step.ABORT: "a cloudlet clears away what is left of the move",
    Step.DISCONNECT: "a pool that was joined for the VM is left",
    Step.RELEASE: "a new reservation is given up",
}

MOVES: Mapping[str, EventType] = {
    "move-decided": EventType(
        "The controller has decided whether a VM follows its device.",
        "VM",
        "device",
        ("decision", "course", "reasons", "endpoint", "prospect", "estimate"),
    ),
    "move-refused": EventType(
        "A move by decision or schedule could not begin.",
        "VM, scheduled move",
        "device, controller",
        ("decision", *_SCHEDULED),
    ),
    "move-missed": EventType(
        "No controller ran at a scheduled move's time.", "scheduled move", "controller", _SCHEDULED
    ),
    "move-scheduled": EventType("A move was scheduled.", "scheduled move", "operator, controller", (*_SCHEDULED, "at")),
    "move-unscheduled": EventType("A scheduled move was cancelled.", "scheduled move", "operator", ("vm",)),
    "move-waiting": EventType(
        "A move was requested and waits for its turn.",
        "move",
        "operator, controller",
        ("vm", "source", "destination", "asked_by"),
    ),
    **{
        f"move-{step}": EventType(f"Step {step}: {text}.", "move", "agent, controller", _STEP)
        for step, text in _STEPS.items()
    },
    "move-done": EventType("A move ended: the VM is at its destination.", "move", "controller", _END),
    "move-undone": EventType("A move was undone; the VM is where `text` says.", "move", "controller", _END),
}
