package wire

import "encoding/binary"

// Open is the content of an OPEN message, as far as the route server uses it.
type Open struct {
	ASN        uint32 // from the four-octet AS capability if there is one
	HoldTime   uint16 // seconds
	ID         [4]byte
	FourOctet  bool
	Families   [Families]bool
	Refresh    bool
	Enhanced   bool // enhanced route refresh, RFC 7313
	Extended   bool // extended messages, RFC 8654
	Unfamiliar bool // at least one multiprotocol family was named that is not ours
	Restart    Restart
}

// ParseOpen reads the body of an OPEN. The error is a *Notification.
func ParseOpen(body []byte) (*Open, error) {
	if len(body) < 10 {
		return nil, &Notification{Code: OpenError, Text: "truncated"}
	}
	if body[0] != 4 {
		return nil, &Notification{Code: OpenError, Subcode: BadVersion, Data: []byte{0, 4}, Text: "not BGP version 4"}
	}
	o := &Open{ASN: uint32(binary.BigEndian.Uint16(body[1:])), HoldTime: binary.BigEndian.Uint16(body[3:]), ID: [4]byte(body[5:9])}
	list, malformed := capabilitiesOf(body[9:])
	if malformed != nil {
		return nil, malformed
	}
	for ; len(list) > 0; list = list[2+int(list[1]):] {
		if malformed := o.capability(list[0], list[2:2+int(list[1])]); malformed != nil {
			return nil, malformed
		}
	}
	if r := &o.Restart; !r.Offered { // RFC 9494 section 4.5
		*r = Restart{}
	}
	return o, nil
}
