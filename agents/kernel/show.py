"""The kernel's state of the cloudlet, as a table or JSON."""

import json
from collections.abc import Iterator
from typing import Any

from agents.kernel.snapshot import MAIN, Snapshot, owner


def document(snapshot: Snapshot) -> dict[str, Any]:
    """Return the snapshot in its JSON form: one entry per LAN."""
    return {"lans": [_lan(name, snapshot) for name in sorted(snapshot.bridges, key=lambda n: owner(n) or 0)]}


def text(snapshot: Snapshot, output: str) -> str:
    """Return the snapshot as text. `output` is `json` or `table`."""
    found = document(snapshot)
    return json.dumps(found, indent=2) if output == "json" else "\n".join(_lines(found)) or "no LAN"


def _lan(name: str, snapshot: Snapshot) -> dict[str, Any]:
    bridge = snapshot.bridges[name]
    return {
        "bridge": name,
        "up": bridge.up,
        "mtu": bridge.mtu,
        "mac": bridge.mac,
        "addresses": sorted(bridge.addresses),
        "ports": sorted(p.name for p in snapshot.ports.values() if p.bridge == name),
        "tunnels": [
            {"device": v.name, "up": v.up, "receives_on": v.vni, "vtep": flood.vtep, "sends_on": flood.vni}
            for v in sorted(snapshot.vxlans.values(), key=lambda v: v.vni)
            if v.bridge == name
            for flood in sorted(v.flood or ())
        ],
        "routes": sorted(r.prefix for r in snapshot.routes if r.device == name and r.table == MAIN),
    }


def _lines(found: dict[str, Any]) -> Iterator[str]:
    for lan in found["lans"]:
        state = "up" if lan["up"] else "down"
        yield f"{lan['bridge']}  {state}  {' '.join(lan['addresses']) or 'no address'}  {lan['mac']}  mtu {lan['mtu']}"
        yield f"  ports   {' '.join(lan['ports']) or 'none'}"
        yield f"  routes  {' '.join(lan['routes']) or 'none'}"
        for t in lan["tunnels"]:
            state = "" if t["up"] else "  down"
            yield f"  tunnel  {t['device']}  to {t['vtep']}  rx {t['receives_on']}  tx {t['sends_on']}{state}"
