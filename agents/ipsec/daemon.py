"""How charon has to be started: its strongswan.conf, and whether this kernel has ESP.

charon itself is the service manager's. With `allow_peer_ts` and a mark on its own sockets IKE and ESP go between the
same two addresses that they protect; retransmissions are such that together with `DPD` a dead peer is known in 12 s.
"""

import subprocess
from pathlib import Path

from agents.ipsec.connections import DPD

RETRANSMIT, TRIES, BASE = 1.0, 3, 1.3
"""Seconds before a message is sent again, how often, and the factor by which they grow."""

DEAD = DPD + sum(RETRANSMIT * BASE**n for n in range(TRIES + 1))
"""Seconds after which a peer that is silent is given up."""

_MARK = "0x4000"  # on packets of charon's sockets: not for the tunnel
# aesni ahead of openssl, which sets its cipher up anew for each packet; on processors without AES it offers nothing.
_PLUGINS = "random nonce aesni openssl pem x509 pubkey pkcs1 pkcs8 revocation constraints kdf hmac"

# Tried in a network namespace of its own, which ends with the command; the key is of no use to anybody.
_PROBE = (
    *("unshare", "--net", "ip", "xfrm", "state", "add", "src", "192.0.2.1", "dst", "192.0.2.2", "proto", "esp"),
    *("spi", "0x1000", "reqid", "1", "mode", "tunnel", "aead", "rfc4106(gcm(aes))", f"0x{'5a' * 36}", "128"),
    *("encap", "espinudp", "4500", "4500", "0.0.0.0"),
)


def kernel_esp() -> bool:
    """Whether the kernel takes an SA with our cipher. False where it cannot be tried."""
    try:
        return subprocess.run(_PROBE, capture_output=True, timeout=10, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def configuration(vici: Path, kernel: bool, log: Path | None = None) -> str:
    """The text of strongswan.conf. `vici` is the socket that charon makes; without `kernel` ESP is charon's own, and
    goes by the device ipsec0. `log`: a file for what it does, else standard error, which the service manager takes."""
    backend = "kernel-netlink" if kernel else "kernel-libipsec kernel-netlink"
    return f"""charon {{
  load = {_PLUGINS} {backend} socket-default vici
  retransmit_timeout = {RETRANSMIT}
  retransmit_tries = {TRIES}
  retransmit_base = {BASE}
  install_virtual_ip = no
  make_before_break = yes
  delete_rekeyed_delay = 5
  plugins {{
    vici {{ socket = unix://{vici} }}
    kernel-libipsec {{ allow_peer_ts = yes }}
    kernel-netlink {{ fwmark = !{_MARK} }}
    socket-default {{ fwmark = {_MARK} }}
  }}
  filelog {{ weft {{
      path = {log or "stderr"}
      flush_line = yes
      default = 1
      ike_name = yes
  }} }}
}}
"""
