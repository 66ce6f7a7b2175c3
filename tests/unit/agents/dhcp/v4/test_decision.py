"""Replies to requests and grants, by RFC 2131's tables 4 and 5 and figure 5."""

import struct
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.dhcp.v4.decision import (
    Ask,
    Declined,
    GiveBack,
    Ignore,
    Inform,
    Refuse,
    answer,
    decide,
    destination,
    host_name,
    inform,
    nak,
)
from agents.dhcp.v4.message import Message, MessageType, Option, decode, encode
from agents.dhcp.v4.settings import LanSettings
from controller.wire.leases import LeaseGrant
from tests.unit.agents.dhcp.v4.test_message import messages

LAN = LanSettings(IPv4Address("10.1.0.1"), IPv4Network("10.1.0.0/24"), 1450)
MAC = bytes.fromhex("02005e000001")
NOWHERE = IPv4Address(0)
MINE, THEIRS, ELSEWHERE = IPv4Address("10.1.0.2"), IPv4Address("10.1.0.4"), IPv4Address("10.2.0.2")


def message(kind: MessageType, ciaddr: IPv4Address = NOWHERE, **options: bytes) -> Message:
    return Message(
        op=1, xid=7, mac=MAC, kind=kind, ciaddr=ciaddr, options={Option[name]: v for name, v in options.items()}
    )


def grant(address: IPv4Address = MINE, seconds: int = 3600) -> LeaseGrant:
    return LeaseGrant(
        address=str(address), prefix_length=24, gateway="10.1.0.1", kind="md", device="phone", seconds=seconds
    )


DISCOVER = message(MessageType.DISCOVER)
SELECTING = message(MessageType.REQUEST, REQUESTED_ADDRESS=MINE.packed, SERVER_ID=LAN.gateway.packed)
INIT_REBOOT = message(MessageType.REQUEST, REQUESTED_ADDRESS=MINE.packed)
RENEWING = message(MessageType.REQUEST, ciaddr=MINE)


@pytest.mark.parametrize(
    ("request_", "step"),
    [
        (DISCOVER, Ask(MessageType.OFFER, None, insists=False)),
        (message(MessageType.DISCOVER, REQUESTED_ADDRESS=MINE.packed), Ask(MessageType.OFFER, MINE, insists=False)),
        (
            message(MessageType.DISCOVER, REQUESTED_ADDRESS=ELSEWHERE.packed),
            Ask(MessageType.OFFER, None, insists=False),
        ),
        (SELECTING, Ask(MessageType.ACK, MINE, insists=True)),
        (INIT_REBOOT, Ask(MessageType.ACK, MINE, insists=True)),
        (RENEWING, Ask(MessageType.ACK, MINE, insists=True, renewing=True)),
        (message(MessageType.RELEASE, ciaddr=MINE, SERVER_ID=LAN.gateway.packed), GiveBack(MINE)),
        (message(MessageType.DECLINE, REQUESTED_ADDRESS=MINE.packed, SERVER_ID=LAN.gateway.packed), Declined(MINE)),
        (message(MessageType.INFORM, ciaddr=MINE), Inform()),
    ],
)
def test_what_a_client_wants(request_: Message, step: object) -> None:
    assert decide(request_, LAN) == step


@pytest.mark.parametrize(
    "request_",
    [message(MessageType.REQUEST, REQUESTED_ADDRESS=ELSEWHERE.packed), message(MessageType.REQUEST, ciaddr=ELSEWHERE)],
)
def test_an_address_of_another_lan_is_refused_at_once(request_: Message) -> None:
    step = decide(request_, LAN)
    assert isinstance(step, Refuse)
    assert "10.2.0.2 is not in 10.1.0.0/24" in step.reason


@pytest.mark.parametrize(
    "request_",
    [
        replace(DISCOVER, op=2),
        replace(DISCOVER, giaddr=ELSEWHERE),
        replace(DISCOVER, mac=bytes(6)),
        replace(DISCOVER, mac=b"\xff" * 6),
        message(MessageType.REQUEST),
        message(MessageType.REQUEST, REQUESTED_ADDRESS=MINE.packed, SERVER_ID=ELSEWHERE.packed),
        message(MessageType.RELEASE, ciaddr=ELSEWHERE),
        message(MessageType.RELEASE, ciaddr=MINE, SERVER_ID=ELSEWHERE.packed),
        message(MessageType.DECLINE),
        message(MessageType.INFORM),
        message(MessageType.OFFER),
        message(MessageType.ACK),
        message(MessageType.DISCOVER, CLIENT_ID=bytes(256)),
    ],
)
def test_what_is_not_ours_is_ignored(request_: Message) -> None:
    assert isinstance(decide(request_, LAN), Ignore)


def reply_to(request_: Message, granted: LeaseGrant) -> Message:
    step = decide(request_, LAN)
    assert isinstance(step, Ask)
    return answer(request_, step, granted, LAN)


