"""From intent to what charon is told (swanctl.conf, section connections). Pure.

The VTEP is both the address of IKE and what is protected, whole: also probes and the data of moves go encrypted. What
keeps IKE and ESP themselves out of the tunnel is `daemon.py`'s.

Neither certificates nor authorities are in here but names alone: a certificate that is renewed changes no connection,
and so disturbs no tunnel.

Names are proved when a tunnel begins, and later by a connection of its own, which carries nothing: an IKE_SA with a new
tunnel in it would be used by the other end while this one still looks at its certificate, and what came by it be lost.
"""

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any

from agents.ipsec.tunnel import TunnelIntent, TunnelPeer

PREFIX = "weft-"
"""How the names of the connections begin that are tunnels."""

PROOF = "weft+"
"""And of those by which names are proved beside them. Others' are left alone."""

CHILD = "vtep"
"""The one child of every connection."""

IKE = ("aes256gcm16-aes128gcm16-prfsha384-prfsha256-x25519-ecp384-ecp256", "chacha20poly1305-prfsha256-x25519-ecp256")
"""Proposals for IKE_SAs (RFC 8247): AEAD ciphers and elliptic curves only."""

ESP = ("aes256gcm16-aes128gcm16-x25519-ecp384-ecp256", "chacha20poly1305-x25519-ecp256")
"""For CHILD_SAs (RFC 8221). With a group each, so that every rekeying makes keys of its own (forward secrecy)."""

DPD = 5
"""Seconds of silence after which a peer is asked whether it is there; see also daemon.py's retransmissions."""

_HOURS = 4
"""After which an IKE_SA has new keys; an hour more at the end that does not lead, so that both do not begin at once."""

Connection = Mapping[str, Any]


def name(peer: TunnelPeer) -> str:
    """What the connection to a peer is called."""
    return f"{PREFIX}{peer.cloudlet}"


def proof(tunnel: str) -> str:
    """The connection by which the peer of that tunnel proves its name."""
    return f"{PROOF}{tunnel.removeprefix(PREFIX)}"


def proves(connection: str) -> str:
    """The tunnel whose peer has proved its name when this connection is established: its own, or the one beside it."""
    return f"{PREFIX}{connection.removeprefix(PROOF)}" if connection.startswith(PROOF) else connection


def leads(intent: TunnelIntent, peer: TunnelPeer) -> bool:
    """Whether this end of the two begins. If both did there would be two tunnels, and one too many."""
    return int(ip_address(intent.vtep)) < int(ip_address(peer.vtep))


def connections(intent: TunnelIntent) -> dict[str, Connection]:
    """Those that are tunnels, by name."""
    return {name(peer): _tunnel(intent, peer) for peer in intent.peers}


def proofs(intent: TunnelIntent) -> dict[str, Connection]:
    """Those by which names are proved beside the tunnels, by name. What has no child carries nothing (RFC 6023)."""
    return {proof(name(peer)): _proof(intent, peer) for peer in intent.peers}


def _ike(intent: TunnelIntent, peer: TunnelPeer, identity: str) -> dict[str, Any]:
    """What both have in common. `identity` says as what the names are shown."""
    return {
        "version": "2",
        "local_addrs": [intent.vtep],
        "remote_addrs": [peer.vtep],
        "local": {"auth": "pubkey", "id": identity + intent.cloudlet},
        "remote": {"auth": "pubkey", "id": identity + peer.cloudlet},
        "proposals": list(IKE),
        "reauth_time": "0s",
        "dpd_delay": f"{DPD}s",
        "mobike": "no",
        "encap": "yes",
    }


def _proof(intent: TunnelIntent, peer: TunnelPeer) -> Connection:
    """The subject of the certificate tells the peer which of the two is meant."""
    return {**_ike(intent, peer, "CN="), "rekey_time": "0s", "keyingtries": "1", "unique": "never"}


def _tunnel(intent: TunnelIntent, peer: TunnelPeer) -> Connection:
    leader = leads(intent, peer)
    return {
        **_ike(intent, peer, "fqdn:"),
        "rekey_time": f"{_HOURS if leader else _HOURS + 1}h",
        "keyingtries": "0" if leader else "1",
        "unique": "replace",
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
