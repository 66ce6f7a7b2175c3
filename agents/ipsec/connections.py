"""The connections that charon gets (swanctl.conf, section connections), computed from the intent. Pure.

The VTEP is both the address of IKE and the whole of the protected traffic: probes and the data of moves are encrypted
too. `daemon.py` keeps IKE and ESP themselves out of the tunnel.

A connection contains names, but no certificates or authorities: a renewed certificate changes no connection, and so
disturbs no tunnel.

Both ends prove their names when a tunnel begins, and later through a separate connection that carries no traffic. If a
new tunnel came with each proof, the other end would use it while this end still checks the certificate, and those
packets would be lost.
"""

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any

from agents.ipsec.tunnel import TunnelIntent, TunnelPeer

PREFIX = "weft-"
"""The prefix of the names of connections that are tunnels."""

PROOF = "weft+"
"""The prefix of the connections by which peers prove their names beside the tunnels. All others are left alone."""

CHILD = "vtep"
"""The one child of every connection."""

IKE = ("aes256gcm16-aes128gcm16-prfsha384-prfsha256-x25519-ecp384-ecp256", "chacha20poly1305-prfsha256-x25519-ecp256")
"""Proposals for IKE_SAs (RFC 8247): AEAD ciphers and elliptic curves only."""

ESP = ("aes256gcm16-aes128gcm16-x25519-ecp384-ecp256", "chacha20poly1305-x25519-ecp256")
"""Proposals for CHILD_SAs (RFC 8221). Each has groups, so that every rekeying makes independent keys (forward
secrecy)."""

DPD = 5
"""Seconds of silence after which charon asks a peer whether it is there; see also daemon.py's retransmissions."""

_HOURS = 4
"""Hours after which an IKE_SA gets new keys. The end that does not lead waits an hour longer, so that only one
begins."""

Connection = Mapping[str, Any]


def name(peer: TunnelPeer) -> str:
    """Return the name of the connection to a peer."""
    return f"{PREFIX}{peer.cloudlet}"


def proof(tunnel: str) -> str:
    """Return the name of the connection by which the peer of that tunnel proves its name."""
    return f"{PROOF}{tunnel.removeprefix(PREFIX)}"


def proves(connection: str) -> str:
    """Return the tunnel whose peer has proved its name when this connection is established: this one, or the one beside
    it."""
    return f"{PREFIX}{connection.removeprefix(PROOF)}" if connection.startswith(PROOF) else connection


def leads(intent: TunnelIntent, peer: TunnelPeer) -> bool:
    """Return whether this end begins the tunnel. If both ends did, there would be two tunnels."""
    return int(ip_address(intent.vtep)) < int(ip_address(peer.vtep))


def ends(connection: Connection) -> tuple[str, str]:
    """Return the local and the remote address of a connection."""
    return str(connection["local_addrs"][0]), str(connection["remote_addrs"][0])


def connections(intent: TunnelIntent) -> dict[str, Connection]:
    """Return the connections that are tunnels, by name."""
    return {name(peer): _tunnel(intent, peer) for peer in intent.peers}


def proofs(intent: TunnelIntent) -> dict[str, Connection]:
    """Return the connections by which peers prove their names beside the tunnels, by name. A connection without a child
    carries no traffic (RFC 6023)."""
    return {proof(name(peer)): _proof(intent, peer) for peer in intent.peers}


def _ike(intent: TunnelIntent, peer: TunnelPeer, identity: str) -> dict[str, Any]:
    """Return the settings that both kinds of connection share. `identity` is the prefix that gives the names their IKE
    type."""
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
    """Return the connection that only proves names. It names certificate subjects, so that the peer tells it from the
    tunnel."""
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
