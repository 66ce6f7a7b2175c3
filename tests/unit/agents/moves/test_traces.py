"""An agent's part in a move's trace follows from its order alone."""

from pathlib import Path

from controller.wire.tracing import place
from tests.unit.agents.moves.region import WAY, region
from tests.unit.wire.recorded import below, recording


async def test_each_act_stands_below_the_order_that_it_is_of(tmp_path: Path) -> None:
    with recording() as recorded:
        async with region(tmp_path) as two:
            await two.carry("c1", "start", move="m0")
            numbers = {}
            for name, act in WAY:
                ended = await two.carry(name, act)
                numbers[act] = ended.move, ended.number
        spans = {span.name.removeprefix("agent "): span for span in recorded.spans}
    assert spans.keys() == {"start", *numbers}
    for act, (move, number) in numbers.items():
        assert below(spans[act]) == place(move, number)
        assert dict(spans[act].attributes or {})["weft.move"] == move
    assert below(spans["start"]) is None, "no part of a move"
