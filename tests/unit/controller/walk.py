"""Every operation of the API, once, in an order in which each can succeed."""

from collections.abc import Callable
from typing import Any

from tests.unit.trust.requests import csr

MACS = [f"02:00:5e:00:00:{n:02x}" for n in range(16)]

Say = Callable[..., Any]
"""A function that sends a request, `say("POST /api/v1/vcps/{vcp}/members", body, vcp="blue")`, with the parameters of
the path and the query by name. It returns the document of the answer."""


def policy(name: str) -> dict[str, Any]:
    """Return a policy with one pool, an image, and copies of VMs that are kept."""
    vcps = {name: {"members": ["c1-lan", "c2-lan"]}}
    images = {"i": {"digest": f"sha256:{'a' * 64}"}}
    return {"apiVersion": "weft/v1", "vcps": vcps, "migration": {"keep_seconds": 60}, "images": images}


def inventory(name: str) -> dict[str, Any]:
    """Return an inventory with one cloudlet."""
    return {"apiVersion": "weft/inventory/v1", "cloudlets": {name: {"pe": "vpls", "vtep": "192.0.2.88"}}}


def build(say: Say) -> None:
    """Create the objects that other operations name: cloudlets c1, whose agent is the caller, and c2, their LANs in a
    pool, a device with a VM, a lease and a certificate."""
    say("POST /api/v1/cloudlets", {"name": "c2", "pe": "vpls", "vtep": "192.0.2.2"})
    for name, prefix in (("c1", "10.1.0.0/24"), ("c2", "10.2.0.0/24")):
        say("POST /api/v1/endpoints", {"name": f"{name}-lan", "cloudlet": name, "prefix": prefix, "tenant": "acme"})
    token = say("POST /api/v1/cloudlets/{name}/token", name="c2")["token"]
    newcomer = {"token": token, "cloudlet": "c2", "agent_version": "1"}
    say("POST /api/v1/enrolments", newcomer | {"csr": csr("c2")})
    say("POST /api/v1/vcps", {"name": "blue"})
    for endpoint in ("c1-lan", "c2-lan"):
        say("POST /api/v1/vcps/{vcp}/members", {"endpoint": endpoint}, vcp="blue")
    say("POST /api/v1/devices", {"name": "m1", "mac": MACS[1]})
    machine = {"name": "web", "device": "m1", "endpoint": "c1-lan", "driver": "d", "image": "i", "memory": 1 << 29}
    say("POST /api/v1/vms", machine)
    say("PATCH /api/v1/vms/{name}", {"vcpus": 2}, name="web")
    for verb in ("stop", "start"):
        say(f"POST /api/v1/vms/{{name}}/{verb}", name="web")


def tell(say: Say) -> None:
    """Send the reports of c1's agent."""
    figures = {"version": 1, "generation": 1, "agent_version": "1", "resident_bytes": 1, "cpu_seconds": 0.1}
    report = {"cloudlet": "c1", "endpoints": [], "speakers": [], **figures}
    tunnel = {"cloudlet": "c2", "local": "192.0.2.1", "remote": "192.0.2.2", "state": "up", "age": 1.0}
    say("POST /api/v1/agent/reports", report | {"ipsec": {"tunnels": [tunnel]}})
    say("POST /api/v1/agent/session-keys", {"cloudlet": "c1", "held": None, "seen": {}})
    say("POST /api/v1/agent/certificate", {"csr": csr("c1")})
    round_ = {"number": 1, "neighbour": "c2", "age": 1.0, "method": "icmp", "sent": 1, "received": 1}
    times = {"min_ms": 1.0, "median_ms": 1.0, "p95_ms": 1.0, "jitter_ms": 0.0}
    say("POST /api/v1/agent/neighbours", {"cloudlet": "c1", "run": "r", "measurements": [round_ | times]})
    there = say("GET /api/v1/vms/{name}", name="web")
    say("POST /api/v1/agent/leases", {"endpoint": "c1-lan", "mac": there["macs"][0], "client_id": there["client_id"]})
    web = {"name": "web", "condition": "running", "serving": "a"}
    platform = {"version": "1", "board": "b", "accelerator": "a", "cpu": "c", "images": ["i"]}
    say("POST /api/v1/agent/moves", {"cloudlet": "c1", "machines": [web], "platforms": {"d": platform}})
    image = {"name": "i", "digest": "1" * 64, "condition": "there", "done": 1, "total": 1}
    say("POST /api/v1/agent/images", {"cloudlet": "c1", "images": [image], "port": 7790})
    say("POST /api/v1/agent/probes", {"cloudlet": "c1", "number": 1, "results": []})
    say("POST /api/v1/agent/access", {"cloudlet": "c1", "filters": []})
    sighting = {"endpoint": "c1-lan", "address": "10.1.0.2", "how": "packet", "mac": MACS[1]}
    say("POST /api/v1/agent/sightings", {"cloudlet": "c1", "sightings": [sighting]})
    lease = {"endpoint": "c1-lan", "mac": MACS[2]}
    address = say("POST /api/v1/agent/leases", lease)["address"]
    say("POST /api/v1/agent/leases/release", lease | {"address": address})
    account = {"endpoint": "c1-lan", "incarnation": "0" * 32, "turn": 1, "acked": 0, "want": 1}
    say("POST /api/v1/agent/leases/exchange", account)


