package wire

import (
	"encoding/binary"
	"net/netip"
)

// Content is the information in an NLRI besides its route distinguisher. Fields that a family does not have are zero.
type Content struct {
	Type    byte         // of an EVPN route
	VE      uint16       // VE ID
	Labels  [2]uint32    // first and last one of a label block
	Segment bool         // it names an Ethernet segment
	MAC     string       // six bytes
	Address netip.Addr   // of a MAC, or the originator in types 3 and 4
	Prefix  netip.Prefix // with all its bits, also those without a meaning
	Gateway netip.Addr   // overlay index of type 5
}

// EVPN route types that readers of a Content distinguish.
const (
	TypeMACIP     = evpnMACIP
	TypeMulticast = evpnMulticast
	TypePrefix    = evpnPrefix
)

// Content parses an NLRI; the result is empty for traffic filters and route target membership. It allocates nothing.
func (f Family) Content(nlri string) (c Content) {
	switch f {
	case VPLS:
		c.VE = uint16(nlri[10])<<8 | uint16(nlri[11])
		size := uint32(nlri[14])<<8 | uint32(nlri[15])
		c.Labels[0] = (uint32(nlri[16])<<16 | uint32(nlri[17])<<8 | uint32(nlri[18])) >> 4
		c.Labels[1] = c.Labels[0] + max(size, 1) - 1
	case VPNv4, VPNv6:
		var padded [16]byte
		copy(padded[:], nlri[vpnPrefix:])
		bits := int(nlri[0]) - vpnBits
		if f == VPNv4 {
			c.Prefix = netip.PrefixFrom(netip.AddrFrom4([4]byte(padded[:4])), bits)
		} else {
			c.Prefix = netip.PrefixFrom(netip.AddrFrom16(padded), bits)
		}
	case EVPN:
		c.evpn(nlri)
	}
	return c
}

func (c *Content) evpn(v string) {
	c.Type = v[0]
	switch c.Type {
	case evpnAutoDiscovery:
		c.Segment = true
	case evpnSegment:
		c.Segment, c.Address = true, addressIn(v[21:])
	case evpnMACIP:
		c.Segment, c.MAC = segmented(v), v[25:31]
		c.Address = addressIn(v[32 : 32+int(v[31])/8])
	case evpnMulticast:
		c.Address = addressIn(v[15:])
	case evpnPrefix:
		c.Segment = segmented(v)
		size := (len(v) - 28) / 2
		c.Prefix = netip.PrefixFrom(addressIn(v[25:25+size]), int(v[24]))
		if gateway := addressIn(v[25+size : 25+2*size]); !gateway.IsUnspecified() {
			c.Gateway = gateway
		}
	}
}

// segmented reports whether a route of type 2 or 5 has an ESI.
func segmented(v string) bool { return v[10:20] != "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" }

// addressIn reads an address of 4 or 16 bytes; for other lengths it returns the zero Addr.
func addressIn(v string) netip.Addr {
	switch len(v) {
	case 4:
		return netip.AddrFrom4([4]byte{v[0], v[1], v[2], v[3]})
	case 16:
		var b [16]byte
		copy(b[:], v)
		return netip.AddrFrom16(b)
	}
	return netip.Addr{}
}

// Ends calls a function for every address to which the attributes send traffic: the next hop, the end of an ingress
// replication tunnel, and egress endpoints of a Tunnel Encapsulation attribute. Unreadable addresses are the zero Addr.
func (a *Attributes) Ends(told func(netip.Addr)) {
	if hop := a.NextHop; hop != "" {
		switch len(hop) {
		case vpnHop, vpnHop6, vpnHopTwo:
			hop = hop[8:]
		}
		told(addressIn(hop[:min(len(hop), 16)]).Unmap()) // a link-local one that follows is valid on the link only
	}
	EachAttribute(a.Path, func(_, kind uint8, value, _ string) {
		switch kind {
		case attrPMSI:
			if value[1] == tunnelIngress {
				told(addressIn(value[pmsiHead:]).Unmap())
			}
		case attrTunnelEncap:
			eachEgress(value, told)
		}
	})
}

// eachEgress walks tunnels (type 2, length 2) and their sub-TLVs, whose length has two bytes from type 128 on.
func eachEgress(tunnels string, told func(netip.Addr)) {
	for len(tunnels) >= 4 {
		end := 4 + int(binary.BigEndian.Uint16([]byte(tunnels[2:4])))
		subs := tunnels[4:min(end, len(tunnels))]
		tunnels = tunnels[min(end, len(tunnels)):]
		for len(subs) >= 2 {
			head, n := 2, int(subs[1])
			if subs[0] >= 128 {
				if head = 3; len(subs) < head {
					break
				}
				n = int(binary.BigEndian.Uint16([]byte(subs[1:3])))
			}
			value := subs[head:min(head+n, len(subs))]
			if subs[0] == subEgress && len(value) > 6 { // AFI 0 without an address means the next hop
				told(addressIn(value[6:]).Unmap())
			}
			subs = subs[min(head+n, len(subs)):]
		}
	}
}
