package wire

// EVPN routes of the types 9 to 11 (RFC 9572 section 3); RFC 9251 section 9 defines the types 6 to 8.
const (
	evpnRegion = 9  // Per-Region I-PMSI A-D: RD 8, tag 4, region 8
	evpnSPMSI  = 10 // S-PMSI A-D: RD 8, tag 4, source, group, originator
	evpnLeaf   = 11 // Leaf A-D: the NLRI of another route, originator
	leafRD     = 4  // offset of the RD of that other route
)

// validParts checks what validEVPN does not: segments, and the whole of the types from 6 on.
func validParts(kind byte, v []byte) bool {
	switch kind {
	case evpnAutoDiscovery, evpnMACIP, evpnSegment, evpnPrefix:
		return len(v) >= 18 && validSegment(v[8:18])
	case evpnSelective: // RD 8, tag 4, source, group, originator, flags 1
		return grouped(v, 12, 1)
	case evpnJoinSynch: // RD 8, ESI 10, tag 4, the same
		return grouped(v, 22, 1) && validSegment(v[8:18])
	case evpnLeaveSynch: // the same, and before the flags reserved 4, response time 1
		return grouped(v, 22, 6) && validSegment(v[8:18])
	case evpnRegion:
		return len(v) == 20
	case evpnSPMSI:
		return grouped(v, 12, 0)
	case evpnLeaf:
		return validLeaf(v)
	}
	return true
}

// validLeaf checks a route of type 11, which answers one of the types 3, 9 and 10.
func validLeaf(v []byte) bool {
	if len(v) < 2 || len(v) < 2+int(v[1]) || v[0] != evpnMulticast && v[0] != evpnRegion && v[0] != evpnSPMSI {
		return false
	}
	key := 2 + int(v[1])
	rest, ok := skipAddress(v[key:], false)
	return ok && len(rest) == 0 && validEVPN(v[0], v[2:key])
}

// grouped checks a route with so many bytes, then a source, a group and an originator, then so many bytes.
func grouped(v []byte, before, after int) bool {
	return len(v) > before+after && validGroup(v[before:len(v)-after])
}

// validGroup checks a source, a group and an originator, each a length in bits 1 and an address. A source or group of
// no bits means any; a source for any group is not possible (RFC 6625 section 2.1).
func validGroup(v []byte) bool {
	group, ok := skipAddress(v, true)
	if !ok {
		return false
	}
	originator, ok := skipAddress(group, true)
	if !ok || group[0] == 0 && v[0] > 0 || group[0] > 0 && v[0] > 0 && group[0] != v[0] {
		return false
	}
	rest, ok := skipAddress(originator, false)
	return ok && len(rest) == 0
}

// skipAddress cuts an address with its length in bits off a run. none permits a length of 0.
func skipAddress(v []byte, none bool) (rest []byte, ok bool) {
	if len(v) == 0 || v[0] != 32 && v[0] != 128 && (v[0] != 0 || !none) || len(v) < 1+int(v[0])/8 {
		return nil, false
	}
	return v[1+int(v[0])/8:], true
}

// validSegment checks an Ethernet segment identifier: the last byte of some types is zero (RFC 7432 section 5), and
// gobgpd ends the session if it is not. Undefined types are opaque.
func validSegment(esi []byte) bool {
	switch esi[0] {
	case 1, 2, 4, 5: // LACP, MSTP, router, AS
		return esi[9] == 0
	}
	return true
}

// rdEVPN returns the route distinguisher, which is the first field except in type 11.
func rdEVPN(nlri string) string {
	if nlri[0] == evpnLeaf {
		return nlri[leafRD : leafRD+8]
	}
	return nlri[2:10]
}
