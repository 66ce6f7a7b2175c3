"""The condition of a machine, from QEMU's answers. Pure."""

from agents.hypervisors.record import Record
from controller.wire.machines import Condition

ENDED = ("shutdown", "guest-panicked", "internal-error")
POSTCOPY = ("postcopy-active", "postcopy-paused", "postcopy-recover-setup", "postcopy-recover")

COMING = "its memory is still on the way"
SEVERED = "the path is cut"
DEAF = f"{COMING}: QEMU waits for some of it, and answers nobody"
UNCONFIRMED = "all of its memory was sent, and the path was cut before the other end confirmed that"
SILENT = "QEMU does not answer"
VAIN = "the transfer failed; it waits in vain"


def condition(record: Record, run_state: str | None, migration: str) -> tuple[Condition, str]:
    """Return the condition, and a text about its cause. `run_state` is QMP's, None if QEMU does not run; `migration` is
    the status of the last migration, or "none"."""
    move = record.move
    outgoing = move is not None and move.role == "outgoing"
    incoming = move is not None and move.role == "incoming"
    handed = outgoing and move is not None and move.handed is not None
    if run_state is None:
        if handed:
            return "moved", "its QEMU has ended"
        return "stopped", "QEMU ended while it waited for the machine's state" if incoming else "QEMU does not run"
    cut = migration == "postcopy-paused"
    if run_state == "running":
        return "running", f"{COMING}: {SEVERED}" if cut else ""
    if run_state in ENDED:
        return "stopped", f"the guest has ended ({run_state})"
    # QEMU says "completed" a moment before "postmigrate".
    if run_state == "postmigrate" or (outgoing and migration in POSTCOPY) or (handed and migration == "completed"):
        coming = f"{COMING}: {SEVERED}" if cut else COMING
        return "moved", coming if migration in POSTCOPY else ""
    if move is not None and move.irrevocable and migration == "failed":
        return "moved", UNCONFIRMED
    if incoming:
        if migration == "failed":
            return "waiting", VAIN
        return "waiting", "" if run_state == "inmigrate" else "all of its state is here"
    return "paused", "" if run_state == "paused" else run_state
