package wire

import "slices"

// Sub-TLVs of a Tunnel Encapsulation attribute (RFC 9012 section 3, RFC 9830; IANA).
const (
	subEncapsulation = 1
	subProtocol      = 2
	subColor         = 4
	subLoadBalancing = 5
	subEgress        = 6 // reserved 4, address family 2, address
	subTrafficClass  = 7
	subUDPPort       = 8
	subLabelHandling = 9
	subLabelStack    = 10
	subPrefixSID     = 11
	subTwoBytes      = 128 // types from here on have a two-byte length
)

// policySubs are the sub-TLVs of SR policies, which have their own family (RFC 9830 section 2.4): preference, binding
// SID, ENLP, priority, SRv6 binding SID, segment list, names.
var policySubs = []byte{12, 13, 14, 15, 20, 128, 129, 130}

// tunnelSRPolicy is the tunnel type of SR policies.
const tunnelSRPolicy = 15

// encapsulations are the lengths of the Encapsulation sub-TLV by tunnel type (RFC 9012 section 3.2): L2TPv3 with a
// session and a cookie, GRE, VXLAN, NVGRE, VXLAN GPE, GENEVE. Those of other tunnels are not defined.
var encapsulations = map[int][]int{1: {4, 8, 12}, 2: {4}, 8: {12}, 9: {12}, 12: {8}}

// validTunnels checks a Tunnel Encapsulation attribute: tunnels of type 2 and length 2. An empty one is useless, and
// FRR ends the session at it.
func validTunnels(v []byte) bool {
	return len(v) > 0 && eachTLV(v, 2, 2, func(tunnel int, subs []byte) bool {
		return tunnel != tunnelSRPolicy && validSubs(tunnel, subs)
	})
}

func validSubs(tunnel int, subs []byte) bool {
	for len(subs) > 0 {
		size := 1
		if subs[0] >= subTwoBytes {
			size = 2
		}
		if len(subs) < 1+size {
			return false
		}
		end := 1 + size + int(number(subs[1:], size))
		if end > len(subs) || !validSub(tunnel, subs[0], subs[1+size:end]) {
			return false
		}
		subs = subs[end:]
	}
	return true
}

func validSub(tunnel int, kind byte, v []byte) bool {
	switch kind {
	case subEncapsulation:
		lengths, defined := encapsulations[tunnel]
		return !defined || slices.Contains(lengths, len(v))
	case subProtocol, subLoadBalancing, subUDPPort:
		return len(v) == 2
	case subColor: // a color extended community
		return len(v) == 8
	case subEgress:
		return validEgress(v)
	case subTrafficClass, subLabelHandling:
		return len(v) == 1
	case subLabelStack:
		return len(v) > 0 && len(v)%4 == 0
	case subPrefixSID:
		return validPrefixSID(v)
	}
	return !slices.Contains(policySubs, kind)
}

// validEgress checks an egress endpoint (RFC 9012 section 3.1): family 0 means the next hop.
func validEgress(v []byte) bool {
	if len(v) < 6 {
		return false
	}
	switch number(v[4:], 2) {
	case 0:
		return len(v) == 6
	case 1:
		return len(v) == 6+4
	case 2:
		return len(v) == 6+16
	}
	return false
}
