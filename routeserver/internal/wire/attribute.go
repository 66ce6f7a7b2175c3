package wire

import "encoding/binary"

// Path attribute types (IANA, BGP path attributes).
const (
	attrReserved        = 0
	attrOrigin          = 1
	attrASPath          = 2
	attrNextHop         = 3
	attrMED             = 4
	attrLocalPref       = 5
	attrAtomicAggregate = 6
	attrAggregator      = 7
	attrCommunities     = 8
	attrOriginator      = 9
	attrClusterList     = 10
	attrDPA             = 11
	attrAdvertiser      = 12
	attrRCIDPath        = 13
	attrReach           = 14
	attrUnreach         = 15
	attrExtCommunities  = 16
	attrAS4Path         = 17
	attrAS4Aggregator   = 18
	attrSAFISpecific    = 19
	attrConnector       = 20
	attrASPathLimit     = 21
	attrPMSI            = 22
	attrTunnelEncap     = 23
	attrTraffic         = 24
	attrExtCommunities6 = 25
	attrAIGP            = 26
	attrPELabels        = 27
	attrEntropyLabel    = 28
	attrLinkState       = 29
	attrLargeCommunity  = 32
	attrBGPsec          = 33
	attrOnlyToCustomer  = 35
	attrDomainPath      = 36
	attrServiceFunction = 37
	attrBFD             = 38
	attrPrefixSID       = 40
	attrBIER            = 41
	attrSet             = 128
	attrDevelopment     = 255
)

// Attribute flags.
const (
	flagOptional   = 0x80
	flagTransitive = 0x40
	flagPartial    = 0x20
	flagExtended   = 0x10
)

// legalFlags returns the flags with which an attribute is sent on: without reserved bits, and partial only where that
// bit has a meaning (RFC 4271 section 4.3). appendAttribute sets the extended-length bit from the length of the value.
func legalFlags(flags uint8) uint8 {
	const kind = flagOptional | flagTransitive
	if flags&kind == kind {
		return flags & (kind | flagPartial)
	}
	return flags & kind
}

// appendAttribute encodes one attribute, with a two-byte length only if needed.
func appendAttribute(dst []byte, flags, kind uint8, value []byte) []byte {
	flags &^= flagExtended
	if len(value) > 255 {
		dst = append(dst, flags|flagExtended, kind)
		dst = binary.BigEndian.AppendUint16(dst, uint16(len(value)))
	} else {
		dst = append(dst, flags, kind, byte(len(value)))
	}
	return append(dst, value...)
}

// EachAttribute calls f for every attribute in a run of valid encoded attributes.
func EachAttribute(run string, f func(flags, kind uint8, value, whole string)) {
	for len(run) > 0 {
		head, n := 3, int(run[2])
		if run[0]&flagExtended != 0 {
			head, n = 4, int(run[2])<<8|int(run[3])
		}
		f(run[0], run[1], run[head:head+n], run[:head+n])
		run = run[head+n:]
	}
}
