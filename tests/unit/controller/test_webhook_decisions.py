"""Decisions about webhooks: URLs, times of attempts, secrets, and the documents that receivers get."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook

from controller.core.cloud_events import cloud_event, identity
from controller.core.doctor import Receiver, compare_webhooks
from controller.core.webhook_secrets import MOST_SECRETS, Secret, fresh, in_force, objection, read, replaced, written
from controller.core.webhooks import FIRST, LONGEST, Outcome, origin, pause, wanted
from controller.core.webhooks import objection as refused
from controller.trust.sealing import Seal, Unsealable
from controller.webhooks.signature import headers

AT = datetime(2030, 1, 31, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    "url",
    [
        "https://hooks.example.net/in?room=1",
        "https://10.1.2.3:8443/in",
        "https://[2001:db8::1]/",
        "http://localhost:9000/in",
        "http://127.0.0.1/",
        "http://[::1]:9000/",
    ],
)
def test_urls_that_a_receiver_may_have(url: str) -> None:
    assert refused(url, plain=False) is None


@pytest.mark.parametrize(
    ("url", "plain", "reason"),
    [
        ("http://hooks.example.net/", False, "WEFT_WEBHOOK_HTTP=true"),
        ("http://localhost.example.net/", False, "WEFT_WEBHOOK_HTTP=true"),
        ("http://127.0.0.1@example.net/", False, "no credentials"),
        ("https://:word@example.net/", True, "no credentials"),
        ("https://example.net/#there", True, "no fragment"),
        ("file:///etc/passwd", True, "https://"),
        ("https:///in", True, "https://"),
        ("https://example.net:70000/", True, "not a URL"),
        ("https://[::1/", True, "not a URL"),
        ("http://169.254.169.254/latest/meta-data", True, "link-local"),
        ("https://[fe80::1%25eth0]/", True, "link-local"),
        ("https://[::ffff:169.254.169.254]/", True, "link-local"),
        ("https://224.0.0.1/", True, "multicast"),
        ("http://0.0.0.0/", True, "unspecified"),
    ],
)
def test_urls_that_it_may_not_have(url: str, plain: bool, reason: str) -> None:
    assert reason in (refused(url, plain=plain) or "")


def test_plain_http_elsewhere_is_a_choice() -> None:
    assert refused("http://hooks.example.net/", plain=True) is None


@given(st.text(max_size=200))
def test_every_text_is_a_url_or_refused(url: str) -> None:
    assert refused(url, plain=True) is None or refused(url, plain=False)


def test_the_origin_hides_the_path() -> None:
    assert origin("https://hooks.example.net:8443/T0/secret?token=a") == "https://hooks.example.net:8443"


def test_pauses_grow_to_an_hour_and_differ_by_chance() -> None:
    assert [pause(attempts, 1.0, None) for attempts in (1, 2, 3, 4)] == [FIRST, 2 * FIRST, 4 * FIRST, 8 * FIRST]
    assert pause(50, 1.0, None) == pause(5000, 1.0, None) == LONGEST
    assert pause(3, 0.0, None) == 2 * FIRST < pause(3, 0.5, None) < pause(3, 1.0, None)
    assert pause(1, 0.0, 7200.0) == 7200.0
    assert pause(10, 1.0, 1.0) == 512 * FIRST, "a receiver does not shorten the pause"
    assert pause(1, 0.0, 1e9) == 86_400


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("", None),
        ("soon", None),
        ("120", 120.0),
        (" 0 ", 0.0),
        ("-5", None),
        ("1.5", None),
        ("9" * 100_000, 999_999_999.0),
        ("Thu, 31 Jan 2030 12:01:00 GMT", 60.0),
        ("Thu, 31 Jan 2030 11:00:00 GMT", 0.0),
        ("Thu, 99 Jan 2030 11:00:00 GMT", None),
        ("٣", None),
    ],
)
def test_the_times_that_receivers_name(header: str | None, seconds: float | None) -> None:
    assert wanted(header, AT) == seconds


@given(st.text(max_size=100))
def test_every_header_is_read(header: str) -> None:
    assert (wanted(header, AT) or 0.0) >= 0.0


def test_what_counts_as_delivered() -> None:
    assert [Outcome(status, 1).delivered for status in (None, 199, 200, 204, 299, 300, 404, 503)] == [
        False, False, True, True, True, False, False, False,
    ]  # fmt: skip
    assert Outcome(410, 1).gone and not Outcome(404, 1).gone


def test_secrets() -> None:
    assert objection(fresh()) is None and fresh() != fresh()
    for text, reason in (("", "begins with"), ("whsec_*", "base64"), ("whsec_YWJj", "this one has 3")):
        assert reason in (objection(text) or "")
    assert "abc" not in repr(Secret("abc"))


def test_a_secret_that_is_replaced_signs_for_a_time() -> None:
    one = [Secret("one")]
    two = replaced(one, "two", AT, AT + HOUR)
    assert in_force(two, AT) == ["two", "one"] and in_force(two, AT + HOUR) == ["two"]
    assert in_force(replaced(one, "two", AT, AT), AT) == ["two"]
    three = replaced(two, "three", AT + HOUR / 2, AT + 3 * HOUR)
    assert in_force(three, AT + HOUR / 2) == ["three", "two", "one"]
    assert in_force(three, AT + 2 * HOUR) == ["three", "two"], "the first one does not gain time"
    assert in_force(replaced(three, "one", AT + HOUR / 2, AT + HOUR), AT + HOUR / 2) == ["one", "three", "two"]
    known = one
    for number in range(9):
        known = replaced(known, str(number), AT, AT + HOUR)
    assert len(known) == MOST_SECRETS and read(written(known)) == known


def test_a_sealed_text_opens_with_its_key_at_its_place_only() -> None:
    seal = Seal(b"a" * 32, "webhooks")
    sealed = seal.close("the secret", "chat")
    assert "secret" not in sealed and sealed != seal.close("the secret", "chat")
    assert seal.open(sealed, "chat") == "the secret"
    cut, changed = sealed[:-4], ("A" if sealed[0] != "A" else "B") + sealed[1:]
    for other, text, place in (
        (seal, sealed, "siem"),
        (Seal(b"b" * 32, "webhooks"), sealed, "chat"),
        (Seal(b"a" * 32, "others"), sealed, "chat"),
        (seal, cut, "chat"),
        (seal, changed, "chat"),
        (seal, "", "chat"),
        (seal, "not base64", "chat"),
    ):
        with pytest.raises(Unsealable):
            other.open(text, place)


EVENT: dict[str, Any] = {
    "id": 7,
    "at": AT,
    "type": "vm-added",
    "subject": "web",
    "text": "é",
    "data": {},
    "source": None,
}


def test_a_document() -> None:
    found = json.loads(cloud_event("/weft/as65000", "7-1", 7, EVENT))
    assert found == {
        "specversion": "1.0",
        "id": "7-1",
        "source": "/weft/as65000",
        "type": "weft.vm-added",
        "subject": "web",
        "time": "2030-01-31T12:00:00Z",
        "datacontenttype": "application/json",
        "sequence": "0000000000000000007",
        "data": {**EVENT, "at": "2030-01-31T12:00:00Z"},
    }
    bare = json.loads(cloud_event("/weft/as65000", "test-1", None, EVENT | {"subject": ""}))
    assert "sequence" not in bare and "subject" not in bare, "CloudEvents allows no empty subject"


def test_a_restored_database_gives_other_ids() -> None:
    assert identity(7, AT) != identity(7, AT + timedelta(microseconds=1)) and identity(7, AT) == identity(7, AT)
    assert identity(7, AT) == identity(7, AT.astimezone(timezone(HOUR)))
    assert "." not in identity(7, AT), "a full stop separates the parts of a signed message"


def test_each_secret_in_force_signs() -> None:
    secrets, at = [fresh(), fresh()], datetime.now(UTC)
    found = dict(headers(secrets, "7-1", b'{"a": 1}', at))
    assert len(found["webhook-signature"].split(" ")) == 2
    for secret in secrets:
        assert Webhook(secret).verify(b'{"a": 1}', found) == {"a": 1}


def test_the_doctor_names_receivers_that_get_nothing() -> None:
    receivers = [
        Receiver("well", None, ""),
        Receiver("paused", AT, "no answer", "it has failed for a day"),
        Receiver("lately", AT - timedelta(minutes=9), "no answer"),
        Receiver("failing", AT - timedelta(minutes=10), "no answer"),
    ]
    found = list(compare_webhooks(receivers, AT))
    assert [(one.kind, one.subject) for one in found] == [("webhook-failing", "failing"), ("webhook-paused", "paused")]
    assert "for a day" in found[1].text and "no answer" in found[0].text and all(one.remedy for one in found)
