package wire

import "slices"

// validHop checks a next hop: its length, and in VPN families that its route distinguishers are zero (RFC 4364 section
// 4.3.2, RFC 4659 section 3.2.1). BIRD ends the session if they are not.
func (f Family) validHop(hop []byte) bool {
	if !slices.Contains(formats[f].hops, len(hop)) {
		return false
	}
	const rd = "\x00\x00\x00\x00\x00\x00\x00\x00"
	switch {
	case f != VPNv4 && f != VPNv6:
		return true
	case len(hop) == vpnHopTwo && string(hop[vpnHop6:vpnHop6+8]) != rd:
		return false
	}
	return string(hop[:8]) == rd
}
