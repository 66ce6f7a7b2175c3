package wire

import (
	"bytes"
	"encoding/binary"
	"io"
)

// Sizes in bytes (RFC 4271 section 4.1, RFC 8654).
const (
	HeaderLength = 19
	MaxLength    = 4096
	MaxExtended  = 65535
)

// Message types.
const (
	TypeOpen         = 1
	TypeUpdate       = 2
	TypeNotification = 3
	TypeKeepalive    = 4
	TypeRefresh      = 5
)

var marker = bytes.Repeat([]byte{0xff}, 16)

// minimum holds the minimum lengths of whole messages by type.
var minimum = [...]int{TypeOpen: 29, TypeUpdate: 23, TypeNotification: 21, TypeKeepalive: 19, TypeRefresh: 23}

// ReadMessage reads one message. The body is a part of *buf, which grows as needed, and is valid until the next call.
// Since our OPEN has the capability for extended messages, a peer may send them, whether its own has it or not (RFC
// 8654 section 4). Errors of form are *Notification; others come from r.
func ReadMessage(r io.Reader, buf *[]byte) (kind uint8, body []byte, err error) {
	var head [HeaderLength]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	if !bytes.Equal(head[:16], marker) {
		return 0, nil, &Notification{Code: HeaderError, Subcode: NotSynchronised, Text: "marker is not all ones"}
	}
	length, kind := int(binary.BigEndian.Uint16(head[16:])), head[18]
	limit := MaxExtended
	if kind == TypeOpen || kind == TypeKeepalive { // never extended (RFC 8654 section 4)
		limit = MaxLength
	}
	if kind < TypeOpen || kind > TypeRefresh {
		return 0, nil, &Notification{Code: HeaderError, Subcode: BadType, Data: head[18:19], Text: "unknown message type"}
	}
	bad := length < minimum[kind] || length > limit || kind == TypeKeepalive && length != HeaderLength
	if bad {
		return 0, nil, &Notification{Code: HeaderError, Subcode: BadLength, Data: head[16:18], Text: "bad message length"}
	}
	n := length - HeaderLength
	if cap(*buf) < n {
		*buf = make([]byte, n, max(n, 256))
	}
	body = (*buf)[:n]
	_, err = io.ReadFull(r, body)
	return kind, body, err
}

func header(dst []byte, kind uint8) []byte {
	dst = append(dst, marker...)
	return append(dst, 0, 0, kind)
}

// Whole returns a message with this body.
func Whole(kind uint8, body []byte) []byte { return finish(append(header(nil, kind), body...), 0) }

// finish writes the length into a message that began at dst[start].
func finish(dst []byte, start int) []byte {
	binary.BigEndian.PutUint16(dst[start+16:], uint16(len(dst)-start))
	return dst
}

// Keepalive is a KEEPALIVE message.
var Keepalive = finish(header(nil, TypeKeepalive), 0)

// Kinds of ROUTE-REFRESH (RFC 2918, RFC 7313).
const (
	RefreshRequest = 0
	RefreshBegin   = 1
	RefreshEnd     = 2
)

// Refresh encodes a ROUTE-REFRESH message of the given kind.
func Refresh(f Family, kind uint8) []byte {
	m := header(nil, TypeRefresh)
	m = binary.BigEndian.AppendUint16(m, f.AFI())
	return finish(append(m, kind, f.SAFI()), 0)
}

// ParseRefresh reads the body of a ROUTE-REFRESH. ok is false for families and kinds that must be ignored.
func ParseRefresh(body []byte) (f Family, kind uint8, ok bool, err error) {
	kind = body[2]
	if len(body) != 4 {
		if kind == RefreshBegin || kind == RefreshEnd { // RFC 7313 section 5
			return 0, 0, false, &Notification{Code: RefreshError, Subcode: 1, Data: append([]byte(nil), body...), Text: "bad length"}
		}
		return 0, 0, false, nil // outbound route filters, which are never negotiated
	}
	f, ok = FamilyOf(binary.BigEndian.Uint16(body), body[3])
	return f, kind, ok && kind <= RefreshEnd, nil
}
