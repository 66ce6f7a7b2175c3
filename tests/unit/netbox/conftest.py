"""A fake NetBox with two towns, and `weft` as a shell calls it."""

from collections.abc import Iterator

import pytest

from controller.core.netbox import Noun, Snapshot, Thing
from tests.unit.cli.conftest import weft as weft
from tests.unit.netbox.fake_netbox import TOKEN, FakeNetBox, running
from tests.unit.netbox.objects import WEB, Objects, towns

LISTS = {
    "sites": (Noun.SITE, "dcim/sites"),
    "locations": (Noun.LOCATION, "dcim/locations"),
    "devices": (Noun.DEVICE, "dcim/devices"),
    "interfaces": (Noun.INTERFACE, "dcim/interfaces"),
    "prefixes": (Noun.PREFIX, "ipam/prefixes"),
    "addresses": (Noun.ADDRESS, "ipam/ip-addresses"),
    "vms": (Noun.VM, "virtualization/virtual-machines"),
    "vm_interfaces": (Noun.VM_INTERFACE, "virtualization/interfaces"),
}


@pytest.fixture
def objects() -> Objects:
    """The objects of two towns, which a test may change."""
    return towns()


def snapshot(objects: Objects) -> Snapshot:
    """Return the snapshot that the reader makes of objects, with the default mapping."""
    found = {key: tuple(Thing(noun, one) for one in objects.get(path, [])) for key, (noun, path) in LISTS.items()}
    found["sites"] = tuple(one for one in found["sites"] if "weft" in one.tags)
    return Snapshot(WEB, **found)


@pytest.fixture
def netbox(objects: Objects, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeNetBox]:
    """A running NetBox with the two towns; `weft` has its token."""
    monkeypatch.setenv("WEFT_NETBOX_TOKEN", TOKEN)
    with running(FakeNetBox(objects)) as started:
        yield started
