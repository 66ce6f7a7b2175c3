"""The transfer of memory: capabilities and parameters of QEMU's migration, for both ends, and its figures. Pure.

The source's QEMU never stops the guest by itself. It has to wait for a message of the destination (`switchover-ack`)
that the destination is not told to send, and that is not needed once the guest is stopped. So memory follows for as
long as it takes, and the `stop` of the switchover lets QEMU finish. As the guest was stopped before, QEMU does not
resume it when finishing fails. The destination, started with -S, does not run it.
"""

from collections.abc import Mapping
from typing import Any

from controller.wire.moves import Figures, Tuning

CHANNELS = 1
"""Number of multifd channels. With more of them a connection that breaks can leave QEMU 10.0 waiting for ever: the
failed channel reports its error, the others just end, and the thread that copies waits for one of those
(docs/operate/qemu.md, "Traps"). Several paths come from MPTCP."""
THIN = "thin"
XBZRLE_CACHE = 256 << 20
UNLIMITED = 10**12
"""Bytes per second."""

UNDER_WAY = ("setup", "active", "pre-switchover", "device", "cancelling", "wait-unplug")
FAILED = ("failed", "cancelled")


def compression(tuning: Tuning, options: Mapping[str, str]) -> str:
    """Return `zstd`, `xbzrle`, `thin` (weft-transfer) or `none`. The option `compression` must be the same at both
    ends."""
    if not tuning.compression:
        return "none"
    if tuning.post_copy:  # which works with neither multifd nor xbzrle
        return "none"
    chosen = options.get("compression", "zstd")
    return "zstd" if chosen == THIN and tuning.direct else chosen


def thin(tuning: Tuning, options: Mapping[str, str]) -> bool:
    """Return whether weft-transfer carries the memory."""
    return compression(tuning, options) == THIN


def capabilities(tuning: Tuning, options: Mapping[str, str], source: bool) -> dict[str, Any]:
    """Return the arguments of `migrate-set-capabilities`."""
    chosen = compression(tuning, options)
    wanted = {
        "return-path": True,
        "switchover-ack": source,
        "pause-before-switchover": source,  # the disk's copy ends after the guest's stop and before QEMU hands over
        "late-block-activate": not source,
        "multifd": not tuning.post_copy and chosen not in ("xbzrle", THIN),
        "xbzrle": chosen == "xbzrle",
        "auto-converge": source and tuning.auto_converge,
        "postcopy-ram": tuning.post_copy,
        "postcopy-preempt": tuning.post_copy,
    }
    return {"capabilities": [{"capability": name, "state": state} for name, state in wanted.items()]}


def parameters(tuning: Tuning, options: Mapping[str, str]) -> dict[str, Any]:
    """Return the arguments of `migrate-set-parameters`."""
    return {
        "max-bandwidth": tuning.bandwidth // 8 if tuning.bandwidth and not thin(tuning, options) else UNLIMITED,
        "downtime-limit": tuning.downtime_ms,
        "multifd-channels": CHANNELS,
        "multifd-compression": "zstd" if compression(tuning, options) == "zstd" else "none",
        "multifd-zstd-level": 1,
        "xbzrle-cache-size": XBZRLE_CACHE,
    }


def figures(info: Mapping[str, Any], seconds: float, bandwidth: float, paths: int) -> Figures:
    """Return the figures from `query-migrate`; `bandwidth` in bytes per second."""
    ram = info.get("ram", {})
    total, left = ram.get("total", 0), ram.get("remaining", 0)
    return Figures(
        seconds=seconds,
        done=max(total - left, 0),
        total=total,
        wire=ram.get("transferred", 0),
        bandwidth=bandwidth * 8,
        dirty_rate=float(ram.get("dirty-pages-rate", 0) * ram.get("page-size", 4096)),
        rounds=ram.get("dirty-sync-count", 0),
        paths=paths,
    )
