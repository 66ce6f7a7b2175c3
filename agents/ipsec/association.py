"""The state of charon's SAs (vici, list-sas), reduced to the fields that the agent needs. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agents.ipsec.traffic import Traffic

_BEING_MADE = frozenset({"CREATED", "CONNECTING"})
_ENDING = "DELETING"
_CARRIES = frozenset({"INSTALLED", "REKEYING", "REKEYED"})

Section = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Association:
    """All IKE_SAs of one connection, and their traffic. `up`: a CHILD_SA carries traffic. `coming`: charon is making an
    IKE_SA. `admitted`: charon has let the peer in. `age`: whole seconds since the newest IKE_SA was made or got new
    keys; new keys prove no name.

    `ike` and `esp` are the proposals of the newest SAs. The keys of traffic were made `keyed` seconds ago, and are
    replaced in `rekey` seconds. `traffic` is that of each present CHILD_SA, by its number. `ends` are the local and
    remote addresses of the IKE_SAs that stay.
    """

    up: bool = False
    coming: bool = False
    admitted: bool = False
    age: int | None = None
    ike: str = ""
    esp: str = ""
    keyed: int | None = None
    rekey: int | None = None
    traffic: Mapping[str, Traffic] = field(default_factory=dict)
    ends: frozenset[tuple[str, str]] = frozenset()


def association(ikes: Sequence[Section]) -> Association:
    """Return the state that the sections of all IKE_SAs of one connection describe."""
    children = [child for ike in ikes for child in ike["child-sas"].values()]
    carrying = [child for child in children if _text(child, "state") in _CARRIES]
    newest = max(carrying, key=lambda child: int(child["uniqueid"]), default=None)
    made = min((ike for ike in ikes if "established" in ike), key=lambda ike: int(ike["established"]), default=None)
    return Association(
        up=newest is not None,
        coming=any(_text(ike, "state") in _BEING_MADE for ike in ikes),
        admitted=any(_text(ike, "state") not in _BEING_MADE for ike in ikes),
        age=_number(made, "established"),
        ike=_proposal(made, "prf-alg"),
        esp=_proposal(newest),
        keyed=_number(newest, "install-time"),
        rekey=_number(newest, "rekey-time"),
        traffic={_text(child, "uniqueid"): _traffic(child) for child in carrying},
        ends=frozenset(map(_ends, (ike for ike in ikes if _text(ike, "state") != _ENDING and "remote-host" in ike))),
    )


def _ends(ike: Section) -> tuple[str, str]:
    return _text(ike, "local-host"), _text(ike, "remote-host")


def _traffic(child: Section) -> Traffic:
    names = ("bytes-in", "bytes-out", "packets-in", "packets-out")
    return Traffic(*(int(child.get(name, 0)) for name in names))


def _proposal(sa: Section | None, *more: str) -> str:
    """Return the proposal, as in `AES_GCM_16_256/PRF_HMAC_SHA2_384/CURVE_25519`, without the parts that are missing."""
    if sa is None:
        return ""
    cipher = "_".join(filter(None, (_text(sa, "encr-alg"), _text(sa, "encr-keysize"))))
    return "/".join(filter(None, (cipher, *(_text(sa, key) for key in (*more, "dh-group")))))


def _number(sa: Section | None, key: str) -> int | None:
    return int(sa[key]) if sa is not None and key in sa else None


def _text(section: Section, key: str) -> str:
    value = section.get(key, b"")
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
