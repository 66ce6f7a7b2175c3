"""Which of these tests may run side by side: with `-n 2 --dist loadscope` one process runs the lab tests, and one the
rest."""

from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

BESIDE = {"bgp_keys", "bgp_trust", "libvirt_driver", "looking_glass", "pair", "qemu_driver", "qemu_postcopy"}
BESIDE |= {"qemu_platform", "replicas", "thin_line", "trials"}
"""Test files that share nothing: they run on loopback or in namespaces of their own. The files `test_agent_*` share
namespaces with each other alone, and so do `test_guest_*`; all others share the lab's namespaces, its folder and its
lock."""


class Beside(LoadScopeScheduling):  # type: ignore[misc]
    """A scheduler that gives all lab tests to one process as a unit, the agents' tests as another and the guests' as a
    third, and treats each file of BESIDE as a unit."""

    def _split_scope(self, nodeid: str) -> str:
        name = Path(nodeid.partition("::")[0]).stem.removeprefix("test_")
        if name in BESIDE:
            return name
        return name.partition("_")[0] if name.startswith(("agent_", "guest_")) else "lab"


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling | None:
    return Beside(config, log) if config.getvalue("dist") == "loadscope" else None
