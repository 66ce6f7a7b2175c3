package wire

// Attributes of other families, whose form is checked so that no peer gets a malformed one.

// validAIGP checks TLVs of type 1 and length 2, which includes both (RFC 7311 section 3): an AIGP TLV has 11 bytes.
func validAIGP(v []byte) bool {
	const head, metric = 3, 1
	if len(v) == 0 {
		return false
	}
	for len(v) > 0 {
		if len(v) < head {
			return false
		}
		n := int(number(v[1:], 2))
		if n < head || n > len(v) || v[0] == metric && n != head+8 {
			return false
		}
		v = v[n:]
	}
	return true
}

// validPELabels checks pairs of a PE's address, all IPv4 or all IPv6, and a label of 3 bytes (RFC 6514 section 8).
func validPELabels(v []byte) bool { return len(v) > 0 && (len(v)%(4+3) == 0 || len(v)%(16+3) == 0) }

// validBFD checks mode 1, discriminator 4, and TLVs of type 1 and length 1 (RFC 9026 section 3.1.6).
func validBFD(v []byte) bool {
	return len(v) >= 5 && eachTLV(v[5:], 1, 1, func(int, []byte) bool { return true })
}

// validDomainPath checks segments of a number 1 and so many domains of 7 bytes: an identifier 6 and a SAFI 1
// (draft-ietf-bess-evpn-ipvpn-interworking section 4).
func validDomainPath(v []byte) bool {
	const domain = 7
	if len(v) == 0 {
		return false
	}
	for len(v) > 0 {
		n := 1 + domain*int(v[0])
		if v[0] == 0 || n > len(v) {
			return false
		}
		v = v[n:]
	}
	return true
}
