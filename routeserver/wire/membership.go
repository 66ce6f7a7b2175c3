package wire

import "encoding/binary"

// Route target membership NLRIs (RFC 4684 section 4): length in bits 1, and of origin AS 4 and route target 8 as many
// bytes as that takes. No bits at all stand for every route target.
const (
	membershipAS  = 32 // the fewest bits, but for none
	membershipAll = 96
)

func splitMembership(buf []byte) (int, bool, bool) {
	if len(buf) == 0 || buf[0] > membershipAll {
		return 0, false, false
	}
	n := 1 + (int(buf[0])+7)/8
	if n > len(buf) {
		return 0, false, false
	}
	return n, buf[0] == 0 || buf[0] >= membershipAS, false
}

func keyMembership(nlri string) string { return nlri[:1] + masked(nlri[1:]+"\x00", int(nlri[0])) }

// Covers says whether a membership NLRI asks for a route target. The origin AS does not matter within an AS.
func Covers(nlri string, rt RT) bool {
	bits := int(nlri[0])
	if bits <= membershipAS {
		return true
	}
	bits -= membershipAS
	prefix := nlri[5:]
	whole := bits / 8
	if prefix[:whole] != string(rt[:whole]) {
		return false
	}
	return bits%8 == 0 || (prefix[whole]^rt[whole])>>(8-bits%8) == 0
}

// WholeTarget is the route target that a membership NLRI asks for, if it is only one.
func WholeTarget(nlri string) (rt RT, one bool) {
	if nlri[0] != membershipAll {
		return rt, false
	}
	return RT([]byte(nlri[5:])), true
}

// AllTargets is an UPDATE that asks a neighbour for the routes of every route target, as route reflectors do, and the
// End-of-RIB after it. A neighbour that constrains routes would send none without it.
func AllTargets(nextHop [4]byte) []byte {
	m := append(header(nil, TypeUpdate), 0, 0, 0, 0, flagOptional, attrReach, 10)
	m = binary.BigEndian.AppendUint16(m, RTC.AFI())
	m = append(m, RTC.SAFI(), 4)
	m = append(m, nextHop[:]...)
	m = append(m, 0, 0) // reserved; the NLRI
	m = appendAttribute(m, flagTransitive, attrOrigin, []byte{0})
	m = appendAttribute(m, flagTransitive, attrASPath, nil)
	m = appendAttribute(m, flagTransitive, attrLocalPref, []byte{0, 0, 0, 100})
	binary.BigEndian.PutUint16(m[HeaderLength+2:], uint16(len(m)-HeaderLength-4))
	return append(finish(m, 0), EndOfRIB(RTC)...)
}
