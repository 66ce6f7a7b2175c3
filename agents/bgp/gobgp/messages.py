"""Translates between our values and the messages of gobgpd's API. Pure."""

from ipaddress import IPv4Address

from api import attribute_pb2 as attribute
from api import common_pb2 as common
from api import extcom_pb2 as extcom
from api import gobgp_pb2 as gobgp
from api import nlri_pb2 as nlri

from agents.kernel.vpls import Announcement, LabelBlock
from controller.wire.desired import Speaker

VPLS = common.Family(afi=common.Family.AFI_L2VPN, safi=common.Family.SAFI_VPLS)

_HOLD_TIME, _KEEPALIVE, _CONNECT_RETRY = 9, 3, 1  # seconds; gobgpd takes at least 2 for the last
_RESTART_TIME = 20  # seconds for which route servers keep our routes when gobgpd dies (RFC 4724); tunnels outlive it
_VXLAN = 8  # tunnel type of the Encapsulation community (RFC 8365 section 5.1.3)
_ROUTE_TARGET = 2  # sub-type (RFC 4360 section 4)


def everything() -> gobgp.WatchEventRequest:
    """Return the request for all events: sessions, then the whole table in one message, then End-of-RIB markers, and
    after that every change."""
    table = gobgp.WatchEventRequest.Table
    kinds = (table.Filter.TYPE_BEST, table.Filter.TYPE_EOR)
    filters = [table.Filter(type=kind, init=True) for kind in kinds]
    return gobgp.WatchEventRequest(peer=gobgp.WatchEventRequest.Peer(), table=table(filters=filters))


def peer(speaker: Speaker, local: str, password: str = "", hops: int | None = None) -> gobgp.Peer:
    """Return the session with a route server, from address `local`, for l2vpn-vpls alone. `password` signs it
    (TCP-MD5), and the route server may be at most `hops` away (GTSM)."""
    return gobgp.Peer(
        conf=gobgp.PeerConf(
            neighbor_address=speaker.address,
            peer_asn=speaker.asn,
            description=speaker.name,
            auth_password=password,
        ),
        ttl_security=gobgp.TtlSecurity(enabled=hops is not None, ttl_min=0 if hops is None else 256 - hops),
        transport=gobgp.Transport(local_address=local),
        timers=gobgp.Timers(
            config=gobgp.TimersConfig(
                connect_retry=_CONNECT_RETRY,
                hold_time=_HOLD_TIME,
                keepalive_interval=_KEEPALIVE,
                idle_hold_time_after_reset=1,
            )
        ),
        # Not `local_restarting`: a PE that comes back does not claim that it went on forwarding, it may have booted.
        graceful_restart=gobgp.GracefulRestart(enabled=True, restart_time=_RESTART_TIME),
        afi_safis=[
            gobgp.AfiSafi(
                config=gobgp.AfiSafiConfig(family=VPLS, enabled=True),
                mp_graceful_restart=gobgp.MpGracefulRestart(config=gobgp.MpGracefulRestartConfig(enabled=True)),
            )
        ],
    )


_CONTROL_WORD = 0x02
"""The C bit of the control flags (RFC 4761, section 3.2.4)."""


def same_peer(one: gobgp.Peer, other: gobgp.Peer) -> bool:
    """Return whether two peers have equal configurations, in the properties that we set."""

    def key(p: gobgp.Peer) -> tuple[object, ...]:
        families = [(f.config.family.afi, f.config.family.safi) for f in p.afi_safis]
        restart = p.graceful_restart.restart_time if p.graceful_restart.enabled else None
        transport = p.transport.local_address, p.transport.remote_port
        guard = p.conf.auth_password, p.ttl_security.enabled and p.ttl_security.ttl_min
        return p.conf.peer_asn, guard, transport, p.timers.config.hold_time, restart, families

    return key(one) == key(other)


def state(peer: gobgp.Peer) -> str:
    """Return the FSM state's name in lower case, or its number if the name is not known."""
    number = peer.state.session_state
    try:
        return str(gobgp.PeerState.SessionState.Name(number)).removeprefix("SESSION_STATE_").lower()
    except ValueError:
        return f"state {number}"


