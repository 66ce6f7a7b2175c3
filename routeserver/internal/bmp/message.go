// Package bmp reports sessions and routes to monitoring stations (RFC 7854): the announcements of peers, before any
// policy, and the routes sent to them (RFC 8671), with each recipient's own route targets.
package bmp

import (
	"encoding/binary"
	"net/netip"
	"time"

	"weft/routeserver/internal/engine"
	"weft/routeserver/internal/wire"
)

// Message types (RFC 7854 section 4.1).
const (
	routeMonitoring  = 0
	statisticsReport = 1
	peerDown         = 2
	peerUp           = 3
	initiation       = 4
	termination      = 5
)

// Flags of the per-peer header (RFC 7854 section 4.2, RFC 8671 section 4).
const (
	flagIPv6       = 0x80
	flagPostPolicy = 0x40
	flagAdjRIBOut  = 0x10
)

// Types of information in TLVs (RFC 7854 sections 4.4 and 4.5, RFC 8671 section 6.3.1).
const (
	infoDescription = 1
	infoName        = 2
	infoAdminLabel  = 4 // of a Peer Up
	infoReason      = 1 // of a Termination
)

// Reasons of a Peer Down (RFC 7854 section 4.9).
const (
	localNotification  = 1
	localSilent        = 2
	remoteNotification = 3
	remoteSilent       = 4
)

// begin begins a message, and finish ends it by writing the length into its header.
func begin(dst []byte, kind byte) []byte { return append(dst, 3, 0, 0, 0, 0, kind) }

func finish(dst []byte, start int) []byte {
	binary.BigEndian.PutUint32(dst[start+1:], uint32(len(dst)-start))
	return dst
}

// length returns the length of the first of some messages.
func length(messages []byte) int { return int(binary.BigEndian.Uint32(messages[1:])) }

func appendTLV(dst []byte, kind uint16, value string) []byte {
	dst = binary.BigEndian.AppendUint16(dst, kind)
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(value)))
	return append(dst, value...)
}

// appendAddress appends an address as 16 bytes; an IPv4 address is in the last four.
func appendAddress(dst []byte, a netip.Addr) []byte {
	if a.Is6() {
		b := a.As16()
		return append(dst, b[:]...)
	}
	var b [4]byte
	if a.IsValid() {
		b = a.As4()
	}
	return append(append(dst, make([]byte, 12)...), b[:]...)
}

// address returns the peer's address, from its connection or else from the rule set.
func address(p *engine.Peer) netip.Addr {
	if p.Opening.Remote.IsValid() {
		return p.Opening.Remote.Addr()
	}
	a, _ := netip.ParseAddr(p.Config().Address)
	return a.Unmap()
}

// appendPeer appends the per-peer header. at is in Unix nanoseconds; 0: not known.
func appendPeer(dst []byte, p *engine.Peer, flags byte, at int64) []byte {
	a := address(p)
	if a.Is6() {
		flags |= flagIPv6
	}
	dst = append(dst, 0, flags, 0, 0, 0, 0, 0, 0, 0, 0) // a global instance peer has no distinguisher
	dst = appendAddress(dst, a)
	dst = binary.BigEndian.AppendUint32(dst, p.Config().ASN)
	dst = append(dst, p.ID[:]...)
	seconds, rest := at/int64(time.Second), at%int64(time.Second)
	dst = binary.BigEndian.AppendUint32(dst, uint32(seconds))
	return binary.BigEndian.AppendUint32(dst, uint32(rest/1000))
}

// Initiation returns the message that introduces the route server.
func Initiation(name, description string) []byte {
	m := appendTLV(begin(nil, initiation), infoDescription, description)
	return finish(appendTLV(m, infoName, name), 0)
}

// Termination returns the message with which the route server stops ("administratively closed").
func Termination() []byte {
	return finish(appendTLV(begin(nil, termination), infoReason, "\x00\x00"), 0)
}

// Append encodes an entry: one message, or one for each UPDATE.
func Append(dst []byte, e engine.Entry) []byte {
	switch e.Kind {
	case engine.SessionUp:
		return appendPeerUp(dst, e)
	case engine.SessionDown:
		return appendPeerDown(dst, e)
	case engine.RoutesIn:
		return appendRoutes(dst, e, 0)
	case engine.RoutesOut:
		return appendRoutes(dst, e, flagAdjRIBOut|flagPostPolicy)
	case engine.MarkerIn:
		return appendRoute(dst, e, 0, wire.EndOfRIB(e.Family), "")
	case engine.MarkerOut:
		return appendRoute(dst, e, flagAdjRIBOut|flagPostPolicy, wire.EndOfRIB(e.Family), "")
	}
	return dst
}

func appendPeerUp(dst []byte, e engine.Entry) []byte {
	start, o := len(dst), e.Peer.Opening
	dst = appendPeer(begin(dst, peerUp), e.Peer, 0, e.At)
	dst = appendAddress(dst, o.Local.Addr())
	dst = binary.BigEndian.AppendUint16(dst, o.Local.Port())
	dst = binary.BigEndian.AppendUint16(dst, o.Remote.Port())
	dst = append(append(dst, o.Sent...), o.Received...)
	return finish(appendTLV(dst, infoAdminLabel, e.Peer.Name), start)
}

func appendPeerDown(dst []byte, e engine.Entry) []byte {
	start, n := len(dst), e.Ending.Notification
	dst = appendPeer(begin(dst, peerDown), e.Peer, 0, e.At)
	switch {
	case n != nil && n.Received:
		dst = append(append(dst, remoteNotification), n.Message()...)
	case n != nil:
		dst = append(append(dst, localNotification), n.Message()...)
	case e.Ending.Local:
		dst = append(dst, localSilent, 0, 0) // no event of the state machine applies
	default:
		dst = append(dst, remoteSilent)
	}
	return finish(dst, start)
}

func appendRoutes(dst []byte, e engine.Entry, flags byte) []byte {
	// An UPDATE to a peer, except that AS numbers always have four octets (RFC 7854 section 4.2).
	kind := wire.Kind{External: flags&flagAdjRIBOut != 0 && e.Peer.Queue.Kind.External}
	messages, _ := e.Batch.Encoded(kind, len(e.Targets)) // a route that does not fit was not sent to the peer either
	for _, m := range messages {
		dst = appendRoute(dst, e, flags, m, e.Targets)
	}
	return dst
}

func appendRoute(dst []byte, e engine.Entry, flags byte, update []byte, targets string) []byte {
	start := len(dst)
	dst = appendPeer(begin(dst, routeMonitoring), e.Peer, flags, e.At)
	return finish(append(append(dst, update...), targets...), start)
}