@pytest.mark.parametrize(
    ("request_", "kind"),
    [
        (DISCOVER, MessageType.OFFER),
        (SELECTING, MessageType.ACK),
        (INIT_REBOOT, MessageType.ACK),
        (RENEWING, MessageType.ACK),
    ],
)
def test_the_answer_carries_the_lease(request_: Message, kind: MessageType) -> None:
    reply = reply_to(request_, grant(seconds=1000))
    assert (reply.op, reply.kind, reply.xid, reply.mac, reply.yiaddr) == (2, kind, 7, MAC, MINE)
    assert reply.ciaddr == request_.ciaddr
    assert reply.options == {
        Option.SERVER_ID: LAN.gateway.packed,
        Option.LEASE_TIME: struct.pack("!I", 1000),
        Option.RENEWAL_TIME: struct.pack("!I", 500),
        Option.REBINDING_TIME: struct.pack("!I", 875),
        Option.SUBNET_MASK: bytes((255, 255, 255, 0)),
        Option.ROUTER: LAN.gateway.packed,
        Option.BROADCAST_ADDRESS: bytes((10, 1, 0, 255)),
        Option.INTERFACE_MTU: struct.pack("!H", 1450),
    }


@pytest.mark.parametrize("request_", [SELECTING, INIT_REBOOT, RENEWING])
def test_insisting_on_another_address_than_granted_is_refused(request_: Message) -> None:
    reply = reply_to(request_, grant(THEIRS))
    assert reply.kind is MessageType.NAK
    assert reply.yiaddr == NOWHERE
    assert reply.options[Option.MESSAGE] == b"10.1.0.2 is not this client's address"
    assert destination(request_, reply) == (b"\xff" * 6, IPv4Address("255.255.255.255"))


def test_discover_gets_what_is_granted_whatever_it_asked_for() -> None:
    assert reply_to(message(MessageType.DISCOVER, REQUESTED_ADDRESS=MINE.packed), grant(THEIRS)).yiaddr == THEIRS


@pytest.mark.parametrize("address", [ELSEWHERE, LAN.gateway])
def test_a_grant_outside_the_lan_is_the_plans_mistake(address: IPv4Address) -> None:
    with pytest.raises(ValueError, match=str(address)):
        reply_to(DISCOVER, grant(address))


@pytest.mark.parametrize(("seconds", "told"), [(-1, 1), (0, 1), (2**40, 2**32 - 1)])
def test_lease_time_stays_in_its_field(seconds: int, told: int) -> None:
    assert reply_to(DISCOVER, grant(seconds=seconds)).options[Option.LEASE_TIME] == struct.pack("!I", told)


def test_inform_gets_settings_and_no_lease() -> None:
    request = message(MessageType.INFORM, ciaddr=MINE)
    reply = inform(request, LAN)
    assert reply.kind is MessageType.ACK
    assert reply.yiaddr == NOWHERE
    assert Option.LEASE_TIME not in reply.options
    assert destination(request, reply) == (MAC, MINE)


def test_where_a_reply_goes() -> None:
    assert destination(DISCOVER, reply_to(DISCOVER, grant())) == (MAC, MINE)
    wide = replace(DISCOVER, broadcast=True)
    assert destination(wide, reply_to(wide, grant())) == (b"\xff" * 6, IPv4Address("255.255.255.255"))
    renewing = replace(RENEWING, broadcast=True)
    assert destination(renewing, reply_to(renewing, grant())) == (MAC, MINE)


def test_the_client_id_goes_back_as_it_came() -> None:
    request = message(MessageType.DISCOVER, CLIENT_ID=b"\x01\x02")
    assert reply_to(request, grant()).options[Option.CLIENT_ID] == b"\x01\x02"
    assert nak(request, LAN, "no").options[Option.CLIENT_ID] == b"\x01\x02"


@pytest.mark.parametrize(
    ("name", "read"),
    [(b"phone", "phone"), (b"phone\0", "phone"), (b"a b", None), (b"\xff\xfe", None), (b"", None), (b"-x\n", None)],
)
def test_host_names_that_are_none(name: bytes, read: str | None) -> None:
    assert host_name(message(MessageType.DISCOVER, HOST_NAME=name)) == read


@given(messages, st.integers(0, 2**32 - 1).map(IPv4Address))
def test_any_message_gets_a_step_and_any_answer_can_be_sent(request: Message, address: IPv4Address) -> None:
    step = decide(request, LAN)
    if isinstance(step, Ask) and address in LAN.prefix and address != LAN.gateway:
        reply = answer(request, step, grant(address), LAN)
        assert decode(encode(reply)) == reply


RELAYED = bytes.fromhex("0104706f7274")


@pytest.mark.parametrize("kind", [MessageType.OFFER, MessageType.ACK, MessageType.NAK])
def test_what_a_switch_has_put_in_comes_back_as_the_last_option(kind: MessageType) -> None:
    asked = message(MessageType.REQUEST, RELAY_AGENT=RELAYED, CLIENT_ID=b"me", REQUESTED_ADDRESS=MINE.packed)
    reply = (
        nak(asked, LAN, "no") if kind is MessageType.NAK else answer(asked, Ask(kind, MINE, insists=True), grant(), LAN)
    )
    assert list(reply.options.items())[-1] == (Option.RELAY_AGENT, RELAYED)
    assert decode(encode(reply)).options[Option.RELAY_AGENT] == RELAYED


def test_an_answer_to_the_longest_request_can_be_written() -> None:
    longest = decode(encode(message(MessageType.DISCOVER, CLIENT_ID=bytes(range(256)) * 2, RELAY_AGENT=bytes(400))))
    reply = decode(encode(answer(longest, Ask(MessageType.OFFER, None, insists=False), grant(), LAN)))
    assert (len(reply.options[Option.CLIENT_ID]), len(reply.options[Option.RELAY_AGENT])) == (512, 400)
