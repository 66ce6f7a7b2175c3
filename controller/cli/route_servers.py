"""Route servers, their BGP sessions and BMP stations, as `weft route servers` shows them."""

from controller.cli.cells import Row, StateWord, Tone, at, prose, state
from controller.cli.client import Client, path
from controller.cli.output import rows, table
from controller.cli.session import session

COLUMNS = [
    ("NAME", at("name")),
    ("BGP ADDRESS", at("address")),
    ("REACHABLE", state("reachable")),
    ("IN STEP", state("in_step")),
    ("GENERATION", at("generation")),
    ("VERSION", at("status", "version")),
    ("SESSIONS", lambda row: f"{sum(map(_up, _needed(row)))} of {len(_needed(row))} up"),
    ("ERROR", prose("error")),
]
SESSIONS = ["SERVER", "PEER", "ADDRESS", "STATE", "IN", "OUT", "QUARANTINED", "LAST ERROR"]
KEYS = {key: at(key) for key in ("peer", "address", "state", "prefixes_in", "prefixes_out", "quarantined")}
KEYS |= {"last_error": prose("last_error")}
STATIONS = ["SERVER", "BMP STATION", "STATE", "MESSAGES", "BACKLOG", "CUT OFF", "LAST ERROR"]
STATION_KEYS = [at("address"), state("state"), *map(at, ("messages", "backlog", "cut_off")), prose("last_error")]


def show_route_servers() -> bool:
    """Print the route servers. Returns whether all are reachable and in step, with all sessions up that are needed."""
    with Client() as api:
        found = list(api.items(path("route-servers")))
    rows(found, COLUMNS, "no route servers are configured")
    if session.prose:
        sessions = [[server["name"], *_session(s)] for server in found for s in server.get("sessions") or []]
        stations = [[server["name"], *_station(s)] for server in found for s in _stations(server)]
        for heads, lines in ((SESSIONS, sessions), (STATIONS, stations)):
            if lines:
                print()
                table(heads, lines)
    return all(server.get("in_step") and all(map(_up, _needed(server))) for server in found)


def _stations(server: Row) -> list[Row]:
    return (server.get("status") or {}).get("bmp") or []


def _needed(server: Row) -> list[Row]:
    """Return the sessions that are up, and those of PEs that have an endpoint: an agent configures its PE with the
    first one. Earlier route servers do not count endpoints."""
    return [one for one in server.get("sessions") or [] if _up(one) or one.get("endpoints") != 0]


def _session(session: Row) -> list[object]:
    tone = Tone.GOOD if _up(session) else None if session.get("endpoints") == 0 else Tone.ALARM
    return [StateWord(session["state"], tone) if key == "state" else get(session) for key, get in KEYS.items()]


def _station(station: Row) -> list[object]:
    return [get(station) for get in STATION_KEYS]


def _up(session: Row) -> bool:
    return str(session.get("state")).lower() == "established"
