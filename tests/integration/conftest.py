"""What of these may run side by side: with `-n 2 --dist loadgroup` one process is for the lab, and one for the rest."""

import pytest

BESIDE = {"bgp_keys", "bgp_trust", "libvirt_driver", "looking_glass", "pair", "qemu_driver", "qemu_postcopy"}
BESIDE |= {"replicas", "trials"}
"""Files of tests that have what they need to themselves, on loopback or in namespaces that are only theirs. All others
share the lab's namespaces, its folder and its lock."""


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        name = item.path.stem.removeprefix("test_")
        item.add_marker(pytest.mark.xdist_group(name if name in BESIDE else "lab"))
