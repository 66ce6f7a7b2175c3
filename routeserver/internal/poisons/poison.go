// Package poisons is a corpus of routes with which one PE can hurt others: malformed attributes and NLRIs, and
// well-formed ones that reset a known implementation. It is written by hand and shares no code with the route server.
package poisons

import (
	"encoding/hex"
	"net/netip"

	"weft/routeserver/internal/rawbgp"
)

// Fate is the treatment of a route by the route server.
type Fate string

// The fates.
const (
	Relayed   Fate = "relayed"   // others get it as announced
	Mended    Fate = "mended"    // others get it without its faulty parts
	Withdrawn Fate = "withdrawn" // nobody gets it
)

// The families of the corpus, by the route server's names.
const (
	VPLS  = "l2vpn-vpls"
	EVPN  = "l2vpn-evpn"
	VPNv4 = "vpnv4"
	VPNv6 = "vpnv6"
)

// Daemons that cannot take certain well-formed routes: every release that was tried, or one of them.
const (
	FRR   = "FRR"
	FRR10 = "FRR 10"
	BIRD  = "BIRD"
	GoBGP = "gobgpd"
)

// Site is the owner of the routes that carry the poisons: an endpoint of the internal PE that announces them.
type Site struct {
	RD, RT [8]byte
	Hop    netip.Addr // IPv4
	Hop6   netip.Addr // next hop of VPNv6 routes
}

// Poison is a route that hurts other PEs, or did so once.
type Poison struct {
	Name         string
	Family       string
	NLRI         []byte
	Attributes   []byte // encoded path attributes after the usual ones
	Communities  []byte // extended communities after the route target
	Fate         Fate
	Hurts        []string // daemons that end their session on receipt, though it is well-formed
	Announcement []byte   // a whole UPDATE, as an internal PE with four-octet AS numbers sends it
	Withdrawal   []byte   // a whole UPDATE
}

// In returns the poisons that a family carries. Each has its own route.
func In(family string, s Site) (all []Poison) {
	for i, a := range attributes() {
		all = append(all, s.poison(family, a.name, carrier(family, s, i), s.hop(family), a.encoded, a.communities, a.fate, a.hurts))
	}
	for _, n := range nlris(s) {
		if n.family == family {
			hop := n.hop
			if hop == nil {
				hop = s.hop(family)
			}
			all = append(all, s.poison(family, n.name, n.nlri, hop, nil, nil, n.fate, n.hurts))
		}
	}
	return all
}

// Healthy returns a route of a family without faults, different from those of In.
func Healthy(family string, s Site) Poison {
	return s.poison(family, "healthy", carrier(family, s, 1000), s.hop(family), nil, nil, Relayed, nil)
}

func (s Site) poison(family, name string, nlri, hop, more, communities []byte, fate Fate, hurts []string) Poison {
	head := identifiers[family]
	reach := append(append(append(head[:], byte(len(hop))), hop...), 0)
	usual := [][]byte{
		rawbgp.Attribute(0x80, 14, append(reach, nlri...)),
		{0x40, 1, 1, 0},            // ORIGIN
		{0x40, 2, 0},               // AS_PATH
		{0x40, 5, 4, 0, 0, 0, 100}, // LOCAL_PREF
		rawbgp.Attribute(0xc0, 16, append(s.RT[:], communities...)),
	}
	return Poison{
		Name: name, Family: family, NLRI: nlri, Attributes: more, Communities: communities, Fate: fate, Hurts: hurts,
		Announcement: rawbgp.Update(append(usual, more)...),
		Withdrawal:   rawbgp.Update(rawbgp.Attribute(0x80, 15, append(head[:], nlri...))),
	}
}

// identifiers are the AFI and SAFI.
var identifiers = map[string][3]byte{VPLS: {0, 25, 65}, EVPN: {0, 25, 70}, VPNv4: {0, 1, 128}, VPNv6: {0, 2, 128}}

func (s Site) hop(family string) []byte {
	switch family {
	case VPNv4:
		return append(make([]byte, 8), s.Hop.AsSlice()...)
	case VPNv6:
		return append(make([]byte, 8), s.Hop6.AsSlice()...)
	}
	return s.Hop.AsSlice()
}

// carrier returns route i of a site, for attributes that any family carries.
func carrier(family string, s Site, i int) []byte {
	high, low := byte(i>>8), byte(i)
	switch family {
	case VPLS: // VE ID, block offset 1, block size 8, label base
		base := 16*(1000+8*i) | 1
		return join(bytes("0011"), s.RD[:], []byte{high, low}, bytes("0001 0008"), []byte{byte(base >> 16), byte(base >> 8), byte(base)})
	case EVPN: // type 2: no segment, tag 0, MAC, no address, VNI 100
		return join(bytes("02 21"), s.RD[:], make([]byte, 14), bytes("30 0200 0001"), []byte{high, low}, bytes("00 000064"))
	case VPNv4: // label 100, 100.64+high.low.0/24
		return join(bytes("70 000641"), s.RD[:], []byte{100, 64 + high, low})
	}
	return join(bytes("98 000641"), s.RD[:], bytes("20010db8ffff"), []byte{high, low}) // 2001:db8:ffff:i::/64
}

func join(parts ...[]byte) (all []byte) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// bytes reads hexadecimal digits with spaces between them.
func bytes(digits string) []byte {
	var dense []byte
	for i := range len(digits) {
		if digits[i] != ' ' {
			dense = append(dense, digits[i])
		}
	}
	b, err := hex.DecodeString(string(dense))
	if err != nil {
		panic(err)
	}
	return b
}
