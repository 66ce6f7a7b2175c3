"""From intent to what charon is told (swanctl.conf, section connections). Pure.

The VTEP is both the address of IKE and what is protected, whole: also probes and the data of moves go encrypted. What
keeps IKE and ESP themselves out of the tunnel is `daemon.py`'s.

Neither certificates nor authorities are in here but names alone: a certificate that is renewed changes no connection,
and so disturbs no tunnel.
"""

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any

from agents.ipsec.tunnel import Intent, Peer

PREFIX = "weft-"
"""How the names of our connections begin; others' are left alone."""

CHILD = "vtep"
"""The one child of every connection."""

IKE = ("aes256gcm16-aes128gcm16-prfsha384-prfsha256-x25519-ecp384-ecp256", "chacha20poly1305-prfsha256-x25519-ecp256")
"""Proposals for IKE_SAs (RFC 8247): AEAD ciphers and elliptic curves only."""

ESP = ("aes256gcm16-aes128gcm16-x25519-ecp384-ecp256", "chacha20poly1305-x25519-ecp256")
"""For CHILD_SAs (RFC 8221). With a group each, so that every rekeying makes keys of its own (forward secrecy)."""

DPD = 5
"""Seconds of silence after which a peer is asked whether it is there; see also daemon.py's retransmissions."""

REAUTHENTICATE = 7200
"""Seconds after which both have to prove their names again, with all keys new; a tenth of it later the tunnel ends. So
none outlives a certificate by more. The new IKE_SA is there before the old one goes (daemon.py's `make_before_break`).
The end that does not lead asks a quarter later, if the leader has not."""

Connection = Mapping[str, Any]


def name(peer: Peer) -> str:
    """What the connection to a peer is called."""
    return f"{PREFIX}{peer.cloudlet}"


def leads(intent: Intent, peer: Peer) -> bool:
    """Whether this end of the two begins. If both did there would be two tunnels, and one too many."""
    return int(ip_address(intent.vtep)) < int(ip_address(peer.vtep))


def connections(intent: Intent) -> dict[str, Connection]:
    """By name."""
    return {name(peer): _connection(intent, peer) for peer in intent.peers}


def _connection(intent: Intent, peer: Peer) -> Connection:
    leader = leads(intent, peer)
    return {
        "version": "2",
        "local_addrs": [intent.vtep],
        "remote_addrs": [peer.vtep],
        "local": {"auth": "pubkey", "id": f"fqdn:{intent.cloudlet}"},
        "remote": {"auth": "pubkey", "id": f"fqdn:{peer.cloudlet}"},
        "proposals": list(IKE),
        "rekey_time": "0s",
        "reauth_time": f"{REAUTHENTICATE if leader else REAUTHENTICATE * 5 // 4}s",
        "dpd_delay": f"{DPD}s",
        "keyingtries": "0" if leader else "1",
        "unique": "replace",
        "mobike": "no",
        "encap": "yes",
        "children": {
            CHILD: {
                "mode": "tunnel",
                "local_ts": [f"{intent.vtep}/32"],
                "remote_ts": [f"{peer.vtep}/32"],
                "esp_proposals": list(ESP),
                "rekey_time": "1h",
                "life_time": "66m",
                "start_action": "trap",
                "dpd_action": "restart" if leader else "clear",
            }
        },
    }
