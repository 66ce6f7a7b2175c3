"""What of these may run side by side: with `-n 2 --dist loadscope` one process is for the lab, and one for the rest."""

from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

BESIDE = {"bgp_keys", "bgp_trust", "libvirt_driver", "looking_glass", "pair", "qemu_driver", "qemu_postcopy"}
BESIDE |= {"replicas", "trials"}
"""Files of tests that have what they need to themselves, on loopback or in namespaces that are only theirs. All others
share the lab's namespaces, its folder and its lock."""


class Beside(LoadScopeScheduling):  # type: ignore[misc]
    """All tests of the lab are one piece of work, and each file of BESIDE is one."""

    def _split_scope(self, nodeid: str) -> str:
        name = Path(nodeid.partition("::")[0]).stem.removeprefix("test_")
        return name if name in BESIDE else "lab"


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling | None:
    return Beside(config, log) if config.getvalue("dist") == "loadscope" else None
