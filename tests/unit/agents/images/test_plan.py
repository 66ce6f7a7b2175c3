"""The decision on each image: it is fetched, it is removed, or an operator has to decide."""

import pytest

from agents.images.plan import plan, states
from controller.wire.images import ImageState, WantedImage

A, B = "a" * 64, "b" * 64
CAMERA = WantedImage(name="camera", digest=A)


def test_what_is_not_there_is_fetched() -> None:
    found = plan([CAMERA], {}, {}, None)
    assert (found.fetch, found.remove, found.refused, found.replaced) == ((CAMERA,), (), {}, frozenset())
    assert plan([CAMERA], {"camera": A}, {}, None).fetch == ()


@pytest.mark.parametrize(
    ("there", "fetched", "used", "reason"),
    [
        (None, {}, frozenset(), "which the agent has not fetched"),
        (B, {}, frozenset(), "which the agent has not fetched"),
        (B, {"camera": A}, frozenset(), "which the agent has not fetched"),
        (B, {"camera": B}, frozenset({"camera"}), "machines here use another version"),
        (B, {"camera": B}, None, "machines here use another version"),
        (B, {"camera": B}, frozenset({"other"}), ""),
    ],
)
def test_another_version_is_replaced_only_if_it_is_the_agents_and_nobody_uses_it(
    there: str | None, fetched: dict[str, str], used: frozenset[str] | None, reason: str
) -> None:
    found = plan([CAMERA], {"camera": there}, fetched, used)
    if reason:
        assert found.fetch == () and reason in found.refused["camera"]
    else:
        assert found.fetch == (CAMERA,) and found.replaced == {"camera"} and not found.refused


@pytest.mark.parametrize(
    ("stored", "fetched", "used", "remove"),
    [
        ({"old": A}, {"old": A}, frozenset[str](), ("old",)),
        ({"old": A}, {"old": A}, frozenset({"old"}), ()),
        ({"old": A}, {"old": A}, None, ()),
        ({"old": B}, {"old": A}, frozenset[str](), ()),
        ({"old": A}, {}, frozenset[str](), ()),
        ({}, {"old": A}, frozenset[str](), ()),
    ],
)
def test_only_what_the_agent_fetched_and_nobody_uses_is_removed(
    stored: dict[str, str | None], fetched: dict[str, str], used: frozenset[str] | None, remove: tuple[str, ...]
) -> None:
    assert plan([], stored, fetched, used).remove == remove


def test_the_report_has_the_wanted_images_and_all_others_with_a_manifest() -> None:
    tried = {
        "camera": ImageState(name="camera", digest=A, condition="coming", done=1, total=9),
        "stale": ImageState(name="stale", digest=B, condition="failed", detail="of the version before"),
    }
    wanted = [CAMERA, WantedImage(name="stale", digest=A), WantedImage(name="late", digest=A)]
    found = states(wanted, {"seed": B, "by-hand": None}, tried)
    assert [(one.name, one.condition) for one in found] == [
        ("camera", "coming"),
        ("late", "waiting"),
        ("seed", "there"),
        ("stale", "waiting"),
    ]
    [there] = states([CAMERA], {"camera": A}, tried)
    assert (there.condition, there.done, there.total) == ("there", 9, 9)
