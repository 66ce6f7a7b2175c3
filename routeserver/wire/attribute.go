package wire

import "encoding/binary"

// Path attribute types (IANA).
const (
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
	attrReach           = 14
	attrUnreach         = 15
	attrExtCommunities  = 16
	attrAS4Path         = 17
	attrAS4Aggregator   = 18
	attrPMSI            = 22
	attrTunnelEncap     = 23
	attrExtCommunities6 = 25
	attrLargeCommunity  = 32
)

// Attribute flags.
const (
	flagOptional   = 0x80
	flagTransitive = 0x40
	flagPartial    = 0x20
	flagExtended   = 0x10
)

// remedy is what to do about an attribute that is not as it should be (RFC 7606 section 2).
type remedy uint8

const (
	fine remedy = iota
	discard
	withdraw
)

// rule is how an attribute that we know has to look.
type rule struct {
	name  string
	flags uint8 // optional and transitive bits
	check func(value []byte) bool
	bad   remedy // if check fails
	drop  bool   // not carried on, even if fine
}

// exactly and multiple are the length checks that most attributes need.
func exactly(n int) func([]byte) bool { return func(v []byte) bool { return len(v) == n } }
func multiple(n int) func([]byte) bool {
	return func(v []byte) bool { return len(v) > 0 && len(v)%n == 0 }
}

// rules are RFC 7606 section 7, for internal peers that speak four-octet AS numbers.
var rules = map[uint8]rule{
	attrOrigin:          {"ORIGIN", flagTransitive, func(v []byte) bool { return len(v) == 1 && v[0] <= 2 }, withdraw, false},
	attrASPath:          {"AS_PATH", flagTransitive, validPath(4), withdraw, false},
	attrNextHop:         {"NEXT_HOP", flagTransitive, exactly(4), withdraw, true}, // ours is in MP_REACH_NLRI
	attrMED:             {"MULTI_EXIT_DISC", flagOptional, exactly(4), withdraw, false},
	attrLocalPref:       {"LOCAL_PREF", flagTransitive, exactly(4), withdraw, false},
	attrAtomicAggregate: {"ATOMIC_AGGREGATE", flagTransitive, exactly(0), discard, false},
	attrAggregator:      {"AGGREGATOR", flagOptional | flagTransitive, validAggregator(4), discard, false},
	attrCommunities:     {"COMMUNITIES", flagOptional | flagTransitive, multiple(4), withdraw, false},
	attrOriginator:      {"ORIGINATOR_ID", flagOptional, exactly(4), withdraw, true},
	attrClusterList:     {"CLUSTER_LIST", flagOptional, multiple(4), withdraw, true},
	attrExtCommunities:  {"EXTENDED_COMMUNITIES", flagOptional | flagTransitive, multiple(8), withdraw, true},
	attrAS4Path:         {"AS4_PATH", flagOptional | flagTransitive, never, discard, true}, // RFC 6793 section 6
	attrAS4Aggregator:   {"AS4_AGGREGATOR", flagOptional | flagTransitive, never, discard, true},
	attrPMSI:            {"PMSI_TUNNEL", flagOptional | flagTransitive, func(v []byte) bool { return len(v) >= 5 }, withdraw, false},
	attrTunnelEncap:     {"TUNNEL_ENCAPSULATION", flagOptional | flagTransitive, validTLVs, withdraw, false},
	attrExtCommunities6: {"IPV6_EXTENDED_COMMUNITIES", flagOptional | flagTransitive, multiple(20), withdraw, false},
	attrLargeCommunity:  {"LARGE_COMMUNITY", flagOptional | flagTransitive, multiple(12), withdraw, false},
}

// externalRules take the place of rules for external peers, which have no business to send these.
var externalRules = map[uint8]rule{
	attrLocalPref:   {"LOCAL_PREF", flagTransitive, never, discard, true},
	attrOriginator:  {"ORIGINATOR_ID", flagOptional, never, discard, true},
	attrClusterList: {"CLUSTER_LIST", flagOptional, never, discard, true},
}

// never is for attributes that this neighbour must not send.
func never([]byte) bool { return false }

// validTLVs checks the outer structure of RFC 9012: type 2, length 2, value.
func validTLVs(v []byte) bool {
	for len(v) > 0 {
		if len(v) < 4 || len(v) < 4+int(binary.BigEndian.Uint16(v[2:])) {
			return false
		}
		v = v[4+int(binary.BigEndian.Uint16(v[2:])):]
	}
	return true
}

// appendAttribute encodes one attribute, with a two-byte length only where it is needed.
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
