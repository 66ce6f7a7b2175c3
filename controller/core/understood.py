"""Orders in the form that the receiving agent understands. Pure."""

from collections.abc import Iterable, Iterator, Mapping

from controller.wire.moves import Order

MAKING = ("start", "prepare", "initiate")
"""Orders that make a machine."""


def understood(orders: Iterable[Order], told: Mapping[str, bool]) -> Iterator[Order]:
    """Yield the orders for an agent. `told` has each driver whose platform the agent reports, and whether it reports
    CPU models. An agent that reports no platform knows none, and compares none. One that reports no models does not
    know `Machine.cpu`: it would make a machine with another CPU, so a machine that has one is not made until the agent
    reports."""
    for order in orders:
        known = order if told else _without_platform(order)
        if order.machine.cpu is None or told.get(order.machine.driver):
            yield known
        elif order.act not in MAKING:
            yield known.model_copy(update={"machine": order.machine.model_copy(update={"cpu": None})})


def _without_platform(order: Order) -> Order:
    target = order.target.model_copy(update={"platform": None}) if order.target is not None else None
    return order.model_copy(update={"target": target})
