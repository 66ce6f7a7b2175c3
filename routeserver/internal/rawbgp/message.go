// Package rawbgp writes BGP messages byte by byte for emulated PEs. It shares no code with the route server, so that it
// can reveal the route server's errors.
package rawbgp

import "encoding/binary"

// Message types (RFC 4271 section 4.1, RFC 2918).
const (
	TypeOpen         = 1
	TypeUpdate       = 2
	TypeNotification = 3
	TypeKeepalive    = 4
	TypeRefresh      = 5
)

// Message returns a whole message of a type (RFC 4271 section 4.1).
func Message(kind byte, body []byte) []byte {
	m := make([]byte, 16, 19+len(body))
	for i := range m {
		m[i] = 0xff
	}
	m = binary.BigEndian.AppendUint16(m, uint16(19+len(body)))
	return append(append(m, kind), body...)
}

// Attribute returns a path attribute with a length field of two octets.
func Attribute(flags, kind byte, value []byte) []byte {
	return append([]byte{flags | 0x10, kind, byte(len(value) >> 8), byte(len(value))}, value...)
}

// Update returns an UPDATE that has path attributes only.
func Update(attributes ...[]byte) []byte {
	var all []byte
	for _, a := range attributes {
		all = append(all, a...)
	}
	return Message(TypeUpdate, append([]byte{0, 0, byte(len(all) >> 8), byte(len(all))}, all...))
}
