"""Orders as the agent that gets them understands them. Pure."""

from collections.abc import Iterable, Iterator, Mapping

from controller.wire.moves import Order

MAKING = ("start", "prepare")
"""Acts that make a machine."""


def understood(orders: Iterable[Order], told: Mapping[str, bool]) -> Iterator[Order]:
    """The orders for an agent. `told`: whether it reports CPU models, by each driver of which it tells what machines
    find. One that tells nothing knows no platforms, and compares nothing. One that reports no models knows no
    `Machine.cpu`: a machine that has one would be made with another CPU, and is not made until the agent reports."""
    for order in orders:
        known = order if told else _without_platform(order)
        if order.machine.cpu is None or told.get(order.machine.driver):
            yield known
        elif order.act not in MAKING:
            yield known.model_copy(update={"machine": order.machine.model_copy(update={"cpu": None})})


def _without_platform(order: Order) -> Order:
    target = order.target.model_copy(update={"platform": None}) if order.target is not None else None
    return order.model_copy(update={"target": target})
