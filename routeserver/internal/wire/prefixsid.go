package wire

// TLVs of a BGP Prefix-SID attribute (RFC 8669 section 3, RFC 9252 section 2; IANA): type 1, length 2, value.
const (
	sidReserved    = 0
	sidLabelIndex  = 1 // reserved 1, flags 2, index 4
	sidDeprecated2 = 2
	sidSRGB        = 3 // flags 2, ranges of base 3 and size 3
	sidDeprecated4 = 4
	sidServiceL3   = 5
	sidServiceL2   = 6

	srv6Information = 1 // sub-TLV of a service: reserved 1, SID 16, flags 1, behaviour 2, reserved 1
	srv6Structure   = 1 // sub-sub-TLV of that: bits of the locator block 1, node 1, function 1, argument 1; transposition 2
	sidBits         = 128
)

// validPrefixSID checks the attribute in full. Unknown TLVs are accepted if their lengths are right.
func validPrefixSID(v []byte) bool {
	return len(v) > 0 && eachTLV(v, 1, 2, func(kind int, value []byte) bool {
		switch kind {
		case sidReserved, sidDeprecated2, sidDeprecated4:
			return false
		case sidLabelIndex:
			return len(value) == 7
		case sidSRGB:
			return len(value) > 2 && (len(value)-2)%6 == 0
		case sidServiceL3, sidServiceL2:
			return validService(value)
		}
		return true
	})
}

// validService checks an SRv6 Service TLV (RFC 9252 sections 2, 3 and 7): reserved 1, sub-TLVs. One without a SID is
// useless, and FRR ends the session at it.
func validService(v []byte) bool {
	sids := 0
	return len(v) > 0 && eachTLV(v[1:], 1, 2, func(kind int, value []byte) bool {
		if kind != srv6Information {
			return true
		}
		sids++
		return len(value) >= 21 && eachTLV(value[21:], 1, 2, func(kind int, value []byte) bool {
			return kind != srv6Structure || len(value) == 6 && validStructure(value)
		})
	}) && sids > 0
}

// validStructure checks that the parts of a SID fit into it, and so does the part that is transposed into the label
// (RFC 9252 section 3.2.1).
func validStructure(v []byte) bool {
	bits := int(v[0]) + int(v[1]) + int(v[2]) + int(v[3])
	return bits <= sidBits && int(v[4])+int(v[5]) <= sidBits
}

// hasService reports whether an attribute, which may be malformed, has a TLV of an SRv6 service. If that were removed,
// PEs would send packets with the route's label, which then is only a part of the SID.
func hasService(v []byte) bool {
	for len(v) > 0 {
		if v[0] == sidServiceL3 || v[0] == sidServiceL2 {
			return true
		}
		if len(v) < 3 || len(v) < 3+int(number(v[1:], 2)) {
			return false
		}
		v = v[3+int(number(v[1:], 2)):]
	}
	return false
}
