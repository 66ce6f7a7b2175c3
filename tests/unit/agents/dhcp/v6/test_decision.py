"""Clients' DHCPv6 requests and the replies."""

from dataclasses import replace
from ipaddress import IPv4Network, IPv6Address, IPv6Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.dhcp.v6.decision import (
    Answer,
    Ask,
    Declined,
    GiveBack,
    Ignore,
    LanSettings6,
    answer,
    decide,
    host_name,
    refuse,
)
from agents.dhcp.v6.message import Association, Lifetimes, Message, MessageType, Option, Status
from controller.wire.host_settings import HostSettings
from controller.wire.leases import LeaseGrant
from tests.unit.agents.dhcp.v6.test_message import messages

SERVER, CLIENT = b"\0\3\0\1server", b"\0\4client"
LAN = LanSettings6(SERVER, IPv4Network("10.1.0.0/24"), IPv6Network("2001:db8:1::/64"))
HERE, OTHER, ELSEWHERE = (IPv6Address(a) for a in ("2001:db8:1::2", "2001:db8:1::4", "2001:db8:2::2"))


def ia(*addresses: IPv6Address, option: Option = Option.IA_NA, number: int = 1) -> Association:
    return Association(option, number, addresses=tuple(Lifetimes(address) for address in addresses))


def message(kind: MessageType, *associations: Association, server: bytes | None = None, **changes: object) -> Message:
    return replace(Message(kind, 42, CLIENT, server, associations), **changes)  # type: ignore[arg-type]


def grant(address: str = "10.1.0.2", seconds: int = 600) -> LeaseGrant:
    return LeaseGrant(address=address, prefix_length=24, gateway="10.1.0.1", kind="md", device="m1", seconds=seconds)


@pytest.mark.parametrize(
    ("asked", "step"),
    [
        (message(MessageType.SOLICIT, ia()), Ask(MessageType.ADVERTISE, None)),
        (message(MessageType.SOLICIT, ia(ELSEWHERE, HERE)), Ask(MessageType.ADVERTISE, HERE)),
        (message(MessageType.SOLICIT, ia(), others=((Option.RAPID_COMMIT, b""),)), Ask(MessageType.REPLY, None)),
        (message(MessageType.REQUEST, ia(HERE), server=SERVER), Ask(MessageType.REPLY, HERE)),
        (message(MessageType.RENEW, ia(HERE), server=SERVER), Ask(MessageType.REPLY, HERE)),
        (message(MessageType.REBIND, ia(ELSEWHERE)), Ask(MessageType.REPLY, None)),
    ],
)
def test_the_plan_is_asked(asked: Message, step: Ask) -> None:
    assert decide(asked, LAN, multicast=True) == step


@pytest.mark.parametrize(
    ("asked", "multicast"),
    [
        (message(MessageType.ADVERTISE), True),
        (message(MessageType.REPLY), True),
        (message(MessageType.RECONFIGURE), True),
        (message(MessageType.SOLICIT, ia(), client=None), True),
        (message(MessageType.SOLICIT, ia(), server=SERVER), True),
        (message(MessageType.SOLICIT), True),
        (message(MessageType.SOLICIT, ia()), False),
        (message(MessageType.REQUEST, ia()), True),
        (message(MessageType.REQUEST, ia(), server=b"\0\3other"), True),
        (message(MessageType.REQUEST, server=SERVER), True),
        (message(MessageType.RENEW, ia()), True),
        (message(MessageType.REBIND, ia(), server=SERVER), True),
        (message(MessageType.CONFIRM, ia()), True),
        (message(MessageType.CONFIRM, ia(HERE), server=SERVER), True),
        (message(MessageType.INFORMATION_REQUEST, ia()), True),
        (message(MessageType.INFORMATION_REQUEST, server=b"\0\3other"), True),
        (message(MessageType.INFORMATION_REQUEST), False),
    ],
)
def test_what_must_be_discarded_is(asked: Message, multicast: bool) -> None:
    assert isinstance(decide(asked, LAN, multicast), Ignore)


