package wire

// Route target membership NLRIs (RFC 4684 section 4): length in bits 1, then as many bytes of origin AS 4 and route
// target 8 as the length needs. A length of 0 means every route target.
const (
	membershipAS  = 32 // the fewest bits, other than none
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

// Covers reports whether a membership NLRI asks for a route target. Its origin AS does not matter: it only
// distinguishes the memberships of different ASes, and so it is a part of the key.
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

// WholeTarget returns the route target that a membership NLRI asks for, if it is only one.
func WholeTarget(nlri string) (rt RT, one bool) {
	if nlri[0] != membershipAll {
		return rt, false
	}
	return RT([]byte(nlri[5:])), true
}

// AllTargets returns an UPDATE that asks a neighbour of a kind for the routes of every route target, as route reflectors do,
// and the End-of-RIB after it. A neighbour that constrains routes would send none without it. asn is ours.
func AllTargets(nextHop [4]byte, asn uint32, k Kind) []byte {
	a := Attributes{NextHop: string(nextHop[:]), Path: "\x40\x01\x01\x00\x40\x02\x00"} // ORIGIN and an empty AS_PATH
	m, _, _ := a.AppendAnnouncements(nil, RTC, []string{"\x00"}, Reflection{ASN: asn}, k, 0, MaxLength)
	return append(m, EndOfRIB(RTC)...)
}
