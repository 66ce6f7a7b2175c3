"""Which of these tests may run side by side: with `-n 2 --dist loadscope` one process runs the lab tests, and one the
rest."""

from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

BESIDE = {"bgp_keys", "bgp_trust", "libvirt_driver", "looking_glass", "pair", "qemu_driver", "qemu_postcopy"}
BESIDE |= {"replicas", "trials"}
"""Test files that share nothing: they run on loopback or in namespaces of their own. All others share the lab's
namespaces, its folder and its lock."""


class Beside(LoadScopeScheduling):  # type: ignore[misc]
    """A scheduler that gives all lab tests to one process as a unit, and treats each file of BESIDE as a unit."""

    def _split_scope(self, nodeid: str) -> str:
        name = Path(nodeid.partition("::")[0]).stem.removeprefix("test_")
        return name if name in BESIDE else "lab"


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling | None:
    return Beside(config, log) if config.getvalue("dist") == "loadscope" else None