def test_answers_that_need_no_plan() -> None:
    def outcome(asked: Message, multicast: bool = True) -> Status | None:
        step = decide(asked, LAN, multicast)
        assert isinstance(step, Answer)
        assert (step.reply.kind, step.reply.client, step.reply.server) == (MessageType.REPLY, asked.client, SERVER)
        return step.reply.outcome.status if step.reply.outcome else None

    assert outcome(message(MessageType.CONFIRM, ia(HERE))) is Status.SUCCESS
    assert outcome(message(MessageType.CONFIRM, ia(HERE), ia(ELSEWHERE))) is Status.NOT_ON_LINK
    assert outcome(message(MessageType.INFORMATION_REQUEST, client=None)) is None
    assert outcome(message(MessageType.RELEASE, ia(HERE), server=SERVER), multicast=False) is Status.USE_MULTICAST
    step = decide(message(MessageType.REQUEST, ia(ELSEWHERE), server=SERVER), LAN, multicast=True)
    assert isinstance(step, Answer) and step.reply.associations[0].outcome
    assert step.reply.associations[0].outcome.status is Status.NOT_ON_LINK


@pytest.mark.parametrize(("kind", "what"), [(MessageType.RELEASE, GiveBack), (MessageType.DECLINE, Declined)])
def test_what_is_given_back_is_confirmed(kind: MessageType, what: type[GiveBack] | type[Declined]) -> None:
    step = decide(message(kind, ia(HERE), ia(ELSEWHERE, number=2), server=SERVER), LAN, multicast=True)
    assert isinstance(step, what) and step.addresses == (HERE,)
    assert step.reply.outcome and step.reply.outcome.status is Status.SUCCESS
    (unknown,) = step.reply.associations
    assert unknown.number == 2 and unknown.outcome and unknown.outcome.status is Status.NO_BINDING


def test_an_answer_has_the_pairs_address_and_its_times() -> None:
    asked = message(MessageType.SOLICIT, ia())
    reply = answer(asked, Ask(MessageType.ADVERTISE, None), grant(), LAN)
    assert reply.option(Option.PREFERENCE) == b"\xff"
    assert reply.associations == (Association(Option.IA_NA, 1, 300, 480, (Lifetimes(HERE, 600, 600),)),)
    rapid = answer(asked, Ask(MessageType.REPLY, None), grant("10.1.0.3"), LAN)
    assert rapid.option(Option.RAPID_COMMIT) == b""
    assert rapid.associations[0].addresses[0].address == HERE + 1


def test_one_machine_has_one_address() -> None:
    wishes = ia(option=Option.IA_PD, number=1), ia(number=2), ia(number=3), ia(option=Option.IA_TA, number=4)
    reply = answer(message(MessageType.SOLICIT, *wishes), Ask(MessageType.ADVERTISE, None), grant(), LAN)
    statuses = [association.outcome.status if association.outcome else None for association in reply.associations]
    assert statuses == [Status.NO_PREFIXES, None, Status.NO_ADDRESSES, Status.NO_ADDRESSES]
    assert [association.number for association in reply.associations] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("kind", "over"), [(MessageType.RENEW, True), (MessageType.REBIND, True), (MessageType.REQUEST, False)]
)
def test_who_has_another_address_gets_the_right_one_beside_it(kind: MessageType, over: bool) -> None:
    asked = message(kind, ia(OTHER), server=None if kind is MessageType.REBIND else SERVER)
    reply = answer(asked, Ask(MessageType.REPLY, OTHER), grant(), LAN)
    expected = (Lifetimes(HERE, 600, 600), Lifetimes(OTHER))
    assert reply.associations[0].addresses == (expected if over else expected[:1])


def test_refusals_are_in_the_terms_of_the_question() -> None:
    def status(kind: MessageType) -> tuple[MessageType, Status | None]:
        reply = refuse(message(kind, ia(HERE)), "full", LAN)
        outcome = reply.associations[0].outcome
        assert outcome and outcome.text == "full"
        return reply.kind, outcome.status

    assert status(MessageType.SOLICIT) == (MessageType.ADVERTISE, Status.NO_ADDRESSES)
    assert status(MessageType.REQUEST) == (MessageType.REPLY, Status.NO_ADDRESSES)
    assert status(MessageType.RENEW) == (MessageType.REPLY, Status.NO_BINDING)


