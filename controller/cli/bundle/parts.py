"""The parts of a bundle: what is asked of the controller, and the fields of the answers that the bundle may have. Every
other field is left out, also one of a later release, until it is named here."""

from dataclasses import dataclass

from controller.cli.client import path


@dataclass(frozen=True)
class Part:
    """A part: its file, the path that is asked, and the fields that are kept. `listed`: it is a list, page by page, of
    at most `most` items."""

    file: str
    path: str
    fields: frozenset[str]
    listed: bool = False
    most: int | None = None


def _fields(words: str) -> frozenset[str]:
    return frozenset(words.split())


NAMES = (
    ("cloudlet", path("cloudlets")),
    ("endpoint", path("endpoints")),
    ("vcp", path("vcps")),
    ("routeserver", path("route-servers")),
    ("replica", path("replicas")),
    ("device", path("devices")),
    ("vm", path("vms")),
)
"""The kinds of things whose names a bundle may have, and the lists that name them."""

MOST_NAMES = 20_000
"""Most names of one kind; further ones are left out of the bundle."""

_SESSION = """peer address endpoints state since families prefixes_in prefixes_out quarantined bytes stale stale_until
    long_lived long_lived_from held backlog last_error"""
_SERVER = """name version router_id generation loaded confirmed in_touch serving restarting permits tcp_md5 unsigned
    unexpected wrong started_at bmp address state since connections cut_off messages bytes backlog last_error counters
    updates_received routes_announced routes_withdrawn treat_as_withdraw loops ignored changes replacements routes_sent
    withdrawals_sent twin reachable error confirm_by fallback in_step"""

REPORT = _fields(
    """cloudlet connected report version generation agent_version endpoints endpoint bridge ports tunnels remote vtep
    ve_id rx_vni tx_vni device routes problems passages allowed verdict family speakers name state resident_bytes
    cpu_seconds ipsec problem dropped_in dropped_out local age why ike esp keyed rekey bytes_in bytes_out packets_in
    packets_out findings kind subject expected found text milliseconds understands"""
)
"""The fields of an agent's last report."""

SESSIONS = _fields(_SESSION) | {"route_server"}

ROUTE_SERVERS = Part("route-servers.json", path("route-servers"), _fields(f"status generation {_SERVER}"), listed=True)

CLOUDLETS = Part(
    "intent/cloudlets.json",
    path("cloudlets"),
    _fields(
        """name pe vtep unmanaged asn ttl_security state approval labels created_at endpoints agent connected last_seen
        version generation sessions"""
    ),
    listed=True,
)

PARTS = (
    Part(
        "readiness.json",
        "/readyz",
        _fields("ready database replica leading generation route_servers agents policy"),
    ),
    Part(
        "settings.json",
        path("settings"),
        _fields(
            """replica release python kernel database listen socket admin_token route_servers name address tls
            route_server_token session_secret webhook_key webhook_http log_format asn enrolled_only agent_timeout
            authority agent_listen agent_tls_only connections peer_connections request_seconds caller_rate
            stranger_rate oidc certificate_seconds ui_listen ui_idle_seconds ui_session_seconds manual"""
        ),
    ),
    Part(
        "doctor.json",
        path("doctor"),
        _fields(
            """ok replica leader checked generation route_servers adj_in adj_out quarantine cloudlets reports endpoints
            differences kind where subject expected found text remedy unconsented unmanaged"""
        ),
    ),
    Part(
        "replicas.json",
        path("replicas"),
        _fields("name release alive leading agents started_at seen_at"),
        listed=True,
    ),
    ROUTE_SERVERS,
    CLOUDLETS,
    Part(
        "intent/endpoints.json",
        path("endpoints"),
        _fields(
            """name cloudlet tenant flavour prefix gateway prefix6 gateway6 ports vtep site index rt rd vni mtu capacity
            lease_seconds max_routes vcps consent created_at"""
        ),
        listed=True,
    ),
    Part(
        "intent/vcps.json",
        path("vcps"),
        _fields("name flavour members managed_by_policy created_at"),
        listed=True,
    ),
    Part(
        "tunnels.json",
        path("tunnels"),
        _fields(
            """cloudlet peer local remote state since needed alarm ike esp keyed_at rekey_at bytes_in bytes_out
            packets_in packets_out dropped_in dropped_out why at"""
        ),
        listed=True,
    ),
    Part(
        "changes.json",
        path("changes"),
        _fields("generation at state cause confirm_by settled_at"),
        listed=True,
        most=100,
    ),
    Part(
        "moves.json",
        path("moves"),
        _fields(
            """name vm device endpoint source destination pool state step reason ahead anew keep order seconds
            created_at changed_at ended_at at"""
        ),
        listed=True,
        most=100,
    ),
)
"""All parts that are asked as they are; events, metrics, policy, reports and the audit log are asked apart."""

EVENTS = _fields("id at type subject source text data")
AUDIT = _fields("number at who method path status")
METRICS, POLICY = "/metrics", path("policy")
