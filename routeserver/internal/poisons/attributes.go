package poisons

import (
	"slices"
	"strings"
)

// attribute is one or several encoded path attributes. Their type is the second byte (IANA, BGP path attributes).
type attribute struct {
	name        string
	encoded     []byte
	communities []byte // extended ones, in the attribute with the route target
	fate        Fate
	hurts       []string
}

// attributes returns the poisons that a route of any family can carry.
func attributes() []attribute {
	return slices.Concat(flags(), communities(), extended(), prefixSIDs(), tunnels(), pmsiTunnels(), others(), deprecated())
}

func poison(fate Fate, name, encoded string, hurts ...string) attribute {
	return attribute{name: name, encoded: bytes(encoded), fate: fate, hurts: hurts}
}

// long returns an attribute of many bytes with a length field of two.
func long(fate Fate, name, head string, value string, times int) attribute {
	n := len(bytes(value)) * times
	return attribute{name: name, encoded: join(bytes(head), []byte{byte(n >> 8), byte(n)}, bytes(strings.Repeat(value, times))), fate: fate}
}

// flags returns attributes with reserved and misplaced bits (RFC 4271 section 4.3).
func flags() []attribute {
	return []attribute{
		poison(Mended, "unknown attribute with reserved flags", "c5c8 04 01020304"),
		poison(Mended, "unknown attribute with all reserved flags", "cfc9 01 00"),
		poison(Mended, "COMMUNITIES with reserved flags", "c308 04 fde80001"),
		poison(Mended, "ATOMIC_AGGREGATE that is partial", "6006 00"),
		poison(Mended, "MULTI_EXIT_DISC that is partial", "a004 04 00000001"),
		poison(Mended, "MULTI_EXIT_DISC with reserved flags", "8f04 04 00000001"),
		poison(Mended, "COMMUNITIES with a length field that is longer than needed", "d008 0004 fde80001"),
		poison(Mended, "unknown attribute with a length field that is longer than needed", "d0c8 0001 00"),
		poison(Withdrawn, "COMMUNITIES that are well-known", "4008 04 fde80001"),
		poison(Withdrawn, "MULTI_EXIT_DISC that is transitive", "c004 04 00000001"),
		poison(Mended, "unknown attribute that is not transitive", "80c8 01 00"),
		poison(Mended, "unknown attribute", "c0c8 01 00"), // relayed as partial
		poison(Mended, "empty unknown attribute", "c0c8 00"),
		poison(Relayed, "unknown attribute that is partial", "e0c8 01 00"),
		poison(Mended, "attribute of type 0", "c000 01 00"),
		poison(Mended, "attribute of type 255, for development", "c0ff 01 00"),
		long(Mended, "unknown attribute of 3,000 bytes", "d0c8", "00", 3000),
		poison(Mended, "unknown attribute twice", "e0c8 01 00 e0c8 01 01"),
	}
}

// communities returns lists with repetitions or of a wrong length (RFC 7606 sections 7.8, 7.14 and 7.15, RFC 8092).
func communities() []attribute {
	large := "0000fde8 00000001 00000002"
	six := "0003 20010db8000000000000000000000001 0007"
	return []attribute{
		poison(Mended, "COMMUNITIES with a repetition", "c008 0c fde80001 fde80002 fde80001"),
		poison(Mended, "LARGE_COMMUNITY with a repetition", "c020 18"+large+large),
		poison(Mended, "IPV6_EXTENDED_COMMUNITIES with a repetition", "c019 28"+six+six),
		long(Mended, "COMMUNITIES with 900 repetitions", "d008", "fde80001", 900),
		poison(Withdrawn, "empty COMMUNITIES", "c008 00"),
		poison(Withdrawn, "COMMUNITIES of 5 bytes", "c008 05 fde8000100"),
		poison(Withdrawn, "empty LARGE_COMMUNITY", "c020 00"),
		poison(Withdrawn, "LARGE_COMMUNITY of 13 bytes", "c020 0d"+large+"00"),
		poison(Withdrawn, "empty IPV6_EXTENDED_COMMUNITIES", "c019 00"),
		poison(Withdrawn, "IPV6_EXTENDED_COMMUNITIES of 8 bytes", "c019 08 0002fde800000001"),
	}
}

