"""JSON from a guest, of any content."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.hypervisors.guest_json import SIGNS, guest_object
from agents.hypervisors.hypervisor import HypervisorError

WRONG = {
    "nothing": "",
    "null": "null",
    "a list": "[1]",
    "a number": "7",
    "a text": '"pid"',
    "half": '{"return": {"pid"',
    "two": "{}{}",
    "no number": '{"return": NaN}',
    "more than every number": '{"return": Infinity}',
    "thousands of digits": '{"return": ' + "1" * 5000 + "}",
    "deeper": "[" * 100_000,
    "wide": '{"return": [' + "{}," * 100_000 + "{}]}",
    "long": '{"return": "' + "x" * 300_000 + '"}',
}


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
def test_what_is_no_answer_is_one_error_with_a_short_text(text: str) -> None:
    with pytest.raises(HypervisorError, match=r"^answered ") as caught:
        guest_object(text, 1 << 18)
    assert len(str(caught.value)) < 200 and str(caught.value).isprintable()


@given(st.dictionaries(st.text(), st.one_of(st.integers(), st.text(), st.booleans(), st.none()), max_size=20))
def test_an_object_is_read(value: dict[str, object]) -> None:
    try:
        assert guest_object(json.dumps(value), 1 << 18) == value
    except HypervisorError:
        assert json.dumps(value).count('"') > SIGNS or json.dumps(value).count(",") > SIGNS


@given(st.text())
def test_any_text_is_an_object_or_the_error(text: str) -> None:
    try:
        assert isinstance(guest_object(text, 1 << 18), dict)
    except HypervisorError as error:
        assert str(error).isprintable()
