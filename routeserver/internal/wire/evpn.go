package wire

// EVPN route types with a structure that this package knows (RFC 7432, RFC 9136, RFC 9251).
const (
	evpnAutoDiscovery = 1
	evpnMACIP         = 2
	evpnMulticast     = 3
	evpnSegment       = 4
	evpnPrefix        = 5
	evpnSelective     = 6  // Selective Multicast Ethernet Tag
	evpnJoinSynch     = 7  // Multicast Membership Report Synch
	evpnLeaveSynch    = 8  // Multicast Leave Synch
	evpnLastKnown     = 11 // RFC 9572
)

func splitEVPN(buf []byte) (int, bool, bool) {
	if len(buf) < 2 {
		return 0, false, false
	}
	n := int(buf[1])
	if 2+n > len(buf) {
		return 0, false, false
	}
	// RFC 7606 section 5.4: a typed NLRI of an unknown type is ignored, not an error.
	if buf[0] == 0 || buf[0] > evpnLastKnown {
		return 2 + n, false, true
	}
	return 2 + n, validEVPN(buf[0], buf[2:2+n]), false
}

// validEVPN checks the length and the length fields inside, besides what validParts checks.
func validEVPN(kind byte, v []byte) bool {
	if !validParts(kind, v) {
		return false
	}
	switch kind {
	case evpnAutoDiscovery: // RD 8, ESI 10, tag 4, label 3
		return len(v) == 25
	case evpnMACIP: // RD 8, ESI 10, tag 4, MAC length 1, MAC 6, IP length 1, IP 0/4/16, label 3, label 0/3
		if len(v) < 33 || v[22] != 48 {
			return false
		}
		ip := int(v[29])
		if ip != 0 && ip != 32 && ip != 128 {
			return false
		}
		rest := len(v) - 30 - ip/8
		return rest == 3 || rest == 6
	case evpnMulticast: // RD 8, tag 4, IP length 1, IP 4/16
		return len(v) >= 13 && (v[12] == 32 || v[12] == 128) && len(v) == 13+int(v[12])/8
	case evpnSegment: // RD 8, ESI 10, IP length 1, IP 4/16
		return len(v) >= 19 && (v[18] == 32 || v[18] == 128) && len(v) == 19+int(v[18])/8
	case evpnPrefix: // RD 8, ESI 10, tag 4, prefix length 1, prefix and gateway 4+4/16+16, label 3
		return len(v) == 34 && v[22] <= 32 || len(v) == 58 && v[22] <= 128
	}
	return true
}

// keyEVPN removes the parts that RFC 7432 section 7, RFC 9136 section 3.1 and RFC 9251 section 9 call attributes (ESI
// of the types 2 and 5, gateway, labels, flags), and the bits beyond a prefix.
func keyEVPN(nlri string) string {
	switch nlri[0] {
	case evpnAutoDiscovery:
		return nlri[:24]
	case evpnMACIP:
		return nlri[:1] + nlri[2:10] + nlri[20:32+int(nlri[31])/8]
	case evpnPrefix:
		return nlri[:1] + nlri[2:10] + masked(nlri[20:prefixEnd(nlri)], 5*8+int(nlri[24]))
	case evpnSelective, evpnJoinSynch:
		return nlri[:len(nlri)-1] // flags
	case evpnLeaveSynch:
		return nlri[:len(nlri)-6] // reserved 4, maximum response time 1, flags 1
	}
	return nlri
}

// prefixEnd returns the offset at which the prefix of a route of type 5 ends.
func prefixEnd(nlri string) int {
	if nlri[1] == 58 {
		return 25 + 16
	}
	return 25 + 4
}

// canonicalEVPN clears the bits beyond the prefix of a route of type 5 (RFC 9136 section 3.1 requires zeros).
func canonicalEVPN(nlri string) string {
	if nlri[0] != evpnPrefix {
		return nlri
	}
	end := prefixEnd(nlri)
	prefix := nlri[25:end]
	if clean := masked(prefix, int(nlri[24])); clean != prefix {
		return nlri[:25] + clean + nlri[end:]
	}
	return nlri
}