@given(st.integers(0, 255))
def test_addresses_of_both_families_find_each_other(offset: int) -> None:
    """Only addresses of pairs have a counterpart: not those of the network and the gateway, the reserved one, and the
    last."""
    address = f"10.1.0.{offset}"
    if offset in (0, 1, 254, 255):
        assert LAN.address4(LAN.prefix6[offset]) is None
        with pytest.raises(ValueError, match="to which no address of 2001:db8:1::/64 belongs"):
            LAN.address6(grant(address))
    else:
        assert LAN.address4(LAN.address6(grant(address))) == address
    assert LAN.address4(LAN.prefix6[2**40]) is None


@pytest.mark.parametrize(
    ("octets", "name"),
    [
        (b"\0\5phone", "phone"),
        (b"\0\5phone\7example\0", "phone"),
        (b"\0\5ph", None),
        (b"\0\3a b", None),
        (b"\0\0", None),
        (b"\0", None),
        (b"", None),
        (b"\0\3\xff\xfe\xfd", None),
    ],
)
def test_host_names(octets: bytes, name: str | None) -> None:
    asked = message(MessageType.SOLICIT, ia(), others=((Option.CLIENT_FQDN, octets),))
    assert host_name(asked) == name


@given(messages, st.booleans())
def test_any_message_has_an_answer_no_larger_than_eight_associations(any_message: Message, multicast: bool) -> None:
    step = decide(any_message, LAN, multicast)
    replies = []
    if isinstance(step, Answer | GiveBack | Declined):
        replies = [step.reply]
    elif isinstance(step, Ask):
        replies = [answer(any_message, step, grant(), LAN), refuse(any_message, "full", LAN)]
    for reply in replies:
        assert reply.transaction == any_message.transaction and reply.client == any_message.client
        assert len(reply.associations) <= 8
    host_name(any_message)


@pytest.mark.parametrize("kind", [MessageType.SOLICIT, MessageType.REQUEST, MessageType.RENEW, MessageType.REBIND])
@pytest.mark.parametrize("option", [Option.IA_PD, Option.IA_TA])
def test_nothing_is_leased_to_a_client_that_asks_for_no_address(kind: MessageType, option: Option) -> None:
    server = None if kind in (MessageType.SOLICIT, MessageType.REBIND) else SERVER
    asked = message(kind, ia(option=option), server=server, others=((Option.RAPID_COMMIT, b""),))
    step = decide(asked, LAN, multicast=True)
    assert isinstance(step, Answer)
    assert step.reply.kind is (MessageType.ADVERTISE if kind is MessageType.SOLICIT else MessageType.REPLY)
    [association] = step.reply.associations
    assert association.outcome is not None
    assert association.outcome.status is (Status.NO_PREFIXES if option is Option.IA_PD else Status.NO_ADDRESSES)
    assert not association.addresses


TOLD = replace(LAN, hosts=HostSettings(dns=("10.0.0.53", "2001:db8::53"), domain="lab.example", ntp=("2001:db8::7",)))
DNS = (Option.DNS_SERVERS, IPv6Address("2001:db8::53").packed)
NAMES = (Option.DOMAIN_LIST, b"\x03lab\x07example\0")


def test_hosts_are_told_what_they_ask_for() -> None:
    asked = message(MessageType.INFORMATION_REQUEST, others=((Option.OPTION_REQUEST, bytes((0, 23, 0, 24))),))
    step = decide(asked, TOLD, multicast=True)
    assert isinstance(step, Answer)
    assert step.reply.others == (DNS, NAMES)


def test_hosts_that_ask_for_nothing_in_particular_are_told_all() -> None:
    reply = answer(message(MessageType.SOLICIT, ia()), Ask(MessageType.ADVERTISE, None), grant(), TOLD)
    ntp = IPv6Address("2001:db8::7").packed
    told = (DNS, NAMES, (Option.SNTP_SERVERS, ntp), (Option.NTP_SERVER, bytes((0, 1, 0, 16)) + ntp))
    assert reply.others[1:] == told


@pytest.mark.parametrize("asked", [b"", b"\0", b"\0\x17\0"])
def test_an_option_request_that_is_cut_short(asked: bytes) -> None:
    step = decide(
        message(MessageType.INFORMATION_REQUEST, others=((Option.OPTION_REQUEST, asked),)), TOLD, multicast=True
    )
    assert isinstance(step, Answer)
    assert step.reply.others == ((DNS,) if len(asked) == 3 else ())