// extended returns extended communities (RFC 4360). gobgpd (4.8) cannot read those of EVPN and of the mobile user plane
// that it has no name for, and treats their routes as withdrawn.
func extended() []attribute {
	beside := func(fate Fate, name, list string) attribute {
		return attribute{name: name, communities: bytes(list), fate: fate}
	}
	return []attribute{
		beside(Mended, "EXTENDED_COMMUNITIES with a repetition", "030c000000000008 030c000000000008"),
		beside(Relayed, "DF Election (RFC 8584)", "0606000000000000"),
		beside(Relayed, "ARP/ND extended community (RFC 9047)", "0608000000000000"),
		beside(Relayed, "EVPN extended community that nobody knows", "067f000000000000"),
		beside(Relayed, "opaque extended community that nobody knows", "037f000000000000"),
		beside(Relayed, "extended community of a type that nobody knows", "3f7f000000000000"),
		beside(Relayed, "experimental extended community that nobody knows", "807f000000000000"),
		beside(Relayed, "mobile user plane extended community", "0c7f000000000000"),
	}
}

// prefixSIDs returns BGP Prefix-SID attributes (RFC 8669, RFC 9252): TLVs of type 1 and length 2.
func prefixSIDs() []attribute {
	sid := "00 20010db8000000000000000000000001 00 0013 00" // reserved, SID, flags, behaviour End.DT4, reserved
	structure := "01 0006 28 18 10 00 10 40"
	return []attribute{
		poison(Mended, "Prefix-SID of zeros", "c028 25"+strings.Repeat("00", 37)),
		poison(Mended, "empty Prefix-SID", "c028 00"),
		poison(Mended, "Prefix-SID whose label index runs over it", "c028 04 0100ff00"),
		poison(Mended, "Prefix-SID with half a TLV", "c028 02 0100"),
		poison(Mended, "Prefix-SID with a label index of 6 bytes", "c028 09 010006 000000000001"),
		poison(Mended, "Prefix-SID with an SRGB of 7 bytes", "c028 0a 030007 00000000000000"),
		poison(Mended, "Prefix-SID with an SRGB of no range", "c028 05 030002 0000"),
		poison(Mended, "Prefix-SID with a TLV that is deprecated", "c028 16 040013"+strings.Repeat("00", 19)),
		poison(Mended, "Prefix-SID that is well-known", "4028 0a 010007 00000000000001"),
		poison(Withdrawn, "SRv6 L3 service without a SID", "c028 04 05000100"),
		poison(Withdrawn, "SRv6 L3 service of no bytes", "c028 03 050000"),
		poison(Withdrawn, "SRv6 L3 service whose SID runs over it", "c028 07 050004 00 010015"),
		poison(Withdrawn, "SRv6 L3 service with half a sub-TLV", "c028 06 050003 00 0100"),
		poison(Withdrawn, "SRv6 L3 service with a SID of 20 bytes", "c028 1b 050018 00 010014"+strings.Repeat("00", 20)),
		poison(Withdrawn, "SRv6 L2 service whose SID's structure runs over it", "c028 1f 06001c 00 010018"+sid+"01 0006"),
		poison(Withdrawn, "SRv6 L3 service with a SID structure of 5 bytes", "c028 24 050021 00 01001d"+sid+"01 0005 2818100010"),
		poison(Withdrawn, "SRv6 L3 service with a SID structure of 256 bits", "c028 25 050022 00 01001e"+sid+"01 0006 404040400000"),
		poison(Relayed, "label index", "c028 0a 010007 00 0000 00000001"),
		poison(Relayed, "SRv6 L3 service", "c028 1c 050019 00 010015"+sid),
		poison(Relayed, "SRv6 L2 service with a structure", "c028 25 060022 00 01001e"+sid+structure),
		poison(Relayed, "Prefix-SID with a TLV that nobody knows", "c028 05 7f0002 abcd"),
	}
}

