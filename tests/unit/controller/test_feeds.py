"""The conditions under which a document of an agent's stream is sent again."""

from typing import Any

from controller.api.feeds import Feed, Rendered

NOBODY: Any = None


class Source:
    """A source of a document with a version and a text; without a text the document is not available."""

    def __init__(self) -> None:
        self.version, self.text, self.rendered = 1, "one", 0
        self.number: int | None = None

    async def render(self, cloudlet: Any) -> Rendered | None:
        self.rendered += 1
        return Rendered(self.text, f'"{self.text}"', self.number) if self.text else None

    def feed(self, **settings: Any) -> Feed:
        return Feed("what", lambda _: self.version, self.render, **settings)


async def test_it_is_sent_when_it_is_another_one() -> None:
    source = Source()
    feed = source.feed()
    assert await feed.next(NOBODY) == b'event: what\ndata: "one"\n\n'
    assert await feed.next(NOBODY) is None and source.rendered == 1, "not even looked at"
    source.version = 2
    assert await feed.next(NOBODY) is None and source.rendered == 2, "looked at, and the same"
    source.version, source.text = 3, "two"
    assert await feed.next(NOBODY) == b'event: what\ndata: "two"\n\n'


async def test_what_cannot_be_had_is_asked_for_again() -> None:
    source = Source()
    feed, source.text = source.feed(), ""
    assert await feed.next(NOBODY) is None and await feed.next(NOBODY) is None and source.rendered == 2
    source.text = "late"
    assert await feed.next(NOBODY) == b'event: what\ndata: "late"\n\n'


async def test_one_with_a_number_goes_on_from_there() -> None:
    source = Source()
    feed = source.feed(seen=1)
    assert await feed.next(NOBODY) is None and source.rendered == 0
    source.version = source.number = 2
    assert await feed.next(NOBODY) == b'id: 2\nevent: what\ndata: "one"\n\n'
