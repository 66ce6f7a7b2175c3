"""Token buckets and the shape of JSON, with random inputs."""

import json

from hypothesis import given
from hypothesis import strategies as st

from controller.core import json_limits, rate_limiter
from controller.core.json_limits import MAX_DEPTH, unfit
from controller.core.rate_limiter import RateLimiter


@given(st.floats(0.1, 1000), st.integers(1, 50), st.lists(st.floats(0, 10), max_size=200))
def test_no_more_than_the_burst_and_the_rate_give(rate: float, burst: int, pauses: list[float]) -> None:
    kept, now, taken = RateLimiter(rate, burst), 0.0, 0
    for pause in pauses:
        now += pause / rate
        wait = kept.take("a", now)
        taken += wait == 0.0
        assert taken <= burst + now * rate + 1e-3
        if wait:
            assert kept.take("a", now + wait / 2) > 0, "not before the time that was said"
            assert RateLimiter(rate, burst).take("a", now) == 0.0
    if pauses:
        assert kept.take("a", now + burst / rate) == 0.0


def test_what_was_said_is_when_there_is_one() -> None:
    kept = RateLimiter(2, 3)
    assert [kept.take("a", 10.0) for _ in range(4)] == [0, 0, 0, 0.5]
    assert kept.take("b", 10.0) == 0.0, "each key has its own"
    assert kept.take("a", 10.5) == 0.0 and kept.take("a", 10.5) > 0
    assert not any(RateLimiter(0, 0).take("a", 0.0) for _ in range(1000)), "0 is no limit"


def test_what_is_charged_is_owed() -> None:
    kept = RateLimiter(2, 3)
    kept.charge("a", 10.0, 5)
    assert kept.take("a", 10.0) == 1.5, "five are taken, three were there, and one is asked for"
    assert kept.take("a", 11.5) == 0.0
    free = RateLimiter(0, 0)
    free.charge("a", 0.0, 1e9)
    assert free.take("a", 0.0) == 0.0


def test_full_buckets_are_forgotten() -> None:
    kept = RateLimiter(1, 2)
    for number in range(3 * rate_limiter.MANY):
        kept.take(number, number * 0.01)
    assert len(kept) <= rate_limiter.MANY + 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=30,
)


@given(JSON, st.booleans())
def test_what_agents_may_say_is_fit(value: object, ascii: bool) -> None:
    depth = _depth(value)
    body = json.dumps(value, ensure_ascii=ascii).encode("utf-8", "surrogatepass")
    assert (unfit(body) is None) == (depth <= MAX_DEPTH)


def _depth(value: object) -> int:
    if isinstance(value, dict):
        return 1 + max(map(_depth, value.values()), default=0)
    return 1 + max(map(_depth, value), default=0) if isinstance(value, list) else 0


@given(st.text())
def test_what_is_in_a_text_does_not_count(text: str) -> None:
    body = json.dumps([text + "[[" * 100 + "NaN" + "1" * 200 + '"\\"[[']).encode()
    assert unfit(body) is None


def test_depth_and_number_of_values() -> None:
    assert unfit(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH) is None
    assert unfit(b"[" * (MAX_DEPTH + 1)) == "is nested deeper than 32 levels"
    assert unfit(b'{"a":' * MAX_DEPTH + b"[") == "is nested deeper than 32 levels"
    assert unfit(b"[" + b"0," * (json_limits.MAX_VALUES - 2) + b"0]") is None
    assert unfit(b"[" + b"[]," * json_limits.MAX_VALUES + b"0]") == "has more than 400000 values"
