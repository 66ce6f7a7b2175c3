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

// keyVPLS is length, RD, VE ID and VE block offset; block size and label base may change under the same route.
func keyVPLS(nlri string) string { return nlri[:14] }

// StaleVPLS says whether a withdrawn NLRI names another label block than the one that is there. RFC 4761 does not say
// what a withdrawal carries as label base: 0 and 0x800000 (RFC 8277's word for "none") match every block.
func staleVPLS(withdrawn, present string) bool {
	base := withdrawn[16:19]
	return base != "\x00\x00\x00" && base != "\x80\x00\x00" && withdrawn != present
}

// Stale says whether the withdrawal of an NLRI must be ignored since the route that is there replaced it already.
func (f Family) Stale(withdrawn, present string) bool {
	return f == VPLS && staleVPLS(withdrawn, present)
}
