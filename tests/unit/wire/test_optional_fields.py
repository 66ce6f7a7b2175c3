"""The optional fields of a message: all of a model, and those that a message uses."""

from controller.wire.desired import Desired, Protected
from controller.wire.optional_fields import optional, used
from tests.unit.doctor.regions import Region

ALL = {
    "desired.protected",
    "desired.endpoints.prefix6",
    "desired.endpoints.gateway6",
    "desired.endpoints.remotes.prefix6",
}


def test_every_field_with_a_default_is_optional() -> None:
    assert set(optional(Desired, "desired")) == ALL


def test_a_document_uses_the_fields_that_it_sends() -> None:
    plain, six = (Region(5, [{2, 5}, {1, 4}]).cloudlet(n).desired for n in (2, 1))
    assert used(plain, "desired") == set()
    assert used(six, "desired") == ALL - {"desired.protected"}
    protected = plain.model_copy(update={"protected": [Protected(name="rs1", address="192.0.2.1")]})
    assert used(protected, "desired") == {"desired.protected"}


def test_fields_that_are_used_are_those_that_are_sent() -> None:
    """The document leaves out defaults (`exclude_defaults`)."""
    sent = Region(4, [{1, 4}]).cloudlet(1).desired.model_dump(mode="json", exclude_defaults=True)
    assert "protected" not in sent
    assert {"prefix6", "gateway6"} <= sent["endpoints"][0].keys() and "prefix6" in sent["endpoints"][0]["remotes"][0]
