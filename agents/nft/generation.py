"""The kernel's nftables generation: a number that changes with every change to any rule in this network namespace."""

import socket
import struct

_NETLINK_NETFILTER = 12
_GET_GENERATION = (10 << 8) | 16  # NFNL_SUBSYS_NFTABLES, NFT_MSG_GETGEN (linux/netfilter/nf_tables.h)
_NLM_F_REQUEST = 1
_HEADERS = 16 + 4  # struct nlmsghdr, struct nfgenmsg
_GEN_ID = 1  # NFTA_GEN_ID, 32 bits in network order


def generation() -> int | None:
    """Return the current generation, or None where the kernel does not give it."""
    request = struct.pack("=IHHII", _HEADERS, _GET_GENERATION, _NLM_F_REQUEST, 1, 0) + bytes(4)
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_NETFILTER) as netlink:
            netlink.settimeout(1)
            netlink.send(request)
            reply = netlink.recv(4096)
    except OSError:
        return None
    return _attribute(reply[_HEADERS:], _GEN_ID)


def _attribute(attributes: bytes, wanted: int) -> int | None:
    while len(attributes) >= 8:
        length, kind = struct.unpack_from("=HH", attributes)
        if kind == wanted and length == 8:
            return int(struct.unpack_from("!I", attributes, 4)[0])
        attributes = attributes[max(4, (length + 3) & ~3) :]
    return None
