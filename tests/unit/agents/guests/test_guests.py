"""The agent asks guests in turn, if their drivers can ask, and leaves out guests whose machine is busy."""

from collections.abc import Callable, Iterable
from typing import cast

from agents.guests.guests import Guests
from agents.guests.silence import MOST
from agents.hypervisors.hypervisor import Hypervisor, HypervisorError


class Driver:
    """A driver whose guests give the answers in `says`, or raise them; `meanwhile` is called while a guest is asked."""

    def __init__(self) -> None:
        self.meanwhile: Callable[[], object] = lambda: None
        self.says: dict[str, bool | Exception] = {}
        self.asked: list[str] = []

    async def answers(self, name: str) -> bool:
        self.asked.append(name)
        self.meanwhile()
        said = self.says.get(name, True)
        if isinstance(said, Exception):
            raise said
        return said


class Here:
    def __init__(self, driver: object, *names: str) -> None:
        self.driver, self.names, self.busy = cast(Hypervisor, driver), list(names), set[str]()

    def running(self) -> Iterable[tuple[str, Hypervisor]]:
        return [(name, self.driver) for name in self.names]

    def at_rest(self, name: str) -> bool:
        return name not in self.busy


async def rounds(guests: Guests, many: int = MOST) -> list[str]:
    for _ in range(many):
        await guests.ask()
    return [finding.subject for finding in guests.findings()]


async def test_the_one_that_falls_silent_is_told_of_and_others_are_not() -> None:
    driver, told = Driver(), list[int]()
    here = Here(driver, "web", "db", "mute")
    driver.says["mute"] = HypervisorError("no agent")
    guests = Guests(here, lambda: told.append(1))
    assert await rounds(guests) == [] and not told
    driver.says |= {"web": HypervisorError("it hangs"), "db": TimeoutError()}
    assert await rounds(guests) == ["db", "web"] and len(told) == 1
    driver.says["web"] = True
    assert await rounds(guests, 1) == ["db"] and len(told) == 2
    here.names.remove("db")
    assert await rounds(guests, 1) == [] and len(told) == 3


async def test_a_machine_that_is_being_moved_is_passed_over() -> None:
    driver = Driver()
    here = Here(driver, "web")
    guests = Guests(here, lambda: None)
    await rounds(guests)
    driver.says["web"] = False
    here.busy.add("web")
    driver.asked.clear()
    assert await rounds(guests) == [] and not driver.asked


async def test_what_begins_while_a_guest_is_asked_makes_its_silence_worth_nothing() -> None:
    driver = Driver()
    here = Here(driver, "web")
    guests = Guests(here, lambda: None)
    await rounds(guests)
    driver.says["web"] = False
    driver.meanwhile = lambda: here.busy.add("web")
    for _ in range(MOST):
        await guests.ask()
        here.busy.clear()
    assert len(driver.asked) == 2 * MOST and not guests.findings()


async def test_a_driver_without_a_way_to_guests_is_not_asked() -> None:
    assert await rounds(Guests(Here(object(), "web"), lambda: None)) == []
