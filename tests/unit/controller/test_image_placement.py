"""The cloudlets to which the policy's images belong, and the order of the sources."""

from dataclasses import replace

import pytest

from controller.core import edits
from controller.core.image_placement import wanted
from controller.core.image_sources import ASSUMED, OTHERS, Holder, nearest
from controller.core.intent import CloudletState, Intent
from controller.core.policy.model import PlacedImage, Rules
from controller.wire.images import MOST_SOURCES
from tests.unit.controller.regions import founded, lan

DIGEST = "a" * 64
PLAIN = PlacedImage("i", DIGEST, everywhere=False)


def region(*images: PlacedImage) -> Intent:
    """Return a region with c0 and c1 in the pool p0, c3 in p1, and c4 in none; c5 is the host of a route server."""
    intent = founded()
    for number in (0, 1, 3, 4):
        intent = edits.add_endpoint(intent, lan(number, 0, f"10.{number}.0.0/24"), [])
    for pool, number in (("p0", 0), ("p0", 1), ("p0", 3)):
        intent = edits.join(intent, pool, f"c{number}-lan0")
    labelled = replace(intent.cloudlets["c1"], labels={"site": "campus"})
    intent = intent.with_cloudlet(labelled)
    return intent.but(policy=Rules(images={image.name: image for image in images}))


def places(image: PlacedImage, homes: dict[str, str] | None = None, **changes: Intent) -> set[str]:
    intent = changes.get("intent", region(image))
    return {name for name in intent.cloudlets if wanted(intent, name, homes or {})}


@pytest.mark.parametrize(
    ("image", "where"),
    [
        (PlacedImage("i", DIGEST), {"c0", "c1", "c2", "c3", "c4"}),
        (PLAIN, set()),
        (replace(PLAIN, cloudlets=frozenset({"c4", "c9"})), {"c4"}),
        (replace(PLAIN, select={"site": frozenset({"campus"})}), {"c1"}),
        (replace(PLAIN, select={}), {"c0", "c1", "c2", "c3", "c4"}),
        (replace(PLAIN, vcps=frozenset({"p0"})), {"c0", "c1", "c3"}),
        (replace(PLAIN, vcps=frozenset({"p1"})), set()),
        (replace(PLAIN, cloudlets=frozenset({"c4"}), vcps=frozenset({"p0"})), {"c0", "c1", "c3", "c4"}),
    ],
)
def test_an_image_belongs_where_one_condition_is_met(image: PlacedImage, where: set[str]) -> None:
    assert places(image) == where


@pytest.mark.parametrize(
    ("homes", "where"),
    [({}, set()), ({"ana": "c0-lan0"}, {"c0", "c1", "c3"}), ({"ana": "c4-lan0"}, {"c4"}), ({"ana": "gone"}, set())],
)
def test_a_device_has_its_image_wherever_its_vm_can_follow(homes: dict[str, str], where: set[str]) -> None:
    image = replace(PLAIN, devices=frozenset({"ana", "bob"}))
    assert places(image, homes) == where
    assert region(image).policy.image_devices == {"ana", "bob"}


def test_a_cloudlet_that_does_not_take_part_has_no_images() -> None:
    intent = region(PlacedImage("i", DIGEST))
    revoked = intent.with_cloudlet(replace(intent.cloudlets["c1"], revoked=True))
    invited = revoked.with_cloudlet(replace(intent.cloudlets["c2"], state=CloudletState.INVITED))
    assert places(PLAIN, intent=invited) == {"c0", "c3", "c4"}
    assert wanted(intent, "c9", {}) == []


def test_the_nearest_is_asked_first() -> None:
    near, far = Holder("near", "", rtt_ms=1.0), Holder("far", "", rtt_ms=90.0)
    thin, limited = Holder("thin", "", 0.5, bits=1e6), Holder("limited", "", 0.5, bits=1e9, limit=2_000_000)
    fast, unmeasured = Holder("fast", "", 50.0, bits=10 * ASSUMED), Holder("unmeasured", "")
    order = nearest([unmeasured, thin, far, limited, near, fast], 100 << 20)
    assert [holder.cloudlet for holder in order] == ["fast", "near", "far", "limited", "thin", "unmeasured"]
    assert [holder.cloudlet for holder in nearest([far, near, fast], 1000)] == ["near", "fast", "far"]
    assert [holder.cloudlet for holder in nearest([Holder("none", "", 1.0, bits=0.0), near], None)] == ["near", "none"]


def test_every_holder_is_met_in_the_end() -> None:
    many = [Holder(f"c{n:02d}", "", rtt_ms=n) for n in range(40)]
    answers = [[holder.cloudlet for holder in nearest(many, None, f"turn {turn}")] for turn in range(300)]
    assert all(len(set(answer)) == MOST_SOURCES and answer == sorted(answer) for answer in answers)
    assert {tuple(answer[: MOST_SOURCES - OTHERS]) for answer in answers} == {
        ("c00", "c01", "c02", "c03", "c04", "c05")
    }
    assert {name for answer in answers for name in answer} == {holder.cloudlet for holder in many}
    assert nearest(many, None, "one") == nearest(many, None, "one"), "within a turn it stays the same"
