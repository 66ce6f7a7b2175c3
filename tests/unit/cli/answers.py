"""The controller's answers to commands."""

from typing import Any

CHANGE = {
    "generation": 12,
    "in_force": True,
    "duration_ms": 84.2,
    "route_servers": [
        {
            "route_server": "rs1",
            "generation": 12,
            "previous": 11,
            "announced": 6,
            "withdrawn": 1,
            "peers": [{"peer": "c1", "announced": 6, "withdrawn": 1, "written_us": 300}],
            "duration_us": 420,
            "dry_run": False,
        }
    ],
    "unreachable": [],
    "agents": [{"cloudlet": "c5", "confirmed": True, "after_ms": 61.0}],
    "dry_run": False,
}

TRIED = CHANGE | {"confirm_by": "2020-01-01T00:01:00Z"}

TRIAL = {
    "generation": 12,
    "at": "2020-01-01T00:00:00Z",
    "cause": "e left blue",
    "state": "on-trial",
    "confirm_by": "2020-01-01T00:01:00Z",
    "settled_at": None,
}

CLOUDLET = {
    "name": "c1",
    "pe": "vpls",
    "state": "active",
    "vtep": "198.51.100.1",
    "labels": {"city": "Pisa"},
    "agent": {"connected": True, "last_seen": "2020-01-01T00:00:00Z", "version": "1.0", "generation": 7},
}

LEASE = {
    "id": 17,
    "address": "10.1.0.2",
    "address6": "2001:db8:1::2",
    "kind": "md",
    "device": "ana",
    "endpoint": "c1-lan",
    "expires_at": None,
}

VM = {
    "name": "web",
    "device": "ana",
    "cloudlet": "c1",
    "endpoint": "c1-lan",
    "condition": "starting",
    "memory": 1 << 29,
    "dirty_rate": 3 << 20,
    "cpu": "baseline",
    "cpu_settled": "EPYC-Rome",
    "disk": {"base": "debian", "bytes": 3 << 29},
    "seen_at": None,
}

INPUTS = {
    "memory": {"value": 2.0e8, "origin": "measured by its driver"},
    "dirty_rate": {"value": 1 << 20, "origin": "assumed"},
    "disk": {"value": 0.0, "origin": "it has none"},
    "ratio": {"value": 0.5, "origin": "past moves of debian"},
    "bandwidth": {"value": 6e7, "origin": "past moves over the link"},
    "rtt_ms": {"value": 100.0, "origin": "neighbour database"},
    "buffer_ms": {"value": 100.0, "origin": "assumed"},
    "downtime_ms": {"value": 300.0, "origin": "policy default"},
}

FORECAST = {
    "converges": True,
    "throttle": 0.2,
    "rounds": 3,
    "seconds": 15.0,
    "paused_ms": 170.0,
    "wire": 1 << 27,
    "rate": 7.5e6,
    "window_bound": False,
    "rtt_ms": 200.0,
}

ESTIMATE = {
    "inputs": INPUTS,
    "forecast": FORECAST,
    "correction": {"factor": 1.2, "image_factor": 1.5, "link_factor": 0.8, "image_moves": 9, "link_moves": 4},
    "error": {"moves": 9, "median": 0.08, "p90": 0.2},
    "seconds": 18.0,
    "rtt_ms": 200.0,
}

PREDICTION = {
    "vm": "web",
    "source": "c1-lan",
    "destination": "c2-lan",
    "relation": "possible",
    "estimate": ESTIMATE,
    "initiation_seconds": 12.0,
    "initiations": 3,
    "course": "move",
    "reasons": ["the move takes 18 s, and a new VM takes 20 s"],
}

DECISION = PREDICTION | {"id": 3, "device": "ana", "move": "mv1", "at": "2020-01-01T00:00:00Z"}

PROFILE = {
    "move": "mv1",
    "vm": "web",
    "image": "debian",
    "source": "c1",
    "destination": "c2",
    "seconds": 10.0,
    "predicted_seconds": 12.0,
    "paused_ms": 170.0,
    "wire": 3 << 20,
    "bandwidth": 6e7,
    "at": "2020-01-01T00:00:00Z",
}

SERIAL = "0a" * 20

CERTIFICATE = {
    "serial": SERIAL,
    "cloudlet": "c1",
    "standing": "good",
    "not_before": "2020-01-01T00:00:00Z",
    "not_after": "2020-01-02T00:00:00Z",
    "fingerprint": "ab" * 32,
    "issuer": "cd" * 32,
    "revoked_at": None,
    "reason": None,
}

