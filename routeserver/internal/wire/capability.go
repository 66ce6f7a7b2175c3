package wire

import (
	"encoding/binary"
	"time"
)

// Capabilities that the route server uses (RFC 5492; IANA). It ignores all others, whatever their value.
const (
	capMultiprotocol = 1  // RFC 4760: AFI 2, reserved 1, SAFI 1
	capRefresh       = 2  // RFC 2918
	capExtended      = 6  // RFC 8654
	capRestart       = 64 // RFC 4724: flags and time 2, and per family AFI 2, SAFI 1, flags 1
	capFourOctetAS   = 65 // RFC 6793: AS number 4
	capEnhanced      = 70 // RFC 7313
	capLongLived     = 71 // RFC 9494: per family AFI 2, SAFI 1, flags 1, time 3
)

// Flags of the graceful restart capabilities.
const (
	restarting = 0x8000 // of flags and time
	graceful   = 0x4000 // RFC 8538: over a NOTIFICATION as well
	forwarding = 0x80   // of a family
)

// capability reads one capability of an OPEN. One that determines the routes or their form must be well-formed
// ("recognized, but malformed", RFC 4271 section 6.2). One that only offers something is ignored if malformed.
func (o *Open) capability(code byte, v []byte) *Notification {
	switch code {
	case capMultiprotocol:
		if len(v) != 4 {
			return &Notification{Code: OpenError, Text: "a multiprotocol capability that has not four bytes"}
		}
		if f, ok := FamilyOf(binary.BigEndian.Uint16(v), v[3]); ok {
			o.Families[f] = true
		} else {
			o.Unfamiliar = true
		}
	case capFourOctetAS:
		if len(v) != 4 {
			return &Notification{Code: OpenError, Text: "a capability for four-octet AS numbers that has not four bytes"}
		}
		o.ASN, o.FourOctet = binary.BigEndian.Uint32(v), true
	case capRefresh:
		o.Refresh = o.Refresh || len(v) == 0
	case capExtended:
		o.Extended = o.Extended || len(v) == 0
	case capEnhanced:
		o.Enhanced = o.Enhanced || len(v) == 0
	case capRestart:
		o.Restart.offer(v)
	case capLongLived:
		o.Restart.offerLong(v)
	}
	return nil
}

// offer reads a graceful restart capability.
func (r *Restart) offer(v []byte) {
	if len(v) < 2 || len(v)%4 != 2 {
		return
	}
	head := binary.BigEndian.Uint16(v)
	r.Offered, r.Restarting, r.Notification, r.Seconds = true, head&restarting != 0, head&graceful != 0, head&0x0fff
	for v = v[2:]; len(v) > 0; v = v[4:] {
		if f, ok := FamilyOf(binary.BigEndian.Uint16(v), v[2]); ok {
			r.Families[f], r.Forwarding[f] = true, v[3]&forwarding != 0
		}
	}
}

// offerLong reads a capability for long-lived graceful restart.
func (r *Restart) offerLong(v []byte) {
	if len(v)%7 != 0 {
		return
	}
	r.LongLived = true
	for ; len(v) > 0; v = v[7:] {
		if f, ok := FamilyOf(binary.BigEndian.Uint16(v), v[2]); ok {
			seconds := number(v[4:], 3)
			r.LongStale[f], r.LongForwarding[f] = time.Duration(seconds)*time.Second, v[3]&forwarding != 0
		}
	}
}
