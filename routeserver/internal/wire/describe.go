package wire

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"
)

func attributeName(kind uint8) string {
	if r := &rules[kind]; r.name != "" {
		return strings.ToLower(r.name)
	}
	return fmt.Sprintf("attribute_%d", kind)
}

// Clusters returns the entries of CLUSTER_LIST.
func (a *Attributes) Clusters() []string {
	var list []string
	for i := 0; i+4 <= len(a.ClusterList); i += 4 {
		list = append(list, netip.AddrFrom4([4]byte([]byte(a.ClusterList[i:i+4]))).String())
	}
	return list
}

// Hop returns the next hop as text; empty: there is none.
func (a *Attributes) Hop() string {
	hop := a.NextHop
	switch len(hop) {
	case vpnHop, vpnHop6:
		hop = hop[8:]
	case vpnHopTwo: // global and link-local, here and below
		hop = hop[8:24]
	case 32:
		hop = hop[:16]
	}
	address, ok := netip.AddrFromSlice([]byte(hop))
	if !ok {
		return ""
	}
	return address.Unmap().String()
}

// Fields returns the parts of an NLRI for network engineers: VE ID and label block; EVPN type, MAC, IP and VNI; prefix
// and label; or the components of a traffic filter.
func (f Family) Fields(nlri string) map[string]any {
	v := []byte(nlri)
	label := func(at int) int { return int(v[at])<<16 | int(v[at+1])<<8 | int(v[at+2]) }
	switch {
	case f == VPNv4 || f == VPNv6:
		size := 4 << (2 * (f - VPNv4))
		address, _ := netip.AddrFromSlice(append(v[vpnPrefix:len(v):len(v)], make([]byte, size+vpnPrefix-len(v))...))
		prefix := netip.PrefixFrom(address, int(v[0])-vpnBits)
		return map[string]any{"prefix": prefix.Masked().String(), "label": label(vpnLabel) >> 4}
	case f.Flow():
		return map[string]any{"filter": f.filter(nlri)}
	case f == RTC:
		return map[string]any{"target": f.Text(nlri)}
	case f == VPLS:
		return map[string]any{
			"ve_id": binary.BigEndian.Uint16(v[10:]), "offset": binary.BigEndian.Uint16(v[12:]),
			"size": binary.BigEndian.Uint16(v[14:]), "label_base": label(16) >> 4,
		}
	}
	fields := map[string]any{"type": v[0]}
	address := func(at, bits int) string {
		a, _ := netip.AddrFromSlice(v[at : at+bits/8])
		return a.String()
	}
	esi := func() { fields["esi"] = fmt.Sprintf("%x", v[10:20]) }
	switch v[0] {
	case evpnAutoDiscovery:
		esi()
		fields["tag"], fields["vni"] = binary.BigEndian.Uint32(v[20:]), label(24)
	case evpnMACIP:
		esi()
		fields["tag"] = binary.BigEndian.Uint32(v[20:])
		fields["mac"] = fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", v[25], v[26], v[27], v[28], v[29], v[30])
		if v[31] > 0 {
			fields["ip"] = address(32, int(v[31]))
		}
		fields["vni"] = label(32 + int(v[31])/8)
	case evpnMulticast:
		fields["tag"], fields["ip"] = binary.BigEndian.Uint32(v[10:]), address(15, int(v[14]))
	case evpnSegment:
		esi()
		fields["ip"] = address(21, int(v[20]))
	case evpnPrefix:
		esi()
		bits := 32
		if len(v) == 60 {
			bits = 128
		}
		fields["tag"] = binary.BigEndian.Uint32(v[20:])
		fields["prefix"] = fmt.Sprintf("%s/%d", address(25, bits), v[24])
		fields["gateway"] = address(25+bits/8, bits)
		fields["vni"] = label(25 + bits/4)
	}
	return fields
}