def use(say: Say) -> None:
    """Make the calls by which operators change and read the present objects."""
    say("PATCH /api/v1/cloudlets/{name}", {"labels": {"a": "b"}}, name="c2")
    say("PATCH /api/v1/endpoints/{name}", {"mtu": 1400, "ports": ["md*"], "max_routes": None}, name="c2-lan")
    say("PATCH /api/v1/devices/{name}", {"client_id": "01aa"}, name="m1")
    say("POST /api/v1/cloudlets", {"name": "r1", "pe": "evpn", "vtep": "192.0.2.77", "unmanaged": True})
    say("GET /api/v1/cloudlets/{name}/report", name="c1")
    say("POST /api/v1/doctor/probes", {"a": "c1", "b": "c2-lan"})
    say("GET /api/v1/cloudlets/{name}/configuration", name="r1", **{"for": "frr"})
    say("POST /api/v1/endpoints/{name}/consent", name="c1-lan")
    say("DELETE /api/v1/endpoints/{name}/consent", name="c1-lan")
    trial: dict[str, Any] = {"vcp": "blue", "endpoint": "c2-lan", "confirm_within": 60}
    on_trial = say("DELETE /api/v1/vcps/{vcp}/members/{endpoint}", **trial)
    say("POST /api/v1/changes/{generation}/confirm", generation=on_trial["generation"])
    del trial["endpoint"]
    on_trial = say("POST /api/v1/vcps/{vcp}/members", {"endpoint": "c2-lan"}, **trial)
    say("POST /api/v1/changes/{generation}/rollback", generation=on_trial["generation"])
    say("POST /api/v1/vcps/{vcp}/members", {"endpoint": "c2-lan"}, vcp="blue")
    say("GET /api/v1/changes/{generation}", generation=1)
    lease = {"endpoint": "c1-lan", "device": "m1"}
    held, _ = (say("POST /api/v1/leases", lease | {"kind": kind}) for kind in ("vm", "md"))
    say("POST /api/v1/leases/{id}/renew", id=held["id"])
    say("GET /api/v1/leases/{id}", id=held["id"])
    host = {"name": "printer", "address": "10.2.0.200"}
    say("POST /api/v1/addresses/{endpoint}/statics", {"hosts": [host]}, endpoint="c2-lan")
    say("GET /api/v1/addresses/{endpoint}/statics", endpoint="c2-lan")
    say("GET /api/v1/addresses/{name}", name="c1-lan")
    say("POST /api/v1/reservations", {"endpoint": "c2-lan", "device": "m1"})
    for verb in ("check", "test", "plan"):
        say(f"POST /api/v1/policy/{verb}", policy("green"))
    for name in ("green", "red"):
        say("POST /api/v1/policy/apply", policy(name))
    first, last = (found["revision"] for found in say("GET /api/v1/policy/revisions")["items"])
    say("GET /api/v1/policy/revisions/{revision}", revision=last)
    say("GET /api/v1/policy/diff", before=first, after=last)
    say("POST /api/v1/policy/rollback", revision=min(first, last))
    for verb in ("check", "plan"):
        say(f"POST /api/v1/inventory/{verb}", inventory("i1"))
    for name in ("i1", "i2"):
        say("POST /api/v1/inventory/apply", inventory(name))
    first, last = (found["revision"] for found in say("GET /api/v1/inventory/revisions")["items"])
    say("GET /api/v1/inventory/revisions/{revision}", revision=last)
    say("GET /api/v1/inventory/diff", before=first, after=last)
    say("POST /api/v1/inventory/rollback", revision=min(first, last))
    say("GET /api/v1/agent/images/{name}/sources", name="i")
    say("GET /api/v1/tunnels/{cloudlet}/{peer}", cloudlet="c1", peer="c2")
    say("GET /api/v1/neighbours/history", cloudlet="c1", neighbour="c2")
    say("GET /api/v1/neighbours/matrix", vcp="blue")
    say("GET /api/v1/moves/prediction", vm="web", endpoint="c2-lan")
    say("GET /api/v1/images/{name}/places", name="i")
    say("GET /api/v1/images/{name}/stores", name="i")
    copy = say("POST /api/v1/moves/ahead", {"vm": "web", "endpoint": "c2-lan"})["name"]
    say("DELETE /api/v1/moves/{name}", name=copy)
    later = say("POST /api/v1/moves/scheduled", {"vm": "web", "endpoint": "c2-lan", "at": "2027-01-31T18:00:00Z"})[
        "name"
    ]
    say("DELETE /api/v1/moves/scheduled/{name}", name=later)
    move = say("POST /api/v1/moves", {"vm": "web", "endpoint": "c2-lan"})["name"]
    say("GET /api/v1/moves/{name}", name=move)
    say("DELETE /api/v1/moves/{name}", name=move)
    (begun,) = say("POST /api/v1/cloudlets/{name}/evacuation", name="c1")["moves"]
    say("DELETE /api/v1/moves/{name}", name=begun["name"])
    say("GET /api/v1/routes/explain", **{"from": "c1-lan", "to": "c2-lan"})
    say("GET /api/v1/routes/diff", peer="c1")
    say("GET /api/v1/routes/held", peer="c1")
    say("GET /api/v1/routes/lookup", address="10.1.0.5")
    say("GET /api/v1/routes/paths", nlri="65000:1:1:1")
    say("POST /api/v1/tokens", {"name": "t1", "role": "viewer"})
    say("POST /api/v1/webhooks", {"name": "chat", "url": "http://127.0.0.1:9/", "type": "none"})
    say("PATCH /api/v1/webhooks/{name}", {"about": "web"}, name="chat")
    say("POST /api/v1/webhooks/{name}/secret", {"overlap": 60}, name="chat")
    say("POST /api/v1/webhooks/{name}/replay", {"after": 0}, name="chat")
    say("POST /api/v1/webhooks/{name}/test", name="chat")
    for part in ("", "/deliveries"):
        say(f"GET /api/v1/webhooks/{{name}}{part}", name="chat")
    serial = say("GET /api/v1/certificates")["items"][0]["serial"]
    say("GET /api/v1/certificates/{serial}", serial=serial)
    for collection, name in {"cloudlets": "c1", "endpoints": "c1-lan", "vcps": "blue", "devices": "m1"}.items():
        say(f"GET /api/v1/{collection}/{{name}}", name=name)