AUTHORITY = {"chain": "CHAIN-1", "issuer": "cd" * 32, "crl": "CRL-1", "seconds": 86400}

WEBHOOK = {
    "name": "chat",
    "url": "https://hooks.example.net/weft",
    "type": "move-*",
    "state": "failing",
    "paused_because": "",
    "backlog": 7,
    "error": "the receiver answered 500",
    "failing_since": "2020-01-01T00:00:00Z",
    "position": 4711,
}

ACTIONS: list[tuple[str, str, str, Any, Any]] = [
    ("webhook show chat", "GET", "/api/v1/webhooks/chat", None, WEBHOOK),
    (
        "webhook add chat --at https://hooks.example.net/weft --type move-*",
        "POST",
        "/api/v1/webhooks",
        {"name": "chat", "url": "https://hooks.example.net/weft", "type": "move-*"},
        WEBHOOK | {"secret": "whsec_abc"},
    ),
    ("webhook set chat --resume", "PATCH", "/api/v1/webhooks/chat", {"paused": False}, WEBHOOK),
    ("webhook set chat --pause --about x", "PATCH", "/api/v1/webhooks/chat", {"paused": True, "about": "x"}, WEBHOOK),
    (
        "webhook set chat --new-secret --overlap 2",
        "POST",
        "/api/v1/webhooks/chat/secret",
        {"secret": None, "overlap": 7200},
        WEBHOOK | {"secret": "whsec_abc"},
    ),
    (
        "webhook test chat",
        "POST",
        "/api/v1/webhooks/chat/test",
        None,
        {"delivered": True, "status": 204, "milliseconds": 12, "reason": ""},
    ),
    ("webhook replay chat --after 4711", "POST", "/api/v1/webhooks/chat/replay", {"after": 4711}, WEBHOOK),
    ("webhook remove chat", "DELETE", "/api/v1/webhooks/chat", None, None),
    (f"certificate show {SERIAL}", "GET", f"/api/v1/certificates/{SERIAL}", None, CERTIFICATE),
    (f"certificate revoke {SERIAL}", "POST", f"/api/v1/certificates/{SERIAL}/revoke", None, CERTIFICATE),
    ("certificate authority", "GET", "/api/v1/authority", None, AUTHORITY),
    ("certificate authority --crl", "GET", "/api/v1/authority", None, AUTHORITY),
    (
        "cloudlet add c1 --vtep 198.51.100.1 --label city=Pisa --latitude 43.7",
        "POST",
        "/api/v1/cloudlets",
        {
            "name": "c1",
            "pe": "vpls",
            "vtep": "198.51.100.1",
            "approval": False,
            "token_seconds": 3600,
            "labels": {"city": "Pisa"},
            "latitude": 43.7,
        },
        CLOUDLET | {"token": "one-time", "token_expires_at": "2020-01-01T00:00:00Z"},
    ),
    ("cloudlet show c1", "GET", "/api/v1/cloudlets/c1", None, CLOUDLET),
    (
        "cloudlet add r1 --vtep 198.51.100.3 --pe evpn --unmanaged --asn 64900 --ttl-security 2",
        "POST",
        "/api/v1/cloudlets",
        {
            "name": "r1",
            "pe": "evpn",
            "vtep": "198.51.100.3",
            "approval": False,
            "token_seconds": 3600,
            "labels": {},
            "unmanaged": True,
            "asn": 64900,
            "ttl_security": 2,
        },
        CLOUDLET | {"name": "r1", "token": None},
    ),
    ("cloudlet rekey c1", "POST", "/api/v1/cloudlets/c1/session-keys", {"off": False}, {"keys": None}),
    ("cloudlet rekey r1", "POST", "/api/v1/cloudlets/r1/session-keys", {"off": False}, {"keys": {"rs1": "0a0b"}}),
    (
        "cloudlet config r1 --for junos",
        "GET",
        "/api/v1/cloudlets/r1/configuration",
        None,
        {"cloudlet": "r1", "dialect": "junos", "tested": False, "text": "set routing-options router-id 198.51.100.3\n"},
    ),
    ("cloudlet token c1", "POST", "/api/v1/cloudlets/c1/token", None, {"token": "t", "token_expires_at": None}),
    ("cloudlet approve c1", "POST", "/api/v1/cloudlets/c1/approve", None, CLOUDLET),
    ("cloudlet drain c1", "POST", "/api/v1/cloudlets/c1/drain", None, CHANGE),
    ("cloudlet remove c1", "DELETE", "/api/v1/cloudlets/c1", None, CHANGE),
    (
        "endpoint add e --cloudlet c1 --prefix 10.1.0.0/24 --port md* --port eth1 --vni 7 --max-routes 9",
        "POST",
        "/api/v1/endpoints",
        {"name": "e", "cloudlet": "c1", "prefix": "10.1.0.0/24", "ports": ["md*", "eth1"], "vni": 7, "max_routes": 9},
        {"name": "e", "prefix": "10.1.0.0/24", "rt": "65000:1"},
    ),
    (
        "endpoint add e --cloudlet c1 --prefix 10.1.0.0/24 --prefix6 2001:db8:1::/64",
        "POST",
        "/api/v1/endpoints",
        {"name": "e", "cloudlet": "c1", "prefix": "10.1.0.0/24", "prefix6": "2001:db8:1::/64", "ports": []},
        {"name": "e", "prefix": "10.1.0.0/24", "rt": "65000:1"},
    ),
    ("endpoint show e", "GET", "/api/v1/endpoints/e", None, {"name": "e"}),
    ("endpoint remove e", "DELETE", "/api/v1/endpoints/e", None, CHANGE),
    (
        "vcp add blue --description fair",
        "POST",
        "/api/v1/vcps",
        {"name": "blue", "flavour": "vpls", "description": "fair"},
        {"name": "blue"},
    ),
    ("vcp show blue", "GET", "/api/v1/vcps/blue", None, {"name": "blue", "members": ["a", "b"]}),
    ("vcp remove blue", "DELETE", "/api/v1/vcps/blue", None, CHANGE),
    ("vcp join blue e", "POST", "/api/v1/vcps/blue/members", {"endpoint": "e"}, CHANGE),
    ("vcp leave blue e", "DELETE", "/api/v1/vcps/blue/members/e", None, CHANGE),
    ("vcp leave blue e --confirm-within 60", "DELETE", "/api/v1/vcps/blue/members/e", None, TRIED),
    ("change show 12", "GET", "/api/v1/changes/12", None, TRIAL),
    ("change confirm 12", "POST", "/api/v1/changes/12/confirm", None, CHANGE),
    ("change rollback 12", "POST", "/api/v1/changes/12/rollback", None, CHANGE),
    (
        "device add ana --mac 02:00:5e:00:00:01 --vm-client-id 01aa",
        "POST",
        "/api/v1/devices",
        {"name": "ana", "mac": "02:00:5e:00:00:01", "vm": {"client_id": "01aa"}},
        {"name": "ana"},
    ),
    ("device remove ana", "DELETE", "/api/v1/devices/ana", None, None),
    (
        "vm add web --device ana --endpoint c1-lan --image debian --memory 512M --disk debian:1536M "
        "--option display=none --cpu EPYC-Rome,-rdpid",
        "POST",
        "/api/v1/vms",
        {
            "name": "web",
            "device": "ana",
            "endpoint": "c1-lan",
            "driver": "qemu",
            "image": "debian",
            "memory": 1 << 29,
            "vcpus": 1,
            "options": {"display": "none"},
            "cpu": "EPYC-Rome,-rdpid",
            "disk": {"base": "debian", "bytes": 3 << 29},
        },
        VM,
    ),
    ("vm show web", "GET", "/api/v1/vms/web", None, VM),
    (
        "vm set web --memory 1GiB --option display- --option a=b --cpu baseline",
        "PATCH",
        "/api/v1/vms/web",
        {"memory": 1 << 30, "cpu": "baseline", "options": {"display": None, "a": "b"}},
        VM,
    ),
    ("move predict web c2-lan", "GET", "/api/v1/moves/prediction", None, PREDICTION),
    (
        "vm set web --check tcp:80 --handover /opt/state",
        "PATCH",
        "/api/v1/vms/web",
        {"check": "tcp:80", "handover": "/opt/state"},
        VM,
    ),
    (
        "vm synthesise web c2-lan --linger 5",
        "POST",
        "/api/v1/moves/initiation",
        {"vm": "web", "endpoint": "c2-lan", "reason": "", "linger": 5.0},
        {"name": "mv1"},
    ),
    ("vm start web", "POST", "/api/v1/vms/web/start", None, VM),
    ("vm stop web", "POST", "/api/v1/vms/web/stop", None, VM | {"condition": "stopping"}),
    ("vm remove web", "DELETE", "/api/v1/vms/web", None, {}),
    (
        "lease add c1-lan ana --kind vm",
        "POST",
        "/api/v1/leases",
        {"endpoint": "c1-lan", "device": "ana", "kind": "vm"},
        LEASE,
    ),
    ("lease renew 17", "POST", "/api/v1/leases/17/renew", None, LEASE),
    ("lease release 17", "DELETE", "/api/v1/leases/17", None, {}),
]

