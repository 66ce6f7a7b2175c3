package wire

import "encoding/binary"

// vplsLength is the length field of an RFC 4761 NLRI: RD 8, VE ID 2, VE block offset 2, VE block size 2, label base 3.
const vplsLength = 17

// vplsAutoDiscovery is the length field of a BGP-AD NLRI (RFC 6074 section 7), which shares the AFI and SAFI and is not
// for us.
const vplsAutoDiscovery = 12

func splitVPLS(buf []byte) (int, bool, bool) {
	if len(buf) < 2 {
		return 0, false, false
	}
	n := int(binary.BigEndian.Uint16(buf))
	if 2+n > len(buf) {
		return 0, false, false
	}
	return 2 + n, n == vplsLength, n == vplsAutoDiscovery
}

// keyVPLS is length, RD, VE ID and VE block offset; block size and label base may change under the same route. RFC 4761 does
// not name a key, but it forwards by these three: a PE that has two blocks of one VE with the same offset could not tell
// which label is its own (section 3.2.3). A whole NLRI as the key would keep both in force.
func keyVPLS(nlri string) string { return nlri[:14] }

// SameBlock says whether two NLRIs with the same key name the same label block: size and label base. The last four bits are
// not a label's (RFC 3032).
func SameBlock(one, other string) bool {
	return one[14:18] == other[14:18] && one[18]>>4 == other[18]>>4
}
