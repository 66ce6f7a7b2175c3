"""The images of a policy, and errors at their places."""

import pytest

from controller.core.policy import parse
from controller.core.policy.model import PlacedImage
from controller.core.policy.strangers import strangers
from tests.unit.policy.texts import errors

HEAD = "apiVersion: weft/v1\nvcps:\n  shop: {members: [c1-lan]}\nimages:\n  camera: {%s}\n"
DIGEST = "digest: 'sha256:" + "a" * 64 + "'"


def test_an_image_without_conditions_belongs_everywhere() -> None:
    assert parse(HEAD % DIGEST, "p.yaml").rules.images == {"camera": PlacedImage("camera", "a" * 64)}
    nowhere = parse(HEAD % (DIGEST + ", cloudlets: []"), "p.yaml").rules.images["camera"]
    assert not nowhere.everywhere and not nowhere.cloudlets


def test_all_conditions_are_read() -> None:
    text = DIGEST + ", registry: r.example:5000/a/b, cloudlets: [c1], select: {site: any}, vcps: [shop], devices: [ana]"
    [image] = parse(HEAD % text, "p.yaml").rules.images.values()
    assert image == PlacedImage(
        "camera",
        "a" * 64,
        "r.example:5000/a/b",
        False,
        frozenset({"c1"}),
        {"site": frozenset()},
        frozenset({"shop"}),
        frozenset({"ana"}),
    )


@pytest.mark.parametrize(
    ("text", "field", "words"),
    [
        ("registry: r/a", "digest", "lacks the key 'digest'"),
        ("digest: latest", "digest", "is not a digest: sha256: and 64 hexadecimal digits"),
        (DIGEST.replace("a'", "a\\n'").replace("'", '"'), "digest", "is not a digest"),
        (DIGEST + ", registry: 'r/a:latest'", "registry", "without a tag or digest"),
        (DIGEST + ", registry: r", "registry", "a registry and a repository"),
        (DIGEST + ", registry: 'ftp://r/a'", "registry", "a registry and a repository"),
        (DIGEST + ", vcps: [shpo]", "vcps[0]", "this policy has no VCP 'shpo': did you mean 'shop'?"),
        (DIGEST + ", devises: []", "devises", "did you mean"),
    ],
)
def test_mistakes_at_their_place(text: str, field: str, words: str) -> None:
    [(_, _, at, message)] = errors(HEAD % text)
    assert at == f"images.camera.{field}"
    assert words in message


def test_a_cloudlet_that_is_not_there_is_a_warning() -> None:
    policy = parse(HEAD % (DIGEST + ", cloudlets: [c1, c9]"), "p.yaml")
    [warning] = strangers(policy, ["c1-lan"], ["c1"])
    assert warning.field == "images.camera.cloudlets[1]"
    assert "there is no cloudlet 'c9'" in warning.message
