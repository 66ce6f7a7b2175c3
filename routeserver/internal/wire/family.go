// Package wire reads and writes BGP messages (RFC 4271) as the route server needs them.
//
// It is the hot path: path attributes are checked as RFC 7606 asks and otherwise carried as the bytes they came in, and
// an NLRI is an opaque string of bytes whose structure was checked. Whatever is not hot (writing an OPEN, text for
// people) is left to gobgp's codec, which is also the oracle in this package's tests.
package wire

import "fmt"

// Family is an address family that the route server carries, an index into the table of families.
type Family uint8

// The families. Their order is internal; on the wire they are AFI and SAFI.
const (
	VPLS     Family = iota // l2vpn-vpls, RFC 4761
	EVPN                   // l2vpn-evpn, RFC 7432
	VPNv4                  // RFC 4364
	VPNv6                  // RFC 4659
	Flow4                  // ipv4-flowspec, RFC 8955
	Flow6                  // ipv6-flowspec, RFC 8956
	FlowVPN4               // ipv4-flowspec-vpn, RFC 8955 section 8
	FlowVPN6               // ipv6-flowspec-vpn
	RTC                    // route target membership, RFC 4684: asked for, not forwarded
	Families               // how many there are
)

// format is what the code needs to know of a family; everything else about it is opaque.
type format struct {
	name string
	afi  uint16
	safi uint8
	// split takes the first NLRI off buf: its whole length, or 0 if its end cannot be found. ok is false if the NLRI has
	// a known form but a wrong length; skip is true if it is to be ignored.
	split func(buf []byte) (length int, ok, skip bool)
	// key gives the part of the NLRI that identifies the route.
	key func(nlri string) string
	// canonical gives the one NLRI of several that stand for the same version of a route; nil: there is only one. What is
	// kept and sent is that one, since a neighbour may tell routes apart by bits that mean nothing.
	canonical func(nlri string) string
	// labelled is true if an NLRI has a stack of labels, which RFC 3107 and RFC 8277 read in different ways.
	labelled bool
	// exact is true if an NLRI whose non-key part changed has to be withdrawn before the new one is announced,
	// because speakers exist that identify routes by the whole NLRI.
	exact bool
	// rd gives the route distinguisher; nil: there is none.
	rd func(nlri string) string
	// hops are the lengths that a next hop may have; none: whatever it is, it means nothing and is left out.
	hops []int
}

func rdAt(offset int) func(string) string {
	return func(nlri string) string { return nlri[offset : offset+8] }
}

var (
	plainHops = []int{4, 16, 32}
	vpnHops   = []int{vpnHop, vpnHop6, vpnHopTwo}
	vpnHops6  = []int{vpnHop6, vpnHopTwo} // RFC 4659 section 3.2.1
)

var formats = [Families]format{
	VPLS: {name: "l2vpn-vpls", afi: 25, safi: 65, split: splitVPLS, key: keyVPLS, exact: true, rd: rdAt(2), hops: plainHops},
	EVPN: {name: "l2vpn-evpn", afi: 25, safi: 70, split: splitEVPN, key: keyEVPN, canonical: canonicalEVPN, rd: rdEVPN, hops: plainHops},

	VPNv4: {name: "vpnv4", afi: 1, safi: 128, split: splitVPN(vpnIPv4), key: keyVPN, canonical: canonicalVPN, labelled: true, rd: rdAt(vpnRD), hops: vpnHops},
	VPNv6: {name: "vpnv6", afi: 2, safi: 128, split: splitVPN(vpnIPv6), key: keyVPN, canonical: canonicalVPN, labelled: true, rd: rdAt(vpnRD), hops: vpnHops6},

	Flow4:    {name: "ipv4-flowspec", afi: 1, safi: 133, split: splitFlow(0, false), key: keyFlow(0, false), canonical: keyFlow(0, false)},
	Flow6:    {name: "ipv6-flowspec", afi: 2, safi: 133, split: splitFlow(0, true), key: keyFlow(0, true), canonical: keyFlow(0, true)},
	FlowVPN4: {name: "ipv4-flowspec-vpn", afi: 1, safi: 134, split: splitFlow(8, false), key: keyFlow(8, false), canonical: keyFlow(8, false), rd: rdFlow},
	FlowVPN6: {name: "ipv6-flowspec-vpn", afi: 2, safi: 134, split: splitFlow(8, true), key: keyFlow(8, true), canonical: keyFlow(8, true), rd: rdFlow},

	RTC: {name: "rtc", afi: 1, safi: 132, split: splitMembership, key: keyMembership, hops: plainHops},
}

// String is the family as network engineers write it.
func (f Family) String() string {
	if f < Families {
		return formats[f].name
	}
	return fmt.Sprintf("family(%d)", uint8(f))
}

// AFI is the address family identifier (IANA).
func (f Family) AFI() uint16 { return formats[f].afi }

// SAFI is the subsequent address family identifier (IANA).
func (f Family) SAFI() uint8 { return formats[f].safi }

// Key gives the part of an NLRI that identifies its route: two NLRIs with the same key are the same route.
func (f Family) Key(nlri string) string { return formats[f].key(nlri) }

// Identity is what a neighbour may tell routes apart by. It is the key, or the whole NLRI where speakers differ.
func (f Family) Identity(nlri string) string {
	if formats[f].exact {
		return nlri
	}
	return formats[f].key(nlri)
}

// Exact says whether a changed NLRI with the same key must be withdrawn before the new one is announced.
func (f Family) Exact() bool { return formats[f].exact }

// RD gives the eight bytes of an NLRI's route distinguisher, or nothing in a family that has none.
func (f Family) RD(nlri string) string {
	if formats[f].rd == nil {
		return ""
	}
	return formats[f].rd(nlri)
}

// Distinguisher is RD as text.
func (f Family) Distinguisher(nlri string) string {
	rd := f.RD(nlri)
	if rd == "" {
		return ""
	}
	return RD([]byte(rd)).String()
}

// Flow says whether the family's routes are traffic filters, which go beside an endpoint's routes.
func (f Family) Flow() bool { return f >= Flow4 && f <= FlowVPN6 }

// Main says whether an endpoint can have the family: whether its routes are ways to reach something.
func (f Family) Main() bool { return f < Flow4 }

// FamilyOf finds the family with this AFI and SAFI.
func FamilyOf(afi uint16, safi uint8) (Family, bool) {
	for f := range Families {
		if formats[f].afi == afi && formats[f].safi == safi {
			return f, true
		}
	}
	return 0, false
}

// ParseFamily finds a family by its name, such as l2vpn-evpn.
func ParseFamily(name string) (Family, error) {
	for f := range Families {
		if formats[f].name == name {
			return f, nil
		}
	}
	names := ""
	for f := range Families {
		names += ", " + formats[f].name
	}
	return 0, fmt.Errorf("%q is not a family that this route server carries (%s)", name, names[2:])
}