// tunnels returns Tunnel Encapsulation attributes (RFC 9012): TLVs of type 2 and length 2, with sub-TLVs of type 1 and
// length 1, or 2 from type 128 on.
func tunnels() []attribute {
	return []attribute{
		poison(Withdrawn, "empty Tunnel Encapsulation", "c017 00"),
		poison(Withdrawn, "tunnel whose sub-TLV runs over it", "c017 0a 0008 0006 06 14 00000000"),
		poison(Withdrawn, "tunnel with half a header", "c017 05 0008 0001 06"),
		poison(Withdrawn, "tunnel that runs over its attribute", "c017 05 0008 0010 06"),
		poison(Withdrawn, "tunnel with a long sub-TLV that runs over it", "c017 08 0008 0004 80 00ff 00"),
		poison(Withdrawn, "tunnel with a color of 4 bytes", "c017 0a 0008 0006 04 04 030b0000"),
		poison(Withdrawn, "tunnel with an egress endpoint of 5 bytes", "c017 0b 0008 0007 06 05 00000000 00"),
		poison(Withdrawn, "tunnel with an IPv6 egress endpoint of 4 bytes", "c017 10 0008 000c 06 0a 00000000 0002 0a000001"),
		poison(Withdrawn, "tunnel with a UDP port of 1 byte", "c017 07 0008 0003 08 01 12"),
		poison(Withdrawn, "tunnel with a protocol of 3 bytes", "c017 09 0008 0005 02 03 086558"),
		poison(Withdrawn, "VXLAN tunnel with an encapsulation of 4 bytes", "c017 0a 0008 0006 01 04 00000064"),
		poison(Withdrawn, "tunnel of an SR policy", "c017 0c 000f 0008 0c 06 000000000064"),
		poison(Withdrawn, "tunnel with a segment list", "c017 08 000f 0004 80 0001 00"),
		poison(Withdrawn, "Tunnel Encapsulation that is well-known", "4017 04 0008 0000"),
		poison(Relayed, "tunnel without a sub-TLV", "c017 04 0008 0000", FRR10),
		poison(Relayed, "tunnel with an egress endpoint", "c017 10 0008 000c 06 0a 00000000 0001 0a620002", FRR10),
		poison(Relayed, "two tunnels", "c017 08 0008 0000 0002 0000", FRR10),
		poison(Relayed, "tunnel with a long sub-TLV that nobody knows", "c017 09 0008 0005 c8 0002 abcd", FRR),
	}
}

// pmsiTunnels returns PMSI Tunnel attributes (RFC 6514 section 5): flags 1, type 1, label 3, identifier.
func pmsiTunnels() []attribute {
	return []attribute{
		poison(Withdrawn, "empty PMSI tunnel", "c016 00"),
		poison(Withdrawn, "PMSI tunnel of 4 bytes", "c016 04 00060000"),
		poison(Withdrawn, "ingress replication without an address", "c016 05 00 06 000641"),
		poison(Withdrawn, "ingress replication of 5 bytes", "c016 0a 00 06 000641 0a00000100"),
		poison(Withdrawn, "no tunnel with an identifier", "c016 09 00 00 000000 0a000001"),
		poison(Withdrawn, "RSVP-TE tunnel of 4 bytes", "c016 09 00 01 000000 0a000001"),
		poison(Withdrawn, "mLDP tunnel whose root runs over it", "c016 09 00 02 000000 06 0001 20"),
		poison(Withdrawn, "PIM-SSM tunnel of 4 bytes", "c016 09 00 03 000000 e0000001"),
		poison(Withdrawn, "PMSI tunnel of a type that nobody knows", "c016 09 00 7a 000000 0a000001"),
		poison(Withdrawn, "PMSI tunnel of type 255", "c016 05 00 ff 000000"),
		poison(Withdrawn, "PMSI tunnel that is well-known", "4016 09 00 06 000641 0a620002"),
		poison(Relayed, "no tunnel", "c016 05 00 00 000000"),
		poison(Relayed, "ingress replication", "c016 09 00 06 000641 0a620002"),
		poison(Relayed, "ingress replication over IPv6", "c016 15 00 06 000641 20010db8000000000000000000000002", FRR),
		poison(Relayed, "assisted replication", "c016 09 00 0a 000641 0a620002", FRR),
	}
}