LISTS: list[tuple[str, str, dict[str, str], dict[str, Any], list[str]]] = [
    ("cloudlet list", "cloudlets", {}, CLOUDLET, ["c1", "active", "198.51.100.1", "yes", "d ago"]),
    ("endpoint list", "endpoints", {}, {"name": "e", "cloudlet": "c1", "vcps": ["blue"]}, ["e", "c1", "blue"]),
    ("endpoint list --cloudlet c1", "endpoints", {"cloudlet": "c1"}, {"name": "e", "cloudlet": "c1"}, ["e", "c1"]),
    ("certificate list", "certificates", {}, CERTIFICATE, [SERIAL, "c1", "good", "d ago"]),
    ("certificate list --cloudlet c1", "certificates", {"cloudlet": "c1"}, CERTIFICATE, [SERIAL]),
    ("certificate list --former", "certificates", {"former": "true"}, CERTIFICATE, [SERIAL]),
    ("vcp list", "vcps", {}, {"name": "blue", "members": ["a", "b"]}, ["blue", "a, b"]),
    ("change list --limit 5", "changes", {"limit": "5"}, TRIAL, ["12", "on-trial", "e left blue", "d ago"]),
    (
        "vm list --cloudlet c1 --condition running",
        "vms",
        {"cloudlet": "c1", "condition": "running"},
        VM,
        ["web", "c1-lan", "starting"],
    ),
    ("move decisions --vm web", "decisions", {"vm": "web", "limit": "20"}, DECISION, ["web", "200 ms", "18 s", "mv1"]),
    (
        "profile list --image debian --cloudlet c1",
        "profiles",
        {"image": "debian", "cloudlet": "c1", "limit": "100"},
        PROFILE,
        ["mv1", "+20%", "3 MiB", "60.0", "170 ms"],
    ),
    ("webhook list", "webhooks", {}, WEBHOOK, ["chat", "move-*", "failing", "7", "answered 500"]),
    (
        "webhook deliveries chat --limit 20",
        "webhooks/chat/deliveries",
        {"limit": "20"},
        {"event": 4711, "type": "move-done", "status": None, "milliseconds": 10000, "reason": "no answer"},
        ["4711", "move-done", "10,000 ms", "no answer"],
    ),
    ("device list", "devices", {}, {"name": "ana", "vm": {"mac": "02::"}}, ["ana", "02::"]),
    (
        "lease list --device ana --endpoint e",
        "leases",
        {"device": "ana", "endpoint": "e"},
        LEASE,
        ["2001:db8:1::2", "17"],
    ),
    (
        "image list",
        "images",
        {},
        {"name": "debian", "drivers": ["libvirt", "qemu"], "cloudlets": 7, "versions": 2, "missing": 3},
        ["debian", "libvirt, qemu", "7", "3", "2 versions"],
    ),
    (
        "image status debian",
        "images/debian/stores",
        {},
        {
            "cloudlet": "c1",
            "digest": "a" * 64,
            "condition": "coming",
            "done": 1 << 20,
            "total": 1 << 30,
            "detail": "from c2",
            "at": "2026-01-01T00:00:00Z",
        },
        ["c1", "aaaaaaaaaaaa", "coming", "1 MiB of 1 GiB", "from c2", "d ago"],
    ),
    (
        "image files debian",
        "images/debian/places",
        {},
        {"cloudlet": "c1", "driver": "qemu", "files": {"kernel": "a" * 64}, "at": "2026-01-01T00:00:00Z"},
        ["c1", "kernel aaaaaaaaaaaa", "d ago"],
    ),
    (
        "sighting list --endpoint e --device ana --unsettled",
        "sightings",
        {"endpoint": "e", "device": "ana", "settled": "false"},
        {"device": "ana", "endpoint": "e", "seen_endpoint": "f", "seen_since": "2026-01-01T00:00:00Z", "how": "lease"},
        ["ana", "lease", "d ago"],
    ),
    (
        "event list --after 3",
        "events",
        {"after": "3"},
        {"id": 4, "type": "member-joined", "text": "x"},
        ["joined"],
    ),
    (
        "event list --type member-* --about e --source cloudlet:c1 --since 2026-01-01 --until 2026-01-02T12:00",
        "events",
        {
            "type": "member-*",
            "about": "e",
            "source": "cloudlet:c1",
            "since": "2026-01-01T00:00:00+00:00",
            "until": "2026-01-02T12:00:00+00:00",
            "latest": "true",
            "limit": "100",
        },
        {"id": 4, "type": "member-joined", "text": "x"},
        ["joined"],
    ),
]
