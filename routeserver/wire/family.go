// Package wire reads and writes BGP messages (RFC 4271) as the route server needs them.
//
// It is the hot path: path attributes are checked as RFC 7606 asks and otherwise carried as the bytes they came in, and
// an NLRI is an opaque string of bytes whose structure was checked. Whatever is not hot (OPEN, capabilities, text for
// people) is left to gobgp's codec, which is also the oracle in this package's tests.
package wire

import "fmt"

// Family is an address family that the route server carries, an index into the table of families.
type Family uint8

// The families. Their order is internal; on the wire they are AFI and SAFI.
const (
	VPLS     Family = iota // l2vpn-vpls, RFC 4761
	EVPN                   // l2vpn-evpn, RFC 7432
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
	// exact is true if an NLRI whose non-key part changed has to be withdrawn before the new one is announced,
	// because speakers exist that identify routes by the whole NLRI.
	exact bool
	// rd is the offset of the route distinguisher.
	rd int
}

var formats = [Families]format{
	VPLS: {name: "l2vpn-vpls", afi: 25, safi: 65, split: splitVPLS, key: keyVPLS, exact: true, rd: 2},
	EVPN: {name: "l2vpn-evpn", afi: 25, safi: 70, split: splitEVPN, key: keyEVPN, rd: 2},
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

// RD gives the eight bytes of an NLRI's route distinguisher.
func (f Family) RD(nlri string) string { return nlri[formats[f].rd : formats[f].rd+8] }

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
	return 0, fmt.Errorf("%q is not a family that this route server carries (l2vpn-vpls, l2vpn-evpn)", name)
}
