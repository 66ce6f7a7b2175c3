"""The start configuration of charon: its strongswan.conf, and whether this kernel has ESP.

The service manager runs charon. `allow_peer_ts` and a mark on charon's own sockets let IKE and ESP pass between the
same two addresses that they protect. With these retransmissions and `DPD`, charon notices a dead peer within 12 s.
"""

import subprocess
from pathlib import Path

from agents.ipsec.connections import DPD

RETRANSMIT, TRIES, BASE = 1.0, 3, 1.3
"""Seconds before charon sends a message again, how often it does, and the factor by which the wait grows."""

DEAD = DPD + sum(RETRANSMIT * BASE**n for n in range(TRIES + 1))
"""Seconds after which charon gives up a silent peer."""

_MARK = "0x4000"  # on packets of charon's own sockets, which must not enter the tunnel
# aesni comes before openssl, which sets up its cipher for each packet. On processors without AES it offers nothing.
_PLUGINS = "random nonce aesni openssl pem x509 pubkey pkcs1 pkcs8 revocation constraints kdf hmac"

# The command runs in a new network namespace, which ends with it; the key protects nothing.
_PROBE = (
    *("unshare", "--net", "ip", "xfrm", "state", "add", "src", "192.0.2.1", "dst", "192.0.2.2", "proto", "esp"),
    *("spi", "0x1000", "reqid", "1", "mode", "tunnel", "aead", "rfc4106(gcm(aes))", f"0x{'5a' * 36}", "128"),
    *("encap", "espinudp", "4500", "4500", "0.0.0.0"),
)


def kernel_esp() -> bool:
    """Return whether the kernel accepts an SA with our cipher. Return False also where this cannot be tried."""
    try:
        return subprocess.run(_PROBE, capture_output=True, timeout=10, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def configuration(vici: Path, kernel: bool, log: Path | None = None) -> str:
    """Return the text of strongswan.conf. `vici` is the socket that charon makes. Without `kernel` charon does ESP
    itself, through the device ipsec0. `log` is the file for charon's log; None is standard error, which the service
    manager takes."""
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
