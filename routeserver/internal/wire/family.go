// Package wire reads and writes BGP messages (RFC 4271) as the route server needs them.
//
// It is the hot path: it checks path attributes as RFC 7606 requires and otherwise carries their bytes unchanged, and
// an NLRI is an opaque string of bytes whose structure was checked. All else (writing an OPEN, text for users) is left
// to gobgp's codec, which is also the oracle in this package's tests.
package wire

import "fmt"

// Family is an address family that the route server carries; it is an index into the table of families.
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
	RTC                    // route target membership, RFC 4684: received, but not forwarded
	Families               // number of families
)

// format is the description of a family for the code; everything else about it is opaque.
type format struct {
	name string
	afi  uint16
	safi uint8
	// split returns the length of the first NLRI in buf, or 0 if its end cannot be found. ok is false if the NLRI has a
	// known form but is malformed; skip is true if it must be ignored.
	split func(buf []byte) (length int, ok, skip bool)
	// key returns the part of the NLRI that identifies the route.
	key func(nlri string) string
	// canonical returns the one NLRI that represents all equivalent forms of a version of a route; nil: there is only one form.
	// It is the form that is stored and sent, since a neighbour may distinguish routes by bits without a meaning.
	canonical func(nlri string) string
	// labelled is true if an NLRI has a stack of labels, which RFC 3107 and RFC 8277 read in different ways.
	labelled bool
	// exact is true if an NLRI whose non-key part changed has to be withdrawn before the new one is announced, because
	// some speakers identify routes by the whole NLRI.
	exact bool
	// rd returns the route distinguisher; nil: there is none.
	rd func(nlri string) string
	// hops are the permitted lengths of a next hop; nil: a next hop has no meaning and is removed.
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

// String returns the family's name as network engineers write it.
func (f Family) String() string {
	if f < Families {
		return formats[f].name
	}
	return fmt.Sprintf("family(%d)", uint8(f))
}

// AFI returns the address family identifier (IANA).
func (f Family) AFI() uint16 { return formats[f].afi }

// SAFI returns the subsequent address family identifier (IANA).
func (f Family) SAFI() uint8 { return formats[f].safi }

// Key returns the part of an NLRI that identifies its route: two NLRIs with the same key are the same route.
func (f Family) Key(nlri string) string { return formats[f].key(nlri) }

// Identity returns the string by which a neighbour may identify routes: the key, or the whole NLRI where speakers differ.
func (f Family) Identity(nlri string) string {
	if formats[f].exact {
		return nlri
	}
	return formats[f].key(nlri)
}

// Exact reports whether a changed NLRI with the same key must be withdrawn before the new one is announced.
func (f Family) Exact() bool { return formats[f].exact }

// RD returns the eight bytes of an NLRI's route distinguisher, or "" in a family without one.
func (f Family) RD(nlri string) string {
	if formats[f].rd == nil {
		return ""
	}
	return formats[f].rd(nlri)
}

// Distinguisher returns RD as text.
func (f Family) Distinguisher(nlri string) string {
	rd := f.RD(nlri)
	if rd == "" {
		return ""
	}
	return RD([]byte(rd)).String()
}

// Flow reports whether the family's routes are traffic filters, which accompany an endpoint's routes.
func (f Family) Flow() bool { return f >= Flow4 && f <= FlowVPN6 }

// Main reports whether an endpoint can have the family: whether its routes lead to destinations.
func (f Family) Main() bool { return f < Flow4 }

// FamilyOf returns the family with this AFI and SAFI.
func FamilyOf(afi uint16, safi uint8) (Family, bool) {
	for f := range Families {
		if formats[f].afi == afi && formats[f].safi == safi {
			return f, true
		}
	}
	return 0, false
}

// ParseFamily returns the family with a name such as l2vpn-evpn.
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