def clear(say: Say) -> None:
    """Remove all objects except c1."""
    serial = say("GET /api/v1/certificates", cloudlet="c2")["items"][0]["serial"]
    say("POST /api/v1/certificates/{serial}/revoke", serial=serial)
    say("DELETE /api/v1/tokens/{name}", name="t1")
    say("DELETE /api/v1/webhooks/{name}", name="chat")
    for found in say("GET /api/v1/reservations")["items"]:
        say("DELETE /api/v1/reservations/{id}", id=found["id"])
    say("DELETE /api/v1/addresses/{endpoint}/statics/{name}", endpoint="c2-lan", name="printer")
    for found in say("GET /api/v1/leases")["items"]:
        say("DELETE /api/v1/leases/{id}", id=found["id"])
    say("DELETE /api/v1/vms/{name}", name="web", force=True)
    say("DELETE /api/v1/devices/{name}", name="m1")
    say("POST /api/v1/cloudlets/{name}/drain", name="c2")
    say("POST /api/v1/cloudlets/{name}/approve", name="c2")
    say("POST /api/v1/cloudlets/{name}/drain", name="c2")
    say("DELETE /api/v1/endpoints/{name}", name="c2-lan")
    for name in ("c2", "r1", "i1"):
        say("DELETE /api/v1/cloudlets/{name}", name=name)
    say("DELETE /api/v1/vcps/{vcp}/members/{endpoint}", vcp="blue", endpoint="c1-lan")
    say("DELETE /api/v1/vcps/{name}", name="blue")
