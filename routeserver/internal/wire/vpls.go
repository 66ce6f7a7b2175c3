package wire

import "encoding/binary"

// vplsLength is the length field of an RFC 4761 NLRI: RD 8, VE ID 2, VE block offset 2, VE block size 2, label base 3.
const vplsLength = 17

// vplsAutoDiscovery is the length field of a BGP-AD NLRI (RFC 6074 section 7), which has the same AFI and SAFI and is ignored.
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

// keyVPLS returns length, RD, VE ID and VE block offset; block size and label base may change under the same route. RFC
// 4761 does not define a key, but it forwards by these three: a PE with two blocks of one VE with the same offset could
// not tell which label is its own (section 3.2.3). With the whole NLRI as the key both would stay in force.
func keyVPLS(nlri string) string { return nlri[:14] }

// SameBlock reports whether two NLRIs with the same key have the same label block: size and label base. The last four
// bits are not part of a label (RFC 3032).
func SameBlock(one, other string) bool {
	return one[14:18] == other[14:18] && one[18]>>4 == other[18]>>4
}
