"""Documents that are written are read as the same data."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from controller.core import inventories
from controller.core.yaml_document.document import UNPRINTABLE, read
from controller.core.yaml_document.writing import CannotBeWritten, written
from tests.unit.inventory.texts import EXAMPLES, HEAD, REGION
from tests.unit.inventory.texts import read as parse

texts = st.text(max_size=20).filter(lambda text: not UNPRINTABLE.search(text))
texts |= st.sampled_from(
    ["", "~", "null", "yes", "no", "On", "true", "10", "0x1f", "0o7", "1_000", "1e3", ".5", "12:30:45", "2001-01-01",
     "02:00:00:00:00:01", "- a", "a: b", "a #b", "*", "&a", "!t", "%", "@", "`", "'", '"', "\\", "a\tb", "a\nb", "-",
     "---", "...", "=", "<<", " a", "a ", "[", "{", "10.1.0.0/24", "512M", "2001:db8::/64", "md*", "?", ":", "a:"]
)  # fmt: skip
numbers = st.integers(-(10**18), 10**18) | st.floats(allow_nan=False, allow_infinity=False)
scalars = texts | numbers | st.booleans()
keys = texts.filter(lambda text: len(text) <= 63)
values = st.recursive(
    scalars | st.lists(scalars, max_size=4), lambda inner: st.dictionaries(keys, inner, max_size=4), max_leaves=12
)


@given(st.dictionaries(keys, values, max_size=4))
def test_data_is_read_as_it_was_written(data: dict[str, object]) -> None:
    text = written(data)
    assert (read(text, "w.yaml").data or {}) == data
    assert (yaml.safe_load(text) or {}) == data, "also by readers of YAML 1.1"


def test_quotes_are_only_where_they_are_needed() -> None:
    data = {"a": "turin", "b": "10", "c": "10.1.0.0/24", "d": ["md*", "eth1"], "e": {}, "f": [], "g": "512M", "h": 3}
    assert written(data) == ("a: turin\nb: '10'\nc: 10.1.0.0/24\nd: ['md*', eth1]\ne: {}\nf: []\ng: 512M\nh: 3\n")


@pytest.mark.parametrize("text", ["\u2028", "\x85", "\ufeff"])
def test_a_character_that_no_document_can_have_is_named(text: str) -> None:
    with pytest.raises(CannotBeWritten, match=r"a\.b has the character"):
        written({"a": {"b": f"x{text}"}})


@pytest.mark.parametrize("text", [HEAD, REGION, *(path.read_text() for path in EXAMPLES)])
def test_an_exported_inventory_is_the_same(text: str) -> None:
    inventory = parse(text)
    exported = inventories.text(inventory.objects)
    assert parse(exported).objects == inventory.objects
    assert inventories.text(parse(exported).objects) == exported


def test_defaults_are_not_exported() -> None:
    exported = inventories.text(parse(REGION).objects)
    assert "mtu" not in exported and "macs" not in exported and "unmanaged" not in exported
    assert "    memory: 512M\n" in exported and "    vni: 10000\n" in exported
