"""The time at which a certificate is renewed, for any lifetime and at any moment."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from agents.identity.lifetimes import due, trouble, wait
from agents.identity.x509 import Validity

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
validities = st.timedeltas(timedelta(seconds=10), timedelta(days=400)).map(lambda life: Validity(BEGIN, BEGIN + life))
parts, randoms = st.floats(0, 2), st.floats(0, 1)


def moment(validity: Validity, part: float) -> datetime:
    return validity.begin + (validity.end - validity.begin) * part


@given(validities, randoms)
def test_it_is_renewed_between_half_and_six_tenths_of_its_life(validity: Validity, random: float) -> None:
    assert moment(validity, 0.499) < due(validity, random) < moment(validity, 0.601)


@given(validities, parts, randoms)
def test_nobody_waits_for_longer_than_until_then(validity: Validity, part: float, random: float) -> None:
    at = moment(validity, part)
    left = wait(validity, at, random)
    assert left >= timedelta() and (at + left == due(validity, random) or (not left and at >= due(validity, random)))
    assert wait(None, at, random) == timedelta()


@given(validities, parts)
def test_an_operator_hears_of_the_last_quarter_and_why(validity: Validity, part: float) -> None:
    said = trouble(validity, moment(validity, part), "the controller is away")
    if abs(part - 0.75) > 0.001 and abs(part - 1) > 0.001:
        assert (said is not None) == (part > 0.75)
        assert said is None or (("expired" in said) == (part >= 1) and said.endswith(": the controller is away"))
    assert trouble(None, BEGIN, "") is None


def test_those_who_enrolled_together_do_not_come_together() -> None:
    validity = Validity(BEGIN, BEGIN + timedelta(days=1))
    times = [due(validity, number / 10) for number in range(11)]
    assert times == sorted(set(times)) and times[-1] - times[0] == timedelta(hours=2.4)