// others returns attributes that a PE of another vendor may send.
func others() []attribute {
	return []attribute{
		poison(Mended, "AIGP that is transitive", "c01a 0b 01000b 0000000000000064"),
		poison(Mended, "AIGP", "801a 0b 01000b 0000000000000064"), // not for these families
		poison(Mended, "AIGP whose TLV runs over it", "801a 05 0100ff 0000"),
		poison(Mended, "empty AIGP", "801a 00"),
		poison(Withdrawn, "ONLY_TO_CUSTOMER of 3 bytes", "c023 03 00fde8"),
		poison(Withdrawn, "empty ONLY_TO_CUSTOMER", "c023 00"),
		poison(Relayed, "ONLY_TO_CUSTOMER", "c023 04 0000fde8"),
		poison(Withdrawn, "D-PATH that ends in a domain", "c024 05 01 000000fd"),
		poison(Withdrawn, "D-PATH without a domain", "c024 02 00 80"),
		poison(Relayed, "D-PATH", "c024 08 01 0000fde80001 80"),
		poison(Withdrawn, "ATTR_SET of 3 bytes", "c080 03 00fde8"),
		poison(Withdrawn, "ATTR_SET whose attribute runs over it", "c080 08 0000fde8 4001ff00"),
		poison(Withdrawn, "ATTR_SET with MP_REACH_NLRI", "c080 0c 0000fde8 800e05 0001010000"),
		poison(Withdrawn, "ATTR_SET with an ORIGIN of 9", "c080 08 0000fde8 400101 09"),
		poison(Withdrawn, "ATTR_SET within ATTR_SET", "c080 0b 0000fde8 c08004 0000fde8"),
		poison(Relayed, "ATTR_SET", "c080 0f 0000fde8 400101 00 400504 00000064"),
		poison(Mended, "PE Distinguisher Labels of 6 bytes", "c01b 06 0a0000010006"),
		poison(Mended, "BFD Discriminator of 4 bytes", "c026 04 01000000"),
		poison(Mended, "BFD Discriminator whose TLV runs over it", "c026 07 01 00000001 01 10"),
		poison(Mended, "SFP attribute whose TLV runs over it", "c025 04 01 00ff 00"),
		poison(Mended, "BIER whose TLV runs over it", "c029 05 0001 00ff 00"),
		poison(Mended, "BGP-LS", "801d 04 04ff00ff"),
		poison(Mended, "BGP-LS that is transitive", "c01d 04 04ff00ff"),
		poison(Mended, "BGPsec_PATH", "8021 02 0000"),
		poison(Mended, "BGPsec_PATH that is transitive", "c021 02 0000"),
		poison(Mended, "Traffic Engineering", "8018 02 0000"),
		poison(Mended, "AS4_PATH between four-octet neighbours", "c011 06 0201 0000fde8"),
		poison(Mended, "AGGREGATOR of 7 bytes", "c007 07 00fde80a000001"),
		poison(Withdrawn, "ATTR_SET with a LOCAL_PREF of 3 bytes", "c080 0a 0000fde8 400503 000064"),
	}
}

// deprecated returns attributes of code points that no document in force gives a form (IANA, RFC 6938, RFC 8093).
func deprecated() []attribute {
	var all []attribute
	for _, kind := range []struct{ name, code string }{
		{"DPA", "0b"}, {"ADVERTISER", "0c"}, {"RCID_PATH", "0d"}, {"SAFI-specific attribute", "13"}, {"Connector", "14"},
		{"AS_PATHLIMIT", "15"}, {"Entropy Label Capability", "1c"}, {"attribute 30", "1e"}, {"attribute 31", "1f"},
		{"attribute 129", "81"}, {"attribute 241", "f1"}, {"attribute 242", "f2"}, {"attribute 243", "f3"},
	} {
		all = append(all, poison(Mended, kind.name, "c0"+kind.code+" 05 0000000001"), poison(Mended, "empty "+kind.name, "c0"+kind.code+" 00"))
	}
	return all
}
