package wire

import "encoding/binary"

// Optional parameters of an OPEN (RFC 4271 section 4.2, RFC 5492, RFC 9072).
const (
	capabilityParameter = 2
	extendedParameters  = 255
)

// capabilitiesOf returns the concatenated capabilities in the optional parameters of an OPEN. data begins with their
// total length. It may be in the extended form of RFC 9072, with lengths of two bytes.
func capabilitiesOf(data []byte) ([]byte, *Notification) {
	malformed := &Notification{Code: OpenError, Text: "the lengths of the optional parameters do not add up"}
	total, size, rest := int(data[0]), 1, data[1:]
	if total > 0 && len(rest) >= 3 && rest[0] == extendedParameters {
		total, size, rest = int(binary.BigEndian.Uint16(rest[1:])), 2, rest[3:]
	}
	if total != len(rest) {
		return nil, malformed
	}
	var capabilities []byte
	for len(rest) > 0 {
		if len(rest) < 1+size {
			return nil, malformed
		}
		kind, n := rest[0], int(rest[size]) // the low byte
		if size == 2 {
			n |= int(rest[1]) << 8
		}
		if rest = rest[1+size:]; len(rest) < n {
			return nil, malformed
		}
		if kind != capabilityParameter {
			return nil, &Notification{Code: OpenError, Subcode: BadParameter, Text: "optional parameter that is not a capability"}
		}
		// Each parameter holds whole capabilities.
		for list := rest[:n]; len(list) > 0; list = list[2+int(list[1]):] {
			if len(list) < 2 || len(list) < 2+int(list[1]) {
				return nil, malformed
			}
		}
		capabilities = append(capabilities, rest[:n]...)
		rest = rest[n:]
	}
	return capabilities, nil
}
