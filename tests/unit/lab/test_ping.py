"""Each unanswered request of a ping stream has a time."""

import pytest

from lab.ping import PingStream, Reply


@pytest.mark.parametrize(
    ("answered", "settled", "lost"),
    [
        ([1, 2, 3], 3, []),
        ([1, 4], 4, [100.1, 100.2]),
        ([2], 4, [100.0, 100.2, 100.3]),
        ([], 2, [100.0, 100.1]),
    ],
)  # fmt: skip
def test_a_loss_has_its_time(answered: list[int], settled: int, lost: list[float]) -> None:
    stream = PingStream.__new__(PingStream)
    stream.interval, stream._began = 0.1, 99.9
    replies = tuple(Reply(100.0 + (sequence - 1) * 0.1 + 0.011, sequence, 11.0) for sequence in answered)
    assert list(stream._lost(replies, settled)) == pytest.approx(lost)