def path(announcement: Announcement) -> gobgp.Path:
    """Return the route as AddPath takes it: RFC 4761 NLRI, route targets, layer-2 info, and VXLAN as encapsulation."""
    block = announcement.block
    message = nlri.NLRI(
        vpls=nlri.VPLSNLRI(
            rd=_rd(block.rd),
            ve_id=block.ve_id,
            ve_block_offset=block.offset,
            ve_block_size=block.size,
            label_block_base=block.base,
        )
    )
    communities = [_route_target(rt) for rt in sorted(announcement.rts)]
    flags = _CONTROL_WORD if announcement.control_word else 0
    communities.append(extcom.ExtendedCommunity(vpls=extcom.VPLSExtended(control_flags=flags, mtu=announcement.mtu)))
    communities.append(extcom.ExtendedCommunity(encap=extcom.EncapExtended(tunnel_type=_VXLAN)))
    reach = attribute.MpReachNLRIAttribute(family=VPLS, next_hops=[announcement.next_hop], nlris=[message])
    return gobgp.Path(
        family=VPLS,
        nlri=message,
        pattrs=[
            attribute.Attribute(origin=attribute.OriginAttribute(origin=0)),
            attribute.Attribute(mp_reach=reach),
            attribute.Attribute(extended_communities=attribute.ExtendedCommunitiesAttribute(communities=communities)),
        ],
    )


def block(path: gobgp.Path) -> LabelBlock:
    """Return the NLRI of a VPLS path."""
    v = path.nlri.vpls
    return LabelBlock(_rd_text(v.rd), v.ve_id, v.ve_block_offset, v.ve_block_size, v.label_block_base)


def announcement(path: gobgp.Path) -> Announcement:
    """Return a VPLS path with those of its attributes that a pseudowire depends on."""
    rts: set[str] = set()
    next_hop, mtu, control_word = "", 0, False
    for attr in path.pattrs:
        if attr.HasField("mp_reach"):
            next_hop = attr.mp_reach.next_hops[0] if attr.mp_reach.next_hops else ""
        elif attr.HasField("extended_communities"):
            for community in attr.extended_communities.communities:
                if community.HasField("vpls"):
                    mtu = community.vpls.mtu
                    control_word = bool(community.vpls.control_flags & _CONTROL_WORD)
                elif text := _route_target_text(community):
                    rts.add(text)
    return Announcement(block(path), frozenset(rts), next_hop, mtu, control_word)


def _split(text: str) -> tuple[str, int, bool]:
    """Return the administrator, the number, and whether an AS number has four octets on the wire: those beyond 65535
    have, and those with an L, which makes a different value of the same numbers (RFC 5668)."""
    administrator, _, number = text.rpartition(":")
    long = administrator.endswith("L") or ("." not in administrator and int(administrator) > 0xFFFF)
    return administrator.removesuffix("L"), int(number), long


def _joined(administrator: int | str, number: int, long: bool) -> str:
    mark = "L" if long and int(administrator) <= 0xFFFF else ""
    return f"{administrator}{mark}:{number}"


def _rd(text: str) -> common.RouteDistinguisher:
    administrator, number, long = _split(text)
    if "." in administrator:
        value = common.RouteDistinguisherIPAddress(admin=str(IPv4Address(administrator)), assigned=number)
        return common.RouteDistinguisher(ip_address=value)
    asn = int(administrator)
    if not long:
        pair = common.RouteDistinguisherTwoOctetASN(admin=asn, assigned=number)
        return common.RouteDistinguisher(two_octet_asn=pair)
    return common.RouteDistinguisher(four_octet_asn=common.RouteDistinguisherFourOctetASN(admin=asn, assigned=number))


def _rd_text(rd: common.RouteDistinguisher) -> str:
    kind = rd.WhichOneof("rd") or "two_octet_asn"
    value = getattr(rd, kind)
    return _joined(value.admin, value.assigned, kind == "four_octet_asn")


def _route_target(text: str) -> extcom.ExtendedCommunity:
    administrator, number, long = _split(text)
    fields = {"is_transitive": True, "sub_type": _ROUTE_TARGET, "local_admin": number}
    if "." in administrator:
        address = extcom.IPv4AddressSpecificExtended(address=str(IPv4Address(administrator)), **fields)
        return extcom.ExtendedCommunity(ipv4_address_specific=address)
    asn = int(administrator)
    if not long:
        return extcom.ExtendedCommunity(two_octet_as_specific=extcom.TwoOctetAsSpecificExtended(asn=asn, **fields))
    return extcom.ExtendedCommunity(four_octet_as_specific=extcom.FourOctetAsSpecificExtended(asn=asn, **fields))


def _route_target_text(community: extcom.ExtendedCommunity) -> str | None:
    kind = community.WhichOneof("extcom")
    if kind not in ("two_octet_as_specific", "four_octet_as_specific", "ipv4_address_specific"):
        return None
    value = getattr(community, kind)
    if value.sub_type != _ROUTE_TARGET:
        return None
    administrator = value.address if kind == "ipv4_address_specific" else value.asn
    return _joined(administrator, value.local_admin, kind == "four_octet_as_specific")
