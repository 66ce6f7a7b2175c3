"""`tests`: the promises of the policy. Each is one of five kinds."""

from collections.abc import Iterator, Mapping, Sequence
from ipaddress import IPv6Address
from typing import Any

from controller.core.policy.policy import Policy
from controller.core.policy.promises import (
    AddressTest,
    Coordinates,
    MoveProfile,
    MoveTest,
    NeighbourTest,
    PathTest,
    PolicyTest,
)
from controller.core.policy.sections.access import WITH_PORTS, protocol
from controller.core.words import closest
from controller.core.yaml_document.document import Path
from controller.core.yaml_document.errors import DocumentError

MOST_PAIRS = 50_000
"""The most pairs of one endpoint and another in all tests: this many take seconds."""

KINDS = ("reachable", "isolated", "address", "neighbour", "move")


def read(data: Sequence[Mapping[str, Any]]) -> tuple[PolicyTest, ...]:
    """Return the section; `data` is valid by the schema."""
    return tuple(_test(kind_of(test), test, i) for i, test in enumerate(data, 1))


def kind_of(test: Mapping[str, Any]) -> str:
    """Return the kind of a test."""
    return next(kind for kind in KINDS if kind in test)


def _test(kind: str, test: Mapping[str, Any], number: int) -> PolicyTest:
    name, data = test.get("name", f"{kind} {number}"), test[kind]
    match kind:
        case "address":
            lease = data.get("lease_seconds")
            return AddressTest(name, **{**data, "lease_seconds": None if lease is None else int(lease)})
        case "neighbour":
            return NeighbourTest(
                name,
                data["is"],
                data.get("from"),
                data.get("to"),
                _coordinates(data.get("from_at")),
                _coordinates(data.get("to_at")),
                **{key: data[key] for key in _NEIGHBOUR if key in data},
            )
        case "move":
            given = {key: value for key, value in data.items() if key not in ("is", "profile")}
            profile = MoveProfile(**data["profile"]) if "profile" in data else None
            return MoveTest(name, data["is"], **given, profile=profile)
    return PathTest(
        name,
        kind == "reachable",
        _ends(data["from"]),
        _ends(data["to"]),
        protocol(data["protocol"]) if "protocol" in data else None,
        int(data["port"]) if "port" in data else None,
    )


_NEIGHBOUR = ("distance_m", "rtt_ms", "loss", "age_seconds", "possible_before")


def _coordinates(value: list[float] | None) -> Coordinates | None:
    return None if value is None else (float(value[0]), float(value[1]))


def _ends(value: str | list[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def errors(policy: Policy) -> Iterator[DocumentError]:
    """Yield errors about tests that ask nothing, or have no answer."""
    names: set[str] = set()
    pairs = 0
    for i, test in enumerate(policy.rules.tests):
        at: Path = ("tests", i)
        if test.name in names:
            yield policy.error((*at, "name"), f"there is a test '{test.name}' already")
        names.add(test.name)
        match test:
            case PathTest():
                pairs += len(test.sources) * len(test.destinations)
                yield from _path(policy, (*at, "reachable" if test.reachable else "isolated"), test)
            case AddressTest():
                yield from _address(policy, (*at, "address"), test)
            case NeighbourTest():
                yield from _neighbour(policy, (*at, "neighbour"), test)
            case MoveTest():
                yield from _move(policy, (*at, "move"), test)
    if pairs > MOST_PAIRS:
        yield policy.error(("tests",), f"the tests look at {pairs} pairs of endpoints; {MOST_PAIRS} are allowed")


def _path(policy: Policy, at: Path, test: PathTest) -> Iterator[DocumentError]:
    if test.port is not None and test.protocol not in WITH_PORTS:
        yield policy.error((*at, "port"), "a port needs 'protocol: tcp' or 'protocol: udp'")
    if len(test.sources) == 1 and test.sources == test.destinations:
        yield policy.error((*at, "to"), f"'{test.sources[0]}' is where it comes from: name another endpoint")


def _address(policy: Policy, at: Path, test: AddressTest) -> Iterator[DocumentError]:
    for key, text in (("md6", test.md6), ("vm6", test.vm6)):
        try:
            IPv6Address(text or "::")
        except ValueError:
            yield policy.error((*at, key), f"'{text}' is not an IPv6 address, such as 2001:db8:1::a")
    lan = policy.rules.addresses.lans.get(test.lan)
    if test.device is not None:
        reserved = lan.reservations if lan else {}
        if test.device not in reserved:
            hint, suggestion = closest(test.device, reserved)
            yield policy.error(
                (*at, "device"), f"nothing is reserved for '{test.device}' on {test.lan}{hint}", suggestion
            )
        outcomes = (test.md, test.vm, test.md6, test.vm6, test.excluded, test.lease_seconds)
    else:
        outcomes = (None, test.vm, test.md6, test.vm6, test.excluded, test.lease_seconds)
        if test.md is None and any(outcome is not None for outcome in outcomes[:-1]):
            yield policy.error(at, "an address test needs 'device' or 'md': which pair is it about?")
    if all(outcome is None for outcome in outcomes):
        yield policy.error(
            at, "an address test says what has to come out: md (with 'device'), vm, md6, vm6, excluded, lease_seconds"
        )


def _neighbour(policy: Policy, at: Path, test: NeighbourTest) -> Iterator[DocumentError]:
    measured = test.rtt_ms is not None
    placed = test.distance_m is not None or (test.source_at is not None and test.destination_at is not None)
    if not (measured or placed) and (test.source is None or test.destination is None):
        yield policy.error(
            at, "a neighbour test needs rtt_ms, distance_m, two places (from_at, to_at), or two cloudlets (from, to)"
        )
    if test.source is not None and test.source == test.destination:
        yield policy.error((*at, "to"), f"'{test.source}' is where it comes from: name another cloudlet")
    if not measured and test.expect in ("possible", "stale") and placed:
        yield policy.error((*at, "is"), f"'{test.expect}' is said of what was measured: give rtt_ms")


def _move(policy: Policy, at: Path, test: MoveTest) -> Iterator[DocumentError]:
    if test.profile is None:
        return
    if test.migration_seconds is not None:
        yield policy.error((*at, "migration_seconds"), "how long it takes is the profile's to say: give one of the two")
    if test.rtt_ms is None:
        yield policy.error((*at, "profile"), "a profile needs rtt_ms: the round trip before the move")
