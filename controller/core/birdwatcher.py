"""Sessions and routes in the form of birdwatcher, the API of BIRD that looking glasses such as Alice-LG read. Pure.

Alice-LG reads numbers of routes, metrics and communities as numbers, all else as text: also AS numbers of a path, MED
and LOCAL_PREF (its package `birdwatcher`)."""

from datetime import UTC, datetime
from typing import Any, get_args

from controller.wire.route_tables import QuarantineReason

Json = dict[str, Any]

TABLE = "master"
"""The name of the one table, as BIRD 1 and Alice-LG call it."""

REJECTED, NOT_SENT = 65666, 65667
"""Second parts of large communities (RFC 8092) that say why a route is rejected or not sent; the first is the region's
AS number, the third the number of the reason."""

REASONS = {reason: number for number, reason in enumerate(get_args(QuarantineReason), 1)}
"""The numbers of the reasons for quarantine. A new reason comes last, because operators configure the numbers."""

NOT_SENT_REASONS = {"message-size": 1, "poison": 2, "suspected": 3}

ORIGINS = ("IGP", "EGP", "Incomplete")


def envelope(version: str, at: datetime) -> Json:
    """Return the part that each answer begins with; nothing here comes from a cache."""
    moment = at.astimezone(UTC).isoformat().replace("+00:00", "Z")
    cache = {"orig_ttl": 0, "cached_at": {"date": moment, "timezone_type": "UTC", "timezone": "UTC"}}
    return {"api": {"Version": version, "result_from_cache": False, "cache_status": cache}, "ttl": moment}


def status(found: Json, at: datetime) -> Json:
    """Return the state of a route server."""
    return {
        "current_server": clock(at),
        "last_reboot": clock(found.get("started_at")),
        "last_reconfig": None,
        "message": f"generation {found.get('generation')} is in force",
        "router_id": found.get("router_id"),
        "version": f"weft {found.get('version')}",
    }


def protocol(session: Json, asn: int, description: str) -> Json:
    """Return a session with a PE."""
    quarantined, received = session.get("quarantined", 0), session.get("prefixes_in", 0)
    routes = {"imported": received - quarantined, "filtered": quarantined, "exported": session.get("prefixes_out", 0)}
    return {
        "protocol": session["peer"],
        "bird_protocol": "BGP",
        "table": TABLE,
        "state": _state(session),
        "state_changed": clock(session.get("since")),
        "since": clock(session.get("since")),
        "bgp_state": session["state"].capitalize(),
        "neighbor_address": session.get("address"),
        "neighbor_as": asn,
        "description": description,
        "last_error": session.get("last_error", ""),
        "routes": routes | {"accepted": routes["imported"], "preferred": routes["imported"]},
        "route_changes": {},
    }


def short(session: Json) -> Json:
    """Return a session with a PE in the short form."""
    info = session["state"].capitalize()
    return {
        "proto": "BGP",
        "table": TABLE,
        "state": _state(session),
        "since": clock(session.get("since")),
        "info": info,
    }


def route(line: Json, asn: int, address: str) -> Json:
    """Return a route of the control API. `asn` is the region's AS number, `address` that of the announcing PE: Alice-LG
    compares it to find the routes of a session."""
    attributes, reason = line.get("attributes") or {}, _reason(line)
    preference = _number(attributes, "local_pref", "value", 100)
    return {
        "network": network(line),
        "from_protocol": line["peer"],
        "gateway": address,
        "learnt_from": address,
        "interface": line.get("endpoint") or "",
        "age": clock(line.get("received_at")),
        "metric": preference,
        "primary": not line.get("reason"),
        "type": ["BGP", "univ"],
        "bgp": {
            "origin": ORIGINS[min(_number(attributes, "origin", "value", 2), 2)],
            "as_path": [str(one) for one in _path(attributes.get("as_path"))],
            "next_hop": line.get("next_hop") or "",
            "local_pref": str(preference),
            "med": str(_number(attributes, "multi_exit_disc", "metric", 0)),
            "communities": [
                [one >> 16, one & 0xFFFF] for one in _numbers(attributes.get("communities"), "communities")
            ],
            "large_communities": _large(attributes.get("large_community")) + ([[asn, *reason]] if reason else []),
            "ext_communities": [["rt", *one.rsplit(":", 1)] for one in line.get("rts") or []],
        },
    }


def network(line: Json) -> str:
    """Return the destination of a route: a prefix, an address or a MAC first, so that a search for its beginning finds
    it, then the rest of the NLRI, which tells apart all routes of one PE."""
    details, rd = line.get("details") or {}, line.get("rd") or ""
    parts = [_host(details["ip"])] if details.get("ip") and details.get("mac") else []
    parts += [str(details[name]) for name in ("prefix", "mac") if details.get(name)]
    if not parts:
        return str(line["nlri"])
    return " ".join([*parts, f"({rd})", *([f"tag {details['tag']}"] if details.get("tag") else [])])


def clock(time: object) -> str | None:
    """Return a time in UTC as BIRD writes it; None for none."""
    if isinstance(time, str):
        try:
            time = datetime.fromisoformat(time)
        except ValueError:
            return None
    return time.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S") if isinstance(time, datetime) else None


def _state(session: Json) -> str:
    return "up" if session["state"] == "established" else "start"


def _host(address: str) -> str:
    return f"{address}/{128 if ':' in address else 32}"


def _reason(line: Json) -> tuple[int, int] | None:
    if line.get("reason"):
        return REJECTED, REASONS.get(line["reason"], 0)
    why = line.get("withheld") or (line.get("held") or {}).get("verdict")
    return (NOT_SENT, NOT_SENT_REASONS.get(why, 0)) if why else None


def _number(attributes: Json, name: str, field: str, default: int) -> int:
    """Return the number in an attribute; the default if it is absent or has another form."""
    found = attributes.get(name)
    value = found.get(field) if isinstance(found, dict) else None
    return value if isinstance(value, int) else default


def _numbers(attribute: object, field: str) -> list[int]:
    values = attribute.get(field) if isinstance(attribute, dict) else None
    return [one for one in values if isinstance(one, int)] if isinstance(values, list) else []


def _path(attribute: object) -> list[int]:
    """Return the AS numbers of AS_PATH, also those of sets."""
    segments = attribute.get("as_paths") if isinstance(attribute, dict) else None
    return [asn for segment in segments or [] for asn in _numbers(segment, "asns")]


def _large(attribute: object) -> list[list[int]]:
    values = attribute.get("value") if isinstance(attribute, dict) else None
    fields = ("ASN", "LocalData1", "LocalData2")
    return [
        [one[field] for field in fields] for one in values or [] if isinstance(one, dict) and one.keys() >= set(fields)
    ]
