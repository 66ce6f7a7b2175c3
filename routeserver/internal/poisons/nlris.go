package poisons

import "slices"

// nlri is a poison in the NLRI or the next hop.
type nlri struct {
	family, name string
	nlri, hop    []byte // hop: only if not the usual one
	fate         Fate
	hurts        []string
}

func nlris(s Site) []nlri { return slices.Concat(hops(s), evpn(s), multicast(s)) }

// hops returns VPN routes whose next hop has an RD that is not zero (RFC 4364 section 4.3.2, RFC 4659 section 3.2.1).
func hops(s Site) []nlri {
	rd := bytes("0001fde800000001")
	hop6, local, none := s.Hop6.AsSlice(), bytes("fe80000000000000 0000000000000001"), make([]byte, 8)
	return []nlri{
		{VPNv4, "next hop with an RD", carrier(VPNv4, s, 900), append(rd, 192, 0, 2, 9), Withdrawn, nil},
		{VPNv6, "IPv6 next hop with an RD", carrier(VPNv6, s, 900), join(rd, hop6), Withdrawn, nil},
		{VPNv6, "link-local next hop with an RD", carrier(VPNv6, s, 901), join(none, hop6, rd, local), Withdrawn, nil},
		{VPNv4, "next hop without an RD", carrier(VPNv4, s, 902), s.Hop.AsSlice(), Withdrawn, nil},
	}
}

// evpn returns routes of the types 1 to 5 (RFC 7432, RFC 9136).
func evpn(s Site) []nlri {
	typed := func(kind byte, parts ...[]byte) []byte {
		v := join(append([][]byte{s.RD[:]}, parts...)...)
		return append([]byte{kind, byte(len(v))}, v...)
	}
	tag, none := make([]byte, 4), make([]byte, 10)
	wrong := bytes("01 02000000000100 07 01") // LACP: the last byte has to be zero
	mac := bytes("30 020000010aff")
	return []nlri{
		{EVPN, "type 3 with an IPv6 originator", typed(3, tag, bytes("80 20010db8000000000000000000000009")), nil, Relayed, []string{FRR}},
		{EVPN, "type 3 with an originator of 8 bits", typed(3, tag, bytes("08 0a")), nil, Withdrawn, nil},
		{EVPN, "type 1 with a segment that is not well formed", typed(1, wrong, tag, bytes("000064")), nil, Withdrawn, nil},
		{EVPN, "type 2 with a segment that is not well formed", typed(2, wrong, tag, mac, bytes("00 000064")), nil, Withdrawn, nil},
		{EVPN, "type 2 with a MAC of 40 bits", typed(2, none, tag, bytes("28 0200000102 00 000064")), nil, Withdrawn, nil},
		{EVPN, "type 2 with an address of 31 bits", typed(2, none, tag, mac, bytes("1f 0a000001 000064")), nil, Withdrawn, nil},
		{EVPN, "type 4 with an IPv6 originator", typed(4, bytes("00 010203040506070809"), bytes("80 20010db8000000000000000000000009")), nil, Relayed, []string{FRR}},
		{EVPN, "type 5 of 33 bits", typed(5, none, tag, bytes("21 0a000000 00000000 000064")), nil, Withdrawn, nil},
		{EVPN, "type 12", typed(12, tag), nil, Withdrawn, nil},
	}
}

// multicast returns EVPN routes of the types 6 to 11 (RFC 9251, RFC 9572).
func multicast(s Site) (all []nlri) {
	for kind := byte(6); kind <= 11; kind++ {
		for _, n := range []byte{8, 20, 40, 200} {
			name := "type " + digits(kind) + " of " + digits(n) + " zeros"
			fate := Withdrawn
			var hurts []string
			if kind == 9 && n == 20 { // RD, tag and region of zeros are what the RFC describes
				fate, hurts = Relayed, []string{GoBGP}
			}
			all = append(all, nlri{EVPN, name, append([]byte{kind, n}, make([]byte, n)...), nil, fate, hurts})
		}
	}
	tag, segment := make([]byte, 4), bytes("00 010203040506070809")
	source, group, originator := bytes("20 0a000001"), bytes("20 e8010101"), bytes("20 0a620002")
	typed := func(kind byte, parts ...[]byte) []byte {
		v := join(parts...)
		return append([]byte{kind, byte(len(v))}, v...)
	}
	rd := s.RD[:]
	selective := typed(10, rd, tag, source, group, originator)
	for _, n := range []nlri{
		{name: "type 6", nlri: typed(6, rd, tag, source, group, originator, bytes("02"))},
		{name: "type 7", nlri: typed(7, rd, segment, tag, source, group, originator, bytes("02"))},
		{name: "type 8", nlri: typed(8, rd, segment, tag, source, group, originator, make([]byte, 4), bytes("0a 02"))},
		{name: "type 9", nlri: typed(9, rd, tag, bytes("0009 fde8 00000001"))},
		{name: "type 10", nlri: selective},
		{name: "type 11", nlri: typed(11, selective, originator)},
	} {
		n.family, n.fate, n.hurts = EVPN, Relayed, []string{GoBGP}
		all = append(all, n)
	}
	return all
}

func digits(n byte) string {
	if n < 10 {
		return string('0' + rune(n))
	}
	return digits(n/10) + string('0'+rune(n%10))
}
