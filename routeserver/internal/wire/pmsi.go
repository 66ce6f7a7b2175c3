package wire

// Types of PMSI tunnels (RFC 6514 section 5; RFC 7524, 8556 and 9574; IANA).
const (
	tunnelNone      = 0
	tunnelRSVP      = 1
	tunnelMLDP      = 2
	tunnelSSM       = 3
	tunnelSM        = 4
	tunnelBidir     = 5
	tunnelIngress   = 6
	tunnelMLDPBoth  = 7
	tunnelTransport = 8
	tunnelAssisted  = 10
	tunnelBIER      = 11
)

// pmsiHead is flags 1, type 1 and label 3; the tunnel's identifier follows.
const pmsiHead = 5

// validPMSI checks a PMSI Tunnel attribute. RFC 6514 makes an undefined tunnel type malformed.
func validPMSI(v []byte) bool {
	if len(v) < pmsiHead {
		return false
	}
	id := v[pmsiHead:]
	oneOf := func(lengths ...int) bool {
		for _, n := range lengths {
			if len(id) == n {
				return true
			}
		}
		return false
	}
	switch v[1] {
	case tunnelNone:
		return oneOf(0)
	case tunnelRSVP: // extended tunnel ID 4 or 16, reserved 2, tunnel ID 2, P2MP ID 4
		return oneOf(12, 24)
	case tunnelMLDP, tunnelMLDPBoth:
		return validFEC(id)
	case tunnelSSM, tunnelSM, tunnelBidir: // two addresses
		return oneOf(8, 32)
	case tunnelIngress, tunnelAssisted:
		return oneOf(4, 16)
	case tunnelTransport: // PE 4 or 16, local number 4
		return oneOf(8, 20)
	case tunnelBIER: // sub-domain 1, BFR 2, prefix 4 or 16
		return oneOf(7, 19)
	}
	return false
}

// validFEC checks an mLDP element (RFC 6388 section 2.2): type 1, address family 2, length 1, root; length 2, opaque value.
func validFEC(v []byte) bool {
	if len(v) < 4 || v[3] != 4 && v[3] != 16 {
		return false
	}
	opaque := 4 + int(v[3])
	return len(v) >= opaque+2 && len(v) == opaque+2+int(number(v[opaque:], 2))
}
